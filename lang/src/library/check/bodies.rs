//! What bodies do as a whole: they end with what they return, do not call themselves, and fit into memory.

use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::library::syntax::{
    Body, Expr, Implementation, Memory, Parameter, ParameterKind, Statement, StatementKind as Kind,
};
use crate::library::{Library, MOST_WORDS};
use crate::source::Span;

/// Adds what is wrong.
pub fn check(library: &Library, sink: &mut Sink) {
    if let Some(sequential) = &library.sequential {
        sizes(&sequential.memory, sink);
        returns(library, &sequential.bodies, sink);
    }
    let Some(implementation) = &library.implementation else { return };
    sizes(library.memory.iter().chain(&implementation.memory), sink);
    returns(library, &implementation.bodies, sink);
    for service in &implementation.services {
        if let Some(span) = returned(&service.statements) {
            let message = "expected no `return` in a service, found one";
            let help = "it is a thread of its own, and nobody calls it";
            sink.push(Diagnostic::error(Code::ReturnNotLast, span, message).help(help));
        }
        let mut calls = Vec::new();
        let parameters = std::slice::from_ref(&service.parameter);
        own_calls(library, parameters, &service.statements, &mut calls);
        if let Some((name, span)) = calls.first() {
            let message =
                format!("expected no call of `{name}` in a service of its library, found one");
            let help = "a service works on memory; it may call other libraries";
            let error = Diagnostic::error(Code::RecursiveImplementation, *span, message);
            sink.push(error.help(help));
        }
    }
    recursion(library, implementation, sink);
}

fn sizes<'l>(all: impl IntoIterator<Item = &'l Memory>, sink: &mut Sink) {
    for memory in all {
        if let Some(Expr::Number(count)) = memory.count
            && count > MOST_WORDS
        {
            let message = format!("expected at most {MOST_WORDS} words, found {count}");
            sink.push(Diagnostic::error(Code::TooMuchMemory, memory.span, message));
        }
    }
}

fn returns(library: &Library, bodies: &[Body], sink: &mut Sink) {
    for body in bodies {
        let method = library.method(&body.method);
        let gives = method.is_some_and(|(_, m)| m.cases.iter().all(|case| case.returns.is_some()));
        if gives && !always_returns(&body.statements) {
            let message = format!("expected `return` at the end of `{}`, found none", body.method);
            let help = "each way through the body returns a value";
            sink.push(Diagnostic::error(Code::MissingReturn, body.span, message).help(help));
        }
        returns_last(&body.statements, sink);
    }
}

fn always_returns(block: &[Statement]) -> bool {
    match block.last().map(|statement| &statement.kind) {
        Some(Kind::Return(value)) => value.is_some(),
        Some(Kind::If(_, then, otherwise)) => always_returns(then) && always_returns(otherwise),
        _ => false,
    }
}

/// `return` does not leave: it gives the result, so that nothing may follow it.
fn returns_last(block: &[Statement], sink: &mut Sink) {
    for (index, statement) in block.iter().enumerate() {
        let inner = match &statement.kind {
            Kind::If(_, then, otherwise) if index + 1 == block.len() => {
                returns_last(then, sink);
                returns_last(otherwise, sink);
                continue;
            }
            kind => kind.blocks().find_map(returned),
        };
        if let Some(span) = inner {
            let message = "expected `return` where the body ends, found it before other statements";
            let help = "keep the value in a variable, or put what follows into `else`";
            sink.push(Diagnostic::error(Code::ReturnNotLast, span, message).help(help));
        }
    }
}

fn returned(block: &[Statement]) -> Option<Span> {
    block.iter().find_map(|statement| match &statement.kind {
        Kind::Return(_) => Some(statement.span),
        kind => kind.blocks().find_map(returned),
    })
}

/// Methods of the library that a body calls on objects of its own classes, or on none, and where.
fn own_calls<'l>(
    library: &'l Library,
    parameters: &[Parameter],
    block: &'l [Statement],
    found: &mut Vec<(&'l str, Span)>,
) {
    for statement in block {
        if let Kind::Call { name, arguments, .. } = &statement.kind
            && library.method(name).is_some()
            && is_own(library, parameters, arguments)
        {
            found.push((name, statement.span));
        }
        statement.kind.blocks().for_each(|inner| own_calls(library, parameters, inner, found));
    }
}

/// Whether the first argument is not an object of another library.
fn is_own(library: &Library, parameters: &[Parameter], arguments: &[Expr]) -> bool {
    let is_class = |class: &String| library.classes.contains(class);
    match arguments.first() {
        Some(Expr::Name(name, _)) => {
            let parameter = parameters.iter().find(|parameter| parameter.name == *name);
            match parameter.map(|parameter| &parameter.kind) {
                Some(ParameterKind::Object(class)) => is_class(class),
                _ => true,
            }
        }
        Some(Expr::Place(place)) => {
            let implementation = library.implementation.iter();
            let mut memory = implementation.flat_map(|all| &all.memory);
            let declared = memory.find(|memory| memory.name == place.name);
            declared.and_then(|memory| memory.object.as_ref()).is_some_and(is_class)
        }
        _ => true,
    }
}

fn recursion(library: &Library, implementation: &Implementation, sink: &mut Sink) {
    // Methods of the base are its statements, which their own bodies may use.
    if library.base.is_some() {
        return;
    }
    let calls = |name: &str| -> Vec<(&str, Span)> {
        let mut found = Vec::new();
        for body in implementation.bodies.iter().filter(|body| body.method == name) {
            own_calls(library, &body.parameters, &body.statements, &mut found);
        }
        found
    };
    for body in &implementation.bodies {
        for (first, span) in calls(&body.method) {
            let mut reached = vec![first];
            let mut next = 0;
            while let Some(name) = reached.get(next).copied() {
                next += 1;
                for (called, _) in calls(name) {
                    if !reached.contains(&called) {
                        reached.push(called);
                    }
                }
            }
            if reached.contains(&body.method.as_str()) {
                let message = format!("expected no call of `{}` by itself, found one", body.method);
                let help = "implementations are put in the place of calls, so they must end";
                let error = Diagnostic::error(Code::RecursiveImplementation, span, message);
                sink.push(error.help(help));
                return;
            }
        }
    }
}
