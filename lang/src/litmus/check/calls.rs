//! Calls of the base language: CPU and remote RMWs, fences, polls and waits.

use crate::diagnostic::Code;
use crate::program::{Expr, LocationId, NodeId, RegisterId, StmtKind, Towards, WorkId};

use super::super::ast::{Access, Argument, Call, ExprKind, Name, Number, Place, Target};
use super::super::methods::Method;
use super::lower::Lowerer;
use super::{Meaning, libraries, messages};

/// A call on its own.
pub fn statement(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    let arguments = call.arguments.as_slice();
    match (call.method, arguments) {
        (Method::Mfence, []) => lowerer.push(StmtKind::Fence),
        (Method::Poll, [towards]) => {
            let pairs = queue_pairs(lowerer, towards)?;
            lowerer.push(StmtKind::Poll(pairs));
        }
        (Method::Rfence, [towards]) => {
            let towards = self::towards(lowerer, towards)?;
            lowerer.push(StmtKind::RemoteFence(towards));
        }
        (Method::Gfence, [nodes]) => {
            let nodes = self::nodes(lowerer, nodes)?;
            lowerer.push(StmtKind::GlobalFence(nodes));
        }
        (Method::Wait, [id]) => {
            let id = work_id(lowerer, id)?;
            match id {
                Some(id) => lowerer.push(StmtKind::Wait(id)),
                None => return no_id(lowerer, call.place),
            }
        }
        (Method::Rcas | Method::Rfaa, [result, rest @ ..]) => {
            let target = match result {
                Argument::Nobody(place) => Target::Nobody(*place),
                other => Target::Access(access(lowerer, other)?.clone()),
            };
            return remote_rmw(lowerer, call, &target, rest, None);
        }
        (Method::Cas | Method::Faa | Method::Xchg, _) => return cpu_rmw(lowerer, call, None),
        (Method::Send | Method::SendImm | Method::PutImm, _) => {
            return messages::message(lowerer, call);
        }
        (Method::AtomicWrite, _) => return messages::atomic_write(lowerer, call),
        (Method::Flush | Method::Persist, _) => return messages::flush(lowerer, call),
        (Method::Recv, _) => return messages::receive(lowerer, call),
        (Method::PollRecv, _) => return messages::poll(lowerer, call, None),
        _ => return libraries::call(lowerer, call, None),
    }
    Some(())
}

/// Reports `Wait(_)`.
fn no_id<T>(lowerer: &mut Lowerer<'_, '_>, place: Place) -> Option<T> {
    lowerer.fail(Code::WrongArguments, place, "expected a work id, found `_`", "write `Wait(d)`")
}

/// `target := call`
pub fn assign(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Target,
    id: Option<&Name>,
    call: &Call,
) -> Option<()> {
    if matches!(call.method, Method::Rcas | Method::Rfaa) {
        return remote_rmw(lowerer, call, target, &call.arguments, id);
    }
    if id.is_some() {
        return lowerer.local_with_id(id, call.place);
    }
    let into = result_register(lowerer, target)?;
    let register = Some(into.0);
    match call.method {
        Method::Cas | Method::Faa | Method::Xchg => cpu_rmw(lowerer, call, register)?,
        Method::PollRecv => messages::poll(lowerer, call, register)?,
        _ => libraries::call(lowerer, call, register)?,
    }
    if let Some(location) = into.1 {
        let value = Expr::Register(into.0);
        lowerer.push(StmtKind::Write { location, value });
    }
    Some(())
}

