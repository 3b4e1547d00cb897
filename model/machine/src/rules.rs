//! The rules of the machine [RMW §D.1, Fig. 21], and what faults change in them.
//!
//! [`Transition`]s step the machine: [`Machine::slots`] reports which are enabled, and [`Machine::apply`]
//! takes one. An agent is a part of the machine that moves by itself.

use std::borrow::Cow;

use compiler::code::{Code, CompileError, Instruction, Operation, compile};
use compiler::plan::on_verbs;
use lang::Test;
use lang::outcome::{Observed, Outcome, Value};
use lang::program::{LocationId, WorkId};

use super::crash::survivors;
use super::fault::{Fault, FaultSet};
use super::footprint::{Private, bit};
use super::queue_pair::{ones, overtakes};
use super::reduce::long_from;
use super::rma::Rules;
use super::state::{Kind, KindSet, PairState, State, ThreadState};

/// The variants of the machine, one for each model that it implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// RDMA^TSO_RMW, with Poll.
    RdmaTso,
    /// RDMA^WAIT_RMW [RMW §3]: Wait(d) needs each earlier operation with id d to be complete, and no other:
    /// a put's remote write to have left the pipe (rule 3), a get's or RMW's local write to have
    /// reached memory (rule 8). This is what pfp and pfg say.
    RdmaWait,
    /// The implementation of Wait over the polls of RDMA^TSO_RMW [RMW §C.2], which has fewer outcomes: polls
    /// come in the order of the operations, so Wait(d) also waits for what was issued before them.
    RdmaWaitPolls,
    /// The CPU alone.
    Tso,
    /// coreRMA. It has a machine of its own (`rma.rs`).
    CoreRma(Rules),
    /// Sequential consistency: no store buffers. An RDMA operation's subevents happen one after another
    /// before the thread's next statement. The read and write of an RMW happen at once. Fences and Wait do
    /// nothing.
    Sc,
}

impl Variant {
    /// The variant that implements the model of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "rdma-tso" | "rdma-tso-rmw" => Self::RdmaTso,
            "rdma-wait" | "rdma-wait-rmw" => Self::RdmaWait,
            "rdma-wait-polls" => Self::RdmaWaitPolls,
            "tso" => Self::Tso,
            "sc" => Self::Sc,
            "corerma" => Self::CoreRma(Rules::Stock),
            "corerma-verbs" => Self::CoreRma(Rules::Verbs),
            "corerma-dmapp" => Self::CoreRma(Rules::SmallPuts),
            "corerma-atomic-rga" => Self::CoreRma(Rules::AtomicRga),
            _ => return None,
        })
    }

    /// Whether the instruction has a meaning in this variant.
    fn has(self, instruction: &Instruction) -> bool {
        match (self, instruction) {
            (Self::RdmaTso, Instruction::Wait(_))
            | (Self::RdmaWait | Self::RdmaWaitPolls, Instruction::Poll(_)) => false,
            (Self::Tso, instruction) => !matches!(
                instruction,
                Instruction::Issue { .. }
                    | Instruction::Receive { .. }
                    | Instruction::PollReceive { .. }
                    | Instruction::Poll(_)
                    | Instruction::Wait(_)
            ),
            (
                Self::Sc,
                Instruction::Receive { .. }
                | Instruction::PollReceive { .. }
                | Instruction::Issue {
                    operation:
                        Operation::Message { .. }
                        | Operation::AtomicWrite { .. }
                        | Operation::Flush { .. },
                    ..
                },
            ) => false,
            _ => true,
        }
    }
}

/// A part of the machine that moves by itself, with the index of its thread or queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// A thread's CPU: its next instruction.
    Cpu(usize),
    /// A thread's store buffer.
    StoreBuffer(usize),
    /// A queue pair's pipe.
    Pipe(usize),
    /// A queue pair's wbR.
    RemoteBuffer(usize),
    /// A queue pair's wbL.
    LocalBuffer(usize),
}

