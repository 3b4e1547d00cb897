//! Calls of libraries: which class of object each needs, and what is passed.

use crate::diagnostic::Code;
use crate::library::notation::{read_by, write_by};
use crate::library::{Method, ParameterKind};
use crate::program::{Call, Expr, RegisterId, StmtKind};

use super::super::ast::{self, Access, Argument, ExprKind, Home, Place, Target, Value};
use super::Meaning;
use super::calls::{access, nodes, result_register, values, work_id};
use super::lower::Lowerer;

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
    let example = "an object of a library's class";
    let found = match lowerer.checker.meaning_or(&access.name, || example.to_owned())? {
        Meaning::Object(object) => return Some(object),
        Meaning::Location(_) => "a plain location",
        Meaning::Register(_) => "a register",
        Meaning::Array(_) => "an array whose words are accessed one by one",
    };
    if !lowerer.checker.is_new(Code::WrongObjectClass, name) {
        return None;
    }
    let message = format!("expected an object of a library, found {found}");
    let help = format!("declare it above the rule as {example}");
    lowerer.fail(Code::WrongObjectClass, access.place, message, help)
}

/// A library call, on its own or with a register for its result.
pub fn call(
    lowerer: &mut Lowerer<'_, '_>,
    tree: &ast::Call,
    register: Option<RegisterId>,
) -> Option<()> {
    let word = tree.word.as_deref().unwrap_or(tree.method.spelling());
    let mut call = Call { register, ..empty(word) };
    let Some((first, rest)) = tree.arguments.split_first() else { return Some(()) };
    let words = lowerer.checker.words;
    let class = class_of(lowerer, first);
    let called = class.as_ref().and_then(|class| words.of_class(class, word));
    // Of a class that no library has, nothing is known of its methods either.
    let is_foreign = class.is_some_and(|class| words.library(&class).is_none());
    let method =
        called.or_else(|| words.method(word).filter(|_| !is_foreign)).map(|one| one.method);
    let has_object = method.map_or_else(|| names_object(lowerer, first), Method::has_object);
    let arguments = if has_object { rest } else { &tree.arguments };
    if has_object {
        let access = access(lowerer, first)?;
        let object = object(lowerer, access)?;
        call.object = Some(access.name.text.clone());
        call.at = at(lowerer, access, object)?;
    }
    for argument in arguments {
        self::argument(lowerer, argument, method, &mut call)?;
    }
    if method.is_some_and(Method::is_wait) && call.id.is_none() {
        let help = method.and_then(Method::usage).map(|usage| format!("write `{usage}`"));
        let message = "expected a work id, found `_`";
        return lowerer.fail(Code::WrongArguments, tree.place, message, help.unwrap_or_default());
    }
    if let Some(method) = method {
        // Programs are over methods by their names, however they are written.
        call.method.clone_from(&method.name);
    }
    lowerer.push(StmtKind::Call(call));
    Some(())
}

/// The class of the object that an argument names.
fn class_of(lowerer: &Lowerer<'_, '_>, argument: &Argument) -> Option<String> {
    let Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. }) = argument else {
        return None;
    };
    match lowerer.checker.meanings.get(&access.name.text) {
        Some(Meaning::Object(object)) => {
            Some(lowerer.checker.program.objects[*object].class.clone())
        }
        _ => None,
    }
}

/// Whether an argument can name the object that a method is called on; those of some methods are nodes or
/// work ids only.
fn names_object(lowerer: &Lowerer<'_, '_>, argument: &Argument) -> bool {
    let Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. }) = argument else {
        return false;
    };
    !access.home.is_own() || lowerer.checker.meanings.contains_key(&access.name.text)
}

/// An argument behind the object: nodes, a second object, a work id, or a value. Where no library says which
/// of them there are, a name that means nothing else is a work id.
fn argument(
    lowerer: &mut Lowerer<'_, '_>,
    argument: &Argument,
    method: Option<&Method>,
    call: &mut Call,
) -> Option<()> {
    let takes = |wanted: fn(&ParameterKind) -> bool| {
        method.is_none_or(|method| method.parameters.iter().any(|one| wanted(&one.kind)))
    };
    let takes_id = takes(|kind| *kind == ParameterKind::Id);
    let takes_values = takes(|kind| matches!(kind, ParameterKind::Value | ParameterKind::Values));
    let objects = |method: &Method| {
        let all = method.parameters.iter();
        all.filter(|one| matches!(one.kind, ParameterKind::Object(_))).count()
    };
    let takes_source = call.source.is_none() && method.is_none_or(|method| objects(method) > 1);
    let takes_nodes = takes(|kind| *kind == ParameterKind::Nodes);
    let own = match argument {
        Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. })
            if access.home.is_own() =>
        {
            Some(access.name.text.as_str())
        }
        _ => None,
    };
    let meaning = own.and_then(|name| lowerer.checker.meanings.get(name));
    let is_object = matches!(meaning, Some(Meaning::Object(_)));
    let is_unknown = own.is_some() && meaning.is_none();
    match argument {
        Argument::Nodes(..) if takes_nodes && call.nodes.is_none() => {
            call.nodes = Some(nodes(lowerer, argument)?);
        }
        _ if is_object && takes_source => {
            call.source = own.map(str::to_owned);
        }
        _ if takes_id
            && (!takes_values || is_unknown || matches!(argument, Argument::Nobody(_))) =>
        {
            if method.is_some() && (call.id.is_some() || call.nodes.is_some()) {
                let help = method.and_then(Method::usage).map(|usage| format!("write `{usage}`"));
                let message = "expected a work id and a set of nodes, found more";
                let place = argument.place();
                return lowerer.fail(
                    Code::WrongArguments,
                    place,
                    message,
                    help.unwrap_or_default(),
                );
            }
            call.id = work_id(lowerer, argument)?;
        }
        _ => call.arguments.extend(values(lowerer, std::slice::from_ref(argument))?),
    }
    Some(())
}

/// The node of `Acq(l^2)`, which must be the lock's.
fn at(
    lowerer: &mut Lowerer<'_, '_>,
    access: &Access,
    object: usize,
) -> Option<Option<crate::program::NodeId>> {
    let Home::Node(number) = access.home else { return Some(None) };
    let library = lowerer.checker.words.library(&lowerer.checker.program.objects[object].class);
    if library.is_some_and(|library| !library.attributes().contains("home")) {
        let message = "expected an object, found one with a node";
        let help = "only objects that are on one node are called at it";
        return lowerer.fail(Code::WrongArguments, access.place, message, help);
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
        return lowerer.fail(Code::UnexpectedCall, place, message, "assign it to a register first");
    };
    let written = match target {
        Target::Access(access) if access.home.is_own() => {
            match lowerer.checker.meanings.get(&access.name.text) {
                Some(Meaning::Object(_)) => Some(access),
                _ => None,
            }
        }
        Target::Nobody(_) => None,
        Target::Access(access) => {
            let message = "expected a local name, found a remote one";
            let help = "library calls reach other nodes by themselves";
            return lowerer.fail(Code::RemoteInExpression, access.place, message, help);
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
        let help = "declare it above the rule, as an object of its library's class";
        return lowerer.fail(Code::WrongObjectClass, place, message, help);
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