/// The register that takes a call's result, and the location that it is then written to, if the target is
/// one.
pub fn result_register(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Target,
) -> Option<(RegisterId, Option<LocationId>)> {
    let access = match target {
        Target::Nobody(_) => return Some((lowerer.hidden(), None)),
        Target::Access(access) => access,
    };
    if !access.home.is_own() {
        let message = "expected a register or a local location, found a remote one";
        let help = "assign the result to a register first, then put it";
        return lowerer.fail(Code::ResultRemote, access.place, message, help);
    }
    match lowerer.checker.meaning(&access.name)? {
        Meaning::Register(register) => Some((lowerer.own_register(access, register)?, None)),
        Meaning::Location(location) => {
            let location = lowerer.own(access, location)?;
            Some((lowerer.hidden(), Some(location)))
        }
        Meaning::Object(_) | Meaning::Array(_) => {
            let message = format!("expected a register, found `{}`", access.name.text);
            lowerer.fail(Code::NotALocation, access.place, message, "")
        }
    }
}

fn cpu_rmw(lowerer: &mut Lowerer<'_, '_>, call: &Call, register: Option<RegisterId>) -> Option<()> {
    let (first, rest) = call.arguments.split_first()?;
    let access = access(lowerer, first)?;
    if !access.home.is_own() {
        let help = "the CPU's RMWs reach its own node only; the NIC's are RCAS and RFAA";
        let message = "expected a local location, found a remote one";
        return lowerer.fail(Code::RemoteCpuAccess, access.place, message, help);
    }
    let location = match lowerer.checker.meaning(&access.name)? {
        Meaning::Location(location) => lowerer.own(access, location)?,
        _ => {
            let message = format!("expected a location, found `{}`", access.name.text);
            return lowerer.fail(Code::NotALocation, access.place, message, "");
        }
    };
    let mut values = values(lowerer, rest)?.into_iter();
    let first = values.next()?;
    match values.next() {
        Some(desired) => {
            lowerer.push(StmtKind::Cas { register, location, expected: first, desired });
        }
        None if call.method == Method::Xchg => {
            lowerer.push(StmtKind::Exchange { register, location, value: first });
        }
        None => lowerer.push(StmtKind::Faa { register, location, addend: first }),
    }
    Some(())
}

/// `RCAS` and `RFAA`, without their result argument.
fn remote_rmw(
    lowerer: &mut Lowerer<'_, '_>,
    call: &Call,
    result: &Target,
    arguments: &[Argument],
    id: Option<&Name>,
) -> Option<()> {
    let (target, rest) = arguments.split_first()?;
    let count = if call.method == Method::Rcas { 2 } else { 1 };
    let (operands, last) = rest.split_at_checked(count)?;
    let target = access(lowerer, target)?;
    let queue_pair = lowerer.queue_pair(target)?;
    let target = lowerer.remote(target)?;
    let result = lowerer.result(result, Code::ResultRemote)?;
    let mut values = values(lowerer, operands)?.into_iter();
    let id = match (id, last) {
        (Some(_), [extra]) => {
            let help = "write it after `:=^` or as the last argument";
            let message = "expected one work id, found two";
            return lowerer.fail(Code::TwoWorkIds, extra.place(), message, help);
        }
        (id, []) => lowerer.id(id),
        (None, [id, ..]) => work_id(lowerer, id)?,
        (Some(_), _) => None,
    };
    let first = values.next()?;
    match values.next() {
        Some(desired) => {
            lowerer.push(StmtKind::Rcas {
                result,
                target,
                expected: first,
                desired,
                id,
                queue_pair,
            });
        }
        None => lowerer.push(StmtKind::Rfaa { result, target, addend: first, id, queue_pair }),
    }
    Some(())
}

/// An argument that must be a name.
pub fn access<'x>(lowerer: &mut Lowerer<'_, '_>, argument: &'x Argument) -> Option<&'x Access> {
    if let Argument::Expr(expr) = argument
        && let ExprKind::Access(access) = &expr.kind
    {
        return Some(access);
    }
    lowerer.fail(Code::WrongArguments, argument.place(), "expected a name, found a value", "")
}

/// Arguments that are values.
pub fn values(lowerer: &mut Lowerer<'_, '_>, arguments: &[Argument]) -> Option<Vec<Expr>> {
    let mut values = Vec::new();
    for argument in arguments {
        let Argument::Expr(expr) = argument else {
            let message = "expected a value, found something else";
            return lowerer.fail(Code::WrongArguments, argument.place(), message, "");
        };
        values.push(lowerer.expression(expr)?);
    }
    Some(values)
}

