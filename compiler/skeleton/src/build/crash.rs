//! A crash of all nodes, and what it leaves in memory.

use lang::program::LocationId;
use lang::source::Span;

use super::super::{Condition, Event, EventId, Stamp, Value};
use super::{Builder, of_no_thread};

impl Builder<'_> {
    /// A poll or wait. A crash may come before it returns, and then neither it nor what follows in its thread
    /// happens. Other statements need no such choice: they end without anyone's help, so what a crash
    /// interrupts is the first part of a whole execution.
    pub(super) fn waits(&mut self, event: impl FnOnce(&mut Self) -> EventId) -> EventId {
        if self.program.crash.is_none() {
            return event(self);
        }
        let choice = self.condition(Condition::Choice(self.choices));
        self.choices += 1;
        self.live = self.and(self.live, choice);
        let event = event(self);
        self.skeleton.choices.push(event);
        event
    }

    /// Of each location, the crash leaves what is there when it is last written back.
    pub(super) fn crash(&mut self, span: Span) {
        for index in 0..self.program.locations.len() {
            let operation = self.next_operation();
            let id = EventId(self.skeleton.events.len());
            let read = Some(self.value(Value::Read(id)));
            self.skeleton.recovered.push(id);
            let plain = of_no_thread(Stamp::Recovery, LocationId(index), operation, span);
            self.skeleton.events.push(Event { read, ..plain });
        }
    }
}
