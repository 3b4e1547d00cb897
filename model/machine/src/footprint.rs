//! Computes what the rest of a thread's code may still touch, once for each program.
//!
//! Sets of locations, locks, queue pairs and registers are 64-bit masks; an index uses the bit `index % 64`.
//! Indices that share a bit are in a set together. This is safe, because every use allows sets that are too
//! large; but those of [`Private`] may be too small only.

use compiler::code::{Instruction, MessageSource, Operation, ThreadCode};
use lang::Test;
use lang::outcome::Observed;
use lang::program::{Register, RegisterId};

use super::requests::{Stage, Stages};
use super::rules::Machine;
use super::state::State;

/// Locations that are touched, and other things whose accesses have an order that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Access {
    pub reads: u64,
    pub writes: u64,
    /// Locks and queue pairs: two accesses with a bit in common conflict. See [`locking`], [`posting`] and
    /// [`polling`]; bits may be shared.
    pub others: u64,
}

/// What a thread may still do from some instruction on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Future {
    /// What its own instructions touch, and the operations that they issue.
    pub access: Access,
    /// The same without what operations touch when they have left the CPU.
    pub own: Access,
    /// The queue pairs that it may poll.
    pub polls: u64,
    /// The queue pairs that it may post to.
    pub posts: u64,
    /// Whether something may come to its store buffer, or wait until that is empty.
    pub needs_buffer: bool,
    /// The registers whose current value it may use.
    pub live: u64,
    /// The registers that it may assign to.
    pub assigned: u64,
}

impl Future {
    /// The registers that it may use or assign to.
    fn named(&self) -> u64 {
        self.live | self.assigned
    }
}

/// The [`Future`]s of a program, and what its outcomes show.
#[derive(Clone, Debug)]
pub(super) struct Footprints {
    /// By thread and instruction. The last entry of a thread is for its end.
    futures: Vec<Vec<Future>>,
    /// By thread.
    requests: Vec<Requests>,
    /// The observed locations.
    pub observed: u64,
    /// By register, the thread it belongs to.
    thread_of: Vec<usize>,
    /// By thread, its registers.
    registers: Vec<Registers>,
}

/// Registers of a thread, as masks.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    all: u64,
    /// Those that outcomes show.
    observed: u64,
}

/// What a thread may still post.
#[derive(Clone, Debug)]
struct Requests {
    /// The thread's queue pairs.
    pairs: Vec<usize>,
    /// By instruction and queue pair, what the operations touch.
    stages: Vec<Stages>,
}

/// The bit that stands for an index.
pub(super) fn bit(index: usize) -> u64 {
    1 << (index % 64)
}

/// Taking a lock, for [`Access::others`].
pub(super) fn locking(lock: usize) -> u64 {
    bit(3 * lock)
}

/// Posting to a queue pair, for [`Access::others`]: 0 unless threads share it.
pub(super) fn posting(machine: &Machine, pair: usize) -> u64 {
    if machine.is_shared(pair) { bit(3 * pair + 1) } else { 0 }
}

/// Polling a queue pair, in the same way.
pub(super) fn polling(machine: &Machine, pair: usize) -> u64 {
    if machine.is_shared(pair) { bit(3 * pair + 2) } else { 0 }
}

/// The indices of the set bits of a mask, lowest first.
pub(super) fn indices(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(index)
    })
}

impl Access {
    pub fn union(self, other: Self) -> Self {
        Self {
            reads: self.reads | other.reads,
            writes: self.writes | other.writes,
            others: self.others | other.others,
        }
    }

    /// Whether the order of the two accesses can matter, if only the values of `relevant` locations do.
    pub fn conflicts(self, other: Self, relevant: u64) -> bool {
        let writes = self.writes & relevant & (other.reads | other.writes);
        let reads = self.reads & relevant & other.writes;
        (writes | reads | self.others & other.others) != 0
    }
}

impl Footprints {
    /// The footprints of a test's program on a machine.
    pub fn of(test: &Test, machine: &Machine) -> Self {
        let owner = |register: &Register| register.thread.0;
        let thread_of: Vec<usize> = test.program.registers.iter().map(owner).collect();
        let mut registers = vec![Registers::default(); machine.code.threads.len()];
        for (register, thread) in thread_of.iter().enumerate() {
            registers[*thread].all |= bit(register);
        }
        let mut observed = 0;
        for what in &machine.observed {
            match what {
                Observed::Location(location) => observed |= bit(location.0),
                Observed::Register(register) => {
                    registers[thread_of[register.0]].observed |= bit(register.0);
                }
                Observed::Copy(..) => {}
            }
        }
        let exact = thread_of.len() <= 64;
        let threads = machine.code.threads.iter();
        let (futures, requests) = threads.map(|thread| futures(thread, machine, exact)).unzip();
        Self { futures, requests, observed, thread_of, registers }
    }

