//! Messages and receives, and the requests of memory placement.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic};
use crate::outcome::{Claim, Expectation};
use crate::program::{
    BinaryOp, Connection, Expr, IMMEDIATES, MessageTarget, NodeId, PENDING, Peer, Program,
    PutSource, Receive, RegisterId, SHARED, Stmt, StmtKind, ThreadId, WorkId, each,
};
use crate::source::Span;

use super::super::ast::{Argument, Call, ExprKind, Number, Place, Target};
use super::super::methods::Method;
use super::Checker;
use super::calls::{access, towards, values, work_id};
use super::lower::Lowerer;

/// `Send(2, x)`, `SendImm(2, x, 1)`, `PutImm(x^2, y, 1)`
pub fn message(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    let (first, rest) = call.arguments.split_first()?;
    let (source, rest) = rest.split_first()?;
    let has_immediate = call.method != Method::Send;
    let (immediate, last) = rest.split_at_checked(usize::from(has_immediate))?;
    let (target, queue_pair, name) = match call.method {
        Method::PutImm => {
            let target = access(lowerer, first)?;
            let queue_pair = lowerer.queue_pair(target)?;
            let location = lowerer.remote(target)?;
            (MessageTarget::Location(location), queue_pair, target.name.text.clone())
        }
        _ => {
            let towards = towards(lowerer, first)?;
            (MessageTarget::Receive(towards.node), towards.queue_pair, "x".to_owned())
        }
    };
    let queue_pair = of_one_thread(lowerer, queue_pair, first.place())?;
    let source = source_of(lowerer, &name, source)?;
    let immediate = values(lowerer, immediate)?.into_iter().next().map(immediate_of);
    let id = last_id(lowerer, last)?;
    lowerer.push(StmtKind::Message { target, source, immediate, id, queue_pair });
    Some(())
}

/// `AtomicWrite(x^2, y)`
pub fn atomic_write(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    let [first, source, last @ ..] = call.arguments.as_slice() else { return None };
    let access = access(lowerer, first)?;
    if lowerer.checker.words(access).is_some() {
        return lowerer.several_words(access);
    }
    let queue_pair = lowerer.queue_pair(access)?;
    let target = lowerer.remote(access)?;
    let Argument::Expr(source) = source else { return no_source(lowerer, source) };
    // The CPU reads what the value is made of, before it posts the request.
    let value = lowerer.expression(source)?;
    let id = last_id(lowerer, last)?;
    lowerer.push(StmtKind::AtomicWrite { target, value, id, queue_pair });
    Some(())
}

/// `Flush(2)`, `Persist(2)`
pub fn flush(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    let (first, last) = call.arguments.split_first()?;
    let towards = towards(lowerer, first)?;
    let id = last_id(lowerer, last)?;
    lowerer.push(StmtKind::Flush { towards, is_persistent: call.method == Method::Persist, id });
    Some(())
}

fn source_of(lowerer: &mut Lowerer<'_, '_>, name: &str, source: &Argument) -> Option<PutSource> {
    let Argument::Expr(source) = source else { return no_source(lowerer, source) };
    lowerer.put_source(name, source)
}

fn no_source<T>(lowerer: &mut Lowerer<'_, '_>, found: &Argument) -> Option<T> {
    let message = "expected a location or a value, found something else";
    lowerer.fail(Code::WrongArguments, found.place(), message, "")
}

/// The id that a call names last, if it names one.
fn last_id(lowerer: &mut Lowerer<'_, '_>, last: &[Argument]) -> Option<Option<WorkId>> {
    match last {
        [] => Some(None),
        [id, ..] => work_id(lowerer, id),
    }
}

/// The low 32 bits of a value.
fn immediate_of(value: Expr) -> Expr {
    match value {
        Expr::Constant(value) => Expr::Constant(value % IMMEDIATES),
        other => {
            let all = Box::new(Expr::Constant(IMMEDIATES));
            Expr::Binary(BinaryOp::Remainder, Box::new(other), all)
        }
    }
}

/// `Recv(1, x)`
pub fn receive(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    let [from, buffer] = call.arguments.as_slice() else { return None };
    let from = peer(lowerer, from)?;
    let buffer = match buffer {
        Argument::Nobody(place) => Target::Nobody(*place),
        other => {
            let buffer = access(lowerer, other)?;
            if lowerer.checker.words(buffer).is_some() {
                return lowerer.several_words(buffer);
            }
            Target::Access(buffer.clone())
        }
    };
    let buffer = lowerer.result(&buffer, Code::ReceiveIntoRemote)?;
    let entry = lowerer.checker.unnamed_location(lowerer.node, lowerer.span);
    lowerer.checker.program.locations[entry.0].initial = PENDING;
    lowerer.push(StmtKind::Receive { from, receive: Receive { buffer, entry } });
    Some(())
}

/// `a := PollRecv(1)`
pub fn poll(
    lowerer: &mut Lowerer<'_, '_>,
    call: &Call,
    register: Option<RegisterId>,
) -> Option<()> {
    let [from] = call.arguments.as_slice() else { return None };
    let from = peer(lowerer, from)?;
    lowerer.push(StmtKind::PollReceive { from, register });
    Some(())
}

