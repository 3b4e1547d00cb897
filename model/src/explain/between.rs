//! What comes between the two halves of a remote RMW. A NIC does it as a read and a write, which only other
//! remote RMWs may not come between; people who know CPUs expect more.

use std::fmt::Write;

use skeleton::{EventId, Stamp};

use super::words::Words;
use super::{Explanation, Reason};
use crate::check::{Pairs, closure};

/// A write between the halves of a remote RMW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The half that reads.
    pub read: EventId,
    /// The write that came before the other half.
    pub other: EventId,
    /// The half that writes.
    pub write: EventId,
}

impl Explanation<'_> {
    /// The writes between the halves of remote RMWs, where an outcome is allowed.
    pub fn between(&self) -> Vec<Between> {
        let Reason::Witness(execution) = &self.reason else { return Vec::new() };
        let Some((_, order)) = execution.orders.iter().find(|(name, _)| name == "mo") else {
            return Vec::new();
        };
        let order: Pairs = order.iter().map(|(from, to)| (from.0, to.0)).collect();
        let order = closure(&order);
        let event = |id: EventId| self.question.skeleton.event(id);
        let ids = || execution.events.iter().map(|happening| happening.event);
        let mut found = Vec::new();
        for (source, read) in &execution.reads_from {
            let half = event(*read);
            let is_write = |id: &EventId| {
                let other = event(*id);
                other.stamp == Stamp::NicRemoteWrite
                    && (other.operation, other.location) == (half.operation, half.location)
            };
            let write = ids().find(is_write).filter(|_| half.stamp == Stamp::NicAtomicRead);
            let Some(write) = write else { continue };
            let comes_between = |id: &EventId| {
                order.contains(&(source.0, id.0)) && order.contains(&(id.0, write.0))
            };
            let others = ids().filter(comes_between);
            found.extend(others.map(|other| Between { read: *read, other, write }));
        }
        found
    }

    /// The same in words.
    pub(super) fn tell_between(&self, words: &Words<'_>, out: &mut String) -> std::fmt::Result {
        for Between { read, other, .. } in self.between() {
            let what = match self.question.skeleton.event(other).stamp {
                Stamp::CpuRmw => "An atomic of the CPU",
                Stamp::CpuWrite => "A write of the CPU",
                _ => "A write through the NIC",
            };
            writeln!(
                out,
                "{what} came between the read and the write of a remote RMW of the same word: they are not atomic to each other.\n  \
                 it: {}\n  the remote RMW: {}\n",
                words.statement(other),
                words.statement(read)
            )?;
        }
        Ok(())
    }
}
