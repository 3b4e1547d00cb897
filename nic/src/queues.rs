//! The queues between a program and its NIC: completions, receive requests, send requests, and events.

mod completions;
mod ring;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ffi::Bell;
use crate::request::{Completion, ReceiveRequest, SendRequest};

pub use completions::{CompletionQueue, Overrun};

/// Locks a mutex even if another thread has panicked: every use leaves the guarded data valid.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A queue of events: for a completion channel, or for a context's asynchronous events.
pub struct Channel<T> {
    /// The counter that programs wait on.
    pub bell: Bell,
    waiting: Mutex<VecDeque<T>>,
}

impl<T> Channel<T> {
    /// A channel without events.
    pub fn new(bell: Bell) -> Self {
        Self { bell, waiting: Mutex::new(VecDeque::new()) }
    }

    /// Adds an event.
    pub fn tell(&self, event: T) {
        lock(&self.waiting).push_back(event);
        self.bell.ring();
    }

    /// The next event. The caller has read the bell once for it.
    pub fn next(&self) -> Option<T> {
        lock(&self.waiting).pop_front()
    }

    /// Removes events, and what the bell counts for them.
    pub fn forget(&self, gone: impl Fn(&T) -> bool) {
        let mut waiting = lock(&self.waiting);
        let before = waiting.len();
        waiting.retain(|event| !gone(event));
        // A thread that has read the bell for one of them, and has not asked for it yet, has taken its place.
        (waiting.len()..before).for_each(|_| self.bell.take_back());
    }
}

/// Receive requests of one queue pair, or shared ones.
pub struct Receives {
    requests: Mutex<VecDeque<ReceiveRequest>>,
    /// The most requests in the queue.
    pub capacity: usize,
    /// The most pieces of a request.
    pub pieces: u32,
    /// A shared queue reports when it has fewer requests than this; 0 means never.
    pub limit: AtomicU32,
    /// The number of the protection domain of a shared queue, from which several queue pairs take requests.
    /// `None`: it belongs to one queue pair, whose domain counts.
    pub domain: Option<u32>,
}

impl Receives {
    /// An empty queue.
    pub fn new(capacity: usize, pieces: u32, domain: Option<u32>) -> Self {
        let limit = AtomicU32::new(0);
        Self { requests: Mutex::new(VecDeque::new()), capacity, pieces, limit, domain }
    }

    /// Whether several queue pairs take requests from the queue.
    pub fn is_shared(&self) -> bool {
        self.domain.is_some()
    }

    /// Adds a request. Returns false if the queue is full.
    pub fn post(&self, request: ReceiveRequest) -> bool {
        let mut requests = lock(&self.requests);
        let fits = requests.len() < self.capacity;
        if fits {
            requests.push_back(request);
        }
        fits
    }

    /// Takes the oldest request. Also returns whether the number of requests has just fallen below the limit.
    pub fn take(&self) -> Option<(ReceiveRequest, bool)> {
        let mut requests = lock(&self.requests);
        let request = requests.pop_front()?;
        let limit = self.limit.load(Ordering::Relaxed);
        let passed = limit > 0 && requests.len() < limit as usize;
        if passed {
            self.limit.store(0, Ordering::Relaxed);
        }
        Some((request, passed))
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        lock(&self.requests).is_empty()
    }

    /// Takes all requests.
    pub fn take_all(&self) -> VecDeque<ReceiveRequest> {
        std::mem::take(&mut *lock(&self.requests))
    }
}

/// Send requests that were posted, and that the NIC has not taken yet.
///
/// A request has its place until the program has taken its completion, or that of a later request, from the
/// completion queue. So a program that never asks for completions, or never polls, finds the queue full.
pub struct Sends {
    posted: Mutex<Posted>,
    capacity: usize,
    /// Where completions go.
    completions: Arc<CompletionQueue>,
    /// The completions that are not known to be taken: the number of each in its queue, and that of its
    /// request.
    told: Mutex<VecDeque<(usize, u64)>>,
}

/// Requests, by their numbers since the last reset.
#[derive(Default)]
struct Posted {
    waiting: VecDeque<SendRequest>,
    /// How many were posted.
    count: u64,
    /// How many of them have given their places back.
    freed: u64,
}

impl Sends {
    /// An empty queue.
    pub fn new(capacity: usize, completions: Arc<CompletionQueue>) -> Self {
        Self { posted: Mutex::default(), capacity, completions, told: Mutex::default() }
    }

    /// Adds all requests, or none if there is not enough room; then returns false.
    pub fn post(&self, requests: Vec<SendRequest>) -> bool {
        let mut posted = lock(&self.posted);
        let fits = |posted: &Posted| {
            let used = posted.count.saturating_sub(posted.freed);
            used + requests.len() as u64 <= self.capacity as u64
        };
        if !fits(&posted) {
            self.reclaim(&mut posted);
        }
        if !fits(&posted) {
            return false;
        }
        posted.count += requests.len() as u64;
        posted.waiting.extend(requests);
        true
    }

    /// Takes at most `most` posted requests.
    pub fn take(&self, most: usize) -> Vec<SendRequest> {
        let mut posted = lock(&self.posted);
        let taken = most.min(posted.waiting.len());
        posted.waiting.drain(..taken).collect()
    }

    /// Adds the completion of the request with this number to the queue.
    ///
    /// # Errors
    /// It was lost.
    pub fn complete(&self, request: u64, completion: Completion) -> Result<(), Overrun> {
        // Whoever takes the completion may post at once, and then waits here.
        let mut told = lock(&self.told);
        let number = self.completions.push(completion)?;
        told.push_back((number, request));
        Ok(())
    }

    /// Frees the places of requests whose completions the program has taken, and of those before them.
    fn reclaim(&self, posted: &mut Posted) {
        let taken = self.completions.taken();
        let mut told = lock(&self.told);
        while let Some((number, request)) = told.front().copied()
            && number < taken
        {
            posted.freed = posted.freed.max(request + 1);
            told.pop_front();
        }
    }

    /// Removes all requests.
    pub fn clear(&self) {
        let mut posted = lock(&self.posted);
        *posted = Posted::default();
        lock(&self.told).clear();
    }
}
