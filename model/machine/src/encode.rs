//! Encodes states as bytes, for the set of seen states.
//!
//! An encoding leaves out what other parts determine: each lock is held by the one atomic write on its way to
//! the node. With [`Dead`], it also leaves out values that cannot matter any more.

use lang::program::LocationId;

use super::crash::Survivor;
use super::footprint::{Access, Footprints, bit};
use super::rules::Machine;
use super::state::{Entry, Item, LocalEntry, RemoteWrite, Source, State};
use super::stubborn::item_access;

/// Marks values that nothing will read any more; they are written as 0. The transitions of two states that
/// differ only in such values lead to states that again differ only in them. So their outcomes are the same,
/// except for the values that [`super::past::Past`] keeps.
pub(super) struct Dead<'a> {
    pub machine: &'a Machine,
    pub footprints: &'a Footprints,
    /// The values of observables that are decided are kept elsewhere, so they are marked too.
    pub keeps_past: bool,
}

impl Dead<'_> {
    /// The locations that some instruction or entry may read or write.
    pub fn touched(&self, state: &State) -> Access {
        let mut all = Access::default();
        for (index, thread) in state.threads.iter().enumerate() {
            all = all.union(self.footprints.future(index, thread.pc).access);
            for entry in &thread.buffer {
                all = all.union(item_access(self.machine, entry.pair, &entry.item).1);
            }
        }
        for (index, pair) in state.pairs.iter().enumerate() {
            for entry in &pair.pipe {
                all = all.union(item_access(self.machine, index, &entry.item).1);
            }
            let remote = pair.remote.iter().filter_map(|write| write.target);
            let local = pair.local.iter().filter_map(|entry| match entry {
                LocalEntry::Write { target, .. } => Some(*target),
                LocalEntry::Notice => None,
            });
            remote.chain(local).for_each(|target| all.writes |= bit(target.0));
        }
        all
    }

    /// The locations whose values still matter: those that may be read, and those that are observed and not
    /// decided.
    fn relevant(&self, state: &State) -> u64 {
        let touched = self.touched(state);
        let open = if self.keeps_past { touched.writes } else { u64::MAX };
        touched.reads | self.footprints.observed & open
    }
}

