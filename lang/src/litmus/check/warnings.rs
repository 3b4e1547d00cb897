//! What has a meaning, but probably not the intended one.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::{Code, Diagnostic};
use crate::library::{Library, Method, ParameterKind};
use crate::program::{Call, NodeId, Program, Stmt, StmtKind, Thread, Towards, WorkId, each};
use crate::source::Span;

use super::Checker;

/// Adds the warnings.
pub fn warn(checker: &mut Checker<'_>) {
    if checker.sink.has_errors() {
        return;
    }
    let mut found = Vec::new();
    for thread in &checker.program.threads {
        polls(&checker.program, thread, &mut found);
        waits(checker, thread, &mut found);
        endless(&thread.body, &mut found);
        fences(&checker.program, thread, &mut found);
    }
    unused(checker, &mut found);
    for diagnostic in found {
        checker.sink.push(diagnostic);
    }
}

/// Polls that nothing can answer. Where there are branches or loops, only a poll of a queue pair on which
/// nothing at all was sent is certain to block.
fn polls(program: &Program, thread: &Thread, found: &mut Vec<Diagnostic>) {
    let mut straight = !thread
        .body
        .iter()
        .any(|stmt| matches!(stmt.kind, StmtKind::If { .. } | StmtKind::Loop(_)));
    let mut sent: FxHashMap<Towards, usize> = FxHashMap::default();
    for stmt in &thread.body {
        // An operation anywhere in a loop comes before a poll anywhere in it.
        each(std::slice::from_ref(stmt), &mut |stmt| {
            if let Some(towards) = program.towards(&stmt.kind).filter(|_| !stmt.unsignaled) {
                *sent.entry(towards).or_default() += 1;
            }
        });
        each(std::slice::from_ref(stmt), &mut |stmt| {
            let StmtKind::Poll(pairs) = &stmt.kind else { return };
            let left = |towards: &&Towards| match towards.is_shared() {
                true => posts(program, thread.node, **towards),
                false => sent.get(*towards).is_some_and(|left| *left > 0),
            };
            let open: Vec<Towards> = pairs.iter().filter(left).copied().collect();
            // Of several, nobody knows which one it takes from.
            straight &= open.len() < 2;
            if open.is_empty() {
                let is_near = |other: &Towards| pairs.iter().any(|one| one.node == other.node);
                let others = sent.iter().filter(|(other, left)| is_near(other) && **left > 0);
                let other = others.map(|(other, _)| *other).min();
                found.push(blocked_poll(stmt.span, pairs, other));
            }
            let own = open.first().filter(|towards| !towards.is_shared());
            if let Some(left) = own.and_then(|towards| sent.get_mut(towards)) {
                *left -= usize::from(straight);
            }
        });
    }
}

/// Whether some thread of a node posts what has a completion to a queue pair that they share.
fn posts(program: &Program, node: NodeId, on: Towards) -> bool {
    let mut found = false;
    for thread in program.threads.iter().filter(|thread| thread.node == node) {
        each(&thread.body, &mut |stmt| {
            found |= !stmt.unsignaled && program.towards(&stmt.kind) == Some(on);
        });
    }
    found
}

fn blocked_poll(span: Span, pairs: &[Towards], other: Option<Towards>) -> Diagnostic {
    let place = |towards: &Towards| match (towards.node.0, towards.queue_pair) {
        (node, 0) => format!("node {node}"),
        (node, _) => format!("node {node} on queue pair {}", towards.number()),
    };
    let places: Vec<String> = pairs.iter().map(place).collect();
    let places = places.join(" or ");
    let message = format!("no operation towards {places} is left to poll, so this blocks");
    let warning = Diagnostic::warning(Code::PollWithoutOperation, span, message);
    match other {
        Some(other) => {
            let poll = format!("Poll({other})");
            let help = format!("each queue pair is polled by itself; there is one for `{poll}`");
            warning.help(help).replace(span, poll)
        }
        None if pairs.iter().any(|pair| pair.is_shared()) => warning.help(
            "no thread of the node posts a request with a completion to the queue pair that they share",
        ),
        None => warning
            .help("`Poll(n)` waits for the oldest unpolled operation of the thread towards node n"),
    }
}

