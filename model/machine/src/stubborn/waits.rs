//! What polls and waits wait for.

use compiler::code::Instruction;

use super::super::footprint::{Access, bit, polling, posting};
use super::super::rules::{Agent, Machine, Transition};
use super::super::state::{Entry, Item, LocalEntry, State, ThreadState};
use super::{Part, Reduction, Status, View};

impl Reduction {
    /// A poll of several queue pairs, or of one that threads share: its steps, and for each queue pair
    /// without a notice, what brings one.
    pub(super) fn poll_any(&self, view: View<'_>, thread: usize) -> Part {
        let View { machine, footprints, state } = view;
        let slots = machine.cpu_slots(state, thread);
        let (mut waits, mut now) = (0, Access::default());
        if let Some(Instruction::Poll(pairs)) = machine.next_instruction(state, thread) {
            for (at, pair) in pairs.iter().enumerate() {
                now.others |= polling(machine, pair.0);
                if slots >> at & 1 != 0 {
                    continue;
                }
                // `bit` takes the index modulo 64: states with more parts are not reduced.
                waits |= match self.poll_of(view, pair.0, thread) {
                    Status::WaitsFor(part) => bit(part),
                    Status::WaitsForAny(parts) => parts,
                    Status::Enabled | Status::Stuck => 0,
                };
            }
        }
        let status = match (slots, waits) {
            (0, 0) => Status::Stuck,
            (0, _) => Status::WaitsForAny(waits),
            _ => Status::Enabled,
        };
        let later = match status {
            Status::Stuck => Access::default(),
            _ => footprints.future(thread, state.threads[thread].pc).access,
        };
        let slot = (slots.trailing_zeros() % u64::BITS) as usize;
        let transition = Transition { agent: Agent::Cpu(thread), slot };
        let further = slots & slots.wrapping_sub(1);
        Part { status, overtaken: waits, further, ..Part::new(transition, now, later) }
    }

    /// What a thread's poll without a notice waits for. A queue pair that threads share may get its next
    /// request from any of them.
    fn poll_of(&self, view: View<'_>, pair: usize, thread: usize) -> Status {
        let View { machine, footprints, state } = view;
        let threads = state.threads.len();
        if !machine.is_shared(pair) {
            return self.poll(state, pair, threads + thread);
        }
        if let Some(part) = self.under_way(state, pair) {
            return Status::WaitsFor(part);
        }
        let mut sources = 0;
        for sharer in &machine.users[pair] {
            let ThreadState { pc, buffer } = &state.threads[*sharer];
            let is_it = |entry: &Entry| machine.comes_to_shared(entry) && entry.pair == pair;
            if buffer.iter().any(is_it) {
                sources |= bit(threads + sharer);
            }
            if footprints.future(*sharer, *pc).access.others & posting(machine, pair) != 0 {
                sources |= bit(*sharer);
            }
        }
        if sources == 0 { Status::Stuck } else { Status::WaitsForAny(sources) }
    }

    /// What a poll without a notice waits for: the oldest operation that is not polled.
    pub(super) fn poll(&self, state: &State, pair: usize, buffer: usize) -> Status {
        match state.pairs[pair].outstanding {
            0 => Status::Stuck,
            _ => Status::WaitsFor(self.under_way(state, pair).unwrap_or(buffer)),
        }
    }

    /// What has to move first on a queue pair for its next notice: what is oldest there, if something is.
    fn under_way(&self, state: &State, pair: usize) -> Option<usize> {
        let queues = &state.pairs[pair];
        match (queues.local.is_empty(), queues.pipe.is_empty()) {
            (false, _) => Some(self.first[pair] + 1),
            (true, false) => Some(self.first[pair] + 2),
            (true, true) => None,
        }
    }

    /// What a poll of receives waits for: the write of a completion at the target, or the oldest message that
    /// is not there yet.
    pub(super) fn poll_receive(&self, machine: &Machine, state: &State, pair: usize) -> Status {
        let queues = &state.pairs[pair];
        if queues.remote.iter().any(|write| write.completes.is_some()) {
            return Status::WaitsFor(self.first[pair]);
        }
        if let Some(slot) = queues.pipe.iter().position(|entry| entry.item.is_message()) {
            return Status::WaitsFor(self.first[pair] + 2 + slot);
        }
        let sender = machine.code.queue_pairs[pair].thread.0;
        let is_buffered = |entry: &Entry| entry.pair == pair && entry.item.is_message();
        match state.threads[sender].buffer.iter().any(is_buffered) {
            true => Status::WaitsFor(state.threads.len() + sender),
            false => Status::WaitsFor(sender),
        }
    }

    /// What a message without a receive waits for.
    pub(super) fn receive(&self, machine: &Machine, state: &State, pair: usize) -> Status {
        let Some(thread) = machine.receiver[pair] else { return Status::Stuck };
        let is_buffered =
            |entry: &Entry| entry.pair == pair && matches!(entry.item, Item::Receive { .. });
        match state.threads[thread].buffer.iter().any(is_buffered) {
            true => Status::WaitsFor(state.threads.len() + thread),
            false => Status::WaitsFor(thread),
        }
    }

    /// What a Wait without polls waits for: an operation that the slot counts.
    pub(super) fn wait(&self, state: &State, pair: usize, slot: usize, buffer: usize) -> Status {
        let queues = &state.pairs[pair];
        let counted = |wait: Option<usize>| wait == Some(slot);
        let pending = |entry: &LocalEntry| match entry {
            LocalEntry::Write { wait, .. } => counted(*wait),
            LocalEntry::Notice => false,
        };
        let in_pipe = queues.pipe.iter().position(|entry| counted(entry.wait));
        if queues.local.iter().any(pending) {
            Status::WaitsFor(self.first[pair] + 1)
        } else if let Some(slot) = in_pipe {
            Status::WaitsFor(self.first[pair] + 2 + slot)
        } else {
            Status::WaitsFor(buffer)
        }
    }
}
