//! What statements send, poll and call.

use std::collections::BTreeSet;

use lang::Test;
use lang::litmus::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, Home, Name, Number, PairNumber, Statement,
    StatementKind, Target, Value, Via,
};
use lang::litmus::methods::Method;
use lang::program::array_of;
use lang::source::Span;

use super::super::Repair;
use super::candidates::{Flow, flow};
use super::{Named, Site, Towards, id_of_call, names_queue_pair_first, statements};

/// An operation that a thread has sent.
#[derive(Clone)]
pub struct Sent {
    pub site: Site,
    pub on: Towards,
    /// What is accessed there. A message does not say where it goes, and a flush accesses nothing.
    pub location: Option<String>,
    pub id: Option<String>,
    /// No Poll takes its completion.
    pub is_unsignaled: bool,
    /// It may not change, so it gets no id.
    pub is_kept: bool,
    pub named: Named,
    pub span: Span,
}

/// What a statement sends.
pub fn sent(repair: &Repair<'_>, test: &Test, site: &Site, one: &Statement) -> Option<Sent> {
    let (on, location, id) = match &one.kind {
        StatementKind::Call(call) if names_queue_pair_first(call.method) => {
            (towards_of(call)?, None, id_of_call(call))
        }
        kind => {
            let (accesses, id) = accessed(kind);
            let (node, access) =
                accesses.into_iter().find_map(|access| Some((node_of(test, access)?, access)))?;
            let queue_pair = access.queue_pair.map_or(0, index);
            (Towards { node, queue_pair }, Some(word_of(test, access)), id)
        }
    };
    Some(Sent {
        site: site.clone(),
        on,
        location,
        id: id.map(|id| id.text.clone()),
        is_unsignaled: one.unsignaled,
        is_kept: repair.is_kept(one),
        named: Named::new(one, repair.source),
        span: one.place.span,
    })
}

/// The accesses of a statement that may be through a NIC, and its work id.
fn accessed(kind: &StatementKind) -> (Vec<&Access>, Option<&Name>) {
    match kind {
        StatementKind::Assign { target, via, value } if !matches!(via, Via::Library(_)) => {
            let mut accesses = Vec::new();
            if let Target::Access(access) = target {
                accesses.push(access);
            }
            match value {
                Value::Expr(Expr { kind: ExprKind::Access(access), .. }) => accesses.push(access),
                Value::Call(call) => accesses.extend(of_arguments(call)),
                Value::Expr(_) | Value::Inline(_) => {}
            }
            let id = if let Via::Id(name) = via { name.as_ref() } else { None };
            (accesses, id)
        }
        StatementKind::Call(call)
            if matches!(
                call.method,
                Method::Rcas | Method::Rfaa | Method::PutImm | Method::AtomicWrite
            ) =>
        {
            (of_arguments(call).collect(), id_of_call(call))
        }
        _ => (Vec::new(), None),
    }
}

/// One word of what an access is to: of an array, the first.
fn word_of(test: &Test, access: &Access) -> String {
    let name = &access.name.text;
    let first = format!("{name}[0]");
    let is_array = test.program.locations.iter().any(|location| location.name == first);
    if is_array { first } else { name.clone() }
}

/// The queue pair that a statement polls.
pub fn polled(one: &Statement) -> Option<Towards> {
    let StatementKind::Call(call) = &one.kind else { return None };
    towards_of(call).filter(|_| call.method == Method::Poll)
}

/// The queue pairs of which a statement may poll one.
pub fn may_poll(one: &Statement) -> Vec<Towards> {
    let pair = |node: &Number, queue_pair| Towards { node: node.value, queue_pair };
    match &one.kind {
        StatementKind::Call(call) if call.method == Method::Poll => match call.arguments.first() {
            Some(Argument::Nodes(nodes, _)) => nodes.iter().map(|node| pair(node, 0)).collect(),
            Some(Argument::QueuePairs(pairs, _)) => {
                pairs.iter().map(|(node, number)| pair(node, index(*number))).collect()
            }
            _ => towards_of(call).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

/// From where a statement takes messages: a thread and one of its queue pairs.
pub fn receives(one: &Statement) -> Option<Towards> {
    let StatementKind::Call(call) = &one.kind else { return None };
    towards_of(call).filter(|_| call.method == Method::Recv)
}

/// Which receive a statement polls, and whether it takes the immediate: with fewer or more polls before it,
/// it takes that of another one.
pub fn polled_receive(one: &Statement) -> Option<(Towards, bool)> {
    let (call, takes) = match &one.kind {
        StatementKind::Call(call) => (call, false),
        StatementKind::Assign { value: Value::Call(call), .. } => (call, true),
        _ => return None,
    };
    Some((towards_of(call).filter(|_| call.method == Method::PollRecv)?, takes))
}

/// The queue pairs from which statements at a place in the text and after it take immediates; of a block with
/// loops, all.
pub fn immediates_taken(block: &Block, start: usize) -> BTreeSet<Towards> {
    let start = if flow(block) == Flow::Loops { 0 } else { start };
    let later = statements(block).into_iter().filter(|one| one.place.span.start >= start);
    later.filter_map(polled_receive).filter(|(_, takes)| *takes).map(|(from, _)| from).collect()
}

/// The first argument of a call, as a node or thread and a queue pair.
fn towards_of(call: &Call) -> Option<Towards> {
    match call.arguments.first()? {
        Argument::Expr(Expr { kind: ExprKind::Number(node), .. }) => {
            Some(Towards { node: *node, queue_pair: 0 })
        }
        Argument::Towards(node, queue_pair) => {
            Some(Towards { node: node.value, queue_pair: index(*queue_pair) })
        }
        _ => None,
    }
}

/// The index of a queue pair. A test that the checker has passed has no others.
fn index(number: PairNumber) -> u64 {
    number.index().unwrap_or_default().into()
}

/// The work id that a statement waits for.
pub fn waited(one: &Statement) -> Option<&str> {
    let StatementKind::Call(call) = &one.kind else { return None };
    let first = of_arguments(call).next().filter(|_| call.method == Method::Wait)?;
    Some(&first.name.text)
}

/// Whether a statement is a call of a library.
pub fn calls_library(one: &Statement) -> bool {
    let is_call = |call: &Call| call.method == Method::Library;
    match &one.kind {
        StatementKind::Call(call) => is_call(call),
        StatementKind::Assign { via: Via::Library(_), .. } => true,
        StatementKind::Assign { value: Value::Call(call), .. } => is_call(call),
        _ => false,
    }
}

/// The node that an access reaches through a NIC.
fn node_of(test: &Test, access: &Access) -> Option<u64> {
    match access.home {
        Home::Own => None,
        Home::Node(node) => Some(node.value),
        Home::Inferred => {
            let mut locations = test.program.locations.iter();
            let name = &access.name.text;
            let is_of = |location: &str| array_of(location).is_some_and(|(array, _)| array == name);
            let found = locations.find(|location| location.name == *name || is_of(&location.name));
            found.map(|location| u64::from(location.node.0))
        }
    }
}

fn of_arguments(call: &Call) -> impl Iterator<Item = &Access> {
    call.arguments.iter().filter_map(|argument| match argument {
        Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(access),
        _ => None,
    })
}
