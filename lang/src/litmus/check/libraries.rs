//! Calls of libraries: which class of object each needs, and what is passed.

use crate::library::notation::{read_by, write_by};
use crate::program::{Call, Expr, RegisterId, StmtKind};

use super::super::ast::{self, Access, Argument, ExprKind, Home, Place, Target, Value};
use super::super::methods::Method;
use super::Meaning;
use super::calls::{access, nodes, result_register, values, work_id};
use super::lower::Lowerer;

/// The name of a method in the program.
fn method_name(call: &ast::Call) -> &str {
    if let Some(word) = &call.word {
        return word;
    }
    match call.method {
        Method::CasSc => "CAS",
        Method::FaaSc => "FAA",
        other => other.spelling(),
    }
}

/// A call of a method, with nothing passed.
pub fn empty(method: &str) -> Call {
    Call {
        method: method.to_owned(),
        object: None,
        source: None,
        register: None,
        arguments: Vec::new(),
        nodes: None,
        id: None,
        at: None,
    }
}

/// The object that a name stands for. What objects of its class can do, their libraries say.
pub fn object(lowerer: &mut Lowerer<'_, '_>, access: &Access) -> Option<usize> {
    let name = &access.name.text;
    let example = "an object of a library's class: `WLock l`, `SVar x = 0`";
    let found = match lowerer.checker.meaning_or(&access.name, example)? {
        Meaning::Object(object) => return Some(object),
        Meaning::Location(_) => "a plain location",
        Meaning::Register(_) => "a register",
    };
    if !lowerer.checker.is_new("wrong-object-class", name) {
        return None;
    }
    let message = format!("expected an object of a library, found {found}");
    let help = format!("declare it above the rule as {example}");
    lowerer.fail("wrong-object-class", access.place, message, help)
}

/// A library call, on its own or with a register for its result.
pub fn call(
    lowerer: &mut Lowerer<'_, '_>,
    tree: &ast::Call,
    register: Option<RegisterId>,
) -> Option<()> {
    let mut call = Call { register, ..empty(method_name(tree)) };
    let Some((first, rest)) = tree.arguments.split_first() else { return Some(()) };
    if tree.method == Method::WaitSv {
        call.id = work_id(lowerer, first)?;
        if call.id.is_none() {
            return super::calls::no_id(lowerer, tree.place);
        }
        lowerer.push(StmtKind::Call(call));
        return Some(());
    }
    if tree.method == Method::Library && !names_object(lowerer, first) {
        for argument in &tree.arguments {
            any_argument(lowerer, argument, &mut call)?;
        }
        lowerer.push(StmtKind::Call(call));
        return Some(());
    }
    let access = access(lowerer, first)?;
    let object = object(lowerer, access)?;
    call.object = Some(access.name.text.clone());
    call.at = at(lowerer, tree.method, access, object)?;
    if tree.method == Method::Bcast {
        for argument in rest {
            match argument {
                Argument::Nodes(..) if call.nodes.is_none() => {
                    call.nodes = Some(nodes(lowerer, argument)?);
                }
                _ if call.nodes.is_none() && call.id.is_none() => {
                    call.id = work_id(lowerer, argument)?;
                }
                _ => {
                    let help = "write `Bcast(x, d, {2, 3})`";
                    let message = "expected a work id and a set of nodes, found more";
                    return lowerer.fail("wrong-arguments", argument.place(), message, help);
                }
            }
        }
    } else if tree.method == Method::Library {
        for argument in rest {
            any_argument(lowerer, argument, &mut call)?;
        }
    } else {
        call.arguments = values(lowerer, rest)?;
    }
    lowerer.push(StmtKind::Call(call));
    Some(())
}

/// Whether an argument can name the object that a method is called on; those of some methods are nodes or
/// work ids only.
fn names_object(lowerer: &Lowerer<'_, '_>, argument: &Argument) -> bool {
    let Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. }) = argument else {
        return false;
    };
    access.home != Home::Own || lowerer.checker.meanings.contains_key(&access.name.text)
}

