//! coreRMA statements as actions (Dan, Lam, Hoefler, Vechev, OOPSLA 2016, Table 3).
//!
//! Local reads and writes are CPU events. The actions er and ew are the NIC's local and remote reads and
//! writes. The erw of an rga and of a cas, and flushes, have stamps of their own.

use lang::program::{BinaryOp, LocationId, RmaKind, RmaStmt};
use lang::source::Span;

use super::super::{EventId, Stamp, Value, ValueId};
use super::{Builder, Shape};

impl Builder<'_> {
    pub(super) fn rma(&mut self, rma: &RmaStmt, span: Span) {
        let value = rma.value.as_ref().map(|value| self.expression(value));
        let shape = self.shape(span, rma.process, None);
        match (rma.kind, rma.accesses.as_slice()) {
            (RmaKind::LocalRead, [x]) => {
                let read = self.action(shape, Stamp::CpuRead, *x, None);
                if let Some(register) = rma.register {
                    self.registers[register.0] = self.value(Value::Read(read));
                }
            }
            (RmaKind::LocalWrite, [x]) => {
                self.action(shape, Stamp::CpuWrite, *x, value);
            }
            (RmaKind::Get, [x, z]) => {
                let read = self.read_action(shape, Stamp::NicRemoteRead, *z);
                self.action(shape, Stamp::NicLocalWrite, *x, Some(read));
            }
            (RmaKind::Put, [z, x]) => {
                let read = self.read_action(shape, Stamp::NicLocalRead, *x);
                self.action(shape, Stamp::NicRemoteWrite, *z, Some(read));
            }
            (RmaKind::Rga, [x, z, y]) => {
                let addend = self.read_action(shape, Stamp::NicLocalRead, *y);
                let old = self.read_write(shape, Stamp::NicFetchOp, *z, |builder, old| {
                    builder.binary(BinaryOp::Add, old, addend)
                });
                self.action(shape, Stamp::NicLocalWrite, *x, Some(old));
            }
            (RmaKind::Cas, [x, z, y, w]) => {
                let expected = self.read_action(shape, Stamp::NicLocalRead, *y);
                let desired = self.read_action(shape, Stamp::NicLocalRead, *w);
                // A cas that fails writes the old value. It still counts as a writer (Table 3, rule CAS-F).
                let old = self.read_write(shape, Stamp::NicCompareSwap, *z, |builder, old| {
                    let equal = builder.equal(old, expected);
                    builder.select(equal, desired, old)
                });
                self.action(shape, Stamp::NicLocalWrite, *x, Some(old));
            }
            (RmaKind::Flush, _) => {
                let live = self.live;
                self.event(shape, Stamp::Flush, live, None, None);
            }
            // The checker produces no other statements.
            _ => {}
        }
    }

    fn action(
        &mut self,
        shape: Shape,
        stamp: Stamp,
        (location, atomic): (LocationId, bool),
        written: Option<ValueId>,
    ) -> EventId {
        let live = self.live;
        let event = self.event(shape, stamp, live, Some(location), written);
        self.skeleton.events[event.0].atomic = atomic;
        event
    }

    fn read_action(&mut self, shape: Shape, stamp: Stamp, access: (LocationId, bool)) -> ValueId {
        let event = self.action(shape, stamp, access, None);
        self.value(Value::Read(event))
    }

    /// An action that reads a value, and writes what `written` computes from it. Returns the value read.
    fn read_write(
        &mut self,
        shape: Shape,
        stamp: Stamp,
        access: (LocationId, bool),
        written: impl FnOnce(&mut Self, ValueId) -> ValueId,
    ) -> ValueId {
        let event = self.action(shape, stamp, access, None);
        let old = self.value(Value::Read(event));
        let new = written(self, old);
        self.skeleton.events[event.0].written = Some(new);
        old
    }
}
