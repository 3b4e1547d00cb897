//! Chooses stubborn sets: which steps of a settled state are enough to take. `reduce` explains why.

mod behind;
mod merging;
mod part;
mod sleep;
mod touching;
mod waits;

use compiler::code::Instruction;

use super::footprint::{Access, access, bit, indices, posting};
use super::queue_pair::has_receive;
use super::reduce::UNSENT;
use super::requests::Stages;
use super::rules::{Agent, Machine, Transition, Variant};
use super::state::{Entry, Item, Kind, LocalEntry, RemoteWrite, State};

pub(super) use behind::View;
use behind::{Asked, Asking};
pub(super) use part::Step;
use part::{Part, Status};
use sleep::EVERY;
pub(super) use sleep::{Choice, Layout, Places, Round};
use touching::Touching;

/// The parts of one state, and reusable memory.
#[derive(Default)]
pub(super) struct Reduction {
    /// Whether several writes may be a step.
    pub merges: bool,
    /// Numbers parts, if some may sleep.
    pub layout: Option<Layout>,
    /// Whether nothing could move but what would write unread locations.
    is_lifted: bool,
    parts: Vec<Part>,
    /// Which parts may touch what from now until the end.
    touching: Touching,
    /// By queue pair, the index of the part for wbR. The parts for wbL and the pipe's entries follow it.
    first: Vec<usize>,
    /// By part, the parts that it brings into a stubborn set; 0 if not computed yet.
    brings: Vec<u64>,
    /// By part, its place in sets of those that sleep; 0 if it never does.
    places: Vec<Places>,
}

/// What makes rules 3 and 7 of a queue pair steps by themselves, where the argument of `reduce` says so. Else
/// they are one step with the rule that brings the write to memory.
#[derive(Clone, Copy)]
struct Apart {
    /// A Wait to come may get past the gets ahead.
    waits: bool,
    /// An rfence leaves as soon as acks and local writes have.
    fence: bool,
    /// wbR is long.
    is_full: bool,
}

/// A set of parts is a 64-bit mask, so states with more parts than this are not reduced.
const MAX_PARTS: usize = 64;

impl Reduction {
    /// Computes the parts of a settled state. Returns whether any step is enabled.
    pub fn look(&mut self, view: View<'_>) -> bool {
        let state = view.state;
        self.first.clear();
        let mut next = 2 * state.threads.len();
        for pair in &state.pairs {
            self.first.push(next);
            next += 2 + pair.pipe.len();
        }
        self.parts.clear();
        self.is_lifted = false;
        for thread in 0..state.threads.len() {
            self.parts.push(self.cpu(view, thread));
        }
        for thread in 0..state.threads.len() {
            self.parts.push(store_buffer(view.machine, state, thread));
        }
        for pair in 0..state.pairs.len() {
            self.pair(view, pair);
        }
        if self.merges {
            self.merge(view);
        }
        self.is_any_enabled()
    }

    fn is_any_enabled(&self) -> bool {
        self.parts.iter().any(|part| part.status == Status::Enabled)
    }