/// Global fences that leave out other queue pairs of their nodes, on which something is still on its way.
fn fences(program: &Program, thread: &Thread, found: &mut Vec<Diagnostic>) {
    let mut others: Vec<(Towards, &Stmt)> = Vec::new();
    each(&thread.body, &mut |stmt| {
        let towards = program.towards(&stmt.kind).filter(|towards| towards.queue_pair != 0);
        others.extend(towards.map(|towards| (towards, stmt)));
        match &stmt.kind {
            // Of several queue pairs, it may be any: what it may have taken is not warned of.
            StmtKind::Poll(pairs) => pairs.iter().for_each(|towards| {
                // The oldest that has a completion, and what is unsignaled before it.
                let answers = |(on, one): &(Towards, &Stmt)| on == towards && !one.unsignaled;
                if let Some(oldest) = others.iter().position(answers) {
                    let mut index = 0..;
                    others.retain(|(on, _)| index.next() > Some(oldest) || on != towards);
                }
            }),
            StmtKind::Wait(id) => others.retain(|(_, one)| one.kind.work_id() != Some(*id)),
            StmtKind::GlobalFence(nodes) => {
                let left_out = others.iter().find(|(towards, _)| nodes.contains(&towards.node));
                let Some((towards, _)) = left_out else { return };
                let message = format!("this fence does not wait for the queue pair `{towards}`");
                let warning = Diagnostic::warning(Code::FenceOfOneQueuePair, stmt.span, message);
                let help = "`GFence` is about queue pair 0; poll or wait for operations on others";
                found.push(warning.help(help));
            }
            _ => {}
        }
    });
}

/// What may wait for an operation: a library's own method, or by default the statement of the language.
type Waiter<'a> = Option<&'a Library>;

/// Who may wait for what a call starts; nothing is known of calls whose library is not known.
fn waiter<'a>(checker: &Checker<'a>, call: &Call) -> Option<(Waiter<'a>, &'a Method)> {
    let object = call.object.as_ref();
    let class = object
        .and_then(|name| checker.program.objects.iter().find(|object| object.name == *name))
        .map(|object| object.class.as_str());
    let (library, method) = match class {
        Some(class) => {
            let library = checker.words.library(class)?;
            (library, library.method(&call.method)?.1)
        }
        None => {
            let called = checker.words.method(&call.method)?;
            (called.library, called.method)
        }
    };
    Some((library.methods.iter().any(Method::is_wait).then_some(library), method))
}

/// Waits for ids that nothing before them carries.
fn waits(checker: &Checker<'_>, thread: &Thread, found: &mut Vec<Diagnostic>) {
    let mut carried: Vec<(WorkId, Waiter<'_>)> = Vec::new();
    let mut unknown = FxHashSet::default();
    for stmt in &thread.body {
        each(std::slice::from_ref(stmt), &mut |stmt| match &stmt.kind {
            StmtKind::Call(call) => match waiter(checker, call) {
                Some((_, method)) if method.is_wait() => {}
                Some((waiter, _)) => carried.extend(call.id.map(|id| (id, waiter))),
                None => unknown.extend(call.id),
            },
            kind => carried.extend(kind.work_id().map(|id| (id, None))),
        });
        each(std::slice::from_ref(stmt), &mut |stmt| {
            let (id, waiter) = match &stmt.kind {
                StmtKind::Wait(id) => (*id, None),
                StmtKind::Call(call) => match (waiter(checker, call), call.id) {
                    (Some((waiter, method)), Some(id)) if method.is_wait() => (id, waiter),
                    _ => return,
                },
                _ => return,
            };
            let mut of_id = carried.iter().filter(|(carried, _)| *carried == id);
            let name_of = |waiter: Waiter<'_>| waiter.map(|library| library.name.clone());
            if unknown.contains(&id)
                || of_id.clone().any(|(_, known)| name_of(*known) == name_of(waiter))
            {
                return;
            }
            let name = checker.program.work_ids.get(id.0).map_or("", String::as_str);
            let message = format!("no earlier operation of this thread has the work id `{name}`");
            let warning = Diagnostic::warning(Code::WaitWithoutOperation, stmt.span, message);
            let help = match (waiter, of_id.next()) {
                (Some(library), Some((_, None))) => {
                    let (wait, calls) = waiting(library);
                    format!("`{wait}` waits for `{calls}`s; for puts and gets it is `Wait`")
                }
                (None, Some((_, Some(library)))) => {
                    let (wait, calls) = waiting(library);
                    format!("`Wait` waits for puts, gets and RMWs; for a `{calls}` it is `{wait}`")
                }
                _ => "an operation gets its id by `:=^d`, or as its last argument".to_owned(),
            };
            found.push(warning.help(help));
        });
    }
}

/// The method of a library that waits, and those that it waits for.
fn waiting(library: &Library) -> (&str, String) {
    let wait = library.methods.iter().find(|method| method.is_wait());
    let has_id = |method: &&Method| {
        let mut all = method.parameters.iter();
        !method.is_wait() && all.any(|one| one.kind == ParameterKind::Id)
    };
    let calls: Vec<&str> = library.methods.iter().filter(has_id).filter_map(Method::word).collect();
    (wait.map_or("", |method| &method.name), calls.join("`, `"))
}

/// Loops without a way out.
fn endless(body: &[Stmt], found: &mut Vec<Diagnostic>) {
    each(body, &mut |stmt| {
        if let StmtKind::Loop(inner) = &stmt.kind
            && !breaks(inner)
        {
            let message = "this loop has no `break`, so nothing after it is done";
            found.push(Diagnostic::warning(Code::EndlessLoop, stmt.span, message));
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
            found.push(Diagnostic::warning(Code::UnusedLocation, name.place.span, message));
        }
    }
}
