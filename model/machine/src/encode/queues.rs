//! Encodes queue pairs, and the entries of store buffers and pipes.

use lang::program::LocationId;

use super::super::state::{Entry, Item, LocalEntry, PairState, RemoteWrite, Source};
use super::{number, optional, some, take};

/// Encodes a queue pair. Without `polled`, leaves out what only polls and waits use; `receives` says that
/// messages may arrive.
pub fn queues(out: &mut Vec<u8>, pair: &PairState, polled: bool, receives: bool) {
    entries(out, &pair.pipe, polled);
    number(out, pair.remote.len() as u64);
    for write in &pair.remote {
        let target = optional(write.target);
        let completes = u64::from(write.completes.is_some());
        let persists = u64::from(write.persists != 0);
        number(out, target << 3 | persists << 2 | completes << 1 | u64::from(write.atomic));
        number(out, write.value);
        some(out, write.persists);
        write.completes.iter().for_each(|immediate| number(out, *immediate));
    }
    number(out, pair.local.len() as u64);
    for entry in &pair.local {
        match entry {
            LocalEntry::Notice => number(out, 0),
            LocalEntry::Write { target, value, wait } => {
                number(out, target.0 as u64 + 1);
                number(out, *value);
                number(out, wait.filter(|_| polled).map_or(0, |slot| slot as u64 + 1));
            }
        }
    }
    number(out, if polled { pair.notices.into() } else { 0 });
    number(out, if polled { pair.outstanding.into() } else { 0 });
    if receives {
        number(out, pair.receives.len() as u64);
        pair.receives.iter().for_each(|buffer| number(out, buffer.0 as u64));
        number(out, pair.arrived.len() as u64);
        pair.arrived.iter().for_each(|immediate| number(out, *immediate));
    }
}

/// Decodes a queue pair.
pub fn take_queues(input: &mut &[u8], pair: &mut PairState, receives: bool) {
    take_entries(input, &mut pair.pipe);
    pair.remote.clear();
    for _ in 0..take(input) {
        let head = take(input);
        let target = (head >> 3).checked_sub(1).map(|target| LocationId(target as usize));
        let (value, atomic) = (take(input), head & 1 != 0);
        let persists = if head & 4 != 0 { take(input) as u32 } else { 0 };
        let completes = (head & 2 != 0).then(|| take(input));
        pair.remote.push(RemoteWrite { target, value, completes, atomic, persists });
    }
    pair.local.clear();
    for _ in 0..take(input) {
        pair.local.push(match take(input) {
            0 => LocalEntry::Notice,
            target => LocalEntry::Write {
                target: LocationId(target as usize - 1),
                value: take(input),
                wait: take(input).checked_sub(1).map(|slot| slot as usize),
            },
        });
    }
    pair.notices = take(input) as u32;
    pair.outstanding = take(input) as u32;
    pair.receives.clear();
    pair.arrived.clear();
    if receives {
        for _ in 0..take(input) {
            pair.receives.push(LocationId(take(input) as usize));
        }
        for _ in 0..take(input) {
            pair.arrived.push(take(input));
        }
    }
}

/// Encodes entries. Without `polled`, leaves out what only polls and waits use.
pub fn entries(out: &mut Vec<u8>, entries: &[Entry], polled: bool) {
    let kept = |entry: &&Entry| polled || entry.item != Item::Ack;
    number(out, entries.iter().filter(kept).count() as u64);
    let (mut request, mut last) = (0, 0);
    for entry in entries {
        request += usize::from(!entry.joined);
        if !kept(&entry) {
            continue;
        }
        // The word before it may have been left out.
        let joined = u64::from(request == std::mem::replace(&mut last, request));
        // One number encodes the kind, the queue pair, whether a wait slot and a number of flushes follow,
        // whether the completion counts, and whether it is a further word of a request.
        let wait = entry.wait.filter(|_| polled);
        let waits = u64::from(wait.is_some());
        let quiet = u64::from(entry.unsignaled && polled);
        let persists = u64::from(entry.persists != 0);
        let (kind, fields, count) = fields(&entry.item);
        let flags = persists << 8 | joined << 7 | quiet << 6 | waits << 5;
        number(out, (entry.pair as u64) << 9 | flags | kind);
        fields[..count].iter().for_each(|value| number(out, *value));
        if let Some(slot) = wait {
            number(out, slot as u64);
        }
        some(out, entry.persists);
    }
}

