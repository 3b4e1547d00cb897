//! The queue pairs that programs name.

use super::{NodeId, Program, StmtKind, each};
use crate::source::Span;

/// A queue pair as a thread names it: the node that it leads to, and which of the thread's queue pairs to
/// that node it is. Programs write `2/1`, and `2` for `2/0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Towards {
    /// The node.
    pub node: NodeId,
    /// The number among the thread's queue pairs to this node, from 0.
    pub queue_pair: u32,
}

impl std::fmt::Display for Towards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.queue_pair {
            0 => write!(f, "{}", self.node.0),
            number => write!(f, "{}/{number}", self.node.0),
        }
    }
}

/// How many queue pairs a thread may have to one node.
pub const QUEUE_PAIRS: u32 = 16;

impl Program {
    /// The queue pair of an operation of the NIC.
    pub fn towards(&self, kind: &StmtKind) -> Option<Towards> {
        let parts = kind.parts();
        if parts.sends.is_some() {
            return parts.sends;
        }
        let (remote, queue_pair) = parts.remote?;
        let node = self.locations.get(remote.0)?.node;
        Some(Towards { node, queue_pair })
    }

    /// The first statement that names another queue pair than 0, and that queue pair.
    pub fn other_queue_pair(&self) -> Option<(Towards, Span)> {
        let mut found = None;
        for thread in &self.threads {
            each(&thread.body, &mut |stmt| {
                let named = stmt.kind.parts().queue_pairs.iter().copied();
                let mut named = named.chain(self.towards(&stmt.kind));
                let named = named.find(|towards| towards.queue_pair != 0);
                found = found.or(named.map(|towards| (towards, stmt.span)));
            });
        }
        found
    }
}
