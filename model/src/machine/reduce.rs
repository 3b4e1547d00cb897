//! The reduced machine: fewer transitions, the same terminal states.
//!
//! Every path of the reduced machine is a path of the machine of [`super::rules`], so it has no outcome too
//! many. That it has none too few is argued here. Only *terminal* states matter (outcomes and deadlocks are
//! terminal; an execution whose `assume` failed never counts again), so what follows need only keep those.
//!
//! # Steps taken at once
//!
//! [`Reduction::settle`] takes, without looking for alternatives, steps that touch no memory, that no other
//! step can disable for good, that disable nothing, and that lead to the same state whether they come before or
//! after any other sequence of steps. Then every way from here to a terminal state contains the step
//! and can be permuted so that it comes first. These are:
//!
//! - assignments, jumps, and `assume`s that hold;
//! - a CPU write or an RDMA operation entering the store buffer: it is appended, and only the head leaves;
//! - an RDMA operation going from the head of the store buffer to its pipe: it is appended, and whether a
//!   pipe entry may move depends on earlier entries only;
//! - `Mfence` on an empty store buffer, which only the same thread could fill; Poll and Wait that find their
//!   notice, which nobody else takes;
//! - rule 2 for a put of a value: wbL can fill in between (rule 7), but it drains again before
//!   the program can end, and the value read is the same;
//! - rule 5: the ack blocks only what cannot overtake it, and `cn` blocks nothing;
//! - rules 3 and 12 if no get ahead in the pipe has still to read: all that needs an empty wbR and is
//!   ahead has happened, and what is behind could not have overtaken the write;
//! - rule 1 with rules 5 and 7 for all that stands before the rfence, if those are acks and local writes
//!   to do. Rule 7 disables rule 2 (until rule 8), but no put can be before the rfence any more and those
//!   behind it could not move. Local writes reach memory in the same order by rule 8 as by the step below.
//!
//! # Steps taken together
//!
//! - Rules 3 (or 12) and 4 are one step if a get ahead has still to read. Between them, rule 3 would only
//!   make that get wait and let later writes of the pipe enter wbR behind this one; no poll, ack or rfence gets
//!   past the get. So rule 3 may as well happen just before its rule 4, when wbR is empty.
//! - Rules 7 and 8 are one step unless an rfence leaves in between (which the last point above does).
//!   Between them, acks and local writes behind this one could leave the pipe, but no poll succeeds past
//!   the pending write and puts cannot read. So rule 7 may as well happen just before its rule 8.
//!
//! # Fewer interleavings
//!
//! What is left are the steps that touch memory. From a settled state, [`Reduction::choose`] picks a *stubborn
//! set* (Valmari): some enabled steps such that no other part of the machine can, without one of them, ever
//! do something whose order with one of them matters. It starts from an enabled step and closes: an enabled
//! step brings in every [`Part`] of the machine whose remaining accesses conflict with it; a part that is
//! not enabled brings in one other part that must move before it can. Following only a stubborn
//! set's steps reaches all terminal states, cycles or not.
//!
//! Accesses conflict if they touch one location, one of them writes, and the location's value still matters; remote
//! RMWs to one node conflict by the lock. A thread's own reads and its buffered writes do not: the read gets
//! the newest buffered value before and after the write leaves, if nobody else writes there. Nothing in the
//! thread's future overtakes the head of its store buffer in any other way.
//!
//! Faulty machines break what this rests on; they are explored without reduction.

use compiler::code::Instruction;

use super::encode::item_reads;
use super::footprint::{Access, Footprints, bit};
use super::rules::{Agent, Effect, Machine, Transition, Variant};
use super::state::{Item, Kind, KindSet, LocalEntry, Source, State};

/// How many steps of one thread are taken at once before the state is looked at: a loop that touches no
/// memory never ends.
const THREAD_STEPS: usize = 4096;

