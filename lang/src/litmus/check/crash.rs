//! What a program may have if its nodes crash.

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::program::{StmtKind, each};
use crate::source::Span;

use super::Checker;

/// Reports statements of a test about a crash of which nothing says what the crash leaves.
pub fn check(checker: &mut Checker<'_>) {
    let Some(header) = checker.program.crash else { return };
    if checker.file.dialect() == Dialect::CoreRma {
        let message = "expected a program of dialect rdma, found one of coreRMA";
        let error = Diagnostic::error(Code::NotWithCrash, header, message);
        checker.sink.push(error.help("no source says what of coreRMA survives a crash"));
        return;
    }
    let mut found: Vec<(Span, &str)> = Vec::new();
    for thread in &checker.program.threads {
        each(&thread.body, &mut |stmt| {
            limits::look();
            found.extend(without_meaning(&stmt.kind).map(|what| (stmt.span, what)));
        });
    }
    for (span, what) in found {
        let message = format!("expected a statement that a crash may interrupt, found {what}");
        let error = Diagnostic::error(Code::NotWithCrash, span, message);
        let error = error.related(header, "all nodes crash");
        let help =
            "tests about a crash have reads, writes, RMWs, requests, fences, polls and waits";
        checker.sink.push(error.help(help));
    }
}

fn without_meaning(kind: &StmtKind) -> Option<&'static str> {
    Some(match kind {
        StmtKind::Loop(_) | StmtKind::Break => "a loop",
        StmtKind::Assume(_) => "an assumption",
        StmtKind::Message { .. } | StmtKind::Receive { .. } | StmtKind::PollReceive { .. } => {
            "a message"
        }
        StmtKind::GlobalFence(_) => "a global fence",
        StmtKind::Call(_) => "a call of a library",
        StmtKind::Rma(_) => "a statement of coreRMA",
        // It is an assumption: that the index is one of a word.
        StmtKind::OutOfRange { .. } => "an index that is a value",
        StmtKind::Assign { .. }
        | StmtKind::Read { .. }
        | StmtKind::Write { .. }
        | StmtKind::Cas { .. }
        | StmtKind::Faa { .. }
        | StmtKind::Exchange { .. }
        | StmtKind::Fence
        | StmtKind::Put { .. }
        | StmtKind::Get { .. }
        | StmtKind::Rcas { .. }
        | StmtKind::Rfaa { .. }
        | StmtKind::Words(_)
        | StmtKind::AtomicWrite { .. }
        | StmtKind::Flush { .. }
        | StmtKind::Poll(_)
        | StmtKind::Wait(_)
        | StmtKind::RemoteFence(_)
        | StmtKind::If { .. } => return None,
    })
}