impl Machine {
    /// Appends the state's encoding.
    pub(super) fn encode(&self, state: &State, dead: Option<&Dead<'_>>, out: &mut Vec<u8>) {
        let relevant = dead.map_or(u64::MAX, |dead| dead.relevant(state));
        for (index, value) in state.memory.iter().enumerate() {
            number(out, if relevant & bit(index) == 0 { 0 } else { *value });
        }
        let live = dead.map_or(u64::MAX, |dead| dead.footprints.live(state, dead.keeps_past));
        for (index, value) in state.registers.iter().enumerate() {
            number(out, if live & bit(index) == 0 { 0 } else { *value });
        }
        for (index, thread) in state.threads.iter().enumerate() {
            number(out, thread.pc as u64);
            let mut pairs = self.code.threads[index].pairs();
            let polled = pairs.any(|pair| self.polled(state, dead, pair));
            entries(out, &thread.buffer, polled);
        }
        for (index, pair) in state.pairs.iter().enumerate() {
            let polled = self.polled(state, dead, index);
            entries(out, &pair.pipe, polled);
            number(out, pair.remote.len() as u64);
            for write in &pair.remote {
                let target = optional(write.target);
                let completes = u64::from(write.completes.is_some());
                let persists = u64::from(write.persists != 0);
                let head = target << 3 | persists << 2 | completes << 1 | u64::from(write.atomic);
                number(out, head);
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
                        number(out, slot(*wait, polled));
                    }
                }
            }
            number(out, if polled { pair.notices.into() } else { 0 });
            number(out, if polled { pair.outstanding.into() } else { 0 });
            if self.receiver[index].is_some() {
                number(out, pair.receives.len() as u64);
                pair.receives.iter().for_each(|buffer| number(out, buffer.0 as u64));
                number(out, pair.arrived.len() as u64);
                pair.arrived.iter().for_each(|immediate| number(out, *immediate));
            }
        }
        self.encode_awaited(state, dead, out);
        if self.crashes {
            state.pairs.iter().for_each(|pair| number(out, pair.persists.into()));
            for all in &state.survivors {
                number(out, all.len() as u64);
                for Survivor { value, by } in all {
                    number(out, *value);
                    number(out, by.map_or(0, |(pair, _)| pair as u64 + 1));
                    number(out, by.map_or(0, |(_, persists)| persists.into()));
                }
            }
        }
    }

    /// Whether some thread may still poll or wait for operations of a queue pair.
    fn polled(&self, state: &State, dead: Option<&Dead<'_>>, pair: usize) -> bool {
        dead.is_none_or(|dead| {
            self.users[pair].iter().any(|thread| {
                let pc = state.threads[*thread].pc;
                dead.footprints.future(*thread, pc).polls & bit(pair) != 0
            })
        })
    }

    fn encode_awaited(&self, state: &State, dead: Option<&Dead<'_>>, out: &mut Vec<u8>) {
        for (thread, waits) in self.waits.iter().enumerate() {
            if waits.is_empty() {
                continue;
            }
            let pairs = &self.code.threads[thread].queue_pairs;
            let polls = dead.map_or(u64::MAX, |dead| {
                dead.footprints.future(thread, state.threads[thread].pc).polls
            });
            for (_, slot) in waits {
                for (offset, pair) in pairs.clone().enumerate() {
                    let matters = polls & bit(pair) != 0;
                    number(out, if matters { state.awaited[slot + offset].into() } else { 0 });
                }
            }
        }
    }

    /// Decodes into `state`.
    pub(super) fn decode(&self, mut bytes: &[u8], state: &mut State) {
        let input = &mut bytes;
        for value in state.memory.iter_mut().chain(&mut state.registers) {
            *value = take(input);
        }
        for thread in &mut state.threads {
            thread.pc = take(input) as usize;
            take_entries(input, &mut thread.buffer);
        }
        state.locks.fill(false);
        for (index, pair) in state.pairs.iter_mut().enumerate() {
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
                let entry = match take(input) {
                    0 => LocalEntry::Notice,
                    target => LocalEntry::Write {
                        target: LocationId(target as usize - 1),
                        value: take(input),
                        wait: take(input).checked_sub(1).map(|slot| slot as usize),
                    },
                };
                pair.local.push(entry);
            }
            pair.notices = take(input) as u32;
            pair.outstanding = take(input) as u32;
            pair.receives.clear();
            pair.arrived.clear();
            if self.receiver[index].is_some() {
                for _ in 0..take(input) {
                    pair.receives.push(LocationId(take(input) as usize));
                }
                for _ in 0..take(input) {
                    pair.arrived.push(take(input));
                }
            }
            let atomic = |entry: &Entry| matches!(entry.item, Item::AtomicWrite { .. });
            if pair.pipe.iter().any(atomic) || pair.remote.iter().any(|write| write.atomic) {
                state.locks[self.lock[index]] = true;
            }
        }
        for awaited in &mut state.awaited {
            *awaited = take(input) as u32;
        }
        if self.crashes {
            state.pairs.iter_mut().for_each(|pair| pair.persists = take(input) as u32);
            for all in &mut state.survivors {
                all.clear();
                for _ in 0..take(input) {
                    let (value, pair, persists) = (take(input), take(input), take(input) as u32);
                    let by = pair.checked_sub(1).map(|pair| (pair as usize, persists));
                    all.push(Survivor { value, by });
                }
            }
        }
    }
}

/// One more than the slot, 0 for none.
fn slot(wait: Option<usize>, matters: bool) -> u64 {
    wait.filter(|_| matters).map_or(0, |slot| slot as u64 + 1)
}