/// One step that the machine can take: an agent, and the entry of its queue that moves (0 for threads).
/// [`super::describe()`] describes it in words, given the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Transition {
    /// The agent that moves.
    pub agent: Agent,
    /// The position in the agent's queue, 0 for its head. It is less than [`QUEUE_LIMIT`]. For a CPU that
    /// polls several queue pairs, the place of the one that it takes a completion of in the list.
    pub slot: usize,
}

/// The effect of a step on the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The execution continues.
    Continue,
    /// An `assume` failed: the execution does not count.
    AssumeFailed,
    /// A queue would grow past [`QUEUE_LIMIT`]; the machine cannot go on.
    QueueFull,
}

/// The most entries of a store buffer, pipe, wbR or wbL. Sets of slots are 64-bit masks.
pub const QUEUE_LIMIT: usize = 64;

/// A program on a machine: everything that does not change during a run.
#[derive(Clone, Debug)]
pub struct Machine {
    pub(super) code: Code,
    pub(super) variant: Variant,
    pub(super) faults: FaultSet,
    pub(super) observed: Vec<Observed>,
    pub(super) initial: State,
    /// By kind, what an entry may overtake in a pipe.
    pub(super) overtakes: [KindSet; Kind::COUNT],
    /// By queue pair, the index of its node's lock in [`State::locks`].
    pub(super) lock: Vec<usize>,
    /// By queue pair, the thread that posts and polls receives of it.
    pub(super) receiver: Vec<Option<usize>>,
    /// By queue pair, the threads that may post to it or poll it: one, unless threads share it.
    pub(super) users: Vec<Vec<usize>>,
    /// By queue pair, the locations that receives of it name, as a mask.
    pub(super) buffers: Vec<u64>,
    /// By thread: for each id that the thread waits for, its first slot in [`State::awaited`]. The slots of
    /// the thread's queue pairs follow each other.
    pub(super) waits: Vec<Vec<(WorkId, usize)>>,
    /// From how many entries on a queue is long, for the reduced machine.
    pub(super) long_from: usize,
    /// Whether outcomes show what a crash of all nodes leaves in memory, at any moment.
    pub(super) crashes: bool,
    /// The locations that one part of the machine accesses alone.
    pub(super) private: Private,
    /// By thread, a location in which it counts the calls from which it has returned; for words.
    pub(super) clocks: Vec<LocationId>,
}

/// The test that this machine runs: a coreRMA test as it runs on verbs.
///
/// # Errors
/// Fails if the program is nested too deeply.
pub(super) fn in_requests(test: &Test) -> Result<Cow<'_, Test>, CompileError> {
    Ok(on_verbs(test)?.map_or(Cow::Borrowed(test), Cow::Owned))
}

