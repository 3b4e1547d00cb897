//! Threads: the effect of each instruction.

use compiler::code::{Instruction, MessageSource, Operation, QueuePairId};
use lang::program::{BOTTOM, BinaryOp, LocationId, RegisterId, WorkId};

use super::fault::Fault;
use super::rules::{Effect, Machine, QUEUE_LIMIT, Variant};
use super::state::{Entry, Item, LocalEntry, Source, State};

/// What [`Instruction::Issue`] hands to a queue pair.
struct Request<'a> {
    operation: &'a Operation,
    id: Option<WorkId>,
    unsignaled: bool,
}

impl Machine {
    /// The next instruction of a thread, `None` when it is done.
    pub(super) fn next_instruction(&self, state: &State, thread: usize) -> Option<&Instruction> {
        self.code.threads[thread].instructions.get(state.threads[thread].pc)
    }

    /// The queue pair whose operation the thread waits for under `sc`, where operations are synchronous.
    pub(super) fn in_flight(&self, state: &State, thread: usize) -> Option<usize> {
        if self.variant != Variant::Sc {
            return None;
        }
        let mut pairs = self.code.threads[thread].queue_pairs.clone();
        pairs.find(|pair| !state.pairs[*pair].pipe.is_empty())
    }

    /// The first queue pair with incomplete operations of this id, and its slot. A Wait has to wait for them.
    pub(super) fn awaited(
        &self,
        state: &State,
        thread: usize,
        id: WorkId,
    ) -> Option<(usize, usize)> {
        if self.variant == Variant::Sc {
            return None;
        }
        let first = self.waits[thread].iter().find(|(known, _)| *known == id)?.1;
        let pairs = self.code.threads[thread].queue_pairs.clone();
        pairs.zip(first..).find(|(_, slot)| state.awaited[*slot] > 0)
    }

    /// The slots at which a thread can execute its next instruction, one bit each: for a poll of several
    /// queue pairs, those that have a completion, by their place in the list; else slot 0.
    pub(super) fn cpu_slots(&self, state: &State, thread: usize) -> u64 {
        if let Some(Instruction::Poll(pairs)) = self.next_instruction(state, thread)
            && pairs.len() > 1
            && self.in_flight(state, thread).is_none()
        {
            let can_poll =
                |(at, pair): (usize, &QueuePairId)| u64::from(self.can_poll(state, pair.0)) << at;
            return pairs.iter().enumerate().map(can_poll).sum();
        }
        u64::from(self.cpu_enabled(state, thread))
    }

    /// Whether the thread can execute its next instruction.
    pub(super) fn cpu_enabled(&self, state: &State, thread: usize) -> bool {
        let Some(instruction) = self.next_instruction(state, thread) else { return false };
        if self.in_flight(state, thread).is_some() {
            return false;
        }
        let drained = state.threads[thread].buffer.is_empty();
        match instruction {
            Instruction::Fence => drained || self.faults.has(Fault::FenceIgnored),
            Instruction::Cas { .. } | Instruction::Faa { .. } | Instruction::Exchange { .. } => {
                drained || self.faults.has(Fault::CasDoesNotDrain)
            }
            Instruction::PollReceive { queue_pair, .. } => {
                !state.pairs[queue_pair.0].arrived.is_empty()
            }
            Instruction::Poll(pairs) => pairs.iter().any(|pair| self.can_poll(state, pair.0)),
            Instruction::Wait(id) => match self.awaited(state, thread, *id) {
                Some((pair, _)) => self.has_notices() && self.can_poll(state, pair),
                None => true,
            },
            Instruction::Assign { .. }
            | Instruction::Read { .. }
            | Instruction::Write { .. }
            | Instruction::Issue { .. }
            | Instruction::Receive { .. }
            | Instruction::Jump(_)
            | Instruction::JumpIfZero { .. }
            | Instruction::Assume(_) => true,
        }
    }

    fn can_poll(&self, state: &State, pair: usize) -> bool {
        let queues = &state.pairs[pair];
        queues.notices > 0
            || self.faults.has(Fault::PollEarly) && queues.local.contains(&LocalEntry::Notice)
    }