/// An argument of a method that the language does not know: nodes, a second object, a work id (a name that
/// means nothing else), or a value.
fn any_argument(lowerer: &mut Lowerer<'_, '_>, argument: &Argument, call: &mut Call) -> Option<()> {
    let is_id = match argument {
        Argument::Nodes(..) => {
            call.nodes = Some(nodes(lowerer, argument)?);
            return Some(());
        }
        Argument::Nobody(_) => true,
        Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. })
            if access.home == Home::Own
                && call.source.is_none()
                && matches!(
                    lowerer.checker.meanings.get(&access.name.text),
                    Some(Meaning::Object(_))
                ) =>
        {
            call.source = Some(access.name.text.clone());
            return Some(());
        }
        Argument::Expr(expr) => matches!(&expr.kind, ExprKind::Access(access)
            if access.home == Home::Own && !lowerer.checker.meanings.contains_key(&access.name.text)),
    };
    if is_id {
        call.id = work_id(lowerer, argument)?;
    } else {
        call.arguments.extend(values(lowerer, std::slice::from_ref(argument))?);
    }
    Some(())
}

/// The node of `Acq(l^2)`, which must be the lock's.
fn at(
    lowerer: &mut Lowerer<'_, '_>,
    method: Method,
    access: &Access,
    object: usize,
) -> Option<Option<crate::program::NodeId>> {
    let Home::Node(number) = access.home else { return Some(None) };
    if !matches!(method, Method::Acq | Method::Rel | Method::Library) {
        let message = "expected an object, found one with a node";
        let help = "only locks are called at a node: `Acq(l^2)`";
        return lowerer.fail("wrong-arguments", access.place, message, help);
    }
    let node = lowerer.checker.node(number)?;
    let lock = &lowerer.checker.program.objects[object];
    match lock.node {
        Some(home) if home != node => {
            let declared = lock.span;
            lowerer.wrong_home(access, home, declared)
        }
        _ => Some(Some(node)),
    }
}

/// `x :=SV e`, `a :=SV x`: which methods that is, the object's library says.
pub fn assign(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Target,
    mark: &str,
    value: &Value,
    place: Place,
) -> Option<()> {
    let Value::Expr(expr) = value else {
        let message = "expected a value, found a call";
        return lowerer.fail("unexpected-call", place, message, "assign it to a register first");
    };
    let written = match target {
        Target::Access(access) if access.home == Home::Own => {
            match lowerer.checker.meanings.get(&access.name.text) {
                Some(Meaning::Object(_)) => Some(access),
                _ => None,
            }
        }
        Target::Nobody(_) => None,
        Target::Access(access) => {
            let message = "expected a local name, found a remote one";
            let help = "library calls reach other nodes by themselves";
            return lowerer.fail("remote-in-expression", access.place, message, help);
        }
    };
    if let Some(access) = written {
        object(lowerer, access)?;
        let value = write_value(lowerer, expr, mark)?;
        let object = Some(access.name.text.clone());
        let call = Call { object, arguments: vec![value], ..empty(&write_by(mark)) };
        lowerer.push(StmtKind::Call(call));
        return Some(());
    }
    let ExprKind::Access(source) = &expr.kind else {
        let message = format!("expected an object on one side of `:={mark}`, found none");
        let help = "declare it above the rule, as `SVar x = 0`";
        return lowerer.fail("wrong-object-class", place, message, help);
    };
    let (register, location) = result_register(lowerer, target)?;
    read(lowerer, source, mark, register)?;
    if let Some(location) = location {
        lowerer.push(StmtKind::Write { location, value: Expr::Register(register) });
    }
    Some(())
}

fn read(
    lowerer: &mut Lowerer<'_, '_>,
    source: &Access,
    mark: &str,
    register: RegisterId,
) -> Option<()> {
    object(lowerer, source)?;
    let object = Some(source.name.text.clone());
    let register = Some(register);
    lowerer.push(StmtKind::Call(Call { object, register, ..empty(&read_by(mark)) }));
    Some(())
}

/// The value of a write; `x :=SV y` reads y by the same library first.
fn write_value(lowerer: &mut Lowerer<'_, '_>, expr: &ast::Expr, mark: &str) -> Option<Expr> {
    if let ExprKind::Access(source) = &expr.kind
        && let Some(Meaning::Object(_)) = lowerer.checker.meanings.get(&source.name.text)
    {
        let register = lowerer.hidden();
        read(lowerer, source, mark, register)?;
        return Some(Expr::Register(register));
    }
    lowerer.expression(expr)
}
