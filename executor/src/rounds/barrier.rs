//! The barrier between rounds. Every thread tells every machine about its arrival by an RDMA write on a
//! separate queue pair, and spins on the memory of its own machine. The barrier waits for nothing on the
//! test's queue pairs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::thread::{End, Patience, Stop};
use crate::rdma::{Endpoint, RdmaError, Region, RegionKey, Request, RequestKind};

/// The distance between the words of two threads, in words: a cache line.
const LINE: usize = 8;
/// The words of each thread in a machine's region of arrivals: a line that peers write to, and a line that
/// the thread sends from.
pub const ARRIVAL_WORDS: usize = 2 * LINE;
/// The most arrivals in flight.
const DEPTH: u64 = 64;

/// A thread's connection for telling another machine about its arrival.
pub struct Signal {
    endpoint: Box<dyn Endpoint>,
    remote: RegionKey,
    posted: u64,
    completed: u64,
}

impl Signal {
    /// A signal over an endpoint that is connected to a machine with this region of arrivals.
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
    /// The part of the thread with this index among all threads of the program.
    pub fn new(
        thread: usize,
        threads: usize,
        region: Arc<dyn Region>,
        signals: Vec<Signal>,
    ) -> Self {
        Self { thread, threads, region, signals, arrivals: 0 }
    }

    /// Whether all threads are on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.signals.is_empty()
    }

    /// Arrives, and waits until all threads have arrived.
    pub(super) fn arrive(&mut self, stop: &Stop<'_>) -> Result<(), End> {
        self.arrivals += 1;
        let own = self.thread * ARRIVAL_WORDS;
        let words = self.region.words();
        // Arrivals only grow, so it does no harm if the source is overwritten before it is sent.
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
