//! Calls of libraries: which class of object each needs, and what is passed.

use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::program::{Call, Expr, Object, RegisterId, StmtKind, ThreadId};

use super::super::ast::{self, Access, Argument, ExprKind, Home, Place, Target, Value, Via};
use super::super::methods::Method;
use super::calls::{access, nodes, result_register, values, work_id};
use super::lower::Lowerer;
use super::{Checker, Meaning};

/// The classes that a method works on.
fn classes(method: Method) -> &'static [&'static str] {
    match method {
        Method::Bcast => &["SVar"],
        Method::Bar => &["Barrier"],
        Method::Submit | Method::Receive => &["Ring"],
        Method::Acq | Method::Rel => &["WLock", "SLock", "NLock"],
        Method::CasSc | Method::FaaSc => &["SC"],
        Method::TryRead => &["Mixed"],
        _ => &[],
    }
}

/// The classes that the language knows.
const CLASSES: [&str; 8] = ["SVar", "SC", "Mixed", "Barrier", "WLock", "SLock", "NLock", "Ring"];

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

/// How an object of a class is read.
pub fn reading(class: &str, name: &str) -> String {
    match class {
        "SVar" => format!("read it first: `a :=SV {name}`"),
        "SC" => format!("read it first: `a :=SC {name}`"),
        "Mixed" => format!("read it first: `a := TryRead({name})`"),
        "Ring" => format!("receive from it first: `a := Receive({name})`"),
        _ => String::new(),
    }
}

/// The object that a name stands for, if it is of one of the classes.
pub fn object(lowerer: &mut Lowerer<'_, '_>, access: &Access, wanted: &[&str]) -> Option<usize> {
    let name = &access.name.text;
    let example = match wanted {
        [class @ ("SVar" | "SC"), ..] => format!("`{class} {name} = 0`"),
        ["Ring", ..] => format!("`Ring {name} 1 -> {{2}}`"),
        ["Mixed", ..] => format!("`{name}[2] = 0`"),
        [class, ..] => format!("`{class} {name}`"),
        [] => String::new(),
    };
    let meaning = lowerer.checker.meaning_or(&access.name, &example)?;
    let found = match meaning {
        Meaning::Object(object) => {
            let class = &lowerer.checker.program.objects[object].class;
            // What objects of other classes can do, their libraries say.
            let is_other = !CLASSES.contains(&class.as_str());
            if wanted.contains(&class.as_str()) || is_other || wanted.is_empty() {
                return Some(object);
            }
            format!("one of class {class}")
        }
        Meaning::Location(_) => "a plain location".to_owned(),
        Meaning::Register(_) => "a register".to_owned(),
    };
    if !lowerer.checker.is_new("wrong-object-class", &format!("{name} {}", wanted.join(" "))) {
        return None;
    }
    let message = format!("expected an object of class {}, found {found}", wanted.join(" or "));
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
    let access = access(lowerer, first)?;
    let object = object(lowerer, access, classes(tree.method))?;
    call.object = Some(access.name.text.clone());
    call.at = at(lowerer, tree.method, access, object)?;
    participates(lowerer, tree, object)?;
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

/// An argument of a method that the language does not know: nodes, a second object, a work id (a name that means nothing
/// else), or a value.
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

/// Whether the thread may call this object.
fn participates(lowerer: &mut Lowerer<'_, '_>, call: &ast::Call, object: usize) -> Option<()> {
    let thread = lowerer.thread;
    let object = &lowerer.checker.program.objects[object];
    let is_known = CLASSES.contains(&object.class.as_str());
    let refused = match call.method {
        _ if !is_known => false,
        Method::Bar => !object.threads.is_empty() && !object.threads.contains(&thread),
        // Of a ring without a list, those that call it take part.
        Method::Submit | Method::Receive if is_open(object) => false,
        Method::Submit => object.writer != Some(thread),
        Method::Receive => !object.threads.contains(&thread),
        _ => false,
    };
    if !refused {
        return Some(());
    }
    let role = match call.method {
        Method::Submit => "the writer",
        Method::Receive => "a reader",
        _ => "a participant",
    };
    let message = format!("thread {} is not {role} of `{}`", thread.number(), object.name);
    let error = Diagnostic::error("not-a-participant", call.place.span, message);
    let error = error.related(object.span, "its threads are declared here");
    lowerer.checker.sink.push(error);
    None
}

/// `x :=SV e`, `a :=SV x`, and the same with SC.
pub fn assign(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Target,
    via: &Via,
    value: &Value,
    place: Place,
) -> Option<()> {
    let class = if *via == Via::SharedVariable { "SVar" } else { "SC" };
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
        object(lowerer, access, &[class])?;
        let value = write_value(lowerer, expr, class)?;
        let object = Some(access.name.text.clone());
        lowerer.push(StmtKind::Call(Call { object, arguments: vec![value], ..empty("Write") }));
        return Some(());
    }
    let ExprKind::Access(source) = &expr.kind else {
        let message = format!("expected an object of class {class} on one side, found none");
        let help = format!("declare it above the rule as `{class} x = 0`");
        return lowerer.fail("wrong-object-class", place, message, help);
    };
    let (register, location) = result_register(lowerer, target)?;
    read(lowerer, source, class, register)?;
    if let Some(location) = location {
        lowerer.push(StmtKind::Write { location, value: Expr::Register(register) });
    }
    Some(())
}

