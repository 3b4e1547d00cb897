//! What statements send, poll and call.

use lang::Test;
use lang::litmus::ast::{
    Access, Argument, Call, Expr, ExprKind, Home, Name, Statement, StatementKind, Target, Value,
    Via,
};
use lang::litmus::methods::Method;
use lang::program::array_of;
use lang::source::Span;

use super::super::Repair;
use super::{Named, Site, Towards, id_of_call};

/// An operation that a thread has sent.
#[derive(Clone)]
pub struct Sent {
    pub site: Site,
    pub on: Towards,
    /// What is accessed there.
    pub location: String,
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
    let (mut accesses, mut id): (Vec<&Access>, Option<&Name>) = (Vec::new(), None);
    match &one.kind {
        StatementKind::Assign { target, via, value } if !matches!(via, Via::Library(_)) => {
            if let Target::Access(access) = target {
                accesses.push(access);
            }
            match value {
                Value::Expr(Expr { kind: ExprKind::Access(access), .. }) => accesses.push(access),
                Value::Call(call) => accesses.extend(of_arguments(call)),
                Value::Expr(_) | Value::Inline(_) => {}
            }
            if let Via::Id(name) = via {
                id = name.as_ref();
            }
        }
        StatementKind::Call(call) if matches!(call.method, Method::Rcas | Method::Rfaa) => {
            accesses.extend(of_arguments(call));
            id = id_of_call(call);
        }
        _ => {}
    }
    let (node, access) =
        accesses.iter().find_map(|access| Some((node_of(test, access)?, access)))?;
    Some(Sent {
        site: site.clone(),
        on: Towards { node, queue_pair: access.queue_pair.map_or(0, |number| number.value) },
        location: word_of(test, access),
        id: id.map(|id| id.text.clone()),
        is_unsignaled: one.unsignaled,
        is_kept: repair.is_kept(one),
        named: Named::new(one, repair.source),
        span: one.place.span,
    })
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
    match call.arguments.first().filter(|_| call.method == Method::Poll)? {
        Argument::Expr(Expr { kind: ExprKind::Number(node), .. }) => {
            Some(Towards { node: *node, queue_pair: 0 })
        }
        Argument::Towards(node, queue_pair) => {
            Some(Towards { node: node.value, queue_pair: queue_pair.value })
        }
        _ => None,
    }
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