    /// Every enabled step.
    pub fn all(&self) -> impl Iterator<Item = Choice> + '_ {
        let enabled = self.parts.iter().filter(|part| part.status == Status::Enabled);
        enabled.flat_map(Part::steps).map(|step| Choice { step, asleep: 0 })
    }

    /// Adds the steps of a small stubborn set to `choices`, but for those that are asleep or not to be taken.
    /// Adds none only if no others are enabled. Returns whether the set has steps of one part alone.
    pub fn choose(&mut self, view: View<'_>, round: Round, choices: &mut Vec<Choice>) -> bool {
        if self.parts.len() > MAX_PARTS {
            choices.extend(self.all());
            return choices.len() == 1;
        }
        let (set, relevant) = self.stubborn_set(view);
        let is_one = set.count_ones() == 1;
        if round.asleep == 0 && round.todo == EVERY && is_one {
            let steps = indices(set).flat_map(|index| self.parts[index].steps());
            choices.extend(steps.map(|step| Choice { step, asleep: 0 }));
            return true;
        }
        self.find_places(view.state);
        // What wakes need not be in the set: others that are may have been taken while it slept.
        let set = if round.todo == EVERY { set } else { self.parts_at(round.todo) };
        let mut asleep = round.asleep;
        for index in indices(set) {
            let place = self.places[index];
            if place & round.asleep != 0 {
                continue;
            }
            let after = self.still_asleep(asleep, index, relevant);
            choices.extend(self.parts[index].steps().map(|step| Choice { step, asleep: after }));
            asleep |= place;
        }
        is_one
    }

    /// The enabled parts of a small stubborn set, and the locations whose values matter.
    fn stubborn_set(&mut self, view: View<'_>) -> (u64, u64) {
        let reads = self.touching.set(self.parts.iter().map(|part| part.later)).reads;
        let relevant = view.footprints.observed | reads;
        self.brings.clear();
        self.brings.resize(self.parts.len(), 0);
        let (mut enabled, mut adding) = (0, 0);
        for (index, part) in self.parts.iter().enumerate() {
            let is_enabled = part.status == Status::Enabled;
            enabled |= u64::from(is_enabled) << index;
            adding |= u64::from(is_enabled && part.adds) << index;
        }
        let asking = Asking { view, relevant, looks_behind: adding != 0 };
        let mut best = enabled;
        for seeds in [enabled & !adding, adding] {
            for seed in indices(seeds) {
                if best.count_ones() == 1 {
                    break;
                }
                let found = self.close(&asking, seed) & enabled;
                if found.count_ones() < best.count_ones() {
                    best = found;
                }
            }
            if best & adding == 0 {
                break;
            }
        }
        (best, relevant)
    }

    /// The smallest set that contains a part and everything that its parts bring in.
    fn close(&mut self, asking: &Asking<'_>, seed: usize) -> u64 {
        let (mut inside, mut todo) = (1 << seed, 1u64 << seed);
        while todo != 0 {
            let index = todo.trailing_zeros() as usize;
            if self.brings[index] == 0 {
                self.brings[index] = self.brought(asking, index) | 1 << index;
            }
            let new = self.brings[index] & !inside;
            inside |= new;
            todo = (todo | new) & !(1 << index);
        }
        inside
    }

    fn brought(&self, asking: &Asking<'_>, index: usize) -> u64 {
        let part = &self.parts[index];
        match part.status {
            Status::Stuck => 0,
            Status::WaitsFor(other) => 1 << other,
            Status::WaitsForAny(others) => others,
            Status::Enabled => self.dependent(&Asked { asking: *asking, step: part }, index),
        }
    }

    /// The parts that may do something whose order with an enabled step matters.
    fn dependent(&self, asked: &Asked<'_>, index: usize) -> u64 {
        // What a thread's CPU does next comes after what is in its store buffer.
        let own_cpu = match asked.step.transition.agent {
            Agent::StoreBuffer(thread) => thread,
            _ => index,
        };
        let conflict = self.touching.in_conflict(asked.step.now, asked.asking.relevant);
        let conflict = conflict & !(bit(index) | bit(own_cpu));
        // Without long queues, only a thread's own buffer needs a closer look: its reads get the newest
        // buffered write, before and after that leaves.
        let own_buffer = match asked.step.transition.agent {
            Agent::Cpu(thread) => bit(asked.asking.view.state.threads.len() + thread),
            _ => 0,
        };
        let closer = if asked.asking.looks_behind { conflict } else { conflict & own_buffer };
        let all = asked.step.overtaken | conflict & !closer;
        indices(closer).fold(all, |all, other| all | self.first_to_move(asked, other))
    }

    fn cpu(&self, view: View<'_>, thread: usize) -> Part {
        let View { machine, footprints, state } = view;
        let adds = machine.is_silent(state, thread);
        let next = machine.next_instruction(state, thread);
        let status = match next {
            None => Status::Stuck,
            Some(_) if adds => Status::Enabled,
            Some(instruction) => match (machine.in_flight(state, thread), instruction) {
                (Some(pair), _) => Status::WaitsFor(self.first[pair] + 2),
                (None, Instruction::Poll(pairs))
                    if pairs.len() > 1 || pairs.iter().any(|pair| machine.is_shared(pair.0)) =>
                {
                    return self.poll_any(view, thread);
                }
                (None, _) => self.instruction(view, thread, instruction),
            },
        };
        let now = match (status, next) {
            (Status::Enabled, Some(instruction)) if !adds => access(instruction, machine),
            _ => Access::default(),
        };
        let later = match status {
            Status::Stuck => Access::default(),
            _ => footprints.future(thread, state.threads[thread].pc).access,
        };
        let transition = Transition { agent: Agent::Cpu(thread), slot: 0 };
        Part { status, adds, ..Part::new(transition, now, later) }
    }

    /// Whether a CPU can take an instruction that is not silent.
    fn instruction(
        &self,
        View { machine, state, .. }: View<'_>,
        thread: usize,
        instruction: &Instruction,
    ) -> Status {
        let buffer = state.threads.len() + thread;
        match instruction {
            // Only `sc` leaves a write here: else it is silent.
            Instruction::Read { .. } | Instruction::Write { .. } => Status::Enabled,
            Instruction::Cas { .. } | Instruction::Faa { .. } | Instruction::Exchange { .. }
                if state.threads[thread].buffer.is_empty() =>
            {
                Status::Enabled
            }
            Instruction::PollReceive { queue_pair, .. } => {
                self.poll_receive(machine, state, queue_pair.0)
            }
            Instruction::Poll(pairs) => match pairs.first() {
                Some(pair) => self.poll(state, pair.0, buffer),
                None => Status::Stuck,
            },
            Instruction::Wait(id) => match machine.awaited(state, thread, *id) {
                None => Status::Stuck, // settling has taken it
                Some((pair, slot)) if machine.variant == Variant::RdmaWait => {
                    self.wait(state, pair, slot, buffer)
                }
                Some((pair, _)) => self.poll(state, pair, buffer),
            },
            _ => Status::WaitsFor(buffer),
        }
    }

    /// Adds the parts of a queue pair: wbR, wbL, and the entries of its pipe.
    fn pair(&mut self, view: View<'_>, pair: usize) {
        let View { machine, footprints, state } = view;
        let queues = &state.pairs[pair];
        let target = |write: &RemoteWrite| write.target.map_or(0, |target| bit(target.0));
        let head = queues.remote.first().map_or(0, target);
        let all = queues.remote.iter().fold(0, |all, write| all | target(write));
        let mut part = buffer_of_writes(Agent::RemoteBuffer(pair), head, all);
        if !queues.remote.is_empty() {
            part.status = Status::Enabled; // a completion alone writes nothing
        }
        self.parts.push(part);
        let target = |entry: &LocalEntry| match entry {
            LocalEntry::Write { target, .. } => bit(target.0),
            LocalEntry::Notice => 0,
        };
        let head = queues.local.first().map_or(0, target);
        let all = queues.local.iter().fold(0, |all, entry| all | target(entry));
        self.parts.push(buffer_of_writes(Agent::LocalBuffer(pair), head, all));
        let thread = machine.code.queue_pairs[pair].thread.0;
        let future = footprints.future(thread, state.threads[thread].pc);
        let fence = queues.pipe.iter().position(|entry| entry.item.kind() == Kind::Fence);
        let apart = Apart {
            waits: machine.variant == Variant::RdmaWait && future.polls & bit(pair) != 0,
            fence: fence.is_some_and(|fence| machine.leaves_next(state, pair, fence)),
            is_full: queues.remote.len() >= machine.long_from,
        };
        for slot in 0..queues.pipe.len() {
            self.parts.push(self.entry(view, pair, slot, apart));
        }
    }

    /// The part of an entry of a pipe.
    fn entry(&self, view: View<'_>, pair: usize, slot: usize, apart: Apart) -> Part {
        let View { machine, state, .. } = view;
        let queues = &state.pairs[pair];
        let transition = Transition { agent: Agent::Pipe(pair), slot };
        let (now, later) = item_access(machine, pair, &queues.pipe[slot].item);
        let status = self.pipe_status(machine, state, pair, slot);
        let mut part = Part { status, ..Part::new(transition, now, later) };
        if machine.variant == Variant::Sc {
            return part;
        }
        let is_one_of = |kinds| queues.other_words(slot, kinds).next().is_some();
        let others = |kinds| {
            let words = queues.other_words(slot, kinds);
            words.fold(0, |all, word| all | bit(self.first[pair] + 2 + word))
        };
        match queues.pipe[slot].item.kind() {
            Kind::RemoteWrite | Kind::OrderedWrite | Kind::AtomicWrite => {
                let gets = self.gets_ahead(state, pair, slot);
                if apart.waits || gets == 0 && (apart.is_full || is_one_of(UNSENT)) {
                    part.adds = apart.is_full;
                    part.comes_apart(self.first[pair], gets | others(UNSENT));
                } else {
                    part.through = Some(Agent::RemoteBuffer(pair));
                }
            }
            Kind::LocalWrite if apart.fence && is_one_of(Kind::LocalWrite.bit()) => {
                part.comes_apart(self.first[pair] + 1, others(Kind::LocalWrite.bit()));
            }
            Kind::LocalWrite => part.through = Some(Agent::LocalBuffer(pair)),
            _ => {}
        }
        part
    }

    /// The gets and flushes before an entry of a pipe that still have to read or to take effect.
    fn gets_ahead(&self, state: &State, pair: usize, slot: usize) -> u64 {
        let ahead = others_ahead(&state.pairs[pair].pipe, slot).iter().enumerate();
        let gets = ahead.filter(|(_, entry)| matches!(entry.item.kind(), Kind::Get | Kind::Flush));
        // `bit` takes the index modulo 64. This is safe, because states with more parts are not reduced.
        gets.fold(0, |all, (index, _)| all | bit(self.first[pair] + 2 + index))
    }

    /// Whether an entry of a settled pipe can move. If not, names one part that must move first.
    fn pipe_status(&self, machine: &Machine, state: &State, pair: usize, slot: usize) -> Status {
        let queues = &state.pairs[pair];
        let (remote, local) = (self.first[pair], self.first[pair] + 1);
        let entry = |slot| self.first[pair] + 2 + slot;
        let kind = queues.pipe[slot].item.kind();
        let blocks = |other: &Entry| !machine.may_overtake(kind, other.item.kind());
        let ahead = others_ahead(&queues.pipe, slot);
        // Acks and local writes may leave the pipe before a fence without the step that they have here: rule
        // 7 comes apart from rule 8 when nothing else is ahead any more. So something else must move.
        let leaves = |other: &Entry| matches!(other.item.kind(), Kind::Ack | Kind::LocalWrite);
        let must_move = |other: &Entry| kind == Kind::Fence && !leaves(other);
        let blocker = ahead.iter().position(must_move).or_else(|| ahead.iter().position(blocks));
        if let Some(blocker) = blocker {
            return Status::WaitsFor(entry(blocker));
        }
        if !has_receive(state, pair, &queues.pipe[slot]) {
            return self.receive(machine, state, pair);
        }
        match kind {
            Kind::Put if !queues.local.is_empty() => Status::WaitsFor(local),
            Kind::LocalWrite if !queues.local.is_empty() => Status::WaitsFor(local),
            Kind::RemoteWrite
            | Kind::OrderedWrite
            | Kind::AtomicWrite
            | Kind::Get
            | Kind::Flush
            | Kind::Rmw
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
            let atomic = |entry: &Entry| entry.item.kind() == Kind::AtomicWrite;
            if let Some(slot) = queues.pipe.iter().position(atomic) {
                return Status::WaitsFor(self.first[other] + 2 + slot);
            }
        }
        Status::Stuck
    }
}

