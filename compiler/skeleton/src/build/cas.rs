//! Compare-and-swap on the CPU.

use lang::program::LocationId;
use lang::source::Span;

use super::super::{Condition, Stamp, Value, ValueId};
use super::Builder;

impl Builder<'_> {
    /// One event if it succeeds; a fence and a read if it fails [RMW §D.2].
    pub(super) fn compare_and_swap(
        &mut self,
        span: Span,
        location: LocationId,
        expected: ValueId,
        desired: ValueId,
    ) -> ValueId {
        let shape = self.shape(span, None, None);
        let choice = self.condition(Condition::Choice(self.choices));
        self.choices += 1;
        let succeeds = self.and(self.live, choice);
        let fails = self.and(self.live, !choice);
        let read = self.event(shape, Stamp::CpuRmw, succeeds, Some(location), Some(desired));
        self.skeleton.choices.push(read);
        let success = self.value(Value::Read(read));
        let equal = self.equal(success, expected);
        self.require(succeeds, equal);
        self.event(shape, Stamp::Fence, fails, None, None);
        let failure = self.read(shape, Stamp::CpuRead, fails, location);
        let equal = self.equal(failure, expected);
        self.require(fails, !equal);
        self.select(choice, expected, failure)
    }
}
