//! Writes of one buffer that nobody reads between: one step takes several.
//!
//! A CPU write at the head of a store buffer, whose next entry writes the same location, only matters if
//! somebody reads it from memory before anything writes there again. Else it may as well come to memory right
//! before the next write to the location: nothing between the two reads it, the next entry of the buffer is
//! still behind it, and nothing waits for a buffer to be shorter. So each execution has the outcome of one in
//! which such a write is read before the location is written again, or overwritten at once by the next entry.
//! So a step takes some writes of the buffer's head together. If the last of them is not the last of its kind
//! there, the location is *unread*: until somebody reads it from memory, it is not written.
//!
//! With this rule, the machine is another one, with fewer states. Which accesses conflict is as before. A
//! thread may append a write to its buffer before or after what leaves it; afterwards, more writes have a
//! next one. So what a step leaves unread if it comes later, it may leave read if it comes first, and that
//! allows more.

use super::super::footprint::bit;
use super::super::rules::Agent;
use super::super::state::{Entry, Item, State};
use super::{Reduction, Status, View};

impl Reduction {
    /// Lets store buffers take several writes at once, and nothing write where an unread value is.
    pub(super) fn merge(&mut self, View { state, .. }: View<'_>) {
        for (thread, part) in state.threads.iter().enumerate() {
            let run = equal_writes(&part.buffer);
            if run > 1 {
                let index = state.threads.len() + thread;
                let target = self.parts[index].now.writes;
                let is_read = self.parts.iter().any(|part| part.later.reads & target != 0);
                (self.parts[index].run, self.parts[index].is_read) = (run, is_read);
            }
        }
        if state.unread != 0 {
            for index in 0..self.parts.len() {
                self.keep_unread(state, index);
            }
        }
    }

    fn keep_unread(&mut self, state: &State, index: usize) {
        let part = self.parts[index];
        let own = match part.transition.agent {
            Agent::Cpu(thread) => buffered(&state.threads[thread].buffer),
            _ => 0,
        };
        self.parts[index].shows = part.now.reads & state.unread & !own;
        let kept = part.now.writes & state.unread & !part.now.reads;
        if part.status != Status::Enabled || kept == 0 {
            return;
        }
        let others = self.parts.iter().enumerate();
        let readers = others
            .filter(|(other, part)| *other != index && part.later.reads & kept != 0)
            .fold(0, |all, (other, _)| all | bit(other));
        self.parts[index].status = match readers {
            0 => Status::Stuck,
            _ => Status::WaitsForAny(readers),
        };
    }
}

/// How many CPU writes to one location are at the head of a store buffer.
fn equal_writes(buffer: &[Entry]) -> usize {
    let target = |entry: &Entry| match entry.item {
        Item::Write { target, .. } => Some(target),
        _ => None,
    };
    let first = buffer.first().and_then(target);
    buffer.iter().take_while(|entry| first.is_some() && target(entry) == first).count()
}

/// The locations that a store buffer has writes to.
fn buffered(buffer: &[Entry]) -> u64 {
    buffer.iter().fold(0, |all, entry| match entry.item {
        Item::Write { target, .. } => all | bit(target.0),
        _ => all,
    })
}