/// What settling a state came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Only steps that touch memory are left.
    Yes,
    /// A thread may be in a loop that touches no memory; there is more to settle.
    NotYet,
    /// `assume` failed.
    AssumeFailed,
    /// A queue is full.
    QueueFull,
}

/// A part of the machine that can take one step at a time, and what it may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    transition: Transition,
    status: Status,
    /// What its next step touches.
    now: Access,
    /// What it may touch from here to the end.
    later: Access,
    /// For a store buffer, the same of its RDMA operations alone.
    operations: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Enabled,
    /// That part must move first.
    WaitsFor(usize),
    /// It never moves again.
    Stuck,
}

/// The parts of one state, and room to work in.
#[derive(Default)]
pub(super) struct Reduction {
    parts: Vec<Part>,
    /// By queue pair, the index of the part of its wbR; wbL and the pipe's entries follow.
    first: Vec<usize>,
    inside: Vec<bool>,
    todo: Vec<usize>,
    set: Vec<usize>,
    best: Vec<usize>,
}

/// What takes note of every step.
pub(super) type Log<'a> = &'a mut dyn FnMut(&State, Transition);

impl Machine {
    /// Takes all steps that can be taken at once.
    pub(super) fn settle(&self, state: &mut State, log: Log<'_>) -> Settled {
        let mut moved = true;
        while moved {
            moved = false;
            for thread in 0..state.threads.len() {
                match self.settle_thread(state, thread, log) {
                    Ok(steps) => moved |= steps > 0,
                    Err(settled) => return settled,
                }
            }
            for pair in 0..state.pairs.len() {
                while let Some(slot) = self.settled_slot(state, pair) {
                    moved = true;
                    let transition = Transition { agent: Agent::Pipe(pair), slot };
                    log(state, transition);
                    if self.apply(state, transition) == Effect::QueueFull {
                        return Settled::QueueFull;
                    }
                }
            }
        }
        Settled::Yes
    }

    fn settle_thread(
        &self,
        state: &mut State,
        thread: usize,
        log: Log<'_>,
    ) -> Result<usize, Settled> {
        let mut steps = 0;
        loop {
            let agent = if self.is_silent(state, thread) && self.cpu_enabled(state, thread) {
                Agent::Cpu(thread)
            } else if let Some(entry) = state.threads[thread].buffer.first()
                && !matches!(entry.item, Item::Write { .. })
            {
                Agent::StoreBuffer(thread)
            } else {
                return Ok(steps);
            };
            let transition = Transition { agent, slot: 0 };
            log(state, transition);
            match self.apply(state, transition) {
                Effect::Continue => {}
                Effect::AssumeFailed => return Err(Settled::AssumeFailed),
                Effect::QueueFull => return Err(Settled::QueueFull),
            }
            steps += 1;
            if steps >= THREAD_STEPS {
                return Err(Settled::NotYet);
            }
        }
    }

    /// Whether the thread's next instruction touches no memory.
    fn is_silent(&self, state: &State, thread: usize) -> bool {
        match self.next_instruction(state, thread) {
            None
            | Some(Instruction::Read { .. } | Instruction::Cas { .. } | Instruction::Faa { .. }) => {
                false
            }
            Some(Instruction::Write { .. }) => self.variant != Variant::Sc,
            Some(_) => true,
        }
    }

    /// An entry of the pipe whose step can be taken at once.
    fn settled_slot(&self, state: &State, pair: usize) -> Option<usize> {
        let queues = &state.pairs[pair];
        let mut ahead: KindSet = 0;
        for (slot, entry) in queues.pipe.iter().enumerate() {
            let kind = entry.item.kind();
            let free = ahead & !self.overtakes[kind as usize] == 0;
            let now = match entry.item {
                Item::Put { source: Source::Value(_), .. } => free && queues.local.is_empty(),
                Item::RemoteWrite { .. } | Item::AtomicWrite { .. } => {
                    free && ahead & Kind::Get.bit() == 0 && self.variant != Variant::Sc
                }
                Item::Ack => free,
                // If only acks and local writes are before it, they go first, from the head.
                Item::Fence if ahead & !(Kind::Ack.bit() | Kind::LocalWrite.bit()) == 0 => {
                    return Some(0);
                }
                _ => false,
            };
            if now {
                return Some(slot);
            }
            ahead |= kind.bit();
        }
        None
    }