    /// Executes the thread's next instruction, which must be enabled at this slot.
    pub(super) fn cpu_step(&self, state: &mut State, thread: usize, slot: usize) -> Effect {
        let Some(instruction) = self.next_instruction(state, thread) else {
            return Effect::Continue;
        };
        let mut next = state.threads[thread].pc + 1;
        match instruction {
            Instruction::Assign { register, value } => {
                state.registers[register.0] = state.value(value);
            }
            Instruction::Read { register, location } => {
                state.registers[register.0] = state.cpu_read(thread, *location);
            }
            Instruction::Write { location, value } => {
                let value = state.value(value);
                if self.cpu_write(state, thread, *location, value) == Effect::QueueFull {
                    return Effect::QueueFull;
                }
            }
            Instruction::Cas { register, location, expected, desired } => {
                let written = (state.memory[location.0] == state.value(expected))
                    .then(|| state.value(desired));
                atomic_update(state, *register, *location, written);
            }
            Instruction::Faa { register, location, addend } => {
                let written = BinaryOp::Add.apply(state.memory[location.0], state.value(addend));
                atomic_update(state, *register, *location, Some(written));
            }
            Instruction::Exchange { register, location, value } => {
                let written = state.value(value);
                atomic_update(state, *register, *location, Some(written));
            }
            Instruction::Fence => {}
            Instruction::Issue { queue_pair, operation, id, unsignaled } => {
                let request = Request { operation, id: *id, unsignaled: *unsignaled };
                let effect = self.issue(state, thread, *queue_pair, &request);
                if effect == Effect::QueueFull {
                    return effect;
                }
            }
            Instruction::Receive { queue_pair, buffer } => {
                let item = Item::Receive { buffer: *buffer };
                let entry = Entry { pair: queue_pair.0, item, ..Entry::default() };
                let buffer = &mut state.threads[thread].buffer;
                if buffer.len() >= QUEUE_LIMIT {
                    return Effect::QueueFull;
                }
                buffer.push(entry);
            }
            Instruction::PollReceive { queue_pair, register } => {
                let arrived = &mut state.pairs[queue_pair.0].arrived;
                let immediate = (!arrived.is_empty()).then(|| arrived.remove(0));
                if let (Some(register), Some(immediate)) = (register, immediate) {
                    state.registers[register.0] = immediate;
                }
            }
            Instruction::Poll(pairs) => {
                if let Some(pair) = pairs.get(slot) {
                    self.poll(state, thread, pair.0);
                }
            }
            Instruction::Wait(id) => {
                if let Some((pair, _)) = self.awaited(state, thread, *id) {
                    self.poll(state, thread, pair);
                    if self.awaited(state, thread, *id).is_some() {
                        next -= 1;
                    }
                }
            }
            Instruction::Jump(target) => next = *target,
            Instruction::JumpIfZero { condition, target } => {
                if state.value(condition) == 0 {
                    next = *target;
                }
            }
            Instruction::Assume(condition) => {
                if state.value(condition) == 0 {
                    return Effect::AssumeFailed;
                }
            }
        }
        state.threads[thread].pc = next;
        Effect::Continue
    }

    fn cpu_write(
        &self,
        state: &mut State,
        thread: usize,
        target: LocationId,
        value: u64,
    ) -> Effect {
        if self.variant == Variant::Sc {
            state.write(target, value, None);
            return Effect::Continue;
        }
        let buffer = &mut state.threads[thread].buffer;
        if buffer.len() >= QUEUE_LIMIT {
            return Effect::QueueFull;
        }
        let item = Item::Write { target, value };
        buffer.push(Entry { item, ..Entry::default() });
        Effect::Continue
    }

    fn issue(
        &self,
        state: &mut State,
        thread: usize,
        pair: QueuePairId,
        request: &Request<'_>,
    ) -> Effect {
        let Request { operation, id, unsignaled } = *request;
        if let Operation::Words { is_put, moves } = operation {
            return self.issue_words(state, thread, pair.0, request, (*is_put, moves));
        }
        let item = self.item(state, operation);
        let is_counted = !unsignaled && item != Item::Fence;
        let wait = is_counted.then(|| self.count_operation(state, thread, pair.0, id)).flatten();
        let entry = Entry { pair: pair.0, wait, unsignaled, item, ..Entry::default() };
        self.enqueue(state, thread, entry)
    }

    /// Issues a request of several words: an entry for each.
    fn issue_words(
        &self,
        state: &mut State,
        thread: usize,
        pair: usize,
        request: &Request<'_>,
        (is_put, moves): (bool, &[(LocationId, LocationId)]),
    ) -> Effect {
        let Request { id, unsignaled, .. } = *request;
        let wait = (!unsignaled).then(|| self.count_operation(state, thread, pair, id)).flatten();
        if let Some(slot) = wait {
            // Each word counts, and the first one has been.
            state.awaited[slot] += moves.len().saturating_sub(1) as u32;
        }
        for (number, (source, target)) in moves.iter().enumerate() {
            let operation = match is_put {
                true => Operation::Put { target: *target, source: *source },
                false => Operation::Get { target: *target, source: *source },
            };
            let item = self.item(state, &operation);
            let entry =
                Entry { pair, wait, unsignaled, joined: number > 0, item, ..Entry::default() };
            if self.enqueue(state, thread, entry) == Effect::QueueFull {
                return Effect::QueueFull;
            }
        }
        Effect::Continue
    }

