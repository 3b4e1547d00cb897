//! Completion queues.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::ring::{Ring, unpack};
use super::{Channel, lock};
use crate::request::{Completion, Status};

/// The completions that ring for the next event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Armed {
    #[default]
    No,
    Solicited,
    Any,
}

/// A completion that there was no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overrun {
    /// Whether it is the first of its queue.
    pub is_first: bool,
}

#[derive(Default)]
struct Entries {
    /// Those that came when the ring was full, with their numbers: all are younger than those in the ring.
    list: VecDeque<(usize, Completion)>,
    /// How many were ever added.
    added: usize,
    /// What the numbers of those in the ring are more than the ring's own count.
    ahead: usize,
    armed: Armed,
}

/// A completion queue.
pub struct CompletionQueue {
    ring: Ring,
    entries: Mutex<Entries>,
    /// The length of the list.
    listed: AtomicUsize,
    /// Held by the thread that takes completions, if several threads may.
    turn: Option<Mutex<()>>,
    capacity: AtomicUsize,
    overrun: AtomicBool,
    /// The channel for events.
    channel: Option<Arc<Channel<usize>>>,
    /// The address of the program's object, which events name.
    object: AtomicUsize,
}

impl CompletionQueue {
    /// An empty completion queue.
    pub fn new(capacity: usize, channel: Option<Arc<Channel<usize>>>) -> Self {
        Self {
            ring: Ring::new(capacity),
            entries: Mutex::new(Entries::default()),
            listed: AtomicUsize::new(0),
            turn: Some(Mutex::new(())),
            capacity: AtomicUsize::new(capacity),
            overrun: AtomicBool::new(false),
            channel,
            object: AtomicUsize::new(0),
        }
    }

    /// Sets the address of the program's object, which events name.
    pub fn belongs_to(&self, object: usize) {
        self.object.store(object, Ordering::Relaxed);
    }

    /// The same, which only one thread at a time polls or changes (`IBV_CREATE_CQ_ATTR_SINGLE_THREADED`).
    /// Then a poll that finds a completion takes no lock.
    #[must_use]
    pub fn for_one_thread(self) -> Self {
        Self { turn: None, ..self }
    }

    /// Adds a completion. Returns how many were added before.
    ///
    /// # Errors
    /// [`Overrun`] if the queue is full, or was when one was lost: the completion is lost.
    pub fn push(&self, completion: Completion) -> Result<usize, Overrun> {
        let mut entries = lock(&self.entries);
        let is_full = self.ring.len() + entries.list.len() >= self.capacity.load(Ordering::Relaxed);
        if is_full || self.overrun.load(Ordering::Relaxed) {
            return Err(Overrun { is_first: !self.overrun.swap(true, Ordering::Relaxed) });
        }
        let number = entries.added;
        entries.added += 1;
        if entries.list.is_empty() && self.ring.len() == 0 {
            entries.ahead = number.wrapping_sub(self.ring.taken());
        }
        if !entries.list.is_empty() || !self.ring.push(completion) {
            entries.list.push_back((number, completion));
            self.listed.store(entries.list.len(), Ordering::Release);
        }
        let wakes = match entries.armed {
            Armed::No => false,
            Armed::Any => true,
            Armed::Solicited => completion.solicited || completion.status != Status::Success,
        };
        if wakes {
            entries.armed = Armed::No;
            if let Some(channel) = &self.channel {
                channel.tell(self.object.load(Ordering::Relaxed));
            }
        }
        Ok(number)
    }

    /// The number of the first that can be taken, or else of the next: all before were taken or removed. This
    /// takes a lock, so that a poll need not count.
    pub fn taken(&self) -> usize {
        let entries = lock(&self.entries);
        match (self.ring.len(), entries.list.front()) {
            (0, Some((number, _))) => *number,
            (0, None) => entries.added,
            _ => self.ring.taken().wrapping_add(entries.ahead),
        }
    }

    /// Takes at most `most` completions, and passes each to `each`.
    #[inline]
    pub fn poll(&self, most: usize, mut each: impl FnMut(usize, Completion)) -> usize {
        if self.ring.len() == 0 && self.listed.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let _turn = self.turn.as_ref().map(lock);
        let mut taken = 0;
        while taken < most
            && let Some(words) = self.ring.pop_packed()
        {
            each(taken, unpack(words));
            taken += 1;
        }
        match self.listed.load(Ordering::Acquire) {
            0 => taken,
            _ => self.poll_listed(taken, most, each),
        }
    }