    /// Takes a step that touches memory, from a settled state.
    pub(super) fn apply_part(&self, state: &mut State, part: &Part, log: Log<'_>) -> Effect {
        let mut step = |state: &mut State, transition| {
            log(state, transition);
            self.apply(state, transition)
        };
        let buffer = match part.transition.agent {
            Agent::Pipe(pair) if self.variant != Variant::Sc => {
                match state.pairs[pair].pipe[part.transition.slot].item {
                    Item::RemoteWrite { .. } | Item::AtomicWrite { .. } => {
                        Some(Agent::RemoteBuffer(pair))
                    }
                    Item::LocalWrite { .. } => Some(Agent::LocalBuffer(pair)),
                    _ => None,
                }
            }
            _ => None,
        };
        let effect = step(state, part.transition);
        match (effect, buffer) {
            (Effect::Continue, Some(agent)) => step(state, Transition { agent, slot: 0 }),
            _ => effect,
        }
    }
}

impl Reduction {
    /// Looks at a settled state; whether any step is enabled.
    pub fn look(&mut self, machine: &Machine, footprints: &Footprints, state: &State) -> bool {
        self.first.clear();
        let mut next = 2 * state.threads.len();
        for pair in &state.pairs {
            self.first.push(next);
            next += 2 + pair.pipe.len();
        }
        self.parts.clear();
        for thread in 0..state.threads.len() {
            self.parts.push(self.cpu(machine, footprints, state, thread));
        }
        for thread in 0..state.threads.len() {
            self.parts.push(store_buffer(machine, state, thread));
        }
        for pair in 0..state.pairs.len() {
            self.pair(machine, state, pair);
        }
        self.parts.iter().any(|part| part.status == Status::Enabled)
    }

    /// Every enabled step.
    pub fn all(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts.iter().filter(|part| part.status == Status::Enabled).copied()
    }