    /// The registers whose values still matter: those that a thread may use, and observed ones. With
    /// `keeps_past`, observed ones that nothing assigns to any more are kept elsewhere.
    pub fn live(&self, state: &State, keeps_past: bool) -> u64 {
        self.by_thread(state).fold(0, |all, (Registers { all: own, observed }, future)| {
            let open = if keeps_past { future.assigned } else { u64::MAX };
            all | own & future.live | observed & open
        })
    }

    /// Whether the rest of its thread names some observed register.
    pub fn names_observed(&self, state: &State) -> bool {
        self.by_thread(state)
            .any(|(Registers { observed, .. }, future)| observed & future.named() != 0)
    }

    /// Whether the rest of its thread names a register.
    pub fn names(&self, state: &State, register: RegisterId) -> bool {
        let thread = self.thread_of[register.0];
        self.future(thread, state.threads[thread].pc).named() & bit(register.0) != 0
    }

    fn by_thread(&self, state: &State) -> impl Iterator<Item = (Registers, &Future)> {
        let threads = state.threads.iter().zip(&self.registers).enumerate();
        threads.map(|(index, (thread, own))| (*own, self.future(index, thread.pc)))
    }

    pub fn future(&self, thread: usize, pc: usize) -> &Future {
        &self.futures[thread][pc]
    }

    /// By queue pair, what operations touch that the thread posts there from an instruction on.
    pub fn requests(&self, thread: usize, pc: usize) -> impl Iterator<Item = (usize, &Stages)> {
        let Requests { pairs, stages } = &self.requests[thread];
        pairs.iter().copied().zip(&stages[pc * pairs.len()..])
    }
}

/// The least solution of "a future is the instruction's part and its successors' futures".
fn futures(thread: &ThreadCode, machine: &Machine, exact: bool) -> (Vec<Future>, Requests) {
    let end = thread.instructions.len();
    let mut futures = vec![Future::default(); end + 1];
    let mut requests = Requests { pairs: thread.pairs().collect(), stages: Vec::new() };
    requests.stages = vec![Stages::default(); (end + 1) * requests.pairs.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..end).rev() {
            let instruction = &thread.instructions[pc];
            let next = match instruction {
                Instruction::Jump(target) => [*target; 2],
                Instruction::JumpIfZero { target, .. } => [pc + 1, *target],
                _ => [pc + 1; 2],
            };
            let (one, other) = (futures[next[0]], futures[next[1]]);
            let mut future = Future {
                access: one.access.union(other.access),
                own: one.own.union(other.own),
                polls: one.polls | other.polls,
                posts: one.posts | other.posts,
                needs_buffer: one.needs_buffer || other.needs_buffer,
                live: one.live | other.live,
                assigned: one.assigned | other.assigned,
            };
            add(&mut future, instruction, thread, machine, exact);
            changed |= future != futures[pc];
            futures[pc] = future;
            changed |= requests.add(machine, instruction, pc, next);
        }
    }
    (futures, requests)
}

impl Requests {
    /// Whether what is known changes.
    fn add(
        &mut self,
        machine: &Machine,
        instruction: &Instruction,
        pc: usize,
        next: [usize; 2],
    ) -> bool {
        let count = self.pairs.len();
        let mut changed = false;
        for (at, pair) in self.pairs.iter().enumerate() {
            let mut stages =
                self.stages[next[0] * count + at].union(&self.stages[next[1] * count + at]);
            if let Instruction::Issue { queue_pair, operation, .. } = instruction
                && queue_pair.0 == *pair
            {
                stages = stages.union(&Stages::of_operation(machine, *pair, operation));
            }
            changed |= stages != self.stages[pc * count + at];
            self.stages[pc * count + at] = stages;
        }
        changed
    }
}

