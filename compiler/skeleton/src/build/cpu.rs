//! Statements of the CPU.

use lang::program::{BinaryOp, LocationId, RegisterId, Stmt, StmtKind};

use super::super::{Stamp, Value, ValueId};
use super::Builder;

impl Builder<'_> {
    /// The events of a statement of the CPU, fences and polls among them.
    pub(super) fn cpu_operation(&mut self, stmt: &Stmt) {
        let live = self.live;
        match &stmt.kind {
            StmtKind::Read { register, location } => {
                let shape = self.shape(stmt.span, None, None);
                self.registers[register.0] = self.read(shape, Stamp::CpuRead, live, *location);
            }
            StmtKind::Write { location, value } => {
                let value = self.expression(value);
                let shape = self.shape(stmt.span, None, None);
                self.event(shape, Stamp::CpuWrite, live, Some(*location), Some(value));
            }
            StmtKind::Cas { register, location, expected, desired } => {
                let expected = self.expression(expected);
                let desired = self.expression(desired);
                let old = self.compare_and_swap(stmt.span, *location, expected, desired);
                if let Some(register) = register {
                    self.registers[register.0] = old;
                }
            }
            StmtKind::Faa { register, location, addend } => {
                let addend = self.expression(addend);
                self.fetch_and(stmt, *register, *location, |build, old| {
                    build.binary(BinaryOp::Add, old, addend)
                });
            }
            StmtKind::Exchange { register, location, value } => {
                let value = self.expression(value);
                self.fetch_and(stmt, *register, *location, |_, _| value);
            }
            StmtKind::Fence => {
                let shape = self.shape(stmt.span, None, None);
                self.event(shape, Stamp::Fence, live, None, None);
            }
            StmtKind::Poll(pairs) => {
                let shape = match pairs.as_slice() {
                    [one] => self.shape_on(stmt.span, *one, None),
                    _ => self.shape(stmt.span, None, None),
                };
                let poll =
                    self.waits(|build| build.event(shape, Stamp::Wait, build.live, None, None));
                let pairs = pairs.iter().map(|pair| (self.owner(*pair), *pair));
                self.skeleton.events[poll.0].polls = pairs.collect();
            }
            StmtKind::Wait(id) => {
                let shape = self.shape(stmt.span, None, Some(*id));
                self.waits(|build| build.event(shape, Stamp::Wait, build.live, None, None));
            }
            StmtKind::RemoteFence(towards) => {
                let shape = self.request(stmt.span, *towards, None);
                self.event(shape, Stamp::RemoteFence, live, None, None);
            }
            _ => {}
        }
    }

    /// A CPU RMW that always writes: one event.
    fn fetch_and(
        &mut self,
        stmt: &Stmt,
        register: Option<RegisterId>,
        location: LocationId,
        new: impl FnOnce(&mut Self, ValueId) -> ValueId,
    ) {
        let shape = self.shape(stmt.span, None, None);
        let event = self.event(shape, Stamp::CpuRmw, self.live, Some(location), None);
        let old = self.value(Value::Read(event));
        self.skeleton.events[event.0].written = Some(new(self, old));
        if let Some(register) = register {
            self.registers[register.0] = old;
        }
    }
}