    /// The steps of a small stubborn set; empty only if no step is enabled.
    pub fn choose(&mut self, footprints: &Footprints) -> impl Iterator<Item = Part> + '_ {
        let reads = self.parts.iter().fold(0, |reads, part| reads | part.later.reads);
        let relevant = footprints.observed | reads;
        self.best.clear();
        let mut size = usize::MAX;
        for seed in 0..self.parts.len() {
            if self.parts[seed].status == Status::Enabled && !self.best.contains(&seed) {
                let found = self.close(seed, relevant, size);
                if found < size {
                    size = found;
                    std::mem::swap(&mut self.best, &mut self.set);
                }
            }
            if size == 1 {
                break;
            }
        }
        self.best.iter().map(|index| self.parts[*index])
    }

    /// Closes a set under what must be in it; the number of its enabled steps, or `limit` if it is not
    /// smaller.
    fn close(&mut self, seed: usize, relevant: u64, limit: usize) -> usize {
        self.inside.clear();
        self.inside.resize(self.parts.len(), false);
        self.inside[seed] = true;
        self.todo.clear();
        self.todo.push(seed);
        self.set.clear();
        while let Some(index) = self.todo.pop() {
            let part = self.parts[index];
            match part.status {
                Status::Stuck => {}
                Status::WaitsFor(other) => self.bring(other),
                Status::Enabled => {
                    self.set.push(index);
                    if self.set.len() >= limit {
                        return limit;
                    }
                    for other in 0..self.parts.len() {
                        if !self.inside[other] && self.depends(part, other, relevant) {
                            self.bring(other);
                        }
                    }
                }
            }
        }
        self.set.len()
    }

    fn bring(&mut self, index: usize) {
        if !self.inside[index] {
            self.inside[index] = true;
            self.todo.push(index);
        }
    }

    /// Whether the order of an enabled step with something that another part may do matters.
    fn depends(&self, step: Part, other: usize, relevant: u64) -> bool {
        let other = &self.parts[other];
        let later = match (step.transition.agent, other.transition.agent) {
            (Agent::Cpu(one), Agent::StoreBuffer(two)) if one == two => other.operations,
            (Agent::StoreBuffer(one), Agent::Cpu(two)) if one == two => return false,
            _ => other.later,
        };
        step.now.conflicts(later, relevant)
    }

    fn cpu(
        &self,
        machine: &Machine,
        footprints: &Footprints,
        state: &State,
        thread: usize,
    ) -> Part {
        let buffer = state.threads.len() + thread;
        let drained = state.threads[thread].buffer.is_empty();
        let mut now = Access::default();
        let status = match machine.next_instruction(state, thread) {
            None => Status::Stuck,
            Some(instruction) => match (machine.in_flight(state, thread), instruction) {
                (Some(pair), _) => Status::WaitsFor(self.first[pair] + 2),
                (None, Instruction::Read { location, .. }) => {
                    now.reads = bit(location.0);
                    Status::Enabled
                }
                (None, Instruction::Write { location, .. }) => {
                    now.writes = bit(location.0); // only `sc` leaves a write unsettled
                    Status::Enabled
                }
                (None, Instruction::Cas { location, .. } | Instruction::Faa { location, .. })
                    if drained =>
                {
                    (now.reads, now.writes) = (bit(location.0), bit(location.0));
                    Status::Enabled
                }
                (None, Instruction::Poll(pair)) => self.poll(state, pair.0, buffer),
                (None, Instruction::Wait(id)) => {
                    let pair = machine.awaited_pair(state, thread, *id);
                    pair.map_or(Status::Stuck, |pair| self.poll(state, pair, buffer))
                }
                _ => Status::WaitsFor(buffer),
            },
        };
        let later = match status {
            Status::Stuck => Access::default(),
            _ => footprints.future(thread, state.threads[thread].pc).access,
        };
        let transition = Transition { agent: Agent::Cpu(thread), slot: 0 };
        Part { transition, status, now, later, operations: Access::default() }
    }

    /// What a poll that finds no notice waits for: the oldest operation that is not polled.
    fn poll(&self, state: &State, pair: usize, buffer: usize) -> Status {
        let queues = &state.pairs[pair];
        if queues.outstanding == 0 {
            Status::Stuck
        } else if !queues.local.is_empty() {
            Status::WaitsFor(self.first[pair] + 1)
        } else if !queues.pipe.is_empty() {
            Status::WaitsFor(self.first[pair] + 2)
        } else {
            Status::WaitsFor(buffer)
        }
    }

    fn pair(&mut self, machine: &Machine, state: &State, pair: usize) {
        let queues = &state.pairs[pair];
        let head = queues.remote.first().map_or(0, |write| bit(write.target.0));
        let all = queues.remote.iter().fold(0, |all, write| all | bit(write.target.0));
        self.parts.push(buffer_of_writes(Agent::RemoteBuffer(pair), head, all));
        let target = |entry: &LocalEntry| match entry {
            LocalEntry::Write { target, .. } => bit(target.0),
            LocalEntry::Notice => 0,
        };
        let head = queues.local.first().map_or(0, target);
        let all = queues.local.iter().fold(0, |all, entry| all | target(entry));
        self.parts.push(buffer_of_writes(Agent::LocalBuffer(pair), head, all));
        for slot in 0..queues.pipe.len() {
            let status = self.pipe_status(machine, state, pair, slot);
            let (now, later) = item_access(machine, pair, &queues.pipe[slot].item);
            let transition = Transition { agent: Agent::Pipe(pair), slot };
            self.parts.push(Part { transition, status, now, later, operations: later });
        }
    }

    /// Whether an entry of a settled pipe can move, or one part that must move first.
    fn pipe_status(&self, machine: &Machine, state: &State, pair: usize, slot: usize) -> Status {
        let queues = &state.pairs[pair];
        let (remote, local) = (self.first[pair], self.first[pair] + 1);
        let entry = |slot| self.first[pair] + 2 + slot;
        let kind = queues.pipe[slot].item.kind();
        let blocks = |other: &super::state::Entry| !machine.may_overtake(kind, other.item.kind());
        if let Some(blocker) = queues.pipe[..slot].iter().position(blocks) {
            return Status::WaitsFor(entry(blocker));
        }
        match kind {
            Kind::Put if !queues.local.is_empty() => Status::WaitsFor(local),
            Kind::LocalWrite if !queues.local.is_empty() => Status::WaitsFor(local),
            Kind::RemoteWrite | Kind::AtomicWrite | Kind::Get | Kind::Rmw
                if !queues.remote.is_empty() =>
            {
                Status::WaitsFor(remote)
            }
            Kind::Rmw if state.locks[machine.lock[pair]] => self.lock_holder(machine, state, pair),
            _ => Status::Enabled,
        }
    }

    /// The part that will free the lock of a queue pair's node.
    fn lock_holder(&self, machine: &Machine, state: &State, pair: usize) -> Status {
        for (other, queues) in state.pairs.iter().enumerate() {
            if machine.lock[other] != machine.lock[pair] {
                continue;
            }
            if queues.remote.iter().any(|write| write.atomic) {
                return Status::WaitsFor(self.first[other]);
            }
            let atomic = |entry: &super::state::Entry| entry.item.kind() == Kind::AtomicWrite;
            if let Some(slot) = queues.pipe.iter().position(atomic) {
                return Status::WaitsFor(self.first[other] + 2 + slot);
            }
        }
        Status::Stuck
    }
}