/// A thread's number, or `1/2`: its queue pair 2.
fn peer(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<Peer> {
    let (number, queue_pair) = match argument {
        Argument::Towards(thread, queue_pair) => (*thread, Some(*queue_pair)),
        Argument::Expr(expr) if let ExprKind::Number(value) = expr.kind => {
            (Number { value, place: expr.place }, None)
        }
        Argument::Nodes(..) | Argument::QueuePairs(..) => {
            let message = "expected one thread that sends, found several";
            let help = "receives of several queue pairs are not polled at once; write a `PollRecv` for each";
            return lowerer.fail(Code::WrongArguments, argument.place(), message, help);
        }
        _ => {
            let message = "expected the number of the thread that sends, found something else";
            let help = "write `Recv(1, x)` for what thread 1 sends to this node";
            return lowerer.fail(Code::WrongArguments, argument.place(), message, help);
        }
    };
    let (thread, index) = (lowerer.checker.thread(number), lowerer.checker.queue_pair(queue_pair));
    let place = queue_pair.map_or(argument.place(), |number| number.place);
    Some(Peer { thread: thread?, queue_pair: of_one_thread(lowerer, index?, place)? })
}

/// Reports a message or receive on a queue pair that threads share.
fn of_one_thread(lowerer: &mut Lowerer<'_, '_>, index: u32, place: Place) -> Option<u32> {
    if index < SHARED {
        return Some(index);
    }
    let message = "expected a queue pair of one thread, found one that threads share";
    let help =
        "messages and receives are in the order in which one thread posts them; leave out `s`";
    lowerer.fail(Code::UnexpectedQueuePair, place, message, help)
}

/// What one connection's receives and polls are, over all threads.
#[derive(Default)]
struct Ends {
    /// The first statement at the target, and its thread.
    first: Option<(ThreadId, Span)>,
    /// The messages, each with whether it is outside of blocks, so that it is sent.
    messages: Vec<(Span, bool)>,
    /// The receives, and the polls of receives.
    receives: usize,
    polls: Vec<Span>,
}

/// Reports receives that the models do not define, and warns of what never comes, unless the file says that
/// nothing ends.
pub fn receives(checker: &mut Checker<'_>, claims: &[Expectation]) {
    if checker.program.first_message().is_none() {
        return;
    }
    let mut found = Vec::new();
    let mut all: BTreeMap<Connection, Ends> = BTreeMap::new();
    for (index, thread) in checker.program.threads.iter().enumerate() {
        let thread_id = ThreadId(index);
        for stmt in &thread.body {
            let is_block = stmt.kind.parts().blocks.iter().any(|block| !block.is_empty());
            each(std::slice::from_ref(stmt), &mut |stmt| {
                if is_block && matches!(stmt.kind, StmtKind::Receive { .. }) {
                    found.push(in_block(stmt));
                }
                let at = (thread_id, thread.node);
                end(&checker.program, at, (stmt, !is_block), &mut all, &mut found);
            });
        }
    }
    let is_endless = |one: &Expectation| matches!(&one.claim, Claim::Exactly { outcomes, .. } if outcomes.is_empty());
    if !claims.iter().any(is_endless) {
        found.extend(all.iter().filter_map(|((from, node), ends)| warnings(*from, *node, ends)));
    }
    found.into_iter().for_each(|one| checker.sink.push(one));
}

fn end(
    program: &Program,
    (thread, node): (ThreadId, NodeId),
    (stmt, is_certain): (&Stmt, bool),
    all: &mut BTreeMap<Connection, Ends>,
    found: &mut Vec<Diagnostic>,
) {
    if let Some(connection) = program.connection(thread, &stmt.kind) {
        let ends = all.entry(connection).or_default();
        ends.messages.push((stmt.span, is_certain));
        return;
    }
    let (StmtKind::Receive { from, .. } | StmtKind::PollReceive { from, .. }) = stmt.kind else {
        return;
    };
    let ends = all.entry((from, node)).or_default();
    match ends.first {
        Some((other, first)) if other != thread => {
            let message = format!(
                "expected one thread to post and poll the receives from `{from}`, found threads {} and {}",
                other.number(),
                thread.number()
            );
            let error = Diagnostic::error(Code::ReceiveInTwoThreads, stmt.span, message);
            let error = error.related(first, "another thread here");
            found.push(error.help("give each thread a queue pair of its own: `Recv(1/1, x)`"));
        }
        _ => ends.first = ends.first.or(Some((thread, stmt.span))),
    }
    match stmt.kind {
        StmtKind::Receive { .. } => ends.receives += 1,
        _ => ends.polls.push(stmt.span),
    }
}

fn in_block(stmt: &Stmt) -> Diagnostic {
    let message = "expected a receive outside of `if` and loops, found one in a block";
    let help = "post receives first: `Recv(1, x)` before the block; polls may stand in blocks";
    Diagnostic::error(Code::ReceiveInBlock, stmt.span, message).help(help)
}

/// Messages and polls that wait for ever.
fn warnings(from: Peer, node: NodeId, ends: &Ends) -> Option<Diagnostic> {
    let number = from.thread.number();
    let certain = ends.messages.iter().filter(|(_, is_certain)| *is_certain);
    let surplus = match ends.receives {
        0 => ends.messages.first(),
        posted => certain.clone().nth(posted),
    };
    match (surplus, ends.polls.first()) {
        (Some((message, _)), _) => {
            let text = match ends.receives {
                0 => format!("node {} posts no receive for this, so it waits for ever", node.0),
                posted => format!(
                    "node {} posts {posted} of {} receives, so this waits for ever",
                    node.0,
                    certain.count()
                ),
            };
            let warning = Diagnostic::warning(Code::SendWithoutReceive, *message, text);
            Some(warning.help(format!("a thread of node {} posts one: `Recv({from}, x)`", node.0)))
        }
        (None, Some(poll)) if ends.messages.is_empty() => {
            let text = format!("thread {number} sends nothing to node {}, so this blocks", node.0);
            let warning = Diagnostic::warning(Code::PollWithoutOperation, *poll, text);
            Some(warning.help(
                "`PollRecv(t)` waits for a message that thread t sends: a Send, SendImm or PutImm",
            ))
        }
        _ => None,
    }
}
