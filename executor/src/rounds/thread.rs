//! One thread of a program: interprets its code, and posts its requests.

mod connection;
mod fold;
mod instance;
mod receiver;
mod shared;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use compiler::code::Instruction;
use compiler::plan::{FinalPlace, Plan};
use lang::mutex::lock;
use lang::program::{NodeId, ThreadId};
use model::machine::Random;

use super::backlog::Backlog;
use super::barrier::Gate;
use super::pace::{self, Pace};
use super::{Barrier, Batch, Layout, Parameters};
use crate::rdma::{RdmaError, Region};
use instance::How;

/// The reason why a batch ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The batch was stopped.
    Stopped,
    /// A request or a call failed.
    Failed(RdmaError),
    /// Something did not happen within the time limit.
    Hang(String),
}

impl From<RdmaError> for End {
    fn from(error: RdmaError) -> Self {
        Self::Failed(error)
    }
}

/// The reason why a wait ended in vain.
pub(super) enum Halt {
    /// That of the batch.
    End(End),
    /// What the instance waits for may never come.
    GivenUp,
}

impl From<End> for Halt {
    fn from(end: End) -> Self {
        Self::End(end)
    }
}

impl From<RdmaError> for Halt {
    fn from(error: RdmaError) -> Self {
        Self::End(End::Failed(error))
    }
}

impl From<Halt> for End {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::End(end) => end,
            Halt::GivenUp => Self::Hang("an instance was given up outside of its time".to_owned()),
        }
    }
}

/// The conditions that end every wait.
#[derive(Clone, Copy)]
pub struct Stop<'a> {
    /// If this is set, all waits end.
    pub flag: &'a AtomicBool,
    /// The most time to wait for something that must happen.
    pub limit: Duration,
    /// The most time to wait at a barrier for other threads, which may themselves still wait for each other.
    pub barrier_limit: Duration,
    /// Whether waiting threads must yield the CPU, because there are more threads than cores.
    pub crowded: bool,
    /// When the batch began on this machine.
    pub began: Instant,
    /// The longest round trip to another node that a thread of this machine has measured, in ns.
    pub round_trip: &'a AtomicU64,
}

/// A wait with a time limit.
pub(super) struct Patience<'a> {
    stop: &'a Stop<'a>,
    limit: Duration,
    /// Whether it sleeps between two looks.
    sleeps: bool,
    /// After this many spins, it lets others have the core.
    turn: u32,
    /// After this many spins, it looks at the time.
    look: u32,
    spins: u32,
    since: Option<Instant>,
}

/// How many round trips are measured before a batch. The shortest one counts.
const MEASURED: u32 = 3;

/// How long a thread sleeps that only waits for the end of a batch.
const NAP: Duration = Duration::from_micros(50);

/// How often a wait spins before it checks the time.
const SPINS: u32 = 256;
/// How often it spins before it checks a time that may be short: a poll of a NIC in software takes 0.1 ms.
const FEW_LOOKS: u32 = 8;
/// How often it spins before it lets others have the core, if it yields soon.
const FEW_SPINS: u32 = 64;

impl<'a> Patience<'a> {
    pub(super) fn new(stop: &'a Stop<'a>) -> Self {
        Self {
            stop,
            limit: stop.limit,
            sleeps: false,
            turn: SPINS,
            look: SPINS,
            spins: 0,
            since: None,
        }
    }

    /// A wait of an instance for what may never come.
    pub(super) fn within(limit: Duration, stop: &'a Stop<'a>) -> Self {
        Self { limit, look: FEW_LOOKS, ..Self::new(stop) }
    }

    /// A wait at a barrier.
    pub(super) fn at_barrier(stop: &'a Stop<'a>) -> Self {
        Self { limit: stop.barrier_limit, ..Self::new(stop) }
    }

    /// A wait for the end of a batch, by a thread that does nothing else. The others have limits of their
    /// own.
    pub(super) fn asleep(stop: &'a Stop<'a>) -> Self {
        Self { limit: Duration::MAX, sleeps: true, ..Self::new(stop) }
    }

    /// The same, but it soon lets others have the core: those that it waits for, or a NIC in software.
    pub(super) fn yielding(self) -> Self {
        Self { turn: FEW_SPINS, ..self }
    }