fn add(
    future: &mut Future,
    instruction: &Instruction,
    thread: &ThreadCode,
    machine: &Machine,
    exact: bool,
) {
    let mut define = |register: Option<RegisterId>| {
        let Some(register) = register else { return };
        future.assigned |= bit(register.0);
        // An assignment ends a register's life only if no other register shares its bit.
        if exact {
            future.live &= !bit(register.0);
        }
    };
    let operands = match instruction {
        Instruction::Assign { register, value } => {
            define(Some(*register));
            vec![value]
        }
        Instruction::Read { register, .. } => {
            define(Some(*register));
            vec![]
        }
        Instruction::PollReceive { register, .. } => {
            define(*register);
            vec![]
        }
        Instruction::Cas { register, expected, desired, .. } => {
            define(*register);
            vec![expected, desired]
        }
        Instruction::Faa { register, addend, .. } => {
            define(*register);
            vec![addend]
        }
        Instruction::Exchange { register, value, .. } => {
            define(*register);
            vec![value]
        }
        Instruction::Write { value, .. } | Instruction::Assume(value) => vec![value],
        Instruction::JumpIfZero { condition, .. } => vec![condition],
        Instruction::Issue { operation, .. } => match operation {
            Operation::PutValue { value, .. } => vec![value],
            Operation::Rcas { expected, desired, .. } => vec![expected, desired],
            Operation::Rfaa { addend, .. } => vec![addend],
            Operation::AtomicWrite { value, .. } => vec![value],
            Operation::Message { source, immediate, .. } => {
                let source = match source {
                    MessageSource::Value(value) => Some(value),
                    MessageSource::Location(_) => None,
                };
                source.into_iter().chain(immediate).collect()
            }
            Operation::Put { .. }
            | Operation::Get { .. }
            | Operation::Words { .. }
            | Operation::Flush { .. }
            | Operation::Fence => vec![],
        },
        Instruction::Fence
        | Instruction::Receive { .. }
        | Instruction::Poll(_)
        | Instruction::Wait(_)
        | Instruction::Jump(_) => vec![],
    };
    for register in operands.into_iter().flat_map(|operand| operand.registers()) {
        future.live |= bit(register.0);
    }
    future.polls |= match instruction {
        Instruction::Poll(pairs) => pairs.iter().fold(0, |all, pair| all | bit(pair.0)),
        Instruction::Wait(_) => thread.queue_pairs.clone().fold(0, |all, pair| all | bit(pair)),
        _ => 0,
    };
    if let Instruction::Issue { queue_pair, .. } = instruction {
        future.posts |= bit(queue_pair.0);
    }
    future.needs_buffer |= matches!(
        instruction,
        Instruction::Write { .. }
            | Instruction::Cas { .. }
            | Instruction::Faa { .. }
            | Instruction::Exchange { .. }
            | Instruction::Fence
            | Instruction::Issue { .. }
            | Instruction::Receive { .. }
    );
    let access = access(instruction, machine);
    future.access = future.access.union(access);
    let own = match instruction {
        Instruction::Issue { queue_pair, .. } => {
            Access { others: posting(machine, queue_pair.0), ..Access::default() }
        }
        _ => access,
    };
    future.own = future.own.union(own);
}

/// Which locations one part of the machine accesses alone, as masks. A location is in a mask only if all that
/// share its bit could be.
#[derive(Clone, Debug, Default)]
pub(super) struct Private {
    /// Those that nothing but the CPU of one thread accesses.
    pub to_cpu: u64,
    /// By queue pair, those that nothing reads and only its remote writes write.
    pub to_remote: Vec<u64>,
    /// By queue pair, those that nothing reads and only its local writes write.
    pub to_local: Vec<u64>,
    /// Those that nothing writes.
    pub constant: u64,
}

impl Private {
    pub fn of(machine: &Machine) -> Self {
        let mut by_cpu = vec![0; machine.code.threads.len()];
        let (mut read_by_nic, mut written) = (0, 0);
        let mut to_remote = vec![0; machine.code.queue_pairs.len()];
        let mut to_local = to_remote.clone();
        for (thread, code) in machine.code.threads.iter().enumerate() {
            for instruction in &code.instructions {
                let Instruction::Issue { queue_pair, operation, .. } = instruction else {
                    let Access { reads, writes, .. } = access(instruction, machine);
                    by_cpu[thread] |= reads | writes;
                    written |= writes;
                    continue;
                };
                let stages = Stages::of_operation(machine, queue_pair.0, operation);
                let (all, local) = (stages.all(), stages.get(Stage::LocalWrite).writes);
                read_by_nic |= all.reads;
                to_local[queue_pair.0] |= local;
                to_remote[queue_pair.0] |= all.writes & !local;
                written |= all.writes;
            }
        }
        let (mut any, mut several) = (read_by_nic, 0);
        for part in by_cpu.iter().chain(&to_remote).chain(&to_local) {
            several |= any & part;
            any |= part;
        }
        let all = to_remote.iter_mut().chain(&mut to_local);
        all.for_each(|part| *part &= !several);
        let to_cpu = by_cpu.iter().fold(0, |all, part| all | part) & !several;
        Self { to_cpu, to_remote, to_local, constant: !written }
    }
}

/// What an instruction touches, including the operation that it issues.
pub(super) fn access(instruction: &Instruction, machine: &Machine) -> Access {
    let none = Access::default();
    match instruction {
        Instruction::Read { location, .. } => Access { reads: bit(location.0), ..none },
        Instruction::Write { location, .. } => Access { writes: bit(location.0), ..none },
        Instruction::Cas { location, .. }
        | Instruction::Faa { location, .. }
        | Instruction::Exchange { location, .. } => {
            Access { reads: bit(location.0), writes: bit(location.0), ..none }
        }
        Instruction::Issue { queue_pair, operation, .. } => {
            let stages = Stages::of_operation(machine, queue_pair.0, operation);
            let Access { reads, writes, others } = stages.all();
            Access { reads, writes, others: others | posting(machine, queue_pair.0) }
        }
        Instruction::Poll(pairs) => {
            let others = pairs.iter().fold(0, |all, one| all | polling(machine, one.0));
            Access { others, ..none }
        }
        Instruction::Assign { .. }
        | Instruction::Fence
        | Instruction::Receive { .. }
        | Instruction::PollReceive { .. }
        | Instruction::Wait(_)
        | Instruction::Jump(_)
        | Instruction::JumpIfZero { .. }
        | Instruction::Assume(_) => none,
    }
}
