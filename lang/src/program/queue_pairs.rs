//! The queue pairs that programs name.

use super::{NodeId, Program, StmtKind, ThreadId, each};
use crate::source::Span;

/// A queue pair as a thread names it: the node that it leads to, and which queue pair to that node it is.
/// Programs write `2/1`, and `2` for `2/0`; and `2/s1` for one that all threads of a node share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Towards {
    /// The node.
    pub node: NodeId,
    /// Its index: below [`SHARED`] the number among the thread's own queue pairs to this node, and from there
    /// on the number among those that threads share.
    pub queue_pair: u32,
}

impl Towards {
    /// Whether it is one that all threads of a node share.
    pub fn is_shared(self) -> bool {
        self.queue_pair >= SHARED
    }

    /// The number of the queue pair as programs write it: `1`, or `s1`.
    pub fn number(self) -> String {
        match self.queue_pair.checked_sub(SHARED) {
            Some(shared) => format!("s{shared}"),
            None => self.queue_pair.to_string(),
        }
    }
}

impl std::fmt::Display for Towards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.queue_pair {
            0 => write!(f, "{}", self.node.0),
            _ => write!(f, "{}/{}", self.node.0, self.number()),
        }
    }
}

/// How many queue pairs a thread may have to one node, and how many the threads of a node may share.
pub const QUEUE_PAIRS: u32 = 16;

/// The index of the first queue pair that threads share.
pub const SHARED: u32 = QUEUE_PAIRS;

/// Whose a queue pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// One thread posts to it and polls it.
    Thread(ThreadId),
    /// All threads of a node may.
    Node(NodeId),
}

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

    /// Whose the queue pair is that a thread names so.
    pub fn owner(&self, thread: ThreadId, towards: Towards) -> Owner {
        match self.threads.get(thread.0) {
            Some(of) if towards.is_shared() => Owner::Node(of.node),
            _ => Owner::Thread(thread),
        }
    }

    /// The first statement that names another queue pair than 0, and that queue pair.
    pub fn other_queue_pair(&self) -> Option<(Towards, Span)> {
        self.first_queue_pair(|towards| towards.queue_pair != 0)
    }

    /// The first statement that names a queue pair that threads share, and that queue pair.
    pub fn shared_queue_pair(&self) -> Option<(Towards, Span)> {
        self.first_queue_pair(|towards| towards.is_shared())
    }

    fn first_queue_pair(&self, is_it: impl Fn(&Towards) -> bool) -> Option<(Towards, Span)> {
        let mut found = None;
        for thread in &self.threads {
            each(&thread.body, &mut |stmt| {
                let named = stmt.kind.parts().queue_pairs.iter().copied();
                let mut named = named.chain(self.towards(&stmt.kind));
                let named = named.find(&is_it);
                found = found.or(named.map(|towards| (towards, stmt.span)));
            });
        }
        found
    }
}
