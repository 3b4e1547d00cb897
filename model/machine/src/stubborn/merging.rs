//! Writes that nobody reads before their location is written again: they come to memory together with
//! another write, or last.
//!
//! A write at the head of a store buffer or of wbR only matters if somebody reads it from memory before
//! anything writes there again. Else it may come to memory later, wherever nobody reads between it and the
//! next write of the location, if nothing waits for it until then:
//!
//! - Its next entry in the buffer writes the same location. Then it may come right before that one: the entry
//!   is still behind it, and what waits for the buffer to be empty waits for the entry too.
//! - It is the *last*: nothing else is in the buffer or comes to it, nothing waits until that is empty, and
//!   the thread's CPU does not read the location any more (it would read the buffered value). Outcomes do not
//!   show the location. Then the write may come when all else is done.
//!
//! So each execution has the outcome of one in which such a write is read before the location is written
//! again, or comes to memory in one step with the next entry, or comes last. So a step takes some writes of
//! the buffer's head together; and if the last of them is such a write, it leaves the location *unread*:
//! until somebody reads it from memory, it is not written. Where nobody can read it any more, or nothing else
//! can move, that does not hold: then all that is left is to write what nobody reads.
//!
//! With this rule, the machine is another one, with fewer states. Which accesses conflict is as before: a
//! write has all that may read its location, or write it, in its stubborn set, so what may come before it is
//! looked at. A thread may go on before or after what leaves its buffer; afterwards, more writes have a next
//! one or are the last. So what a step leaves unread if it comes later, it may leave read if it comes first,
//! and that allows more.

use lang::program::LocationId;

use super::super::footprint::bit;
use super::super::rules::Agent;
use super::super::state::{Entry, Item, Kind, RemoteWrite, State, ThreadState};
use super::{Part, Reduction, Status, View};

impl Reduction {
    /// Lets buffers take several writes at once, and nothing write where an unread value is.
    pub(super) fn merge(&mut self, view: View<'_>) {
        let state = view.state;
        for thread in 0..state.threads.len() {
            let buffer = &state.threads[thread].buffer;
            let run = equal(buffer, |entry| match entry.item {
                Item::Write { target, .. } => Some(target),
                _ => None,
            });
            let is_last = run == buffer.len() && is_last_of_thread(view, thread);
            self.take_together(view, state.threads.len() + thread, run, is_last);
        }
        for (pair, queues) in state.pairs.iter().enumerate() {
            let run = equal(&queues.remote, plain_target);
            let is_last = run == queues.remote.len() && is_last_of_pair(view, pair);
            self.take_together(view, self.first[pair], run, is_last);
        }
        if state.unread == 0 {
            return;
        }
        for index in 0..self.parts.len() {
            self.keep_unread(state, index);
        }
        if !self.is_any_enabled() {
            self.is_lifted = true;
            let is_kept = |part: &&mut Part| {
                matches!(part.status, Status::WaitsForAny(_)) && part.overwrites(state.unread)
            };
            self.parts.iter_mut().filter(is_kept).for_each(|part| part.status = Status::Enabled);
        }
    }

    /// The `run` writes at the head of a buffer are one step. `is_last` says that nothing comes after them.
    fn take_together(&mut self, view: View<'_>, index: usize, run: usize, is_last: bool) {
        let target = self.parts[index].now.writes;
        let is_last = is_last && view.footprints.observed & target == 0;
        if run == 0 || run == 1 && !is_last {
            return;
        }
        let others = self.parts.iter().enumerate().filter(|(other, _)| *other != index);
        let (reads, writes) = others.fold((0, 0), |(reads, writes), (_, part)| {
            (reads | part.later.reads, writes | part.later.writes)
        });
        let part = &mut self.parts[index];
        (part.run, part.is_read) = (run, reads & target != 0);
        part.last_unread = if is_last { target & reads & writes } else { 0 };
    }

    fn keep_unread(&mut self, state: &State, index: usize) {
        let part = self.parts[index];
        let own = match part.transition.agent {
            Agent::Cpu(thread) => buffered(&state.threads[thread].buffer),
            _ => 0,
        };
        self.parts[index].shows = part.now.reads & state.unread & !own;
        if part.status != Status::Enabled || !part.overwrites(state.unread) {
            return;
        }
        let others = self.parts.iter().enumerate();
        let readers = others
            .filter(|(other, one)| *other != index && one.later.reads & part.now.writes != 0)
            .fold(0, |all, (other, _)| all | bit(other));
        if readers != 0 {
            self.parts[index].status = Status::WaitsForAny(readers);
        }
    }
}

impl Part {
    fn overwrites(&self, locations: u64) -> bool {
        self.now.writes & !self.now.reads & locations != 0
    }
}

/// How many writes to one location are at the head of a buffer.
fn equal<T>(buffer: &[T], target: impl Fn(&T) -> Option<LocationId>) -> usize {
    let first = buffer.first().and_then(&target);
    buffer.iter().take_while(|entry| first.is_some() && target(entry) == first).count()
}

/// The location of a write in wbR that does nothing else.
fn plain_target(write: &RemoteWrite) -> Option<LocationId> {
    write.target.filter(|_| !write.atomic && write.completes.is_none())
}

/// Whether nothing waits for what is in a thread's store buffer, or comes to it, or reads there.
fn is_last_of_thread(View { footprints, state, .. }: View<'_>, thread: usize) -> bool {
    let future = footprints.future(thread, state.threads[thread].pc);
    !future.needs_buffer && future.own.reads & buffered(&state.threads[thread].buffer) == 0
}

/// Whether nothing waits for what is in wbR of a queue pair, or comes to it.
fn is_last_of_pair(View { machine, footprints, state }: View<'_>, pair: usize) -> bool {
    let passes = |entry: &Entry| matches!(entry.item.kind(), Kind::Ack | Kind::LocalWrite);
    let posts = |thread: &usize| {
        let ThreadState { pc, buffer } = &state.threads[*thread];
        let is_to_it = |entry: &Entry| entry.pair == pair && entry.item.kind() != Kind::Write;
        footprints.future(*thread, *pc).posts & bit(pair) != 0 || buffer.iter().any(is_to_it)
    };
    state.pairs[pair].pipe.iter().all(passes) && !machine.users[pair].iter().any(posts)
}

/// The locations that a store buffer has writes to.
fn buffered(buffer: &[Entry]) -> u64 {
    buffer.iter().fold(0, |all, entry| match entry.item {
        Item::Write { target, .. } => all | bit(target.0),
        _ => all,
    })
}
