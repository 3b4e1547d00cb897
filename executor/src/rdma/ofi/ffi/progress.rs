//! A thread that lets providers work which only do so in calls: they serve a peer's requests while this
//! process reads a completion queue, and not while it waits for its own memory.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lang::mutex::lock;

use super::sys;

/// How long the thread sleeps if there is nothing to work on, or somebody wants to change that.
const NAP: Duration = Duration::from_micros(50);

/// A completion queue, which its endpoint closes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Completions(pub(super) NonNull<sys::FidCq>);

// SAFETY: any thread may read it (FI_THREAD_SAFE), as long as it is in the list of `Progress`.
unsafe impl Send for Completions {}

/// The thread and what it works on. Dropping it ends the thread.
pub struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Vec<Completions>>,
    /// How many want to change the list.
    waiting: AtomicUsize,
    over: AtomicBool,
}

impl Progress {
    /// Starts the thread, if the provider does not work by itself.
    pub fn new(is_needed: bool) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("litmus-progress".to_owned());
        let thread = if is_needed { Some(builder.spawn(move || own.work())?) } else { None };
        Ok(Self { shared, thread })
    }

    /// Works on a queue from now on.
    pub fn add(&self, queue: Completions) {
        self.shared.change(|queues| queues.push(queue));
    }

    /// Works no longer on a queue. When this returns, nobody does.
    pub fn remove(&self, queue: Completions) {
        self.shared.change(|queues| queues.retain(|known| *known != queue));
    }
}

impl Shared {
    fn change(&self, how: impl FnOnce(&mut Vec<Completions>)) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        how(&mut lock(&self.queues));
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }

    fn work(&self) {
        while !self.over.load(Ordering::Acquire) {
            let queues = lock(&self.queues);
            for Completions(queue) in queues.iter() {
                let queue = queue.as_ptr();
                // SAFETY: it is open, since its endpoint removes it from the list first. Nothing is taken, so
                // there is no place for it.
                unsafe { ((*(*queue).ops).read)(queue, null_mut(), 0) };
            }
            let is_idle = queues.is_empty() || self.waiting.load(Ordering::Acquire) > 0;
            drop(queues);
            if is_idle {
                std::thread::sleep(NAP);
            } else {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