/// The number of an item's kind, and as many of the fields as follow it.
fn fields(item: &Item) -> (u64, [u64; 4], usize) {
    match *item {
        Item::Write { target, value } => (0, [target.0 as u64, value, 0, 0], 2),
        Item::Put { target, source: Source::Location(source), atomic } => {
            (if atomic { 15 } else { 1 }, [target.0 as u64, source.0 as u64, 0, 0], 2)
        }
        Item::Put { target, source: Source::Value(value), atomic } => {
            (if atomic { 16 } else { 2 }, [target.0 as u64, value, 0, 0], 2)
        }
        Item::RemoteWrite { target, value, atomic } => {
            (if atomic { 17 } else { 3 }, [target.0 as u64, value, 0, 0], 2)
        }
        Item::Flush { is_persistent } => (if is_persistent { 19 } else { 18 }, [0; 4], 0),
        Item::Ack => (4, [0; 4], 0),
        Item::Get { target, source } => (5, [target.0 as u64, source.0 as u64, 0, 0], 2),
        Item::LocalWrite { target, value } => (6, [target.0 as u64, value, 0, 0], 2),
        Item::Rcas { result, target, expected, desired } => {
            (7, [result.0 as u64, target.0 as u64, expected, desired], 4)
        }
        Item::Rfaa { result, target, addend } => {
            (8, [result.0 as u64, target.0 as u64, addend, 0], 3)
        }
        Item::AtomicWrite { target, value } => (9, [target.0 as u64, value, 0, 0], 2),
        Item::Fence => (10, [0; 4], 0),
        Item::Message { target, source, immediate } => {
            let (is_value, source) = match source {
                Source::Location(source) => (0, source.0 as u64),
                Source::Value(value) => (1, value),
            };
            (11, [optional(target), immediate, is_value, source], 4)
        }
        Item::MessageWrite { target, value, immediate } => {
            (12, [optional(target), value, immediate, 0], 3)
        }
        Item::Completion { immediate } => (13, [immediate, 0, 0, 0], 1),
        Item::Receive { buffer } => (14, [buffer.0 as u64, 0, 0, 0], 1),
    }
}

/// Decodes entries.
pub fn take_entries(input: &mut &[u8], entries: &mut Vec<Entry>) {
    entries.clear();
    for _ in 0..take(input) {
        let head = take(input);
        let item = take_item(head & 31, input);
        let wait = (head & 32 != 0).then(|| take(input) as usize);
        let unsignaled = head & 64 != 0;
        let joined = head & 128 != 0;
        let persists = if head & 256 != 0 { take(input) as u32 } else { 0 };
        let pair = (head >> 9) as usize;
        entries.push(Entry { pair, wait, persists, unsignaled, joined, item });
    }
}

/// Decodes an item of a kind.
fn take_item(kind: u64, input: &mut &[u8]) -> Item {
    let mut value = || take(input);
    match kind {
        0 => Item::Write { target: LocationId(value() as usize), value: value() },
        kind @ (1 | 15) => Item::Put {
            target: LocationId(value() as usize),
            source: Source::Location(LocationId(value() as usize)),
            atomic: kind == 15,
        },
        kind @ (2 | 16) => Item::Put {
            target: LocationId(value() as usize),
            source: Source::Value(value()),
            atomic: kind == 16,
        },
        kind @ (3 | 17) => Item::RemoteWrite {
            target: LocationId(value() as usize),
            value: value(),
            atomic: kind == 17,
        },
        kind @ (18 | 19) => Item::Flush { is_persistent: kind == 19 },
        4 => Item::Ack,
        5 => {
            Item::Get { target: LocationId(value() as usize), source: LocationId(value() as usize) }
        }
        6 => Item::LocalWrite { target: LocationId(value() as usize), value: value() },
        7 => Item::Rcas {
            result: LocationId(value() as usize),
            target: LocationId(value() as usize),
            expected: value(),
            desired: value(),
        },
        8 => Item::Rfaa {
            result: LocationId(value() as usize),
            target: LocationId(value() as usize),
            addend: value(),
        },
        9 => Item::AtomicWrite { target: LocationId(value() as usize), value: value() },
        11 => Item::Message {
            target: value().checked_sub(1).map(|target| LocationId(target as usize)),
            immediate: value(),
            source: match value() {
                0 => Source::Location(LocationId(value() as usize)),
                _ => Source::Value(value()),
            },
        },
        12 => Item::MessageWrite {
            target: value().checked_sub(1).map(|target| LocationId(target as usize)),
            value: value(),
            immediate: value(),
        },
        13 => Item::Completion { immediate: value() },
        14 => Item::Receive { buffer: LocationId(value() as usize) },
        _ => Item::Fence,
    }
}