/// What is before an entry of a pipe and not a word of its request.
fn others_ahead(pipe: &[Entry], slot: usize) -> &[Entry] {
    let first = (0..=slot).rev().find(|at| !pipe[*at].joined).unwrap_or(0);
    &pipe[..first]
}

fn store_buffer(machine: &Machine, state: &State, thread: usize) -> Part {
    let (mut now, mut later) = (Access::default(), Access::default());
    let buffer = &state.threads[thread].buffer;
    for (index, entry) in buffer.iter().enumerate() {
        let (next, all) = item_access(machine, entry.pair, &entry.item);
        later = later.union(all);
        let others = comes_to(machine, entry);
        later.others |= others;
        if index == 0 {
            // It only comes to the queue pair.
            now = match entry.item {
                Item::Write { .. } => next,
                _ => Access { others, ..Access::default() },
            };
        }
    }
    let status = if buffer.is_empty() { Status::Stuck } else { Status::Enabled };
    let transition = Transition { agent: Agent::StoreBuffer(thread), slot: 0 };
    let adds = buffer.first().is_some_and(|entry| {
        !matches!(entry.item, Item::Write { .. }) && !machine.comes_to_shared(entry)
    });
    Part { status, adds, ..Part::new(transition, now, later) }
}

/// What an entry of a store buffer does to its queue pair, if threads share that.
fn comes_to(machine: &Machine, entry: &Entry) -> u64 {
    if machine.comes_to_shared(entry) { posting(machine, entry.pair) } else { 0 }
}

fn buffer_of_writes(agent: Agent, head: u64, all: u64) -> Part {
    let write = |writes| Access { writes, ..Access::default() };
    let status = if head == 0 { Status::Stuck } else { Status::Enabled };
    let transition = Transition { agent, slot: 0 };
    Part { status, ..Part::new(transition, write(head), write(all)) }
}

/// What an entry's next step touches, and what all its remaining steps may touch.
pub(super) fn item_access(machine: &Machine, pair: usize, item: &Item) -> (Access, Access) {
    // A CPU write touches its target alone. That is said first, since store buffers may be long.
    if let Item::Write { target, .. } = item {
        let write = Access { writes: bit(target.0), ..Access::default() };
        return (write, write);
    }
    let all = Stages::of_item(machine, pair, item).all();
    let now = match item {
        Item::RemoteWrite { .. }
        | Item::LocalWrite { .. }
        | Item::AtomicWrite { .. }
        | Item::MessageWrite { .. } => all,
        // Under `sc`, the write is part of the same step.
        Item::Rcas { target, .. } | Item::Rfaa { target, .. } if machine.variant == Variant::Sc => {
            Access { writes: bit(target.0), ..all }
        }
        _ => Access { writes: 0, ..all },
    };
    (now, now.union(all))
}
