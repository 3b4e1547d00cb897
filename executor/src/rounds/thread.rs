//! One thread of a program: an interpreter of its code over posted requests.

mod instance;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use compiler::plan::{Place, Plan};
use lang::program::{NodeId, ThreadId};
use model::machine::Random;

use super::{Barrier, Batch, Layout, Parameters};
use crate::rdma::{Endpoint, RdmaError, Region, RegionKey, Request, RequestKind};

/// Why a batch ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It was told to.
    Stopped,
    /// A request or a call failed.
    Failed(RdmaError),
    /// Something did not happen for too long.
    Hang(String),
}

impl From<RdmaError> for End {
    fn from(error: RdmaError) -> Self {
        Self::Failed(error)
    }
}

/// What every wait looks at.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// When this is set, all waits end.
    pub flag: &'a AtomicBool,
    /// How long to wait for what must happen.
    pub limit: Duration,
    /// How long to wait at a barrier for threads that may still wait for each other.
    pub barrier_limit: Duration,
    /// Whether threads must leave the CPU to each other while they wait.
    pub crowded: bool,
}

/// A wait that may take too long.
pub(super) struct Patience<'a> {
    stop: &'a Stop<'a>,
    limit: Duration,
    spins: u32,
    since: Option<Instant>,
}

/// How many times a wait looks before it asks for the time.
const SPINS: u32 = 256;

impl<'a> Patience<'a> {
    pub(super) fn new(stop: &'a Stop<'a>) -> Self {
        Self { stop, limit: stop.limit, spins: 0, since: None }
    }

    /// At a barrier.
    pub(super) fn at_barrier(stop: &'a Stop<'a>) -> Self {
        Self { limit: stop.barrier_limit, ..Self::new(stop) }
    }

    /// Waits a little; the time that it took in all, if that was too long.
    #[inline]
    pub(super) fn spin(&mut self) -> Result<Option<Duration>, End> {
        self.spins += 1;
        if self.stop.crowded {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        if !self.spins.is_multiple_of(SPINS) {
            return Ok(None);
        }
        if self.stop.flag.load(Ordering::Relaxed) {
            return Err(End::Stopped);
        }
        std::thread::yield_now();
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        Ok((waited > self.limit).then_some(waited))
    }
}

/// The requesting end of a queue pair of the test.
pub struct Connection {
    endpoint: Box<dyn Endpoint>,
    remote: RegionKey,
    layout: Layout,
    depth: u64,
    /// How many requests were posted, and how many of them have completed: they complete in order.
    posted: u64,
    completed: u64,
    fence_next: bool,
    /// The oldest request of this instance that is not polled.
    unpolled: u64,
}

impl Connection {
    /// A connected endpoint that leads to a node's region with that layout.
    pub fn new(endpoint: Box<dyn Endpoint>, remote: RegionKey, layout: Layout, depth: u32) -> Self {
        let depth = u64::from(depth);
        Self {
            endpoint,
            remote,
            layout,
            depth,
            posted: 0,
            completed: 0,
            fence_next: false,
            unpolled: 0,
        }
    }

    fn reap(&mut self) -> Result<(), RdmaError> {
        self.completed += self.endpoint.poll()? as u64;
        Ok(())
    }

    /// Waits until so many requests have completed.
    fn wait(&mut self, count: u64, stop: &Stop<'_>) -> Result<(), End> {
        let mut patience = Patience::new(stop);
        while self.completed < count {
            self.reap()?;
            if self.completed < count
                && let Some(silence) = patience.spin()?
            {
                return Err(End::Hang(format!(
                    "no completion for {} s, {} requests under way",
                    silence.as_secs(),
                    self.posted - self.completed
                )));
            }
        }
        Ok(())
    }

    fn post(&mut self, request: &Request, stop: &Stop<'_>) -> Result<(), End> {
        if self.posted - self.completed >= self.depth {
            self.wait(self.posted + 1 - self.depth, stop)?;
        }
        self.endpoint.post(request)?;
        self.posted += 1;
        Ok(())
    }
}

/// Waits until everything that was posted has completed and is in memory: the response to a last read pushes all
/// earlier writes before it.
fn drain(connection: &mut Connection, scratch: usize, stop: &Stop<'_>) -> Result<(), End> {
    let remote = connection.remote.address + 8 * connection.layout.scratch() as u64;
    let request = Request {
        kind: RequestKind::Read,
        local: scratch,
        words: 1,
        remote: (remote, connection.remote.key),
        fence: false,
        inline: false,
    };
    connection.post(&request, stop)?;
    connection.wait(connection.posted, stop)
}

/// A thread with all it needs.
pub struct ThreadRun {
    /// Which thread of the program.
    pub id: ThreadId,
    /// The program.
    pub plan: Arc<Plan>,
    /// How to run it.
    pub parameters: Parameters,
    /// Its node's words.
    pub region: Arc<dyn Region>,
    /// How they lie.
    pub layout: Layout,
    /// Its queue pairs, in the order of [`compiler::code::ThreadCode::queue_pairs`].
    pub connections: Vec<Connection>,
    /// Its part of the barrier.
    pub barrier: Barrier,
}

/// What a thread saw in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadResult {
    /// Per instance.
    pub ends: Vec<u8>,
    /// Instance by instance, the values of the observed registers of the thread in the order of the observables.
    pub registers: Vec<u64>,
}

impl ThreadRun {
    /// The node it runs on.
    pub fn node(&self) -> NodeId {
        self.plan.code.threads[self.id.0].node
    }

    /// Runs a batch. `done` counts instances as they end.
    ///
    /// # Errors
    /// Why it could not be finished.
    pub fn run(
        &mut self,
        batch: &Batch,
        stop: &Stop<'_>,
        done: &AtomicU64,
    ) -> Result<ThreadResult, End> {
        let plan = Arc::clone(&self.plan);
        let observed: Vec<usize> = plan
            .observed
            .iter()
            .filter_map(|place| match place {
                Place::Register(thread, register) if *thread == self.id => Some(register.0),
                _ => None,
            })
            .collect();
        let stream = batch.number * 64 + self.id.0 as u64 + 1;
        let mut random = Random::stream(batch.seed ^ 0x7472_6561_6473, stream);
        let mut result = ThreadResult::default();
        let mut scratch = instance::Scratch::new(&plan, self.id);
        let mut given_up = 0;
        for round in batch.slots.chunks(self.parameters.instances as usize) {
            if random.below(100) < self.parameters.flush {
                self.flush(round);
            }
            self.barrier.arrive(stop)?;
            for slot in round {
                // A thread that has given up often waits for what will not come.
                let patience = if given_up < 3 {
                    self.parameters.patience()
                } else {
                    Duration::from_millis(1)
                };
                let end = self.instance(*slot, &mut scratch, &mut random, stop, patience)?;
                given_up += u32::from(end == Ending::GivenUp);
                result.ends.push(end as u8);
                result.registers.extend(observed.iter().map(|at| scratch.registers[*at]));
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        for connection in &mut self.connections {
            drain(connection, self.layout.scratch(), stop)?;
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        self.barrier.arrive(stop)?;
        Ok(result)
    }

    fn flush(&self, slots: &[u32]) {
        for slot in slots {
            for word in 0..self.plan.words(self.node()).len() {
                self.region.flush(self.layout.word(*slot, word));
            }
        }
    }
}

pub use instance::Ending;
