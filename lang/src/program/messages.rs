//! Messages that consume a receive, and receives: both ends of a queue pair.

use std::collections::BTreeMap;

use super::{LocationId, NodeId, Program, Stmt, StmtKind, ThreadId, each};

/// The queue pair that a message comes from, as its target names it: the thread that posts the message, and
/// which of that thread's queue pairs to the target's node it is. Programs write `1/2`, and `1` for `1/0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer {
    /// The thread.
    pub thread: ThreadId,
    /// The number among the thread's queue pairs to the node, from 0.
    pub queue_pair: u32,
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.queue_pair {
            0 => write!(f, "{}", self.thread.number()),
            number => write!(f, "{}/{number}", self.thread.number()),
        }
    }
}

/// Where a message writes its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageTarget {
    /// At a location that the sender names: a put with immediate, `PutImm(x^n, y, v)`.
    Location(LocationId),
    /// Into the buffer of the receive that it consumes: `Send(n, y)`.
    Receive(NodeId),
}

/// The two ends of a queue pair on which messages go: the sender's, and the node at which they arrive.
pub type Connection = (Peer, NodeId);

/// The value of a receive's completion before it comes. No immediate is that large.
pub const PENDING: u64 = 0xC0DE_0DD5_C0DE_0DD5;

/// Immediates have 32 bits.
pub const IMMEDIATES: u64 = 1 << 32;

/// A receive that a program posts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// Where the data of a `Send` goes.
    pub buffer: LocationId,
    /// A private location that stands for the completion: at first [`PENDING`], then the immediate or `⊥`.
    pub entry: LocationId,
}

impl Program {
    /// The receives of each connection, in the order in which they are posted. The checker sees to it that
    /// one thread posts all of a connection, and none in a block.
    pub fn receives(&self) -> BTreeMap<Connection, Vec<Receive>> {
        let mut all: BTreeMap<Connection, Vec<Receive>> = BTreeMap::new();
        for thread in &self.threads {
            for stmt in &thread.body {
                if let StmtKind::Receive { from, receive } = stmt.kind {
                    all.entry((from, thread.node)).or_default().push(receive);
                }
            }
        }
        all
    }

    /// The connection of a message of a thread.
    pub fn connection(&self, thread: ThreadId, kind: &StmtKind) -> Option<Connection> {
        let StmtKind::Message { .. } = kind else { return None };
        let towards = self.towards(kind)?;
        Some((Peer { thread, queue_pair: towards.queue_pair }, towards.node))
    }

    /// The first message, receive, or poll of receives.
    pub fn first_message(&self) -> Option<&Stmt> {
        self.first(|kind| {
            matches!(
                kind,
                StmtKind::Message { .. } | StmtKind::Receive { .. } | StmtKind::PollReceive { .. }
            )
        })
    }

    /// The first statement of a kind, in the order of threads and text.
    fn first(&self, is_wanted: impl Fn(&StmtKind) -> bool) -> Option<&Stmt> {
        let mut found = None;
        for thread in &self.threads {
            each(&thread.body, &mut |stmt| {
                found = found.or_else(|| is_wanted(&stmt.kind).then_some(stmt));
            });
        }
        found
    }
}
