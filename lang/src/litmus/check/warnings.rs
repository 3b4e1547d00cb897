//! What has a meaning, but probably not the intended one.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::program::{Call, NodeId, Program, Stmt, StmtKind, Thread};
use crate::source::Span;

use super::Checker;

/// Calls a function for each statement, also those in blocks.
pub fn each(body: &[Stmt], visit: &mut impl FnMut(&Stmt)) {
    for stmt in body {
        limits::look();
        visit(stmt);
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                each(then, visit);
                each(otherwise, visit);
            }
            StmtKind::Loop(body) => each(body, visit),
            _ => {}
        }
    }
}

/// Adds the warnings.
pub fn warn(checker: &mut Checker<'_>) {
    if checker.sink.has_errors() {
        return;
    }
    let mut found = Vec::new();
    for thread in &checker.program.threads {
        polls(&checker.program, thread, &mut found);
        waits(&checker.program, thread, &mut found);
        endless(&thread.body, &mut found);
    }
    unused(checker, &mut found);
    for diagnostic in found {
        checker.sink.push(diagnostic);
    }
}

/// The node that an operation of the NIC goes to.
fn target(program: &Program, stmt: &Stmt) -> Option<NodeId> {
    match &stmt.kind {
        StmtKind::Put { target: remote, .. }
        | StmtKind::Get { source: remote, .. }
        | StmtKind::Rcas { target: remote, .. }
        | StmtKind::Rfaa { target: remote, .. } => {
            program.locations.get(remote.0).map(|location| location.node)
        }
        _ => None,
    }
}

/// Polls that nothing can answer. Where there are branches or loops, only a poll towards a node to which
/// nothing at all was sent is certain to block.
fn polls(program: &Program, thread: &Thread, found: &mut Vec<Diagnostic>) {
    let straight = !thread
        .body
        .iter()
        .any(|stmt| matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Loop(_)));
    let mut sent: HashMap<NodeId, usize> = HashMap::new();
    for stmt in &thread.body {
        // An operation anywhere in a loop comes before a poll anywhere in it.
        each(std::slice::from_ref(stmt), &mut |stmt| {
            if let Some(node) = target(program, stmt) {
                *sent.entry(node).or_default() += 1;
            }
        });
        each(std::slice::from_ref(stmt), &mut |stmt| {
            let StmtKind::Poll(node) = stmt.kind else { return };
            match sent.get_mut(&node) {
                Some(left) if *left > 0 => *left -= usize::from(straight),
                _ => found.push(blocked_poll(stmt.span, node)),
            }
        });
    }
}

fn blocked_poll(span: Span, node: NodeId) -> Diagnostic {
    let message = format!("no operation towards node {} is left to poll, so this blocks", node.0);
    let warning = Diagnostic::warning("poll-without-operation", span, message);
    warning.help("`Poll(n)` waits for the oldest unpolled operation of the thread towards node n")
}

/// Waits for ids that nothing before them carries.
fn waits(program: &Program, thread: &Thread, found: &mut Vec<Diagnostic>) {
    let mut carried = HashSet::new();
    for stmt in &thread.body {
        each(std::slice::from_ref(stmt), &mut |stmt| match &stmt.kind {
            StmtKind::Put { id, .. }
            | StmtKind::Get { id, .. }
            | StmtKind::Rcas { id, .. }
            | StmtKind::Rfaa { id, .. } => carried.extend(id.map(|id| (id, false))),
            StmtKind::Call(call) if call.method != "WaitSV" => {
                carried.extend(call.id.map(|id| (id, call.method == "Bcast")));
            }
            _ => {}
        });
        each(std::slice::from_ref(stmt), &mut |stmt| {
            let wanted = match &stmt.kind {
                StmtKind::Wait(id) => (*id, false),
                StmtKind::Call(Call { method, id: Some(id), .. }) if method == "WaitSV" => {
                    (*id, true)
                }
                _ => return,
            };
            if carried.contains(&wanted) {
                return;
            }
            let name = program.work_ids.get(wanted.0.0).map_or("", String::as_str);
            let message = format!("no earlier operation of this thread has the work id `{name}`");
            let warning = Diagnostic::warning("wait-without-operation", stmt.span, message);
            let help = match (wanted.1, carried.contains(&(wanted.0, !wanted.1))) {
                (true, true) => "`WaitSV` waits for `Bcast`s; for puts and gets it is `Wait`",
                (false, true) => {
                    "`Wait` waits for puts, gets and RMWs; for a `Bcast` it is `WaitSV`"
                }
                _ => "an operation gets its id by `:=^d`, or as its last argument",
            };
            found.push(warning.help(help));
        });
    }
}

/// Loops without a way out.
fn endless(body: &[Stmt], found: &mut Vec<Diagnostic>) {
    each(body, &mut |stmt| {
        if let StmtKind::Loop(inner) = &stmt.kind
            && !breaks(inner)
        {
            let message = "this loop has no `break`, so nothing after it is done";
            found.push(Diagnostic::warning("endless-loop", stmt.span, message));
        }
    });
}

/// True if a break in the statements leaves the loop around them.
fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If { then, otherwise, .. } => breaks(then) || breaks(otherwise),
        _ => false,
    })
}

/// Declared names that nothing uses.
fn unused(checker: &Checker<'_>, found: &mut Vec<Diagnostic>) {
    for declaration in checker.file.declarations.iter().flat_map(|row| row.cells.all()) {
        let name = &declaration.name;
        if !checker.used.contains(&name.text) {
            let message = format!("`{}` is declared, and nothing uses it", name.text);
            found.push(Diagnostic::warning("unused-location", name.place.span, message));
        }
    }
}