    /// The same, after this many were taken.
    #[cold]
    fn poll_listed(
        &self,
        mut taken: usize,
        most: usize,
        mut each: impl FnMut(usize, Completion),
    ) -> usize {
        let mut entries = lock(&self.entries);
        // The ring may have become full since it was found empty.
        while taken < most
            && let Some(completion) = self.ring.pop().or_else(|| Some(entries.list.pop_front()?.1))
        {
            each(taken, completion);
            taken += 1;
        }
        self.listed.store(entries.list.len(), Ordering::Release);
        taken
    }

    /// Requests an event for the next completion, or only for the next that is solicited or failed.
    pub fn arm(&self, solicited_only: bool) {
        let mut entries = lock(&self.entries);
        let wanted = if solicited_only { Armed::Solicited } else { Armed::Any };
        if entries.armed != Armed::Any {
            entries.armed = wanted;
        }
    }

    /// Changes the capacity. Returns false if there are more completions than that.
    pub fn resize(&self, capacity: usize) -> bool {
        let entries = lock(&self.entries);
        let fits = self.ring.len() + entries.list.len() <= capacity;
        if fits {
            self.capacity.store(capacity, Ordering::Relaxed);
        }
        fits
    }

    /// Removes the completions of a queue pair that is destroyed.
    pub fn forget(&self, queue_pair: u32) {
        let _turn = self.turn.as_ref().map(lock);
        let mut entries = lock(&self.entries);
        // A poll that finds the ring empty waits for its turn.
        self.listed.store(self.ring.len() + entries.list.len(), Ordering::Release);
        let listed = std::mem::take(&mut entries.list);
        let first = self.ring.taken().wrapping_add(entries.ahead);
        let all = (first..).zip(std::iter::from_fn(|| self.ring.pop())).chain(listed);
        entries.list = all.filter(|(_, one)| one.queue_pair != queue_pair).collect();
        self.listed.store(entries.list.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(id: u64, queue_pair: u32) -> Completion {
        Completion {
            id,
            status: Status::Success,
            opcode: 0,
            bytes: 0,
            immediate: None,
            queue_pair,
            solicited: false,
            sender: None,
        }
    }

    fn all(queue: &CompletionQueue, most: usize) -> Vec<u64> {
        let mut found = Vec::new();
        while queue.poll(most, |_, completion| found.push(completion.id)) > 0 {}
        found
    }

    #[test]
    fn the_order_stays_where_the_ring_is_full() {
        for queue in
            [CompletionQueue::new(1000, None), CompletionQueue::new(1000, None).for_one_thread()]
        {
            let push = |id: u64, pair: u32| queue.push(completion(id, pair));
            assert!((0..1000).all(|id| push(id, id as u32 % 2) == Ok(id as usize)));
            assert!(!queue.resize(999) && queue.resize(1001));
            assert_eq!(queue.taken(), 0);
            queue.forget(1);
            assert_eq!((queue.taken(), push(1000, 0)), (0, Ok(1000)));
            queue.forget(1);
            assert_eq!(all(&queue, 3), (0..=1000).step_by(2).collect::<Vec<u64>>());
            assert_eq!(queue.taken(), 1001);
            assert!((0..1001).all(|id| push(id, 0).is_ok()));
            assert_eq!(all(&queue, 7), (0..1001).collect::<Vec<u64>>());
            assert_eq!(queue.taken(), 2002);
        }
    }

    #[test]
    fn a_queue_that_lost_a_completion_takes_no_more() {
        let queue = CompletionQueue::new(2, None);
        let pushed = [0, 1, 2, 3].map(|id| queue.push(completion(id, 0)));
        let lost = |is_first| Err(Overrun { is_first });
        assert_eq!(pushed, [Ok(0), Ok(1), lost(true), lost(false)]);
        assert_eq!(all(&queue, 7), [0, 1]);
        assert_eq!(queue.push(completion(4, 0)), lost(false));
    }
}