impl Machine {
    /// The machine that runs a test's program.
    ///
    /// # Errors
    /// Fails if a statement has no operational meaning in this variant, or if the test observes copies of
    /// library objects.
    pub fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let code = compile(&test.program)?;
        check_variant(&code, variant)?;
        if let (Some(span), Variant::Tso | Variant::Sc) = (test.program.crash, variant) {
            let statement = "crash".to_owned();
            return Err(CompileError::Unsupported { span, statement });
        }
        if let (Some((_, span)), true) =
            (test.program.shared_queue_pair(), variant != Variant::RdmaTso)
        {
            let statement = "a queue pair that threads share".to_owned();
            return Err(CompileError::Unsupported { span, statement });
        }
        let observed: Vec<Observed> =
            test.observables.iter().map(|observable| observable.what).collect();
        if let Some(observable) =
            test.observables.iter().find(|observable| matches!(observable.what, Observed::Copy(..)))
        {
            let statement = observable.name.clone();
            return Err(CompileError::Unsupported { span: Default::default(), statement });
        }
        let (lock, locks) = number_locks(&code);
        let (waits, slots) = number_waits(&code);
        let initial = State {
            memory: test.program.locations.iter().map(|location| location.initial).collect(),
            registers: vec![0; test.program.registers.len()],
            threads: vec![ThreadState::default(); code.threads.len()],
            pairs: vec![PairState::default(); code.queue_pairs.len()],
            locks: vec![false; locks],
            awaited: vec![0; slots],
            survivors: survivors(test),
            unread: 0,
        };
        let overtakes = overtakes(faults);
        let (receiver, buffers) = receivers(&code);
        let users = users(&code);
        let mut machine = Self {
            code,
            variant,
            faults,
            observed,
            initial,
            overtakes,
            lock,
            receiver,
            users,
            buffers,
            waits,
            long_from: usize::MAX,
            crashes: test.program.crash.is_some(),
            private: Private::default(),
            clocks: Vec::new(),
        };
        machine.private = Private::of(&machine);
        machine.long_from = long_from(&machine);
        Ok(machine)
    }

    /// Whether threads share a queue pair.
    pub(super) fn is_shared(&self, pair: usize) -> bool {
        self.code.queue_pairs[pair].is_shared()
    }

    /// The thread whose calls a location counts.
    pub(super) fn clock(&self, location: LocationId) -> Option<usize> {
        self.clocks.iter().position(|clock| *clock == location)
    }

    /// The initial state of the program.
    pub fn initial(&self) -> &State {
        &self.initial
    }

    /// All agents, always in the same order.
    pub fn agents(&self) -> impl Iterator<Item = Agent> + use<> {
        let (threads, pairs) = (self.code.threads.len(), self.code.queue_pairs.len());
        (0..threads).flat_map(|thread| [Agent::Cpu(thread), Agent::StoreBuffer(thread)]).chain(
            (0..pairs).flat_map(|pair| {
                [Agent::Pipe(pair), Agent::RemoteBuffer(pair), Agent::LocalBuffer(pair)]
            }),
        )
    }

    /// The slots at which an agent can move in this state, one bit each.
    #[inline(always)]
    pub fn slots(&self, state: &State, agent: Agent) -> u64 {
        match agent {
            Agent::Cpu(thread) => self.cpu_slots(state, thread),
            Agent::StoreBuffer(thread) => self.buffer_slots(state, thread),
            Agent::Pipe(pair) => self.pipe_slots(state, pair),
            Agent::RemoteBuffer(pair) => {
                let pending = state.pairs[pair].remote.len();
                if self.faults.has(Fault::RemoteBufferNotFifo) {
                    ones(pending)
                } else {
                    u64::from(pending > 0)
                }
            }
            Agent::LocalBuffer(pair) => self.local_slots(state, pair),
        }
    }

    /// Takes an enabled transition.
    pub fn apply(&self, state: &mut State, transition: Transition) -> Effect {
        match transition.agent {
            Agent::Cpu(thread) => return self.cpu_step(state, thread, transition.slot),
            Agent::StoreBuffer(thread) => return self.buffer_step(state, thread, transition.slot),
            Agent::Pipe(pair) => return self.pipe_step(state, pair, transition.slot),
            Agent::RemoteBuffer(pair) => {
                let write = state.pairs[pair].remote.remove(transition.slot);
                if let Some(target) = write.target {
                    state.write(target, write.value, Some((pair, write.persists)));
                }
                state.pairs[pair].arrived.extend(write.completes);
                if write.atomic {
                    state.locks[self.lock[pair]] = false;
                }
            }
            Agent::LocalBuffer(pair) => self.local_step(state, pair, transition.slot),
        }
        Effect::Continue
    }

    /// Whether every thread is done and every queue is empty. Completion notices may be left.
    pub fn is_final(&self, state: &State) -> bool {
        let done = |(thread, code): (&ThreadState, &compiler::code::ThreadCode)| {
            thread.pc == code.instructions.len() && thread.buffer.is_empty()
        };
        state.threads.iter().zip(&self.code.threads).all(done)
            && state.pairs.iter().all(PairState::is_drained)
    }

    /// Whether the machine makes completion notices. Under `rdma-wait`, nothing polls them.
    pub(super) fn has_notices(&self) -> bool {
        self.variant != Variant::RdmaWait
    }

    /// Whether some instruction is a remote RMW.
    pub(super) fn has_remote_rmw(&self) -> bool {
        let mut all = self.code.threads.iter().flat_map(|thread| &thread.instructions);
        all.any(|instruction| {
            matches!(
                instruction,
                Instruction::Issue {
                    operation: Operation::Rcas { .. } | Operation::Rfaa { .. },
                    ..
                }
            )
        })
    }

    /// The values of the observables.
    pub fn outcome(&self, state: &State) -> Outcome {
        Outcome(self.observe(state).map(Value::of_word).collect())
    }

    /// The values of the observables, as numbers.
    pub(super) fn observe<'a>(&'a self, state: &'a State) -> impl Iterator<Item = u64> + 'a {
        self.observed.iter().map(|observed| match observed {
            Observed::Register(register) => state.registers[register.0],
            Observed::Location(location) => state.memory[location.0],
            Observed::Copy(..) => 0, // `new` lets no such observable pass
        })
    }
}

