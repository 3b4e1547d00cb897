//! Names of a library file: every one must mean something.

mod bodies;
mod declared;
mod sequential;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::Library;
use super::parser::Heads;
use super::syntax::{
    Body, Event, Expr, Item, Memory, Parameter, ParameterKind, Place, RuleKind, Statement,
    StatementKind,
};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::Sink;
use crate::source::Span;

/// The stamps.
pub const STAMPS: [&str; 12] =
    ["aCR", "aCW", "aCAS", "aMF", "aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"];
/// Attributes of objects.
pub const ATTRIBUTES: [&str; 5] = ["home", "threads", "writer", "size", "initial"];
/// Names that mean something everywhere.
const BUILT_IN: [&str; 4] = ["here", "me", "all", "threads"];

/// Functions of expressions; any other name before `(` is a call.
pub const FUNCTIONS: [&str; 6] = ["nodes", "node", "threads", "pack", "word", "count"];

pub use sequential::check as sequential;

/// What is wrong with a library; `heads` says where words stand of which it keeps no place.
pub fn check(library: &Library, heads: &Heads) -> Vec<Diagnostic> {
    let mut checker = Checker {
        library,
        sink: Sink::default(),
        variables: HashSet::new(),
        undeclared: HashMap::new(),
        in_sequential: false,
    };
    checker.declared(heads);
    checker.rules();
    checker.cases();
    checker.sequential();
    checker.implementation();
    bodies::check(library, &mut checker.sink);
    checker.sink.finish()
}

struct Checker<'a> {
    library: &'a Library,
    sink: Sink,
    /// What is known at the place at hand.
    variables: HashSet<String>,
    /// Names that are not declared, and where that has been reported.
    undeclared: HashMap<(Code, String), Span>,
    /// Whether the bodies at hand are those of the sequential object.
    in_sequential: bool,
}