/// One more than the location, 0 for none.
fn optional(location: Option<LocationId>) -> u64 {
    location.map_or(0, |location| location.0 as u64 + 1)
}

/// Encodes entries. Without `polled`, leaves out what only polls and waits use.
fn entries(out: &mut Vec<u8>, entries: &[Entry], polled: bool) {
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
        let mut head = |kind: u64| {
            let flags = persists << 8 | joined << 7 | quiet << 6 | waits << 5;
            let head = (entry.pair as u64) << 9 | flags | kind;
            number(out, head);
        };
        let fields = match entry.item {
            Item::Write { target, value } => (head(0), [target.0 as u64, value, 0, 0], 2),
            Item::Put { target, source: Source::Location(source), atomic } => {
                (head(if atomic { 15 } else { 1 }), [target.0 as u64, source.0 as u64, 0, 0], 2)
            }
            Item::Put { target, source: Source::Value(value), atomic } => {
                (head(if atomic { 16 } else { 2 }), [target.0 as u64, value, 0, 0], 2)
            }
            Item::RemoteWrite { target, value, atomic } => {
                (head(if atomic { 17 } else { 3 }), [target.0 as u64, value, 0, 0], 2)
            }
            Item::Flush { is_persistent } => (head(if is_persistent { 19 } else { 18 }), [0; 4], 0),
            Item::Ack => (head(4), [0; 4], 0),
            Item::Get { target, source } => (head(5), [target.0 as u64, source.0 as u64, 0, 0], 2),
            Item::LocalWrite { target, value } => (head(6), [target.0 as u64, value, 0, 0], 2),
            Item::Rcas { result, target, expected, desired } => {
                (head(7), [result.0 as u64, target.0 as u64, expected, desired], 4)
            }
            Item::Rfaa { result, target, addend } => {
                (head(8), [result.0 as u64, target.0 as u64, addend, 0], 3)
            }
            Item::AtomicWrite { target, value } => (head(9), [target.0 as u64, value, 0, 0], 2),
            Item::Fence => (head(10), [0; 4], 0),
            Item::Message { target, source, immediate } => {
                let (is_value, source) = match source {
                    Source::Location(source) => (0, source.0 as u64),
                    Source::Value(value) => (1, value),
                };
                (head(11), [optional(target), immediate, is_value, source], 4)
            }
            Item::MessageWrite { target, value, immediate } => {
                (head(12), [optional(target), value, immediate, 0], 3)
            }
            Item::Completion { immediate } => (head(13), [immediate, 0, 0, 0], 1),
            Item::Receive { buffer } => (head(14), [buffer.0 as u64, 0, 0, 0], 1),
        };
        let ((), values, count) = fields;
        for value in &values[..count] {
            number(out, *value);
        }
        if let Some(slot) = wait {
            number(out, slot as u64);
        }
        some(out, entry.persists);
    }
}

/// Encodes a number that is not 0.
fn some(out: &mut Vec<u8>, value: u32) {
    if value != 0 {
        number(out, value.into());
    }
}

fn take_entries(input: &mut &[u8], entries: &mut Vec<Entry>) {
    entries.clear();
    for _ in 0..take(input) {
        let head = take(input);
        let mut value = || take(input);
        let mut item = || match head & 31 {
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
            5 => Item::Get {
                target: LocationId(value() as usize),
                source: LocationId(value() as usize),
            },
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
        };
        let item = item();
        let wait = (head & 32 != 0).then(|| take(input) as usize);
        let unsignaled = head & 64 != 0;
        let joined = head & 128 != 0;
        let persists = if head & 256 != 0 { take(input) as u32 } else { 0 };
        let pair = (head >> 9) as usize;
        entries.push(Entry { pair, wait, persists, unsignaled, joined, item });
    }
}

/// Writes seven bits per byte, least significant first, because most numbers here are small.
fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(input: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            break;
        }
        shift += 7;
    }
    value
}
