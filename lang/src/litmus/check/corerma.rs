//! Statements of the coreRMA dialect.

use crate::diagnostic::Code;
use crate::program::{LocationId, RegisterId, RmaKind, RmaStmt, StmtKind};

use super::super::ast::{Access, Argument, Call, Expr, ExprKind, Target, Value};
use super::super::methods::Method;
use super::Meaning;
use super::calls::{access, node};
use super::lower::Lowerer;

fn rma(kind: RmaKind) -> RmaStmt {
    RmaStmt { kind, accesses: Vec::new(), register: None, value: None, process: None }
}

/// `u = X`
pub fn local_read(register: RegisterId, location: LocationId, atomic: Option<bool>) -> StmtKind {
    let accesses = vec![(location, atomic.unwrap_or(true))];
    StmtKind::Rma(RmaStmt { accesses, register: Some(register), ..rma(RmaKind::LocalRead) })
}

/// A location of the thread's own node.
fn own(lowerer: &mut Lowerer<'_, '_>, access: &Access) -> Option<(LocationId, bool)> {
    if !access.home.is_own() {
        let message = "expected a local location, found a remote one";
        let help = "only the first argument of get, put, rga and cas is remote";
        return lowerer.fail(Code::RemoteCpuAccess, access.place, message, help);
    }
    match lowerer.checker.meaning(&access.name)? {
        Meaning::Location(location) => {
            Some((lowerer.own(access, location)?, access.atomic.unwrap_or(true)))
        }
        _ => {
            let message = format!("expected a location, found `{}`", access.name.text);
            let help = "in coreRMA every location is declared above the rule";
            lowerer.fail(Code::NotALocation, access.place, message, help)
        }
    }
}

/// `X = …`, `u = …`
pub fn assign(lowerer: &mut Lowerer<'_, '_>, target: &Target, value: &Value) -> Option<()> {
    let Target::Access(access) = target else {
        let hidden = lowerer.hidden();
        let Value::Expr(expr) = value else {
            let help = "in coreRMA a result goes to a declared location";
            return lowerer.fail(
                Code::NotALocation,
                target_place(target),
                "expected a location, found `_`",
                help,
            );
        };
        return compute(lowerer, hidden, expr);
    };
    if let Value::Call(call) = value {
        return remote(lowerer, access, call);
    }
    let Value::Expr(expr) = value else { return None };
    if !access.home.is_own() {
        let help = format!("write `put({}^n, X)`", access.name.text);
        return lowerer.fail(
            Code::RemoteCpuAccess,
            access.place,
            "expected a local name, found a remote one",
            help,
        );
    }
    match lowerer.checker.meaning(&access.name)? {
        Meaning::Register(register) => {
            let register = lowerer.own_register(access, register)?;
            compute(lowerer, register, expr)
        }
        _ => {
            let target = own(lowerer, access)?;
            let value = Some(lowerer.expression(expr)?);
            let accesses = vec![target];
            lowerer.push(StmtKind::Rma(RmaStmt { accesses, value, ..rma(RmaKind::LocalWrite) }));
            Some(())
        }
    }
}

fn target_place(target: &Target) -> super::super::ast::Place {
    match target {
        Target::Access(access) => access.place,
        Target::Nobody(place) => *place,
    }
}

fn compute(lowerer: &mut Lowerer<'_, '_>, register: RegisterId, expr: &Expr) -> Option<()> {
    if let ExprKind::Access(access) = &expr.kind
        && access.home.is_own()
        && let Meaning::Location(_) = lowerer.checker.meaning(&access.name)?
    {
        let (location, atomic) = own(lowerer, access)?;
        lowerer.push(local_read(register, location, Some(atomic)));
        return Some(());
    }
    let value = lowerer.expression(expr)?;
    lowerer.push(StmtKind::Assign { register, value });
    Some(())
}

/// `X = get(Z^p)`, `X = rga(Z^p, Y)`, `X = cas(Z^p, Y, W)`
fn remote(lowerer: &mut Lowerer<'_, '_>, target: &Access, call: &Call) -> Option<()> {
    let kind = match call.method {
        Method::RmaGet => RmaKind::Get,
        Method::RmaRga => RmaKind::Rga,
        _ => RmaKind::Cas,
    };
    let (first, rest) = call.arguments.split_first()?;
    let result = own(lowerer, target)?;
    let (location, atomic) = far(lowerer, first)?;
    let process = Some(lowerer.checker.location(location).node);
    let mut accesses = vec![result, (location, atomic)];
    for argument in rest {
        let access = access(lowerer, argument)?;
        accesses.push(own(lowerer, access)?);
    }
    lowerer.push(StmtKind::Rma(RmaStmt { accesses, process, ..rma(kind) }));
    Some(())
}

/// `Z^p`
fn far(lowerer: &mut Lowerer<'_, '_>, argument: &Argument) -> Option<(LocationId, bool)> {
    let access = access(lowerer, argument)?;
    let location = lowerer.remote(access)?;
    Some((location, access.atomic.unwrap_or(true)))
}

/// `put(Z^p, X)`, `flush(p)`
pub fn call(lowerer: &mut Lowerer<'_, '_>, call: &Call) -> Option<()> {
    match (call.method, call.arguments.as_slice()) {
        (Method::RmaFlush, [process]) => {
            let process = Some(node(lowerer, process)?);
            lowerer.push(StmtKind::Rma(RmaStmt { process, ..rma(RmaKind::Flush) }));
        }
        (Method::RmaPut, [target, source]) => {
            let (location, atomic) = far(lowerer, target)?;
            let process = Some(lowerer.checker.location(location).node);
            let source = access(lowerer, source)?;
            let accesses = vec![(location, atomic), own(lowerer, source)?];
            lowerer.push(StmtKind::Rma(RmaStmt { accesses, process, ..rma(RmaKind::Put) }));
        }
        _ => {}
    }
    Some(())
}
