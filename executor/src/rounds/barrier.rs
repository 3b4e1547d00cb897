//! The barrier between rounds: every thread tells every machine where it is, by an RDMA write on a queue pair of its
//! own, and spins on its own machine's memory. Nothing of the test's queue pairs is waited for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::thread::{End, Patience, Stop};
use crate::rdma::{Endpoint, RdmaError, Region, RegionKey, Request, RequestKind};

/// How far apart the words of two threads are.
const LINE: usize = 8;
/// Words that each thread has in a machine's region of arrivals: one that peers write, and one that it sends from.
pub const ARRIVAL_WORDS: usize = 2 * LINE;
/// How many arrivals may be under way.
const DEPTH: u64 = 64;

/// A thread's way to tell another machine that it has arrived.
pub struct Signal {
    endpoint: Box<dyn Endpoint>,
    remote: RegionKey,
    posted: u64,
    completed: u64,
}

impl Signal {
    /// By an endpoint that is connected to a machine with that region of arrivals.
    pub fn new(endpoint: Box<dyn Endpoint>, remote: RegionKey) -> Self {
        Self { endpoint, remote, posted: 0, completed: 0 }
    }
}

/// A thread's part of the barrier.
pub struct Barrier {
    thread: usize,
    threads: usize,
    region: Arc<dyn Region>,
    signals: Vec<Signal>,
    arrivals: u64,
}

impl Barrier {
    /// The part of a thread, by its index among all threads of the program.
    pub fn new(
        thread: usize,
        threads: usize,
        region: Arc<dyn Region>,
        signals: Vec<Signal>,
    ) -> Self {
        Self { thread, threads, region, signals, arrivals: 0 }
    }

    /// Arrives, and waits until all threads have.
    pub(super) fn arrive(&mut self, stop: &Stop<'_>) -> Result<(), End> {
        self.arrivals += 1;
        let own = self.thread * ARRIVAL_WORDS;
        let words = self.region.words();
        // Arrivals only grow, so a source that is overwritten before it is sent tells no lie.
        words[own + LINE].store(self.arrivals, Ordering::Release);
        words[own].store(self.arrivals, Ordering::Release);
        for signal in &mut self.signals {
            signal.send(own, stop)?;
        }
        let mut patience = Patience::at_barrier(stop);
        for thread in 0..self.threads {
            while words[thread * ARRIVAL_WORDS].load(Ordering::Acquire) < self.arrivals {
                if let Some(silence) = patience.spin()? {
                    return Err(End::Hang(format!(
                        "thread {} has not come to the barrier for {} s",
                        thread + 1,
                        silence.as_secs()
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Signal {
    fn send(&mut self, own: usize, stop: &Stop<'_>) -> Result<(), End> {
        let mut patience = Patience::new(stop);
        self.reap()?;
        while self.posted - self.completed >= DEPTH {
            if patience.spin()?.is_some() {
                return Err(End::Hang("the queue pair of the barrier does not drain".to_owned()));
            }
            self.reap()?;
        }
        let request = Request {
            kind: RequestKind::Write,
            local: own + LINE,
            words: 1,
            remote: (self.remote.address + 8 * own as u64, self.remote.key),
            fence: false,
            inline: false,
        };
        self.endpoint.post(&request)?;
        self.posted += 1;
        Ok(())
    }

    fn reap(&mut self) -> Result<(), RdmaError> {
        self.completed += self.endpoint.poll()? as u64;
        Ok(())
    }
}