    fn enqueue(&self, state: &mut State, thread: usize, entry: Entry) -> Effect {
        if self.variant == Variant::Sc {
            if entry.item != Item::Fence {
                state.pairs[entry.pair].pipe.push(entry);
            }
            return Effect::Continue;
        }
        let buffer = &mut state.threads[thread].buffer;
        if buffer.len() >= QUEUE_LIMIT {
            return Effect::QueueFull;
        }
        buffer.push(entry);
        Effect::Continue
    }

    /// Counts an operation for later polls or waits. Returns the slot that counts it until it is complete.
    fn count_operation(
        &self,
        state: &mut State,
        thread: usize,
        pair: usize,
        id: Option<WorkId>,
    ) -> Option<usize> {
        let mut waits = self.waits[thread].iter();
        // Where there are waits, no queue pair is shared.
        let first = self.code.threads[thread].queue_pairs.start;
        let slot = waits.find(|(known, _)| Some(*known) == id).map(|(_, slot)| slot + pair - first);
        let queues = &mut state.pairs[pair];
        match (self.variant, slot) {
            (Variant::RdmaWait, Some(slot)) => state.awaited[slot] += 1,
            (Variant::RdmaWait, None) => {}
            (_, slot) => {
                queues.outstanding += 1;
                if let Some(slot) = slot {
                    state.awaited[slot] = queues.outstanding;
                }
                return None;
            }
        }
        slot
    }

    /// The operation as the CPU hands it to the NIC: values that the CPU computes are computed now.
    fn item(&self, state: &State, operation: &Operation) -> Item {
        match operation {
            Operation::Put { target, source } => {
                let source = if self.faults.has(Fault::PutReadsEarly) {
                    Source::Value(state.memory[source.0])
                } else {
                    Source::Location(*source)
                };
                Item::Put { target: *target, source, atomic: false }
            }
            Operation::PutValue { target, value, .. } => {
                let source = Source::Value(state.value(value));
                Item::Put { target: *target, source, atomic: false }
            }
            Operation::AtomicWrite { target, value } => {
                let source = Source::Value(state.value(value));
                Item::Put { target: *target, source, atomic: true }
            }
            Operation::Flush { is_persistent } => Item::Flush { is_persistent: *is_persistent },
            Operation::Get { target, source } => Item::Get { target: *target, source: *source },
            Operation::Rcas { result, target, expected, desired } => Item::Rcas {
                result: *result,
                target: *target,
                expected: state.value(expected),
                desired: state.value(desired),
            },
            Operation::Rfaa { result, target, addend } => {
                Item::Rfaa { result: *result, target: *target, addend: state.value(addend) }
            }
            Operation::Message { target, source, immediate } => Item::Message {
                target: *target,
                source: taken(state, source),
                immediate: immediate.as_ref().map_or(BOTTOM, |value| state.value(value)),
            },
            Operation::Fence | Operation::Words { .. } => Item::Fence,
        }
    }

    /// Takes the first completion notice. It counts for every awaited id.
    fn poll(&self, state: &mut State, thread: usize, pair: usize) {
        let queues = &mut state.pairs[pair];
        if queues.notices > 0 {
            queues.notices -= 1;
        } else if let Some(index) =
            queues.local.iter().position(|entry| *entry == LocalEntry::Notice)
        {
            queues.local.remove(index);
        }
        queues.outstanding = queues.outstanding.saturating_sub(1);
        let first = self.code.threads[thread].queue_pairs.start;
        for (_, slot) in &self.waits[thread] {
            let awaited = &mut state.awaited[slot + pair - first];
            *awaited = awaited.saturating_sub(1);
        }
    }
}

/// Where the NIC takes a value from: what the CPU computes, it computes now.
fn taken(state: &State, source: &MessageSource) -> Source {
    match source {
        MessageSource::Location(source) => Source::Location(*source),
        MessageSource::Value(value) => Source::Value(state.value(value)),
    }
}

/// The write of a CPU read-modify-write, if it writes. The register takes the old value.
fn atomic_update(
    state: &mut State,
    register: Option<RegisterId>,
    location: LocationId,
    written: Option<u64>,
) {
    let old = state.memory[location.0];
    if let Some(value) = written {
        state.write(location, value, None);
    }
    if let Some(register) = register {
        state.registers[register.0] = old;
    }
}