    /// Waits a little. Returns the total time if it exceeds the limit.
    #[inline]
    pub(super) fn spin(&mut self) -> Result<Option<Duration>, End> {
        self.spins += 1;
        if self.sleeps {
            std::thread::sleep(NAP);
            return if self.stop.flag.load(Ordering::Relaxed) {
                Err(End::Stopped)
            } else {
                Ok(None)
            };
        }
        if self.stop.crowded {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        if self.spins.is_multiple_of(self.turn) {
            std::thread::yield_now();
        }
        if !self.spins.is_multiple_of(self.look) {
            return Ok(None);
        }
        if self.stop.flag.load(Ordering::Relaxed) {
            return Err(End::Stopped);
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        Ok((waited > self.limit).then_some(waited))
    }
}

/// A thread of the program, with everything that it needs to run.
pub struct ThreadRun {
    /// The thread's number in the program.
    pub id: ThreadId,
    /// The plan of the program.
    pub plan: Arc<Plan>,
    /// The parameters of the run.
    pub parameters: Parameters,
    /// The memory of its node.
    pub region: Arc<dyn Region>,
    /// The layout of that memory.
    pub layout: Layout,
    /// Its connections, in the order of [`compiler::code::ThreadCode::queue_pairs`].
    pub connections: Vec<Connection>,
    /// Those that it shares with other threads, in the order of [`compiler::code::ThreadCode::shared`].
    pub shared: Vec<Arc<Mutex<SharedConnection>>>,
    /// The queue pairs of others that it receives from.
    pub receivers: Vec<Receiver>,
    /// Its part of the barrier between rounds.
    pub barrier: Barrier,
    /// The threads of its machine, if they run each other's code.
    pub fold: Option<Arc<Fold>>,
}

/// The observed registers of a thread, in the order of the observables.
fn observed(plan: &Plan, id: ThreadId) -> Vec<usize> {
    let of_thread = |place: &FinalPlace| match place {
        FinalPlace::Register(thread, register) if *thread == id => Some(register.0),
        _ => None,
    };
    plan.observed.iter().filter_map(of_thread).collect()
}

/// The results of a thread in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadResult {
    /// How each instance ended: an `Ending` as a number.
    pub ends: Vec<u8>,
    /// For each instance, the values of the thread's observed registers, in the order of the observables.
    pub registers: Vec<u64>,
}

impl ThreadRun {
    /// The node that the thread runs on.
    pub fn node(&self) -> NodeId {
        self.plan.code.threads[self.id.0].node
    }

    /// Whether there is anything for it to do.
    pub fn is_busy(&self) -> bool {
        self.plan.is_busy(self.id.0)
    }

    /// Runs a batch. A thread with nothing to do only waits for its end.
    ///
    /// # Errors
    /// The reason why the batch did not finish.
    pub fn run(&mut self, batch: &Batch, stop: &Stop<'_>) -> Result<ThreadResult, End> {
        let plan = Arc::clone(&self.plan);
        if !self.is_busy() {
            self.barrier.sit_out(stop)?;
            let instances = batch.slots_by_round().map(|round| round.len()).sum();
            return Ok(ThreadResult {
                ends: vec![Ending::Finished as u8; instances],
                registers: Vec::new(),
            });
        }
        let observed = observed(&plan, self.id);
        let stream = batch.number * 64 + self.id.0 as u64 + 1;
        let mut random = Random::stream(batch.seed ^ 0x7472_6561_6473, stream);
        let mut result = ThreadResult::default();
        let mut scratch = instance::Scratch::new(&plan, self.id);
        let mut backlog = (self.parameters.backlog > 0).then(|| Backlog::new(&mut random));
        let mut given_up = 0;
        let places = self.meeting_places();
        self.shared.iter().for_each(|shared| lock(shared).begin());
        // A batch that was stopped may have left something.
        self.collect(&mut ThreadResult::default());
        self.barrier.arrive(Gate::Batch, stop)?;
        let spread = self.spread(stop)?;
        // The same numbers for all threads of this machine.
        let mut common = Random::stream(batch.seed ^ 0x7374_6570, batch.number);
        for round in batch.slots_by_round() {
            if random.below(100) < self.parameters.flush {
                self.flush(round);
            }
            self.barrier.arrive(Gate::Round, stop)?;
            self.collect(&mut result);
            let pace = self.pace(&places, spread, (&mut common, &mut random), stop);
            let has_backlog = pace.later || random.below(100) < self.parameters.backlog;
            let mut backlog = backlog.as_mut().filter(|_| has_backlog);
            if let Some(backlog) = &mut backlog {
                backlog.draw(&mut random);
            }
            if let Some(groups) = self.fold.as_ref().and_then(|fold| fold.draw(&mut common)) {
                self.folded(round, &groups, (&mut scratch, &mut random), backlog, stop)?;
                continue;
            }
            pace::wait(pace.start, stop.crowded);
            for slot in round {
                // After several instances that were given up, the thread probably waits for something that
                // never comes, so it waits less.
                let patience = match given_up < 3 {
                    true => self.parameters.patience(),
                    false => Duration::from_millis(1),
                };
                let backlog = backlog.as_deref_mut();
                let how = How { thread: self.id, pace, spread, random: &mut random, backlog };
                let end = self.instance(*slot, &mut scratch, how, stop, patience)?;
                given_up += u32::from(end == Ending::GivenUp);
                result.ends.push(end as u8);
                result.registers.extend(observed.iter().map(|at| scratch.registers[*at]));
            }
        }
        let scratch = self.layout.scratch();
        // Also of those that it shares: each thread for what it has posted itself.
        self.each_connection(|_, connection| connection.drain(scratch, stop))?;
        std::sync::atomic::fence(Ordering::SeqCst);
        self.barrier.arrive(Gate::Batch, stop)?;
        self.collect(&mut result);
        Ok(result)
    }

