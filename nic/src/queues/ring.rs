//! A ring of completions between the NIC, which adds them, and one thread that takes them. Neither side locks
//! anything: a locked instruction would drain the store buffer of the thread that polls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::request::{Completion, Sender, Status};

/// The words of a completion.
pub const WORDS: usize = 4;
/// How many completions a ring has room for, at most.
const MOST: usize = 256;

/// A ring of completions. `push` and `pop` may each be called by one thread at a time.
pub struct Ring {
    slots: Box<[[AtomicU64; WORDS]]>,
    /// How many were ever taken, and how many were ever added.
    taken: AtomicUsize,
    added: AtomicUsize,
}

impl Ring {
    /// An empty ring for this many completions, or the most that a ring has room for.
    pub fn new(room: usize) -> Self {
        let slots = (0..room.clamp(1, MOST)).map(|_| Default::default()).collect();
        Self { slots, taken: AtomicUsize::new(0), added: AtomicUsize::new(0) }
    }

    /// The number of completions in it.
    pub fn len(&self) -> usize {
        self.added.load(Ordering::Acquire).wrapping_sub(self.taken.load(Ordering::Acquire))
    }

    /// The number of completions that were ever taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }

    /// Adds a completion. Returns false if there is no room.
    pub fn push(&self, completion: Completion) -> bool {
        let added = self.added.load(Ordering::Relaxed);
        if added.wrapping_sub(self.taken.load(Ordering::Acquire)) >= self.slots.len() {
            return false;
        }
        let slot = &self.slots[added % self.slots.len()];
        for (word, value) in slot.iter().zip(pack(completion)) {
            word.store(value, Ordering::Relaxed);
        }
        self.added.store(added.wrapping_add(1), Ordering::Release);
        true
    }

    /// Takes the oldest completion.
    pub fn pop(&self) -> Option<Completion> {
        self.pop_packed().map(unpack)
    }

    /// The same, packed. A poll must store little: what a thread has written shows late only if it still is
    /// in its store buffer, which has some sixty places; and a load of what was stored in parts waits until
    /// that is empty.
    #[inline]
    pub fn pop_packed(&self) -> Option<[u64; WORDS]> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.added.load(Ordering::Acquire) {
            return None;
        }
        let slot = &self.slots[taken % self.slots.len()];
        let words = std::array::from_fn(|at| slot[at].load(Ordering::Relaxed));
        self.taken.store(taken.wrapping_add(1), Ordering::Release);
        Some(words)
    }
}

/// Bits of the second word: the lowest 8 are the status, and the highest 32 the operation.
const SOLICITED: u64 = 1 << 8;
const HAS_IMMEDIATE: u64 = 1 << 9;
const HAS_SENDER: u64 = 1 << 10;
const IS_GLOBAL: u64 = 1 << 11;
/// Where the sender's port is: 16 bits.
const PORT: u32 = 16;

fn pack(completion: Completion) -> [u64; WORDS] {
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let sender = completion.sender;
    let port = sender.map_or(0, |sender| sender.port);
    let kind = completion.status as u64
        | flag(completion.solicited, SOLICITED)
        | flag(completion.immediate.is_some(), HAS_IMMEDIATE)
        | flag(sender.is_some(), HAS_SENDER)
        | flag(sender.is_some_and(|sender| sender.global), IS_GLOBAL)
        | u64::from(port) << PORT
        | two(0, completion.opcode.cast_unsigned());
    let queue_pair = sender.map_or(0, |sender| sender.queue_pair);
    let numbers = two(completion.immediate.unwrap_or(0), queue_pair);
    [completion.id, kind, two(completion.bytes, completion.queue_pair), numbers]
}

/// The completion that these words are of.
#[inline]
pub fn unpack([id, kind, bytes, numbers]: [u64; WORDS]) -> Completion {
    let (low, high) = (|word: u64| word as u32, |word: u64| (word >> 32) as u32);
    let has = |flag: u64| kind & flag != 0;
    let sender =
        Sender { queue_pair: high(numbers), port: (kind >> PORT) as u16, global: has(IS_GLOBAL) };
    Completion {
        id,
        status: Status::from_code(kind as u8).unwrap_or(Status::LocalOperation),
        opcode: high(kind).cast_signed(),
        bytes: low(bytes),
        immediate: has(HAS_IMMEDIATE).then_some(low(numbers)),
        queue_pair: high(bytes),
        solicited: has(SOLICITED),
        sender: has(HAS_SENDER).then_some(sender),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(id: u64) -> Completion {
        Completion {
            id,
            status: Status::ReceiverNotReadyExceeded,
            opcode: -1,
            bytes: u32::MAX,
            immediate: Some(7),
            queue_pair: 9,
            solicited: true,
            sender: Some(Sender { queue_pair: 11, port: u16::MAX, global: true }),
        }
    }

    #[test]
    fn completions_come_out_as_they_went_in() {
        let plain = Completion {
            status: Status::Success,
            opcode: 128,
            immediate: None,
            solicited: false,
            sender: None,
            ..completion(u64::MAX)
        };
        let local = Sender { queue_pair: 1, port: 0, global: false };
        let all = [completion(1), plain, Completion { sender: Some(local), ..plain }];
        let ring = Ring::new(3);
        for round in 0..3 {
            assert!(all.into_iter().all(|one| ring.push(one)) && !ring.push(plain), "{round}");
            assert_eq!((ring.len(), [(); 3].map(|()| ring.pop())), (3, all.map(Some)), "{round}");
            assert_eq!((ring.len(), ring.pop()), (0, None), "{round}");
        }
    }

    #[test]
    fn two_threads_see_all_of_them_in_order() {
        const MANY: u64 = 100_000;
        let ring = Ring::new(5);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for id in 0..MANY {
                    while !ring.push(completion(id)) {
                        std::thread::yield_now();
                    }
                }
            });
            for id in 0..MANY {
                let taken = std::iter::from_fn(|| Some(ring.pop())).flatten().next();
                assert_eq!(taken, Some(completion(id)));
            }
        });
    }
}
