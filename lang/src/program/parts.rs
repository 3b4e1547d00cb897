//! What statements consist of, in the one match that walks over statements need: a new statement does not
//! compile before it stands here.

use super::{LocationId, MessageTarget, RegisterId, Stmt, StmtKind, Towards, WorkId};

/// What a statement holds and names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts<'s> {
    /// The blocks in it, in the order of the text.
    pub blocks: [&'s [Stmt]; 2],
    /// The register that it assigns, outside of its blocks.
    pub assigned: Option<RegisterId>,
    /// The remote location of an operation of the NIC, and the number of its queue pair.
    pub remote: Option<(LocationId, u32)>,
    /// The queue pair of a message to a receive, and of a flush.
    pub sends: Option<Towards>,
    /// The queue pairs that it polls or fences.
    pub queue_pairs: &'s [Towards],
}

impl StmtKind {
    /// Whether it posts a request that completes: a put, a get, a remote RMW, a flush or a message.
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Put { .. }
                | Self::Get { .. }
                | Self::Rcas { .. }
                | Self::Rfaa { .. }
                | Self::Words(_)
                | Self::AtomicWrite { .. }
                | Self::Flush { .. }
                | Self::Message { .. }
        )
    }

    /// Whether a NIC takes part in it, or it waits for one, apart from its blocks. Calls and statements of
    /// coreRMA do not count: what they do is defined elsewhere.
    pub fn is_of_nic(&self) -> bool {
        match self {
            Self::Put { .. }
            | Self::Get { .. }
            | Self::Rcas { .. }
            | Self::Rfaa { .. }
            | Self::Words(_)
            | Self::AtomicWrite { .. }
            | Self::Flush { .. }
            | Self::Message { .. }
            | Self::Receive { .. }
            | Self::PollReceive { .. }
            | Self::Poll(_)
            | Self::Wait(_)
            | Self::RemoteFence(_)
            | Self::GlobalFence(_) => true,
            Self::Assign { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Cas { .. }
            | Self::Faa { .. }
            | Self::Exchange { .. }
            | Self::Fence
            | Self::Call(_)
            | Self::Rma(_)
            | Self::If { .. }
            | Self::Loop(_)
            | Self::Break
            | Self::Assume(_)
            | Self::OutOfRange { .. } => false,
        }
    }

    /// The work id of a request, if it has one.
    pub fn work_id(&self) -> Option<WorkId> {
        match self {
            Self::Put { id, .. }
            | Self::Get { id, .. }
            | Self::Rcas { id, .. }
            | Self::Rfaa { id, .. }
            | Self::AtomicWrite { id, .. }
            | Self::Flush { id, .. }
            | Self::Message { id, .. } => *id,
            Self::Words(words) => words.id,
            _ => None,
        }
    }

    /// What it holds and names.
    pub fn parts(&self) -> Parts<'_> {
        let none = Parts::default();
        match self {
            Self::Assign { register, .. } | Self::Read { register, .. } => {
                Parts { assigned: Some(*register), ..none }
            }
            Self::Cas { register, .. }
            | Self::Faa { register, .. }
            | Self::Exchange { register, .. } => Parts { assigned: *register, ..none },
            Self::Put { target: remote, queue_pair, .. }
            | Self::Get { source: remote, queue_pair, .. }
            | Self::Rcas { target: remote, queue_pair, .. }
            | Self::Rfaa { target: remote, queue_pair, .. }
            | Self::AtomicWrite { target: remote, queue_pair, .. } => {
                Parts { remote: Some((*remote, *queue_pair)), ..none }
            }
            Self::Words(words) => {
                let remote = words.remote.first();
                Parts { remote: remote.map(|first| (*first, words.queue_pair)), ..none }
            }
            Self::Message { target: MessageTarget::Location(remote), queue_pair, .. } => {
                Parts { remote: Some((*remote, *queue_pair)), ..none }
            }
            Self::Message { target: MessageTarget::Receive(node), queue_pair, .. } => {
                Parts { sends: Some(Towards { node: *node, queue_pair: *queue_pair }), ..none }
            }
            Self::Flush { towards, .. } => Parts { sends: Some(*towards), ..none },
            Self::PollReceive { register, .. } => Parts { assigned: *register, ..none },
            Self::Poll(pairs) => Parts { queue_pairs: pairs, ..none },
            Self::RemoteFence(towards) => {
                Parts { queue_pairs: std::slice::from_ref(towards), ..none }
            }
            Self::Call(call) => Parts { assigned: call.register, ..none },
            Self::Rma(rma) => Parts { assigned: rma.register, ..none },
            Self::If { then, otherwise, .. } => Parts { blocks: [then, otherwise], ..none },
            Self::Loop(body) => Parts { blocks: [body, &[]], ..none },
            Self::Write { .. }
            | Self::Fence
            | Self::Wait(_)
            | Self::Receive { .. }
            | Self::GlobalFence(_)
            | Self::Break
            | Self::Assume(_)
            | Self::OutOfRange { .. } => none,
        }
    }
}

/// Calls a function for each statement, also those in blocks.
pub fn each<'s>(body: &'s [Stmt], visit: &mut impl FnMut(&'s Stmt)) {
    for stmt in body {
        crate::limits::look();
        visit(stmt);
        for block in stmt.kind.parts().blocks {
            each(block, visit);
        }
    }
}