    /// Draws how the thread runs a round. `common` has the same numbers for all threads of
    /// this machine.
    fn pace(
        &self,
        places: &[usize],
        spread: u32,
        (common, random): (&mut Random, &mut Random),
        stop: &Stop<'_>,
    ) -> Pace {
        // Neighbors must agree on this, so it does not depend on what each has measured.
        let is_spread = self.parameters.spread != Some(0);
        let in_step = pace::is_in_step(common, !self.plan.requests.is_empty());
        let later = pace::meet_later(common);
        if !(in_step && is_spread) || stop.crowded {
            return Pace::draw(spread, self.parameters.delay, random);
        }
        let place = places.get(random.below(places.len().max(1) as u32) as usize);
        let meets = Some(place.copied().filter(|_| later).unwrap_or(0));
        Pace { meets, later, ..Pace::draw(0, self.parameters.delay, random) }
    }

    /// The longest delay of this batch, in ns. A thread without connections takes what the others of its
    /// machine have measured; if it is alone there, the time of a barrier.
    fn spread(&mut self, stop: &Stop<'_>) -> Result<u32, End> {
        if let Some(spread) = self.parameters.spread {
            return Ok(spread);
        }
        let mut shortest = None;
        for _ in 0..MEASURED {
            let began = Instant::now();
            let scratch = self.layout.scratch();
            self.each_connection(|_, connection| connection.round_trip(scratch, stop))?;
            let measured = self.connections.len() + self.shared.len();
            let time = began.elapsed() / measured.max(1) as u32;
            shortest = Some(shortest.map_or(time, |shortest: Duration| shortest.min(time)));
        }
        let nanoseconds = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() as u64);
        stop.round_trip.fetch_max(nanoseconds(shortest), Ordering::Relaxed);
        self.barrier.arrive(Gate::Round, stop)?;
        let began = Instant::now();
        self.barrier.arrive(Gate::Round, stop)?;
        let across = if self.barrier.is_local() { Duration::ZERO } else { began.elapsed() };
        let measured = Duration::from_nanos(stop.round_trip.load(Ordering::Relaxed));
        let polls = |code: &compiler::code::ThreadCode| {
            use Instruction::{Poll, PollReceive, Wait};
            let is_wait =
                |one: &&Instruction| matches!(one, Poll(_) | Wait(_) | PollReceive { .. });
            code.instructions.iter().filter(is_wait).count()
        };
        let waits = self.plan.code.threads.iter().map(polls).max().unwrap_or(0);
        Ok(pace::spread(measured.max(across), waits))
    }

    /// Where accesses of the CPU begin, at the start or after requests and polls: the thread comes there once
    /// in every instance, and waits for no other thread before that.
    fn meeting_places(&self) -> Vec<usize> {
        use Instruction::{Assume, Issue, Jump, JumpIfZero, Poll, PollReceive, Receive, Wait};
        let code = &self.plan.code.threads[self.id.0].instructions;
        let receives = self.connections.iter().any(Connection::has_receives);
        let depends = receives || !self.shared.is_empty() || !self.receivers.is_empty();
        let goes_on = |one: &Instruction| match one {
            Jump(_) | JumpIfZero { .. } | Assume(_) | PollReceive { .. } | Receive { .. } => false,
            Issue { .. } | Poll(_) | Wait(_) => !depends,
            _ => true,
        };
        let straight = code.iter().take_while(|one| goes_on(one)).count();
        let is_access = |at: usize| !matches!(code[at], Issue { .. } | Poll(_) | Wait(_));
        (0..straight).filter(|at| is_access(*at) && (*at == 0 || !is_access(*at - 1))).collect()
    }

    /// Does something with each connection, its own and then those that it shares, by its place among them.
    fn each_connection<E>(
        &mut self,
        mut act: impl FnMut(usize, &mut Connection) -> Result<(), E>,
    ) -> Result<(), E> {
        for (place, connection) in self.connections.iter_mut().enumerate() {
            act(place, connection)?;
        }
        for (at, shared) in self.shared.iter().enumerate() {
            act(self.connections.len() + at, &mut lock(shared).connection)?;
        }
        Ok(())
    }

    fn flush(&self, slots: &[u32]) {
        for slot in slots {
            for word in 0..self.plan.words(self.node()).len() {
                self.region.flush(self.layout.word(*slot, word));
            }
        }
    }
}

pub use connection::Connection;
pub use fold::Fold;
pub use instance::Ending;
pub use receiver::{Receiver, receives_at_once};
pub use shared::SharedConnection;
