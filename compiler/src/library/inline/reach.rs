//! Checks what a thread may access: the rules of programs, applied to the bodies of implementations. This is
//! only possible at a call, because the call decides where objects have their memory and where threads run.

use lang::diagnostic::Code;
use lang::program::{LocationId, PutSource, StmtKind};

use super::{Inliner, Refused, Site};

/// A rule of programs that a statement of a body breaks.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The code of the diagnostic for the same mistake in a program.
    pub code: Code,
    /// The hint: how to do it right.
    pub help: &'static str,
}

const OWN_NODE: Broken = Broken {
    code: Code::RemoteCpuAccess,
    help: "a CPU reaches its own node only; the NIC reaches others (`~`, RCAS, RFAA), or `by threads(x.home)` says who may call",
};
const PUT_SOURCE: Broken = Broken {
    code: Code::PutSourceRemote,
    help: "the NIC takes a put's value from the thread's own node; get it first",
};
const GET_TARGET: Broken = Broken {
    code: Code::GetTargetRemote,
    help: "the NIC brings what it gets, or the result of a remote RMW, to the thread's own node",
};

impl Inliner<'_> {
    /// Rejects a statement that uses memory in a way that its thread cannot.
    pub(super) fn reaches(&mut self, site: &Site<'_>, kind: &StmtKind) -> Result<(), Refused> {
        let own: Option<(&LocationId, Broken)> = match kind {
            StmtKind::Read { location, .. }
            | StmtKind::Write { location, .. }
            | StmtKind::Cas { location, .. }
            | StmtKind::Faa { location, .. }
            | StmtKind::Exchange { location, .. } => Some((location, OWN_NODE)),
            StmtKind::Put { source: PutSource::Location(source), .. } => Some((source, PUT_SOURCE)),
            StmtKind::Get { target, .. } => Some((target, GET_TARGET)),
            StmtKind::Rcas { result, .. } | StmtKind::Rfaa { result, .. } => {
                Some((result, GET_TARGET))
            }
            StmtKind::Message { source: PutSource::Location(source), .. } => {
                Some((source, PUT_SOURCE))
            }
            StmtKind::Receive { receive, .. } => Some((&receive.buffer, GET_TARGET)),
            // A value has no place, polls, fences and calls reach no memory themselves, and bodies have no
            // arrays.
            StmtKind::Put { source: PutSource::Value(_), .. }
            | StmtKind::Message { source: PutSource::Value(_), .. }
            | StmtKind::AtomicWrite { .. }
            | StmtKind::Flush { .. }
            | StmtKind::PollReceive { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Fence
            | StmtKind::Poll(_)
            | StmtKind::Wait(_)
            | StmtKind::RemoteFence(_)
            | StmtKind::GlobalFence(_)
            | StmtKind::Call(_)
            | StmtKind::Rma(_)
            | StmtKind::If { .. }
            | StmtKind::Loop(_)
            | StmtKind::Break
            | StmtKind::Assume(_)
            | StmtKind::Words(_)
            | StmtKind::OutOfRange { .. } => None,
        };
        let Some((location, broken)) = own else { return Ok(()) };
        let program = &self.test.program;
        let (location, here) =
            (&program.locations[location.0], program.threads[site.thread.0].node);
        if location.node == here {
            return Ok(());
        }
        let message = format!(
            "expected memory of node {}, where thread {} calls {}, found `{}` of node {}",
            here.0,
            site.thread.number(),
            site.called(),
            location.name,
            location.node.0,
        );
        self.broken.get_or_insert(broken);
        Err(message)
    }
}

impl Site<'_> {
    /// The call, for messages.
    fn called(&self) -> String {
        match self.object.as_str() {
            "" => format!("`{}`", self.method),
            object => format!("`{}` of `{object}`", self.method),
        }
    }
}
