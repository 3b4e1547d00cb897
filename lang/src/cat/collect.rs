//! The statements of all files to the parts of one model, with what changes it (`drop`, `set`, `replace`,
//! `uncall`) applied. Expressions are not looked into here.

mod tables;

use std::collections::{BTreeMap, HashMap};

use super::comments::{comment_on, words_on};
use super::model::{AxiomKind, Base, CALLS};
use super::syntax::{
    Axiom, Binding, Exists, Expr, Function, Name, Statement, StatementKind, Table,
};
use super::words::Words;
use super::{LONGEST_NAME, MOST_PARTS, names, printer};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::front::Sink;
use crate::source::{Source, Span};

/// What a model consists of.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) entries: Vec<Entry>,
    /// Every defined name: its entry, and which of the entry's names it is.
    pub(super) names: HashMap<String, (usize, usize)>,
    pub(super) axioms: Vec<AxiomEntry>,
    pub(super) calls: Vec<&'static str>,
    pub(super) machine: Option<Name>,
    pub(super) hardware: Option<Name>,
    /// Names of sets that the model has besides the base ones: a library's methods.
    pub(super) methods: Vec<String>,
    /// What is said of what is defined.
    pub(super) words: BTreeMap<String, Words>,
}

/// A definition.
pub(super) struct Entry {
    pub(super) body: Body,
    /// Index of the file in which the body stands.
    pub(super) file: usize,
    /// The number of the statement that introduces the name: later statements may use it.
    pub(super) position: usize,
    /// The number of the statement in which the body stands: it may use what earlier ones introduce.
    pub(super) written: usize,
    /// For what a `replace` wrote: the entry that it replaced, which its body may use under the same name.
    pub(super) former: Option<usize>,
    /// The entry that replaced this one, which is then in the model only if that entry uses it.
    pub(super) replaced_by: Option<usize>,
    /// True if it was found wrong already.
    pub(super) is_broken: bool,
}

pub(super) enum Body {
    Let(Binding),
    Rec(Vec<Binding>),
    Function(Function),
    Exists(Exists),
    Table(Table),
}

impl Entry {
    /// The names it defines.
    pub(super) fn names(&self) -> Vec<&Name> {
        match &self.body {
            Body::Let(binding) => vec![&binding.name],
            Body::Rec(bodies) => bodies.iter().map(|binding| &binding.name).collect(),
            Body::Function(function) => vec![&function.name],
            Body::Exists(exists) => vec![&exists.name],
            Body::Table(table) => vec![&table.name],
        }
    }

    /// One of the names it defines.
    pub(super) fn name_at(&self, place: usize) -> Option<&Name> {
        match &self.body {
            Body::Rec(bodies) => bodies.get(place).map(|binding| &binding.name),
            _ => self.names().first().copied(),
        }
    }

    /// Every name that its expressions mention, a function's parameters not.
    pub(super) fn each_use(&self, visit: &mut impl FnMut(&str, Span)) {
        match &self.body {
            Body::Let(binding) => binding.body.each_name(visit),
            Body::Rec(bodies) => bodies.iter().for_each(|binding| binding.body.each_name(visit)),
            Body::Function(function) => function.body.each_name(&mut |name, span| {
                if function.parameters.iter().all(|parameter| parameter.text != name) {
                    visit(name, span);
                }
            }),
            Body::Exists(exists) => {
                exists.total_on.each_name(visit);
                exists.extends.iter().for_each(|extends| extends.each_name(visit));
            }
            Body::Table(table) => {
                table.on.each_name(visit);
                table.letters.iter().for_each(|letter| letter.body.each_name(visit));
                let rows = table.rows.iter().map(|row| &row.head);
                rows.chain(&table.columns).for_each(|head| visit(&head.text, head.span));
            }
        }
    }
}

/// A condition.
pub(super) struct AxiomEntry {
    /// The name after `as`, or the body's text.
    pub(super) name: String,
    pub(super) kind: AxiomKind,
    pub(super) body: Expr,
    pub(super) comment: Option<String>,
    pub(super) file: usize,
    pub(super) span: Span,
    /// The number of its statement.
    pub(super) written: usize,
}

pub(super) fn collect(
    statements: Vec<(usize, Statement)>,
    sources: &[Source],
    methods: &[String],
    sink: &mut Sink,
) -> Parts {
    let parts = Parts { methods: methods.to_vec(), ..Parts::default() };
    let mut collector = Collector { parts, file: 0, position: 0, sources, sink };
    for (position, (file, statement)) in statements.into_iter().enumerate() {
        (collector.file, collector.position) = (file, position);
        collector.statement(statement);
    }
    collector.parts
}

struct Collector<'a> {
    parts: Parts,
    /// The file and the number of the statement at hand.
    file: usize,
    position: usize,
    sources: &'a [Source],
    sink: &'a mut Sink,
}

