//! What a library declares: each name once, of classes and values that there are, and written as programs can
//! write it.

use std::collections::HashMap;

use super::{ATTRIBUTES, BUILT_IN, Checker, FUNCTIONS};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::library::parser::Heads;
use crate::library::syntax::{Body, Expr, Memory, Method, Parameter, ParameterKind};
use crate::source::Span;

impl Checker<'_> {
    pub(super) fn declared(&mut self, heads: &Heads) {
        let library = self.library;
        let classes = library.classes.iter().map(String::as_str);
        self.once(classes.zip(heads.classes.iter().copied()), "class");
        self.all_memory(&library.memory);
        for method in &library.methods {
            self.names_of_parameters(&method.parameters, method.span);
            self.classes(&method.parameters, method.span);
            self.written(method);
        }
        if let Some(sequential) = &library.sequential {
            self.memory_once(&sequential.memory);
            self.bodies_once(&sequential.bodies);
        }
        if let Some(implementation) = &library.implementation {
            self.all_memory(&implementation.memory);
            self.bodies_once(&implementation.bodies);
            let locals = implementation.locals.iter();
            self.once(locals.map(|local| (local.name.as_str(), local.span)), "variable");
        }
        if let (Some(shown), Some(span)) = (&library.shows, heads.shows) {
            self.shown(shown, span);
        }
    }

    fn once<'n>(&mut self, all: impl Iterator<Item = (&'n str, Span)>, what: &str) {
        let mut known: HashMap<&str, Span> = HashMap::new();
        for (name, span) in all {
            if let Some(first) = known.get(name) {
                let message = format!("expected one {what} `{name}`, found two");
                let error = Diagnostic::error(Code::DeclaredTwice, span, message);
                // Parameters have no places of their own.
                self.sink.push(match *first == span {
                    true => error,
                    false => error.related(*first, "the first one"),
                });
            } else {
                known.insert(name, span);
            }
        }
    }

    fn bodies_once(&mut self, bodies: &[Body]) {
        self.once(bodies.iter().map(|body| (body.method.as_str(), body.span)), "body of");
        bodies.iter().for_each(|body| self.names_of_parameters(&body.parameters, body.span));
    }

    fn names_of_parameters(&mut self, parameters: &[Parameter], span: Span) {
        self.once(parameters.iter().map(|one| (one.name.as_str(), span)), "parameter");
    }

    fn memory_once(&mut self, all: &[Memory]) {
        let name = |memory: &Memory| match &memory.class {
            Some(class) => format!("{class}.{}", memory.name),
            None => memory.name.clone(),
        };
        let names: Vec<String> = all.iter().map(name).collect();
        let spans = all.iter().map(|memory| memory.span);
        self.once(names.iter().map(String::as_str).zip(spans), "memory");
    }

    fn all_memory(&mut self, all: &[Memory]) {
        self.memory_once(all);
        for memory in all {
            if let Some(class) = &memory.class {
                self.class(class, memory.span);
            }
            memory.count.iter().for_each(|count| self.known(memory, count, false));
            memory.initial.iter().for_each(|value| self.known(memory, value, true));
        }
    }

    /// The size or the initial value of memory: numbers, attributes of the object, and `i`, its number.
    fn known(&mut self, memory: &Memory, expr: &Expr, is_initial: bool) {
        let span = memory.span;
        match expr {
            Expr::Number(_) => {}
            Expr::Name(name, _) if name == "i" && is_initial && memory.count.is_some() => {}
            Expr::Name(name, _) if BUILT_IN.contains(&name.as_str()) => {}
            Expr::Place(place) if self.is_attribute(place) && memory.class.is_some() => {}
            Expr::Place(place) | Expr::Remote(place) => {
                let near = nearest(&place.name, ATTRIBUTES).filter(|_| memory.class.is_some());
                let message =
                    format!("expected an attribute of the object, found `{}`", place.name);
                let help = format!("the attributes are {}", ATTRIBUTES.join(", "));
                self.unknown((Code::UnknownName, span, message), (&place.name, near), Some(help));
            }
            Expr::Name(name, _) => {
                let message = format!("expected a number, found `{name}`");
                let help = "memory begins with numbers and attributes, such as `x.initial`";
                self.error(Code::UnknownName, span, message, Some(help.to_owned()));
            }
            Expr::Bottom => {
                let message = "expected a number, found `bot`".to_owned();
                self.error(Code::UnknownName, span, message, None);
            }
            Expr::Function(name, _, place) => self.function(name, *place),
            Expr::Set(_)
            | Expr::Not(_)
            | Expr::Binary(..)
            | Expr::Without(..)
            | Expr::Union(..) => {}
        }
        expr.parts().for_each(|part| self.known(memory, part, is_initial));
    }

    /// A function must be one that there is.
    pub(super) fn function(&mut self, name: &str, span: Span) {
        if FUNCTIONS.contains(&name) {
            return;
        }
        let near = nearest(name, FUNCTIONS);
        let message = format!("expected a function, found `{name}`");
        let help = format!("the functions are {}", FUNCTIONS.join(", "));
        self.unknown((Code::UnknownName, span, message), (name, near), Some(help));
    }

    /// Classes of parameters are the library's, or those of objects that it is made of.
    fn classes(&mut self, parameters: &[Parameter], span: Span) {
        for parameter in parameters {
            if let ParameterKind::Object(class) = &parameter.kind {
                self.class(class, span);
            }
        }
    }

    fn class(&mut self, class: &str, span: Span) {
        let library = self.library;
        let inner = library.implementation.iter().flat_map(|all| &all.memory);
        let inner = inner.filter_map(|memory| memory.object.as_deref());
        let known: Vec<&str> = library.classes.iter().map(String::as_str).chain(inner).collect();
        if !known.contains(&class) {
            let near = nearest(class, known);
            let message = format!("expected a class of the library, found `{class}`");
            let help = format!("declare it: `class {class}`");
            self.unknown_once((Code::UnknownClass, span, message), (class, near), help);
        }
    }

    /// Programs show the value of an object by memory that objects have.
    fn shown(&mut self, shown: &str, span: Span) {
        let library = self.library;
        let inner = library.implementation.iter().flat_map(|all| &all.memory);
        let sequential = library.sequential.iter().flat_map(|all| &all.memory);
        let all = library.memory.iter().chain(inner).chain(sequential);
        let of_objects = all.filter(|one| one.class.is_some() && one.object.is_none());
        let names: Vec<&str> = of_objects.map(|one| one.name.as_str()).collect();
        if !names.contains(&shown) {
            let near = nearest(shown, names);
            let message = format!("expected memory of objects, found `{shown}`");
            self.unknown((Code::UnknownMemory, span, message), (shown, near), None);
        }
    }

    /// What programs write in place of a call has each of its parameters: `x :=M v`, `Join(x, v)`.
    fn written(&mut self, method: &Method) {
        let Some(written) = &method.written else { return };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = |text: &'_ str| -> Vec<String> {
            let all = text.split(|c| !is_part(c)).filter(|word| !word.is_empty());
            all.map(str::to_owned).collect()
        };
        let is_own = |word: &String| method.parameters.iter().any(|one| one.name == *word);
        let has_all = method
            .parameters
            .iter()
            .all(|one| one.default.is_some() || words(written).contains(&one.name));
        let others = |text: &str| words(text).iter().filter(|word| !is_own(word)).count();
        let is_right = match written.split_once(":=") {
            // What takes the result; and the mark, which is a part of the sign.
            Some((target, value)) => {
                let mark = value.split(|c| !is_part(c)).next().unwrap_or_default();
                let has_mark = mark.starts_with(|c: char| c.is_ascii_alphabetic());
                let is_read = mark.chars().all(|c| c.is_ascii_alphanumeric());
                words(target).len() == 1 && is_read && others(value) <= usize::from(has_mark)
            }
            None => {
                let call = written.split_once('(').filter(|_| written.ends_with(')'));
                call.is_some_and(|(name, rest)| words(name).len() == 1 && others(rest) == 0)
            }
        };
        if !has_all || !is_right {
            let message =
                format!("expected how programs write `{}`, found `{written}`", method.name);
            let help = "an assignment or a call with all parameters: `written x :=M v`, `written Join(x, v)`";
            let span = self.within(method.span, written).unwrap_or(method.span);
            self.error(Code::Syntax, span, message, Some(help.to_owned()));
        }
    }
}
