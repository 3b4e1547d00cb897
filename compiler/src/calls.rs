//! Lists the statements that a program uses, so that a model can report those that it does not define.

use lang::program::{Program, StmtKind, each};
use lang::source::Span;

/// The name of a statement in models (`lang::cat::model::CALLS`, or a library's method). `None` for
/// statements without events.
pub fn call_name(kind: &StmtKind) -> Option<&str> {
    Some(match kind {
        StmtKind::Read { .. } => "Read",
        StmtKind::Write { .. } => "Write",
        StmtKind::Cas { .. } => "CAS",
        StmtKind::Faa { .. } | StmtKind::Exchange { .. } => "FAA",
        StmtKind::Fence => "Mfence",
        StmtKind::Put { .. } => "Put",
        StmtKind::Get { .. } => "Get",
        StmtKind::Words(words) if words.is_put => "Put",
        StmtKind::Words(_) => "Get",
        StmtKind::Rcas { .. } => "RCAS",
        StmtKind::Rfaa { .. } => "RFAA",
        StmtKind::Poll(_) => "Poll",
        StmtKind::Wait(_) => "Wait",
        StmtKind::RemoteFence(_) => "Rfence",
        StmtKind::GlobalFence(_) => "GFence",
        StmtKind::Call(call) => &call.method,
        StmtKind::Rma(_) => "Rma",
        StmtKind::Assign { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Assume(_)
        | StmtKind::OutOfRange { .. } => return None,
    })
}

/// The first statement of each kind that the program uses, in the order of the text.
pub fn calls(program: &Program) -> Vec<(String, Span)> {
    let mut found: Vec<(String, Span)> = Vec::new();
    for thread in &program.threads {
        each(&thread.body, &mut |stmt| {
            let unsignaled = stmt.unsignaled.then_some("Unsignaled");
            let words = matches!(stmt.kind, StmtKind::Words(_)).then_some("Words");
            for name in call_name(&stmt.kind).into_iter().chain(unsignaled).chain(words) {
                if !found.iter().any(|(known, _)| known == name) {
                    found.push((name.to_owned(), stmt.span));
                }
            }
        });
    }
    found
}
