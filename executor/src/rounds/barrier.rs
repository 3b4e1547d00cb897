//! The barrier between rounds. Every thread tells every machine about its arrival by an RDMA write on a
//! separate queue pair, and spins on the memory of its own machine. The barrier waits for nothing on the
//! test's queue pairs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::thread::{End, Patience, Stop};
use crate::rdma::{Endpoint, Region, RegionKey, Request, RequestKind};

/// The distance between the words of two threads, in words: a cache line.
const LINE: usize = 8;
/// The words of each thread in a machine's region of arrivals: a line that peers write to, a line that the
/// thread sends from, and a line for meetings with the threads of its machine.
pub const ARRIVAL_WORDS: usize = 3 * LINE;
/// A time in which a cache line surely goes from one core to another.
const AGREED: Duration = Duration::from_nanos(400);
/// The most arrivals in flight.
pub const ARRIVAL_DEPTH: u32 = 64;

/// A thread's connection for telling another machine about its arrival.
pub struct Signal {
    endpoint: Box<dyn Endpoint>,
    remote: RegionKey,
    /// The most requests in flight.
    depth: u64,
    posted: u64,
}

impl Signal {
    /// A signal over an endpoint that is connected to a machine with this region of arrivals.
    pub fn new(endpoint: Box<dyn Endpoint>, remote: RegionKey, depth: u32) -> Self {
        Self { endpoint, remote, depth: depth.into(), posted: 0 }
    }
}

/// A thread's part of the barrier.
pub struct Barrier {
    thread: usize,
    /// The number of threads of the program.
    threads: usize,
    /// Those that have statements.
    busy: Vec<usize>,
    region: Arc<dyn Region>,
    /// Those of them that are on this machine.
    neighbors: Vec<usize>,
    signals: Vec<Signal>,
    arrivals: [u64; GATES],
    meetings: u64,
}

/// The threads that a barrier is for. Each kind of barrier has a word of its own in every thread's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Those that have statements: between rounds.
    Round,
    /// All of them: before a batch and after it.
    Batch,
}

/// How many kinds there are.
const GATES: usize = Gate::Batch as usize + 1;

impl Barrier {
    /// The part of the thread with this index among the threads of the program. `busy` have statements, and
    /// `neighbors` are those of them that are on the thread's machine.
    pub fn new(
        thread: usize,
        threads: usize,
        busy: Vec<usize>,
        neighbors: Vec<usize>,
        region: Arc<dyn Region>,
        signals: Vec<Signal>,
    ) -> Self {
        let arrivals = [0; GATES];
        Self { thread, threads, busy, neighbors, region, signals, arrivals, meetings: 0 }
    }

    /// Does not come to some meetings, which others have without it.
    pub(super) fn skip(&mut self, meetings: usize) {
        self.meetings += meetings as u64;
        let own = &self.region.words()[self.thread * ARRIVAL_WORDS + 2 * LINE];
        own.store(self.meetings, Ordering::Release);
    }

    /// Waits for the other threads of this machine, or only for some, without a request.
    /// Returns a time that all of them know and that is not over yet.
    ///
    /// Who sees that all are there sees it later than the last one that came, by the time in which a cache
    /// line goes from core to core, and that is longer than many programs take. So they agree on a time.
    pub(super) fn meet(
        &mut self,
        others: Option<&[usize]>,
        patience: &mut Patience<'_>,
        stop: &Stop<'_>,
    ) -> Result<Instant, End> {
        self.meetings += 1;
        let words = self.region.words();
        let of = |thread: usize| &words[thread * ARRIVAL_WORDS + 2 * LINE..];
        let own = of(self.thread);
        let now = stop.began.elapsed().as_nanos() as u64;
        own[1 + self.meetings as usize % 2].store(now, Ordering::Release);
        own[0].store(self.meetings, Ordering::Release);
        let mut last = now;
        for thread in others.unwrap_or(&self.neighbors) {
            let other = of(*thread);
            while other[0].load(Ordering::Acquire) < self.meetings {
                if let Some(silence) = patience.spin()? {
                    return Err(absent(*thread, silence));
                }
            }
            // A neighbor may be at the next meeting already, and not at the one after it.
            last = last.max(other[1 + self.meetings as usize % 2].load(Ordering::Acquire));
        }
        Ok(stop.began + Duration::from_nanos(last) + AGREED)
    }

    /// Whether all threads are on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.signals.is_empty()
    }

    /// Arrives, and waits until all threads of this gate have arrived.
    pub(super) fn arrive(&mut self, gate: Gate, stop: &Stop<'_>) -> Result<(), End> {
        let mut patience = Patience::at_barrier(stop).yielding();
        self.send(gate, stop)?;
        self.wait(gate, &mut patience)
    }

    /// Arrives before a batch and after it, for a thread without statements. It leaves the cores to the
    /// others: it sleeps in between. If one of them is on its machine, that one waits for the end, too, and
    /// this one need not.
    pub(super) fn sit_out(&mut self, stop: &Stop<'_>) -> Result<(), End> {
        for _ in 0..2 {
            self.send(Gate::Batch, stop)?;
            if self.neighbors.is_empty() {
                self.wait(Gate::Batch, &mut Patience::asleep(stop))?;
            }
        }
        Ok(())
    }

    fn send(&mut self, gate: Gate, stop: &Stop<'_>) -> Result<(), End> {
        let count = &mut self.arrivals[gate as usize];
        *count += 1;
        let own = self.thread * ARRIVAL_WORDS + gate as usize;
        let words = self.region.words();
        // Arrivals only grow, so it does no harm if the source is overwritten before it is sent.
        words[own + LINE].store(*count, Ordering::Release);
        words[own].store(*count, Ordering::Release);
        self.signals.iter_mut().try_for_each(|signal| signal.send(own, stop))
    }

    fn wait(&self, gate: Gate, patience: &mut Patience<'_>) -> Result<(), End> {
        let words = self.region.words();
        let has_arrived = |thread: usize| {
            let word = &words[thread * ARRIVAL_WORDS + gate as usize];
            word.load(Ordering::Acquire) >= self.arrivals[gate as usize]
        };
        let await_one = |thread: usize, patience: &mut Patience<'_>| {
            while !has_arrived(thread) {
                if let Some(silence) = patience.spin()? {
                    return Err(absent(thread, silence));
                }
            }
            Ok(())
        };
        match gate {
            Gate::Round => self.busy.iter().try_for_each(|thread| await_one(*thread, patience)),
            Gate::Batch => (0..self.threads).try_for_each(|thread| await_one(thread, patience)),
        }
    }
}

fn absent(thread: usize, silence: Duration) -> End {
    let (number, seconds) = (thread + 1, silence.as_secs());
    End::Hang(format!("thread {number} has not come to the barrier for {seconds} s"))
}

impl Signal {
    fn send(&mut self, own: usize, stop: &Stop<'_>) -> Result<(), End> {
        let mut patience = Patience::new(stop);
        self.endpoint.poll()?;
        // Places are taken from the first request under way.
        while self.posted - self.endpoint.done().first() >= self.depth {
            if patience.spin()?.is_some() {
                return Err(End::Hang("the queue pair of the barrier does not drain".to_owned()));
            }
            self.endpoint.poll()?;
        }
        let remote = (self.remote.address + 8 * own as u64, self.remote.key);
        let request = Request::plain(RequestKind::Write, own + LINE, 1, remote);
        self.endpoint.post(&request)?;
        self.posted += 1;
        Ok(())
    }
}