fn read(
    lowerer: &mut Lowerer<'_, '_>,
    source: &Access,
    class: &str,
    register: RegisterId,
) -> Option<()> {
    object(lowerer, source, &[class])?;
    let object = Some(source.name.text.clone());
    let register = Some(register);
    lowerer.push(StmtKind::Call(Call { object, register, ..empty("Read") }));
    Some(())
}

/// The value of a write; `x :=SV y` reads y by the same library first.
fn write_value(lowerer: &mut Lowerer<'_, '_>, expr: &ast::Expr, class: &str) -> Option<Expr> {
    if let ExprKind::Access(source) = &expr.kind
        && let Some(Meaning::Object(_)) = lowerer.checker.meanings.get(&source.name.text)
    {
        let register = lowerer.hidden();
        read(lowerer, source, class, register)?;
        return Some(Expr::Register(register));
    }
    lowerer.expression(expr)
}

/// Whether a ring's declaration leaves open who writes and reads it.
fn is_open(ring: &Object) -> bool {
    ring.writer.is_none() && ring.threads.is_empty()
}

/// Barriers and rings without a list of threads: those that call them take part.
pub fn participants(checker: &mut Checker<'_>) {
    let mut callers: HashMap<String, Vec<ThreadId>> = HashMap::new();
    let mut submitters: HashMap<String, Vec<ThreadId>> = HashMap::new();
    for (index, thread) in checker.program.threads.iter().enumerate() {
        super::warnings::each_call(&thread.body, &mut |call| {
            let Some(object) = &call.object else { return };
            let of = if call.method == "Submit" { &mut submitters } else { &mut callers };
            of.entry(object.clone()).or_default().push(ThreadId(index));
        });
    }
    let mut wrong = Vec::new();
    for ring in &mut checker.program.objects {
        if ring.class == "Ring" && is_open(ring) {
            let mut writers = submitters.remove(&ring.name).unwrap_or_default();
            writers.dedup();
            ring.threads = callers.remove(&ring.name).unwrap_or_default();
            ring.threads.dedup();
            ring.writer = writers.first().copied();
            let is_both = writers.iter().any(|writer| ring.threads.contains(writer));
            let name = &ring.name;
            wrong.extend(match writers.as_slice() {
                [] => Some((ring.span, format!("no thread submits to the ring `{name}`"))),
                [one] if is_both => {
                    let number = one.number();
                    Some((ring.span, format!("thread {number} both writes and reads this ring")))
                }
                [_] => None,
                [one, other, ..] => {
                    let (one, other) = (one.number(), other.number());
                    let message = format!("threads {one} and {other} both submit to `{name}`");
                    Some((ring.span, message))
                }
            });
        }
    }
    for (span, message) in wrong {
        let error = Diagnostic::error("not-a-participant", span, message);
        let help = "a ring has one writer, and others read it: `Ring x 1 -> {2}`";
        checker.sink.push(error.help(help));
    }
    for (object, threads) in submitters {
        callers.entry(object).or_default().extend(threads);
    }
    callers.values_mut().for_each(|threads| threads.sort_unstable());
    for object in &mut checker.program.objects {
        let is_open = object.class == "Barrier" || !CLASSES.contains(&object.class.as_str());
        if is_open && object.threads.is_empty() {
            object.threads = callers.remove(&object.name).unwrap_or_default();
            object.threads.dedup();
        }
    }
}
