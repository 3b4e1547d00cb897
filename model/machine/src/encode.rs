//! Encodes states as bytes, for the set of seen states.
//!
//! An encoding leaves out what other parts determine: each lock is held by the one atomic write on its way to
//! the node. It also leaves out values that do not matter any more ([`Live`]).

mod live;
mod queues;

use lang::program::LocationId;

use super::crash::Survivor;
use super::footprint::bit;
use super::rules::Machine;
use super::state::{Entry, Item, State};
pub(super) use live::{Live, touched};
use queues::{entries, queues, take_entries, take_queues};

impl Machine {
    /// Appends the state's encoding.
    pub(super) fn encode(&self, state: &State, live: &Live, out: &mut Vec<u8>) {
        for (values, live) in [(&state.memory, live.locations), (&state.registers, live.registers)]
        {
            for (index, value) in values.iter().enumerate() {
                number(out, if live & bit(index) == 0 { 0 } else { *value });
            }
        }
        let polled = |pair: usize| live.polled & bit(pair) != 0;
        for (index, thread) in state.threads.iter().enumerate() {
            number(out, thread.pc as u64);
            let polled = self.code.threads[index].pairs().any(polled);
            entries(out, &thread.buffer, polled);
        }
        for (index, pair) in state.pairs.iter().enumerate() {
            queues(out, pair, polled(index), self.receiver[index].is_some());
        }
        self.encode_awaited(state, live, out);
        number(out, state.unread & live.touched.reads & live.touched.writes);
        if self.crashes {
            encode_survivors(out, state);
        }
    }

    fn encode_awaited(&self, state: &State, live: &Live, out: &mut Vec<u8>) {
        for (waits, thread) in self.waits.iter().zip(&self.code.threads) {
            for (_, slot) in waits {
                for (offset, pair) in thread.queue_pairs.clone().enumerate() {
                    let matters = live.polled & bit(pair) != 0;
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
            take_queues(input, pair, self.receiver[index].is_some());
            let atomic = |entry: &Entry| matches!(entry.item, Item::AtomicWrite { .. });
            if pair.pipe.iter().any(atomic) || pair.remote.iter().any(|write| write.atomic) {
                state.locks[self.lock[index]] = true;
            }
        }
        for awaited in &mut state.awaited {
            *awaited = take(input) as u32;
        }
        state.unread = take(input);
        if self.crashes {
            decode_survivors(input, state);
        }
    }
}

/// Encodes the flushes that were issued, and what locations may hold after a crash.
fn encode_survivors(out: &mut Vec<u8>, state: &State) {
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

fn decode_survivors(input: &mut &[u8], state: &mut State) {
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

/// One more than the location, 0 for none.
fn optional(location: Option<LocationId>) -> u64 {
    location.map_or(0, |location| location.0 as u64 + 1)
}

/// Encodes a number that is not 0.
fn some(out: &mut Vec<u8>, value: u32) {
    if value != 0 {
        number(out, value.into());
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
