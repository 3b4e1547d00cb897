//! Statements as changes make them.

use lang::litmus::ast::build::{access, call, name, number, on_queue_pair, towards};
use lang::litmus::ast::{
    Access, Argument, Call, Expr, ExprKind, Name, Statement, StatementKind, Target, Value, Via,
};
use lang::litmus::methods::Method;

use super::Towards;

/// The put of a constant as an RCAS.
pub fn rcas(put: &Statement, before: u64) -> Option<Statement> {
    let StatementKind::Assign { target: Target::Access(target), via, value: Value::Expr(value) } =
        &put.kind
    else {
        return None;
    };
    let place = put.place;
    let mut made =
        call(Method::Rcas, [target.clone().into(), number(before, place), value.clone()], place);
    made.arguments.insert(0, Argument::Nobody(place));
    if let Via::Id(Some(id)) = via {
        made.arguments.push(Argument::Expr(access(&id.text, None, place).into()));
    }
    Some(Statement { kind: StatementKind::Call(made), unsignaled: put.unsignaled, place })
}

/// The put with its source copied when it is posted.
pub fn with_inline_source(put: &mut Statement) {
    if let StatementKind::Assign { value, .. } = &mut put.kind
        && let Value::Expr(source) = value
    {
        *value = Value::Inline(source.clone());
    }
}

/// What has an id has a completion to wait for.
pub fn give_id(operation: &mut Statement, id: &str) {
    operation.unsignaled = false;
    let place = operation.place;
    match &mut operation.kind {
        StatementKind::Assign { via: via @ (Via::Plain | Via::Id(None)), .. } => {
            *via = Via::Id(Some(name(id, place)));
        }
        StatementKind::Call(call) if id_of_call(call).is_none() => {
            let Some(arity) = arity_without_id(call.method) else { return };
            // `_` stands for no id.
            call.arguments.truncate(arity);
            call.arguments.push(Argument::Expr(access(id, None, place).into()));
        }
        _ => {}
    }
}

/// How many arguments a call has without its work id. `None`: it never has one.
fn arity_without_id(method: Method) -> Option<usize> {
    match method {
        Method::Send | Method::AtomicWrite => Some(2),
        Method::Rfaa | Method::SendImm | Method::PutImm => Some(3),
        Method::Rcas => Some(4),
        Method::Flush | Method::Persist => Some(1),
        _ => None,
    }
}

/// Whether a request's first argument is its queue pair, and no access.
pub fn names_queue_pair_first(method: Method) -> bool {
    matches!(method, Method::Send | Method::SendImm | Method::Flush | Method::Persist)
}

pub fn id_of_call(call: &Call) -> Option<&Name> {
    match &call.arguments.get(arity_without_id(call.method)?)? {
        Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(&access.name),
        _ => None,
    }
}

/// Moves an operation to another queue pair of its node.
pub fn on_other_queue_pair(one: &mut Statement, to: Towards) {
    if let StatementKind::Call(call) = &mut one.kind
        && names_queue_pair_first(call.method)
    {
        let moved = towards(call.method, to.node, to.queue_pair, call.place);
        call.arguments.splice(..1, moved.arguments);
        return;
    }
    for access in remote_accesses(one) {
        *access = on_queue_pair(access.clone(), to.queue_pair);
    }
}

/// The accesses of a statement through a NIC.
fn remote_accesses(one: &mut Statement) -> Vec<&mut Access> {
    fn of_call(call: &mut Call) -> impl Iterator<Item = &mut Access> {
        call.arguments.iter_mut().filter_map(|argument| match argument {
            Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(access),
            _ => None,
        })
    }
    let mut all: Vec<&mut Access> = Vec::new();
    match &mut one.kind {
        StatementKind::Assign { target, value, .. } => {
            if let Target::Access(access) = target {
                all.push(access);
            }
            match value {
                Value::Expr(Expr { kind: ExprKind::Access(access), .. }) => all.push(access),
                Value::Call(call) => all.extend(of_call(call)),
                Value::Expr(_) | Value::Inline(_) => {}
            }
        }
        StatementKind::Call(call) => all.extend(of_call(call)),
        _ => {}
    }
    all.retain(|access| !access.home.is_own());
    all
}