fn store_buffer(machine: &Machine, state: &State, thread: usize) -> Part {
    let (mut now, mut later, mut operations) =
        (Access::default(), Access::default(), Access::default());
    let buffer = &state.threads[thread].buffer;
    for (index, entry) in buffer.iter().enumerate() {
        let (next, all) = item_access(machine, entry.pair, &entry.item);
        later = later.union(all);
        if index == 0 {
            now = next;
        }
        if !matches!(entry.item, Item::Write { .. }) {
            operations = operations.union(all);
        }
    }
    let status = if buffer.is_empty() { Status::Stuck } else { Status::Enabled };
    let transition = Transition { agent: Agent::StoreBuffer(thread), slot: 0 };
    Part { transition, status, now, later, operations }
}

fn buffer_of_writes(agent: Agent, head: u64, all: u64) -> Part {
    let write = |writes| Access { writes, ..Access::default() };
    let status = if head == 0 { Status::Stuck } else { Status::Enabled };
    let transition = Transition { agent, slot: 0 };
    Part { transition, status, now: write(head), later: write(all), operations: write(all) }
}

/// What an entry's next step touches, and what all of its steps may touch.
fn item_access(machine: &Machine, pair: usize, item: &Item) -> (Access, Access) {
    let write = |writes| Access { writes, ..Access::default() };
    let now = match item {
        Item::Write { target, .. }
        | Item::RemoteWrite { target, .. }
        | Item::LocalWrite { target, .. }
        | Item::AtomicWrite { target, .. } => write(bit(target.0)),
        Item::Rcas { target, .. } | Item::Rfaa { target, .. } => Access {
            reads: bit(target.0),
            // Under `sc` the write is part of the step.
            writes: if machine.variant == Variant::Sc { bit(target.0) } else { 0 },
            locks: bit(machine.lock[pair]),
        },
        item => Access { reads: item_reads(item), ..Access::default() },
    };
    let more = match item {
        Item::Put { target, .. } | Item::Get { target, .. } => write(bit(target.0)),
        Item::Rcas { result, target, .. } | Item::Rfaa { result, target, .. } => {
            write(bit(target.0) | bit(result.0))
        }
        _ => Access::default(),
    };
    (now, now.union(more))
}
