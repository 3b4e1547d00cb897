//! What is known of a model's text.

use std::collections::BTreeSet;

use lang::cat::model::Base;
use lang::cat::syntax::{Binding, CellKind, Expr, File, Name, Statement, StatementKind, Table};
use lang::cat::{self, Loaded};
use lang::diagnostic::{Code, Diagnostic};
use lang::source::{Source, Span};

use crate::names::{MODEL, Names, Occurrence, Space, in_wrong_text, words};
use crate::shipped::{Texts, included};

/// The most files that are read of what a model includes.
const MOST_FILES: usize = 64;

/// A model.
pub struct ModelText {
    /// Its tree, without statements that are wrong.
    pub tree: File,
    /// The model, if nothing else is wrong.
    pub loaded: Option<Loaded>,
    /// If a statement cannot be read: what is wrong without it, be it only because it is missing.
    pub perhaps: Vec<Diagnostic>,
    /// The files that it includes, be it by others, with their trees and names.
    pub included: Vec<Included>,
}

/// A file that a model includes.
pub struct Included {
    /// Its text.
    pub source: Source,
    /// Its tree.
    pub tree: File,
    /// Its names.
    pub names: Names,
}

impl ModelText {
    /// Reads it. With it come its names, and what is wrong with it.
    pub fn new(source: &Source, texts: Texts<'_>) -> (Self, Names, Vec<Diagnostic>) {
        let (tree, wrong) = cat::parse(&source.text);
        let loader = |include: &str, includer: &str| included(include, includer, texts);
        let (loaded, found) = match cat::load(source, &loader) {
            Ok(mut loaded) => {
                let warnings = std::mem::take(&mut loaded.warnings);
                (Some(loaded), warnings)
            }
            Err(errors) => (None, errors),
        };
        let mut names = names(&tree);
        let (mut loaded, mut found, mut perhaps) = (loaded, found, Vec::new());
        if !wrong.is_empty() {
            let (rest, unread) = without_wrong(source, &tree);
            let errors = cat::load(&rest, &loader).map(|rest| loaded = Some(rest)).err();
            let own = errors.into_iter().flatten().filter(|(of, _)| of.name == source.name);
            perhaps.extend(own.map(|(_, error)| error));
            let name = |error: &Diagnostic| source.text.get(error.span.range());
            let is_known = |error: &&Diagnostic| {
                let name = name(error).unwrap_or_default();
                error.code == Code::UnknownName && !unread.contains(name)
            };
            let more = perhaps.iter().filter(is_known).cloned();
            found.extend(more.map(|error| (source.clone(), error)));
            let is_name = |_: &str, is_known: bool| is_known;
            let more = in_wrong_text(&source.text, MODEL, names.all(), is_name);
            names = Names::new(names.all().iter().cloned().chain(more).collect());
        }
        let mut model = Self { tree, loaded, perhaps, included: Vec::new() };
        model.include(source, &loader);
        let problems = found.into_iter().map(|(of, found)| match of.name == source.name {
            true => found,
            false => model.at_include(&of, found),
        });
        let problems = problems.collect();
        (model, names, problems)
    }

    fn include(&mut self, source: &Source, loader: cat::Loader<'_>) {
        let mut open = vec![(source.name.clone(), includes(&self.tree))];
        while let Some((includer, names)) = open.pop() {
            for name in names {
                let Some(found) = loader(&name.text, &includer) else { continue };
                let is_known = self.included.iter().any(|one| one.source.name == found.name);
                if is_known || found.name == source.name || self.included.len() >= MOST_FILES {
                    continue;
                }
                let (tree, _) = cat::parse(&found.text);
                open.push((found.name.clone(), includes(&tree)));
                let names = self::names(&tree);
                self.included.push(Included { source: found, tree, names });
            }
        }
    }

    /// A problem of another file, where it is included.
    fn at_include(&self, of: &Source, found: Diagnostic) -> Diagnostic {
        let all = includes(&self.tree);
        let named = all.iter().find(|name| of.name.ends_with(&name.text));
        let span = named.or(all.first()).map_or_else(Span::default, |name| name.span);
        let (line, column) = of.line_column(found.span.start);
        let message = format!("{}:{line}:{column}: {}", of.name, found.message);
        match found.is_error() {
            true => Diagnostic::error(found.code, span, message),
            false => Diagnostic::warning(found.code, span, message),
        }
    }