impl Collector<'_> {
    fn statement(&mut self, statement: Statement) {
        match statement.kind {
            // Its statements stand in its place already.
            StatementKind::Include(_) => {}
            StatementKind::Let(binding) => self.define(Body::Let(binding)),
            StatementKind::Rec(bodies) => self.define(Body::Rec(bodies)),
            StatementKind::Function(function) => self.function(function),
            StatementKind::Exists(exists) => self.define(Body::Exists(exists)),
            StatementKind::Table(table) => self.table(table),
            StatementKind::Axiom(axiom) => self.axiom(axiom, statement.span),
            StatementKind::Calls(names) => self.calls(&names),
            StatementKind::Uncall(names) => self.uncall(&names),
            StatementKind::Machine(name) => {
                let twice = (Code::DuplicateMachine, "a model has one machine");
                self.own(|parts| &mut parts.machine, name, twice);
            }
            StatementKind::Hardware(name) => {
                let twice = (Code::DuplicateHardware, "hardware is judged by one model");
                self.own(|parts| &mut parts.hardware, name, twice);
            }
            StatementKind::Drop(name) => self.drop_axiom(&name),
            StatementKind::Set(set) => self.set(set),
            StatementKind::Replace(binding) => self.replace(binding),
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.sink.push_in(self.file, diagnostic);
    }

    /// An error at a name that says where the same was said before.
    fn repeated(
        &mut self,
        code: Code,
        name: &Name,
        message: &str,
        before: (usize, Span),
        help: &str,
    ) {
        let (file, span) = before;
        let mut error = Diagnostic::error(code, name.span, message);
        if file == self.file {
            error = error.label("again here").related(span, "first here");
        } else {
            error =
                error.label(format!("again; first in {}", names::place(self.sources, file, span)));
        }
        if !help.is_empty() {
            error = error.help(help);
        }
        self.error(error);
    }

    fn define(&mut self, body: Body) {
        let index = self.parts.entries.len();
        self.parts.entries.push(Entry {
            body,
            file: self.file,
            position: self.position,
            written: self.position,
            former: None,
            replaced_by: None,
            is_broken: false,
        });
        let names: Vec<Name> = self.parts.entries[index].names().into_iter().cloned().collect();
        for (place, name) in names.iter().enumerate() {
            let is_given = Base::ALL.iter().any(|base| base.name() == name.text)
                || self.parts.methods.contains(&name.text);
            if is_given {
                let message =
                    format!("`{}` is defined already: every execution comes with it", name.text);
                let error = Diagnostic::error(Code::DuplicateDefinition, name.span, message);
                self.error(error.help("choose another name"));
                self.parts.entries[index].is_broken = true;
            } else if let Some(&(known, known_place)) = self.parts.names.get(&name.text) {
                let known = &self.parts.entries[known];
                let before =
                    (known.file, known.name_at(known_place).map_or(name.span, |first| first.span));
                let message = format!("`{}` is defined twice", name.text);
                let help = format!(
                    "`replace let {} = …` changes it, for what is defined after it too",
                    name.text
                );
                self.repeated(Code::DuplicateDefinition, name, &message, before, &help);
                self.parts.entries[index].is_broken = true;
            } else {
                self.parts.names.insert(name.text.clone(), (index, place));
                self.words(name);
            }
        }
    }

    /// Keeps what the text says of a name where it is defined, or replaced.
    fn words(&mut self, name: &Name) {
        if let Some(words) = words_on(&self.sources[self.file].text, name.span) {
            self.parts.words.insert(name.text.clone(), words);
        }
    }

    fn function(&mut self, function: Function) {
        if function.parameters.len() > MOST_PARTS {
            let message = format!("a function has at most {MOST_PARTS} parameters");
            self.error(Diagnostic::error(Code::TooLarge, function.name.span, message));
            return;
        }
        for (index, parameter) in function.parameters.iter().enumerate() {
            let before = function.parameters[..index].iter().find(|other| *other == parameter);
            if let Some(before) = before {
                let message = format!("`{}` is a parameter twice", parameter.text);
                let before = (self.file, before.span);
                self.repeated(Code::DuplicateParameter, parameter, &message, before, "");
            }
        }
        self.define(Body::Function(function));
    }

    fn axiom(&mut self, axiom: Axiom, span: Span) {
        let name = axiom.name.unwrap_or_else(|| Name {
            text: printer::print_expr(&axiom.body),
            span: axiom.body.span,
        });
        if let Some(known) = self.parts.axioms.iter().find(|known| known.name == name.text) {
            let message = format!("two axioms have the name `{}`", name.text);
            let before = (known.file, known.span);
            let help = "name it with `as`; `drop` takes an axiom of an included model away";
            self.repeated(Code::DuplicateAxiom, &name, &message, before, help);
        }
        self.parts.axioms.push(AxiomEntry {
            name: name.text,
            kind: axiom.kind,
            body: axiom.body,
            comment: comment_on(&self.sources[self.file].text, span),
            file: self.file,
            span,
            written: self.position,
        });
    }

    fn calls(&mut self, names: &[Name]) {
        for name in names {
            match CALLS.iter().find(|call| **call == name.text) {
                Some(call) if self.parts.calls.contains(call) => {}
                Some(call) => self.parts.calls.push(call),
                None => self.unknown_call(name, "no statement of the language is called", &CALLS),
            }
        }
    }

    fn uncall(&mut self, names: &[Name]) {
        for name in names {
            match self.parts.calls.iter().position(|call| *call == name.text) {
                Some(index) => {
                    self.parts.calls.remove(index);
                }
                None => {
                    let known = self.parts.calls.clone();
                    self.unknown_call(name, "this model has no statement", &known);
                }
            }
        }
    }

    fn unknown_call(&mut self, name: &Name, message: &str, known: &[&str]) {
        if self.sink.is_deaf() {
            return;
        }
        let error =
            Diagnostic::error(Code::UnknownCall, name.span, format!("{message} `{}`", name.text));
        self.error(match nearest(&name.text, known.iter().copied()) {
            Some(known) => error.did_you_mean(known),
            None => error.help(format!("expected one of {}", known.join(", "))),
        });
    }

    /// What only the model's own file names: a model that includes it may have changed what was true of it.
    fn own(
        &mut self,
        part: fn(&mut Parts) -> &mut Option<Name>,
        name: Name,
        (code, message): (Code, &str),
    ) {
        if self.file != 0 {
            return;
        }
        if let Some(known) = part(&mut self.parts) {
            let before = (0, known.span);
            self.repeated(code, &name, message, before, "");
        }
        *part(&mut self.parts) = Some(name);
    }

    fn drop_axiom(&mut self, name: &Name) {
        if let Some(index) = self.parts.axioms.iter().position(|axiom| axiom.name == name.text) {
            self.parts.axioms.remove(index);
            return;
        }
        let message = format!("no axiom before this line is called `{}`", name.text);
        let error = Diagnostic::error(Code::UnknownAxiom, name.span, message);
        let known = self.parts.axioms.iter().map(|axiom| axiom.name.as_str());
        let error = with_nearest(error, &name.text, known);
        self.error(error);
    }

    /// Puts the new body in the place of the old one, so that what follows the old one sees the new; the
    /// old one stays aside, for its type and for uses in the new body.
    fn replace(&mut self, binding: Binding) {
        let name = binding.name.clone();
        let Some(&(index, _)) = self.parts.names.get(&name.text) else {
            let message = format!("`{}` is not defined before this line", name.text);
            let error = Diagnostic::error(Code::CannotReplace, name.span, message);
            let known = self.parts.names.keys().map(String::as_str);
            let is_base = Base::ALL.iter().any(|base| base.name() == name.text);
            let error = if is_base {
                error.help("what every execution comes with cannot be replaced")
            } else {
                with_nearest(error, &name.text, known)
            };
            self.error(error);
            return;
        };
        let what = match &self.parts.entries[index].body {
            Body::Rec(_) => "part of a recursion",
            Body::Function(_) => "a function",
            Body::Let(_) | Body::Exists(_) | Body::Table(_) => "",
        };
        if !what.is_empty() {
            let message = format!("`{}` cannot be replaced: it is {what}", name.text);
            let error = Diagnostic::error(Code::CannotReplace, name.span, message);
            self.error(error.help("sets, relations, tables and chosen orders can be"));
            return;
        }
        self.words(&name);
        let former = self.parts.entries.len();
        let new = Entry {
            body: Body::Let(binding),
            file: self.file,
            position: self.parts.entries[index].position,
            written: self.position,
            former: Some(former),
            replaced_by: None,
            is_broken: false,
        };
        let mut old = std::mem::replace(&mut self.parts.entries[index], new);
        old.replaced_by = Some(index);
        if let Some(older) = old.former {
            self.parts.entries[older].replaced_by = Some(former);
        }
        self.parts.entries.push(old);
    }
}

fn with_nearest<'a>(
    error: Diagnostic,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let mut known: Vec<&str> =
        known.into_iter().filter(|known| known.len() <= LONGEST_NAME).collect();
    known.sort_unstable();
    if name.len() > LONGEST_NAME {
        return error;
    }
    match nearest(name, known.iter().copied()) {
        Some(known) => error.did_you_mean(known),
        None if known.is_empty() || known.len() > 12 => error,
        None => error.help(format!("expected one of {}", known.join(", "))),
    }
}
