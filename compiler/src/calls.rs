//! Lists the statements that a program uses, so that a model can report those that it does not define.

use lang::program::{MessageTarget, Program, StmtKind, each};
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
        StmtKind::Message { target: MessageTarget::Location(_), .. } => "Put",
        StmtKind::Message { target: MessageTarget::Receive(_), .. } => "Send",
        StmtKind::AtomicWrite { .. } => "AtomicWrite",
        StmtKind::Flush { is_persistent: false, .. } => "Flush",
        StmtKind::Flush { is_persistent: true, .. } => "Persist",
        StmtKind::Receive { .. } => "Recv",
        StmtKind::PollReceive { .. } => "PollRecv",
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

fn has_immediate(kind: &StmtKind) -> bool {
    matches!(kind, StmtKind::Message { immediate: Some(_), .. })
}

/// The first statement of each kind that the program uses, in the order of the text.
pub fn calls(program: &Program) -> Vec<(String, Span)> {
    let mut found: Vec<(String, Span)> = Vec::new();
    found.extend(program.crash.map(|span| ("Crash".to_owned(), span)));
    let shared = program.shared_queue_pair().map(|(_, span)| ("SharedPost".to_owned(), span));
    found.extend(shared);
    for thread in &program.threads {
        each(&thread.body, &mut |stmt| {
            let unsignaled = stmt.unsignaled.then_some("Unsignaled");
            let words = matches!(stmt.kind, StmtKind::Words(_)).then_some("Words");
            let immediate = has_immediate(&stmt.kind).then_some("Immediate");
            let shared = matches!(&stmt.kind, StmtKind::Poll(pairs) if pairs.len() > 1);
            let shared = shared.then_some("SharedPoll");
            let marks = [unsignaled, words, immediate, shared].into_iter().flatten();
            for name in call_name(&stmt.kind).into_iter().chain(marks) {
                if !found.iter().any(|(known, _)| known == name) {
                    found.push((name.to_owned(), stmt.span));
                }
            }
        });
    }
    found
}