fn check_variant(code: &Code, variant: Variant) -> Result<(), CompileError> {
    for code in &code.threads {
        for (instruction, span) in code.instructions.iter().zip(&code.spans) {
            if !variant.has(instruction) {
                let statement = match instruction {
                    Instruction::Receive { .. } => "Recv",
                    Instruction::PollReceive { .. } => "PollRecv",
                    Instruction::Poll(_) => "Poll",
                    Instruction::Wait(_) => "Wait",
                    Instruction::Issue { operation, .. } => operation_name(operation),
                    _ => "statement",
                };
                let statement = statement.to_owned();
                return Err(CompileError::Unsupported { span: *span, statement });
            }
        }
    }
    Ok(())
}

/// For each queue pair, the thread that posts and polls receives of it, and the locations that they name.
fn receivers(code: &Code) -> (Vec<Option<usize>>, Vec<u64>) {
    let mut receiver = vec![None; code.queue_pairs.len()];
    let mut buffers = vec![0; code.queue_pairs.len()];
    for (thread, code) in code.threads.iter().enumerate() {
        for instruction in &code.instructions {
            match instruction {
                Instruction::Receive { queue_pair, buffer } => {
                    receiver[queue_pair.0] = Some(thread);
                    buffers[queue_pair.0] |= bit(buffer.0);
                }
                Instruction::PollReceive { queue_pair, .. } => {
                    receiver[queue_pair.0] = Some(thread);
                }
                _ => {}
            }
        }
    }
    (receiver, buffers)
}

/// For each queue pair, the threads that may post to it or poll it.
fn users(code: &Code) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); code.queue_pairs.len()];
    for (thread, code) in code.threads.iter().enumerate() {
        code.pairs().for_each(|pair| users[pair].push(thread));
    }
    users
}

/// The lock of each queue pair's node, and the number of locks.
fn number_locks(code: &Code) -> (Vec<usize>, usize) {
    let mut nodes: Vec<_> = code.queue_pairs.iter().map(|pair| pair.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let index = |node| nodes.binary_search(&node).unwrap_or_default();
    (code.queue_pairs.iter().map(|pair| index(pair.node)).collect(), nodes.len())
}

/// For each thread, the ids that it waits for with their first slots; and the number of slots.
fn number_waits(code: &Code) -> (Vec<Vec<(WorkId, usize)>>, usize) {
    let mut slots = 0;
    let mut all = Vec::new();
    for thread in &code.threads {
        let mut waits: Vec<(WorkId, usize)> = Vec::new();
        for instruction in &thread.instructions {
            if let Instruction::Wait(id) = instruction
                && waits.iter().all(|(known, _)| known != id)
            {
                waits.push((*id, slots));
                slots += thread.queue_pairs.len();
            }
        }
        all.push(waits);
    }
    (all, slots)
}

/// The name of an operation in programs and papers.
pub(super) fn operation_name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Put { .. } | Operation::PutValue { .. } => "put",
        Operation::Words { is_put: true, .. } => "put",
        Operation::Get { .. } | Operation::Words { .. } => "get",
        Operation::Rcas { .. } => "RCAS",
        Operation::Rfaa { .. } => "RFAA",
        Operation::Message { target: Some(_), .. } => "put with immediate",
        Operation::Message { target: None, .. } => "send",
        Operation::AtomicWrite { .. } => "AtomicWrite",
        Operation::Flush { is_persistent: false } => "Flush",
        Operation::Flush { is_persistent: true } => "Persist",
        Operation::Fence => "Rfence",
    }
}