/// A work id; `_` stands for no id.
pub fn work_id(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<Option<WorkId>> {
    if let Argument::Nobody(_) = argument {
        return Some(None);
    }
    let access = match argument {
        Argument::Expr(expr) => match &expr.kind {
            ExprKind::Access(access) if access.home.is_own() => Some(access),
            _ => None,
        },
        _ => None,
    };
    match access {
        Some(access) => Some(Some(lowerer.checker.work_id(&access.name))),
        None => {
            let help = "a work id is a name, such as d";
            lowerer.fail(
                Code::WrongArguments,
                argument.place(),
                "expected a work id, found a value",
                help,
            )
        }
    }
}

fn number(argument: &Argument) -> Option<Number> {
    let Argument::Expr(expr) = argument else { return None };
    let ExprKind::Number(value) = expr.kind else { return None };
    Some(Number { value, place: expr.place })
}

/// A node's number.
pub fn node(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<NodeId> {
    match number(argument) {
        Some(number) => lowerer.checker.node(number),
        None => {
            let (found, help) = match argument {
                Argument::Towards(..) => {
                    ("a queue pair", "it is of queue pair 0: leave out `/` and what follows")
                }
                Argument::QueuePairs(..) => (
                    "queue pairs",
                    "`Poll` alone takes several queue pairs, and `GFence` is of queue pair 0 to each node",
                ),
                Argument::Nodes(..) => {
                    ("several", "only `Poll` and `GFence` take several at once; write one for each")
                }
                _ => (
                    "something else",
                    "a node is a number, and a queue pair stands behind it: `2`, `2/1`, `2/s0`",
                ),
            };
            let message = format!("expected a node's number, found {found}");
            lowerer.fail(Code::WrongArguments, argument.place(), message, help)
        }
    }
}

/// A node's number, or `2/1`: a queue pair.
pub fn towards(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<Towards> {
    let Argument::Towards(node, number) = argument else {
        return node(lowerer, argument).map(|node| Towards { node, queue_pair: 0 });
    };
    let (node, queue_pair) =
        (lowerer.checker.node(*node), lowerer.checker.queue_pair(Some(*number)));
    Some(Towards { node: node?, queue_pair: queue_pair? })
}

/// The most queue pairs of one `Poll`.
const POLLED: usize = 16;

/// The queue pairs of a `Poll`: one, or a set; sorted, without repetition.
fn queue_pairs(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<Vec<Towards>> {
    let mut pairs = Vec::new();
    match argument {
        Argument::Nodes(nodes, _) => {
            for node in nodes {
                let node = lowerer.checker.node(*node)?;
                pairs.push(Towards { node, queue_pair: 0 });
            }
        }
        Argument::QueuePairs(named, _) => {
            for (node, number) in named {
                let number = lowerer.checker.queue_pair(Some(*number))?;
                pairs.push(Towards { node: lowerer.checker.node(*node)?, queue_pair: number });
            }
        }
        one => pairs.push(towards(lowerer, one)?),
    }
    pairs.sort_unstable();
    pairs.dedup();
    if (1..=POLLED).contains(&pairs.len()) {
        return Some(pairs);
    }
    let message = format!("expected 1 to {POLLED} queue pairs, found {}", pairs.len());
    lowerer.fail(Code::WrongArguments, argument.place(), message, "write `Poll({2, 2/1})`")
}

/// A set of nodes, or one; sorted, without repetition.
pub fn nodes(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<Vec<NodeId>> {
    let Argument::Nodes(numbers, _) = argument else {
        return node(lowerer, argument).map(|node| vec![node]);
    };
    let mut nodes = Vec::new();
    for number in numbers {
        nodes.push(lowerer.checker.node(*number)?);
    }
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}