    /// What is said of a name of the model, if anything is.
    pub fn says(&self, name: &str) -> Option<String> {
        let base = Base::ALL.iter().find(|base| base.name() == name);
        let said = self.loaded.as_ref().and_then(|loaded| loaded.model.says(name));
        let without = self.loaded.as_ref().and_then(|loaded| loaded.model.without(name));
        let mut parts: Vec<String> = Vec::new();
        parts.extend(base.map(|base| base.meaning().to_owned()));
        parts.extend(said.filter(|_| base.is_none()));
        parts.extend(without.map(|text| format!("Without it: {text}")));
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

/// A text with blanks for what cannot be read, and the words of that.
fn without_wrong(source: &Source, tree: &File) -> (Source, BTreeSet<String>) {
    let mut bytes = source.text.clone().into_bytes();
    let mut kept = vec![false; bytes.len()];
    for statement in &tree.statements {
        kept[statement.span.range()].fill(true);
    }
    for (byte, _) in bytes.iter_mut().zip(&kept).filter(|(byte, kept)| !**kept && **byte != b'\n') {
        *byte = b' ';
    }
    let unread = words(&source.text, MODEL).into_iter().filter(|span| !kept[span.start]);
    let unread = unread.map(|span| source.text[span.range()].to_owned()).collect();
    (Source::new(source.name.clone(), String::from_utf8_lossy(&bytes)), unread)
}

/// The files that a tree names.
fn includes(tree: &File) -> Vec<Name> {
    let name = |statement: &Statement| match &statement.kind {
        StatementKind::Include(name) => Some(name.clone()),
        _ => None,
    };
    tree.statements.iter().filter_map(name).collect()
}

/// The statement that defines a name, or has its definition in it.
pub fn defining<'t>(tree: &'t File, span: Span) -> Option<&'t Statement> {
    let holds = |statement: &&'t Statement| {
        statement.span.start <= span.start && span.end <= statement.span.end
    };
    tree.statements.iter().find(holds)
}

/// The names of a tree.
pub fn names(tree: &File) -> Names {
    let mut finder = Finder { found: Vec::new() };
    tree.statements.iter().for_each(|statement| finder.statement(statement));
    Names::new(finder.found)
}

struct Finder {
    found: Vec<Occurrence>,
}

impl Finder {
    fn add(&mut self, name: &Name, space: Space, defines: bool) {
        self.found.push(Occurrence { name: name.text.clone(), span: name.span, space, defines });
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Include(name) | StatementKind::Hardware(name) => {
                self.add(name, Space::Model, false);
            }
            StatementKind::Let(binding) => self.binding(binding, true),
            StatementKind::Replace(binding) => self.binding(binding, false),
            StatementKind::Rec(all) => all.iter().for_each(|one| self.binding(one, true)),
            StatementKind::Function(function) => {
                self.add(&function.name, Space::Value, true);
                let local = Space::Local(function.name.span.start);
                for parameter in &function.parameters {
                    self.add(parameter, local.clone(), true);
                }
                let locals = function.parameters.iter().map(|one| one.text.as_str());
                self.expression(&function.body, &local, &locals.collect::<Vec<_>>());
            }
            StatementKind::Exists(exists) => {
                self.add(&exists.name, Space::Value, true);
                self.value(&exists.total_on);
                exists.extends.iter().for_each(|order| self.value(order));
            }
            StatementKind::Table(table) => self.table(table),
            StatementKind::Axiom(axiom) => {
                self.value(&axiom.body);
                axiom.name.iter().for_each(|name| self.add(name, Space::Axiom, true));
            }
            StatementKind::Calls(all) => {
                all.iter().for_each(|one| self.add(one, Space::Call, true))
            }
            StatementKind::Uncall(all) => {
                all.iter().for_each(|one| self.add(one, Space::Call, false));
            }
            StatementKind::Machine(_) => {}
            StatementKind::Drop(name) => self.add(name, Space::Axiom, false),
            StatementKind::Set(set) => {
                for name in [&set.table, &set.row, &set.column] {
                    self.add(name, Space::Value, false);
                }
            }
        }
    }

    fn binding(&mut self, binding: &Binding, defines: bool) {
        self.add(&binding.name, Space::Value, defines);
        self.value(&binding.body);
    }

    fn table(&mut self, table: &Table) {
        self.add(&table.name, Space::Value, true);
        self.value(&table.on);
        let local = Space::Local(table.name.span.start);
        for letter in &table.letters {
            self.add(&letter.name, local.clone(), true);
            self.value(&letter.body);
        }
        table.columns.iter().for_each(|head| self.add(head, Space::Value, false));
        for row in &table.rows {
            self.add(&row.head, Space::Value, false);
            for cell in &row.cells {
                if let CellKind::Letter(name) = &cell.kind {
                    let (name, span, space) = (name.clone(), cell.span, local.clone());
                    self.found.push(Occurrence { name, span, space, defines: false });
                }
            }
        }
    }

    fn value(&mut self, expr: &Expr) {
        self.expression(expr, &Space::Value, &[]);
    }

    fn expression(&mut self, expr: &Expr, local: &Space, locals: &[&str]) {
        expr.each_name(&mut |name, span| {
            let space = if locals.contains(&name) { local.clone() } else { Space::Value };
            self.found.push(Occurrence { name: name.to_owned(), span, space, defines: false });
        });
    }
}