impl Checker<'_> {
    fn error(&mut self, code: Code, span: Span, message: String, help: Option<String>) {
        let mut error = Diagnostic::error(code, span, message);
        error.help = help;
        self.sink.push(error);
    }

    /// Where a part of the text first stands within a place.
    fn within(&self, place: Span, part: &str) -> Option<Span> {
        let start = place.start + self.library.source.text.get(place.range())?.find(part)?;
        Some(Span::new(start, start + part.len()))
    }

    /// A word that means nothing: which known one is meant, or else a hint.
    fn unknown(
        &mut self,
        (code, span, message): (Code, Span, String),
        (word, near): (&str, Option<&str>),
        help: Option<String>,
    ) {
        let mut error = Diagnostic::error(code, span, message);
        match near {
            Some(near) => {
                error = error.help(format!("did you mean `{near}`?"));
                if let Some(place) = self.within(span, word) {
                    error = error.replace(place, near);
                }
            }
            None => error.help = help,
        }
        self.sink.push(error);
    }

    fn rules(&mut self) {
        for rule in &self.library.rules {
            let methods = match &rule.kind {
                RuleKind::Alternate(first, second) => vec![first, second],
                RuleKind::Equal(method) => vec![method],
            };
            for method in methods {
                if self.library.method(method).is_none() {
                    let message = format!("expected a method of the library, found `{method}`");
                    let methods = self.library.methods.iter().map(|one| one.name.as_str());
                    let near = (&**method, nearest(method, methods));
                    self.unknown((Code::UnknownMethod, rule.span, message), near, None);
                }
            }
            if let RuleKind::Alternate(first, second) = &rule.kind
                && first == second
            {
                let message = format!("expected two methods, found `{first}` twice");
                self.error(Code::UnknownMethod, rule.span, message, None);
            }
        }
    }

    fn parameters(&mut self, parameters: &[Parameter]) {
        self.variables = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        self.variables.extend(BUILT_IN.map(str::to_owned));
    }

    fn cases(&mut self) {
        for method in &self.library.methods {
            for case in &method.cases {
                self.parameters(&method.parameters);
                names_read(&case.items, &mut self.variables);
                let exprs = case.returns.iter().chain(&case.when).chain(&method.callers);
                exprs.for_each(|expr| self.expression(expr, false));
                let defaults = method.parameters.iter().filter_map(|one| one.default.as_ref());
                defaults.for_each(|default| self.expression(default, false));
                self.items(&case.items);
                if case.idle {
                    self.idle(&case.items);
                }
                let needs_event = self.library.base.is_none() && self.library.sequential.is_none();
                if case.items.is_empty() && needs_event {
                    let message = "expected an event, found none".to_owned();
                    let help = "a call without events would order nothing; write `{ aMF }`";
                    self.error(Code::NoEvent, case.span, message, Some(help.to_owned()));
                }
            }
        }
    }

    /// A call that loops may leave out must leave nothing behind.
    fn idle(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::For { items, .. } => self.idle(items),
                Item::Event(event) if event.writes.is_some() => {
                    let message = "expected an event that does not write, found one that does";
                    let help = "loops leave out rounds of a case that is `idle`, so it must change nothing";
                    self.error(
                        Code::IdleWrites,
                        event.span,
                        message.to_owned(),
                        Some(help.to_owned()),
                    );
                }
                Item::Event(_) => {}
            }
        }
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::For { variable, over, items } => {
                    self.expression(over, false);
                    let is_new = self.variables.insert(variable.clone());
                    self.items(items);
                    if is_new {
                        self.variables.remove(variable);
                    }
                }
                Item::Event(event) => self.event(event),
            }
        }
    }

    fn event(&mut self, event: &Event) {
        if !STAMPS.contains(&event.stamp.as_str()) {
            let message = format!("expected a stamp, found `{}`", event.stamp);
            let help = format!("the stamps are {}", STAMPS.join(", "));
            let fitting = STAMPS.into_iter().filter(|one| is_towards(one) == event.node.is_some());
            let near = (&*event.stamp, nearest(&event.stamp, fitting));
            self.unknown((Code::UnknownStamp, event.span, message), near, Some(help));
        } else if is_towards(&event.stamp) != event.node.is_some() {
            let (expected, help) = match event.node {
                None => {
                    ("the node of the stamp, found none", format!("write `{}(n)`", event.stamp))
                }
                Some(_) => ("no node, found one", format!("write `{}`", event.stamp)),
            };
            self.error(Code::WrongStamp, event.span, format!("expected {expected}"), Some(help));
        }
        event.node.iter().for_each(|node| self.expression(node, false));
        if let Some((_, place)) = &event.reads {
            self.place(place, &self.library.memory.clone());
        }
        if let Some((value, place)) = &event.writes {
            self.expression(value, false);
            self.place(place, &self.library.memory.clone());
        }
        if let Some(place) = &event.at {
            self.place(place, &self.library.memory.clone());
        }
    }

    /// Memory that a place may name.
    fn place(&mut self, place: &Place, memory: &[Memory]) {
        if place.object.is_none() && self.is_local(&place.name) {
            return place.index.iter().for_each(|part| self.expression(part, true));
        }
        match &place.object {
            Some(object) => self.name(object, place.span),
            // A location that was passed.
            None if self.variables.contains(&place.name) => return,
            None => {}
        }
        let known = |memory: &&Memory| memory.class.is_some() == place.object.is_some();
        let names: Vec<&str> =
            memory.iter().filter(known).map(|memory| memory.name.as_str()).collect();
        if !names.contains(&place.name.as_str()) {
            self.undeclared(place, &names);
        }
        let parts = place.node.iter().map(AsRef::as_ref).chain(&place.index);
        parts.for_each(|part| self.expression(part, true));
    }

    fn undeclared(&mut self, place: &Place, names: &[&str]) {
        let Place { object, name, node, index, span } = place;
        let is_plain = object.is_some() && node.is_none() && index.is_empty();
        let attributes = ATTRIBUTES.into_iter().filter(|_| is_plain);
        let near = nearest(name, names.iter().copied().chain(attributes));
        let help = match (object, self.library.classes.as_slice()) {
            (None, _) => format!("declare it: `memory {name}`, or `local {name}` for a variable"),
            (Some(_), [class]) => format!("declare it: `memory {class}.{name}`"),
            (Some(_), _) => format!("declare it with its class: `memory CLASS.{name}`"),
        };
        let message = format!("expected memory that is declared, found `{name}`");
        self.unknown_once((Code::UnknownMemory, *span, message), (name, near), help);
    }

    /// The same as [`Self::unknown`], but each name once: what mends it in one place mends it in all.
    fn unknown_once(
        &mut self,
        (code, span, message): (Code, Span, String),
        (word, near): (&str, Option<&str>),
        help: String,
    ) {
        let span = self.within(span, word).unwrap_or(span);
        match self.undeclared.entry((code, word.to_owned())) {
            Entry::Occupied(reported) => self.sink.also(code, *reported.get(), span),
            Entry::Vacant(new) => {
                new.insert(span);
                self.unknown((code, span, message), (word, near), Some(help));
            }
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        if self.variables.contains(name) {
            return;
        }
        let near = nearest(name, self.variables.iter().map(String::as_str)).map(str::to_owned);
        let message = format!("expected a known name, found `{name}`");
        self.unknown((Code::UnknownName, span, message), (name, near.as_deref()), None);
    }

    /// An expression; `in_body` if memory in it is the implementation's.
    fn expression(&mut self, expr: &Expr, in_body: bool) {
        match expr {
            Expr::Number(_) | Expr::Bottom => {}
            Expr::Name(name, span) => self.name(name, *span),
            Expr::Place(place) if self.is_attribute(place) => {
                place.object.iter().for_each(|object| self.name(object, place.span));
            }
            Expr::Place(place) | Expr::Remote(place) => {
                let memory = match (&self.library.implementation, &self.library.sequential) {
                    (_, Some(sequential)) if self.in_sequential => sequential.memory.clone(),
                    (Some(implementation), _) if in_body => implementation.memory.clone(),
                    _ => self.library.memory.clone(),
                };
                self.place(place, &memory);
            }
            Expr::Function(name, _, span) => self.function(name, *span),
            Expr::Set(_)
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::Without(..)
            | Expr::Union(..) => {}
        }
        expr.parts().for_each(|part| self.expression(part, in_body));
    }

    fn is_attribute(&self, place: &Place) -> bool {
        place.object.is_some()
            && place.node.is_none()
            && place.index.is_empty()
            && ATTRIBUTES.contains(&place.name.as_str())
    }

    fn sequential(&mut self) {
        let Some(sequential) = &self.library.sequential else { return };
        self.in_sequential = true;
        self.bodies(&sequential.bodies, "the sequential object");
        self.in_sequential = false;
    }

    fn implementation(&mut self) {
        let Some(implementation) = &self.library.implementation else { return };
        self.bodies(&implementation.bodies, "the implementation");
        for service in &implementation.services {
            if let ParameterKind::Object(class) = &service.parameter.kind
                && !self.library.classes.contains(class)
            {
                let message = format!("expected a class of the library, found `{class}`");
                self.error(Code::UnknownClass, service.span, message, None);
            }
            self.parameters(std::slice::from_ref(&service.parameter));
            self.variables.extend(implementation.locals.iter().map(|local| local.name.clone()));
            // It is in a loop, which it must not leave.
            self.block(&service.statements, 0);
        }
    }

    fn bodies(&mut self, bodies: &[Body], of: &str) {
        for method in &self.library.methods {
            if bodies.iter().all(|body| body.method != method.name) {
                let message = format!("{of} lacks `{}`", method.name);
                let help = format!("add `call {}(…) {{ … }}` to it", method.name);
                self.error(Code::MissingBody, method.span, message, Some(help));
            }
        }
        for body in bodies {
            match self.library.method(&body.method) {
                None => {
                    let message =
                        format!("expected a method of the library, found `{}`", body.method);
                    let help = self.library.methods.is_empty().then(|| {
                        "a file of an implementation has the whole library: above `implementation`, its `class`, `memory`, \
                         `call`s with their events, and `consistency`"
                            .to_owned()
                    });
                    self.error(Code::UnknownMethod, body.span, message, help);
                }
                Some((_, method)) if !fits(&method.parameters, &body.parameters) => {
                    let message = format!("expected the parameters of `{}`", body.method);
                    self.error(Code::DifferentParameters, body.span, message, None);
                }
                Some(_) => {}
            }
            self.parameters(&body.parameters);
            if !self.in_sequential {
                let locals = self.library.implementation.iter().flat_map(|all| &all.locals);
                self.variables.extend(locals.map(|local| local.name.clone()));
            }
            self.block(&body.statements, 0);
        }
    }

    fn block(&mut self, statements: &[Statement], loops: usize) {
        for (index, statement) in statements.iter().enumerate() {
            self.statement(statement, loops);
            let ends = matches!(statement.kind, StatementKind::Return(_) | StatementKind::Break);
            if ends && index + 1 < statements.len() {
                let message = "expected the end of the block, found a statement".to_owned();
                let span = statements[index + 1].span;
                self.error(Code::Unreachable, span, message, None);
            }
        }
    }

    fn statement(&mut self, statement: &Statement, loops: usize) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign { target, value, .. } => {
                self.expression(value, true);
                match target {
                    Expr::Name(name, _) => {
                        self.variables.insert(name.clone());
                    }
                    Expr::Place(place) if place.object.is_none() && self.is_local(&place.name) => {}
                    target => self.expression(target, true),
                }
            }
            StatementKind::Call { result, arguments, .. } => {
                for argument in arguments {
                    // A name that nobody knows is a work id of the implementation's own.
                    if !matches!(argument, Expr::Name(..)) {
                        self.expression(argument, true);
                    }
                }
                self.variables.extend(result.iter().map(|(name, _)| name.clone()));
            }
            StatementKind::If(condition, then, otherwise) => {
                self.expression(condition, true);
                self.block(then, loops);
                self.block(otherwise, loops);
            }
            StatementKind::Loop(body) => self.block(body, loops + 1),
            StatementKind::While(condition, body) => {
                self.expression(condition, true);
                self.block(body, loops + 1);
            }
            StatementKind::For(variable, over, body) => {
                self.expression(over, true);
                self.variables.insert(variable.clone());
                self.block(body, loops);
            }
            StatementKind::Count(variable, first, last, body) => {
                self.expression(first, true);
                self.expression(last, true);
                self.variables.insert(variable.clone());
                self.block(body, loops);
            }
            StatementKind::Break if loops == 0 => {
                let message = "expected a loop around `break`, found none".to_owned();
                self.error(Code::BreakOutsideLoop, span, message, None);
            }
            StatementKind::Break | StatementKind::Skip => {}
            StatementKind::Return(value) => {
                value.iter().for_each(|value| self.expression(value, true));
            }
        }
    }

    fn is_local(&self, name: &str) -> bool {
        if self.in_sequential {
            return false;
        }
        let locals = self.library.implementation.iter().flat_map(|all| &all.locals);
        locals.into_iter().any(|local| local.name == name)
    }
}

/// The names that events give to what they read.
fn names_read(items: &[Item], found: &mut HashSet<String>) {
    for item in items {
        match item {
            Item::For { items, .. } => names_read(items, found),
            Item::Event(event) => found.extend(event.reads.iter().map(|(name, _)| name.clone())),
        }
    }
}

/// Whether a body takes what the method takes.
fn fits(method: &[Parameter], body: &[Parameter]) -> bool {
    let kind = |kind: &ParameterKind| kind.clone();
    method.len() == body.len()
        && method
            .iter()
            .zip(body)
            .all(|(a, b)| kind(&a.kind) == kind(&b.kind) && a.below == b.below)
}

/// Whether a stamp names a node.
fn is_towards(stamp: &str) -> bool {
    stamp.starts_with("aN") || matches!(stamp, "aRF" | "aGF")
}
