//! The queues between a program and its NIC: completions, receive requests, send requests, and who is woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ffi::Bell;
use crate::request::{Completion, ReceiveRequest, SendRequest, Status};

/// Locks, whatever has happened to another thread: each use leaves what it guards whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who is told of events, one at a time: a completion channel, or a context's asynchronous events.
pub struct Channel<T> {
    /// What programs wait on.
    pub bell: Bell,
    waiting: Mutex<VecDeque<T>>,
}

impl<T> Channel<T> {
    /// A channel without events.
    pub fn new(bell: Bell) -> Self {
        Self { bell, waiting: Mutex::new(VecDeque::new()) }
    }

    /// Tells an event.
    pub fn tell(&self, event: T) {
        lock(&self.waiting).push_back(event);
        self.bell.ring();
    }

    /// The next event. The bell has been heard once for it.
    pub fn next(&self) -> Option<T> {
        lock(&self.waiting).pop_front()
    }

    /// Forgets events.
    pub fn forget(&self, gone: impl Fn(&T) -> bool) {
        lock(&self.waiting).retain(|event| !gone(event));
    }
}

/// What the next completion rings for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    No,
    Solicited,
    Any,
}

struct Entries {
    list: VecDeque<Completion>,
    armed: Armed,
}

/// A completion queue.
pub struct CompletionQueue {
    entries: Mutex<Entries>,
    count: AtomicUsize,
    capacity: AtomicUsize,
    overrun: AtomicBool,
    /// Where events go, and the program's object that they name.
    channel: Option<(std::sync::Arc<Channel<usize>>, usize)>,
}

impl CompletionQueue {
    /// An empty queue.
    pub fn new(capacity: usize, channel: Option<(std::sync::Arc<Channel<usize>>, usize)>) -> Self {
        Self {
            entries: Mutex::new(Entries { list: VecDeque::new(), armed: Armed::No }),
            count: AtomicUsize::new(0),
            capacity: AtomicUsize::new(capacity),
            overrun: AtomicBool::new(false),
            channel,
        }
    }

    /// Adds a completion; false if the queue overran just now.
    pub fn push(&self, completion: Completion) -> bool {
        let mut entries = lock(&self.entries);
        if entries.list.len() >= self.capacity.load(Ordering::Relaxed) {
            return self.overrun.swap(true, Ordering::Relaxed);
        }
        entries.list.push_back(completion);
        self.count.store(entries.list.len(), Ordering::Release);
        let wakes = match entries.armed {
            Armed::No => false,
            Armed::Any => true,
            Armed::Solicited => completion.solicited || completion.status != Status::Success,
        };
        if wakes {
            entries.armed = Armed::No;
            if let Some((channel, object)) = &self.channel {
                channel.tell(*object);
            }
        }
        true
    }

    /// Takes at most `most` completions.
    pub fn poll(&self, most: usize, mut each: impl FnMut(usize, Completion)) -> usize {
        if self.count.load(Ordering::Acquire) == 0 {
            return 0;
        }
        let mut entries = lock(&self.entries);
        let taken = most.min(entries.list.len());
        for (index, completion) in entries.list.drain(..taken).enumerate() {
            each(index, completion);
        }
        self.count.store(entries.list.len(), Ordering::Release);
        taken
    }

    /// Asks for an event at the next completion, or at the next that is solicited or failed.
    pub fn arm(&self, solicited_only: bool) {
        let mut entries = lock(&self.entries);
        let wanted = if solicited_only { Armed::Solicited } else { Armed::Any };
        if entries.armed != Armed::Any {
            entries.armed = wanted;
        }
    }

    /// Changes how many completions there may be; false if there are more.
    pub fn resize(&self, capacity: usize) -> bool {
        let fits = lock(&self.entries).list.len() <= capacity;
        if fits {
            self.capacity.store(capacity, Ordering::Relaxed);
        }
        fits
    }

    /// Forgets the completions of a queue pair that is no more.
    pub fn forget(&self, queue_pair: u32) {
        let mut entries = lock(&self.entries);
        entries.list.retain(|completion| completion.queue_pair != queue_pair);
        self.count.store(entries.list.len(), Ordering::Release);
    }
}

/// Receive requests: of one queue pair, or shared.
pub struct Receives {
    requests: Mutex<VecDeque<ReceiveRequest>>,
    /// The most requests.
    pub capacity: usize,
    /// The most pieces of a request.
    pub pieces: u32,
    /// A shared queue tells when it has fewer requests than this; 0 for never.
    pub limit: AtomicU32,
    /// Whether several queue pairs take from it.
    pub shared: bool,
}

impl Receives {
    /// An empty queue.
    pub fn new(capacity: usize, pieces: u32, shared: bool) -> Self {
        let limit = AtomicU32::new(0);
        Self { requests: Mutex::new(VecDeque::new()), capacity, pieces, limit, shared }
    }

    /// Adds a request; false if there is no room.
    pub fn post(&self, request: ReceiveRequest) -> bool {
        let mut requests = lock(&self.requests);
        let fits = requests.len() < self.capacity;
        if fits {
            requests.push_back(request);
        }
        fits
    }

    /// The oldest request, and whether the limit was passed with it.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        lock(&self.requests).is_empty()
    }

    /// Takes all.
    pub fn take_all(&self) -> VecDeque<ReceiveRequest> {
        std::mem::take(&mut *lock(&self.requests))
    }
}

/// Send requests that were posted and are not yet seen by the NIC.
pub struct Sends {
    posted: Mutex<VecDeque<SendRequest>>,
    /// Requests that have not completed.
    used: AtomicUsize,
    capacity: usize,
}

impl Sends {
    /// An empty queue.
    pub fn new(capacity: usize) -> Self {
        Self { posted: Mutex::new(VecDeque::new()), used: AtomicUsize::new(0), capacity }
    }

    /// Adds requests, all or none; false if there is no room.
    pub fn post(&self, requests: Vec<SendRequest>) -> bool {
        let mut posted = lock(&self.posted);
        if self.used.load(Ordering::Relaxed) + requests.len() > self.capacity {
            return false;
        }
        self.used.fetch_add(requests.len(), Ordering::Relaxed);
        posted.extend(requests);
        true
    }

    /// Takes what was posted.
    pub fn take(&self, most: usize) -> Vec<SendRequest> {
        let mut posted = lock(&self.posted);
        let taken = most.min(posted.len());
        posted.drain(..taken).collect()
    }

    /// A request has completed.
    pub fn release(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }

    /// Forgets all.
    pub fn clear(&self) {
        lock(&self.posted).clear();
        self.used.store(0, Ordering::Relaxed);
    }
}
