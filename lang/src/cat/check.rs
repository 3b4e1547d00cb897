//! Definitions and axioms with names resolved and types known.

mod expression;
mod uses;
mod warnings;

use super::collect::{Body, Entry, Parts};
use super::model::{
    Axiom, AxiomKind, Cell, Definition, DefinitionId, DefinitionKind, RecBody, Table, Type,
};
use super::names;
use super::syntax::{self, Binding, CellKind, Expr, Name};
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::limits;
use crate::source::{Source, Span};
use expression::{Chosen, Group, Scope, Ty, Value};

/// The checked parts, each definition and axiom with the index of its file.
pub(super) struct Checked {
    pub(super) definitions: Vec<Definition>,
    pub(super) definition_sources: Vec<usize>,
    pub(super) axioms: Vec<Axiom>,
    pub(super) axiom_sources: Vec<usize>,
}

/// Checks the entries in the order of `order`, then the axioms.
pub(super) fn check(
    parts: &Parts,
    order: &[usize],
    sources: &[Source],
    sink: &mut Sink,
) -> Checked {
    let mut checker = Checker {
        parts,
        sources,
        sink,
        known: vec![Vec::new(); parts.entries.len()],
        definitions: Vec::new(),
        definition_sources: Vec::new(),
        steps: 0,
        is_too_large: false,
        depth: 0,
    };
    for entry in order {
        limits::look();
        checker.entry(*entry);
    }
    let axioms: Vec<(usize, Axiom)> =
        parts.axioms.iter().filter_map(|axiom| Some((axiom.file, checker.axiom(axiom)?))).collect();
    let mo = parts.names.get("mo").and_then(|(index, place)| checker.known[*index].get(*place));
    let has_mo = mo.is_some_and(|mo| mo.ty == Type::Relation);
    let Checker { definitions, definition_sources, .. } = checker;
    if !sink.has_errors() {
        warnings::warn(parts, has_mo, sources, sink);
    }
    let (axiom_sources, axioms) = axioms.into_iter().unzip();
    Checked { definitions, definition_sources, axioms, axiom_sources }
}

/// What is known of a name: where its definition is, its type, and the choice that it depends on.
#[derive(Clone, Copy)]
struct Known {
    id: DefinitionId,
    ty: Type,
    chosen: Option<Chosen>,
}

struct Checker<'a> {
    parts: &'a Parts,
    sources: &'a [Source],
    sink: &'a mut Sink,
    /// For each entry, its names; empty for functions, and for what is not or not rightly defined.
    known: Vec<Vec<Known>>,
    definitions: Vec<Definition>,
    definition_sources: Vec<usize>,
    /// How many operators and names were looked at.
    steps: usize,
    /// True once that was too many, and was said.
    is_too_large: bool,
    /// How many operators and calls are open.
    depth: usize,
}

impl<'a> Checker<'a> {
    /// Reports an error in a scope, with the call that led there.
    fn error(&mut self, scope: &Scope<'_>, mut error: Diagnostic) {
        if let Some((file, span)) = scope.call {
            if file == scope.file {
                error = error.related(span, "in this call");
            } else {
                let call = format!("in the call at {}", names::place(self.sources, file, span));
                let help = error.help.map_or(call.clone(), |help| format!("{call}; {help}"));
                error.help = Some(help);
            }
        }
        self.sink.push_in(scope.file, error);
    }

    fn entry(&mut self, index: usize) {
        let entry = &self.parts.entries[index];
        if entry.is_broken {
            return;
        }
        let scope = Scope::of_entry(index, entry);
        match &entry.body {
            Body::Let(binding) => self.plain(index, binding, &scope),
            Body::Rec(bodies) => self.recursion(index, bodies, &scope),
            Body::Exists(exists) => self.exists(index, exists, &scope),
            Body::Table(table) => self.table(index, table, &scope),
            Body::Function(function) => {
                // A function is checked with every call; once with anything shows what is wrong in any case.
                let parameters: Vec<_> = function
                    .parameters
                    .iter()
                    .map(|name| (&*name.text, Some(Value::anything())))
                    .collect();
                self.value(&function.body, &Scope { parameters: &parameters, ..scope });
            }
        }
    }

    fn plain(&mut self, index: usize, binding: &Binding, scope: &Scope<'_>) {
        let Some(value) = self.value(&binding.body, scope) else { return };
        let ty = value.ty.or_default();
        let entry = &self.parts.entries[index];
        if let Some(former) = entry.former.and_then(|former| self.known[former].first())
            && former.ty != ty
            && value.ty.is_fixed()
        {
            let (was, is) = (article(former.ty), article(ty));
            let name = &binding.name.text;
            let message = format!("expected {was}, as `{name}` was before, found {is}");
            self.error(scope, Diagnostic::error(Code::WrongType, binding.body.span, message));
            return;
        }
        let ty = match entry.former.and_then(|former| self.known[former].first()) {
            Some(former) => former.ty,
            None => ty,
        };
        let chosen = value.chosen;
        let kind = DefinitionKind::Let {
            name: self.final_name(index, &binding.name),
            ty,
            body: value.fixed(ty),
        };
        self.define(index, kind, binding.name.span, &[(ty, chosen)]);
    }

    fn recursion(&mut self, index: usize, bodies: &'a [Binding], scope: &Scope<'a>) {
        let definition = self.definitions.len();
        let mut group = Group {
            entry: index,
            definition,
            types: vec![Ty::Either(Type::Relation); bodies.len()],
        };
        self.sink.quiet = true;
        loop {
            let mut is_news = false;
            for (place, binding) in bodies.iter().enumerate() {
                let value = self.value(&binding.body, &Scope { group: Some(&group), ..*scope });
                if let Some(value) = value
                    && value.ty.is_fixed()
                    && !group.types[place].is_fixed()
                {
                    group.types[place] = value.ty;
                    is_news = true;
                }
            }
            if !is_news {
                break;
            }
        }
        self.sink.quiet = false;
        for ty in &mut group.types {
            *ty = Ty::Is(ty.or_default());
        }
        let mut checked = Vec::new();
        let mut chosen = None;
        for (binding, ty) in bodies.iter().zip(&group.types) {
            let ty = ty.or_default();
            let value =
                self.value_of_type(&binding.body, ty, &Scope { group: Some(&group), ..*scope });
            let Some(value) = value else { continue };
            chosen = chosen.or(value.chosen);
            checked.push(RecBody { name: binding.name.text.clone(), ty, body: value.expr });
        }
        if checked.len() == bodies.len()
            && let Some(first) = bodies.first()
        {
            let types: Vec<_> = group.types.iter().map(|ty| (ty.or_default(), chosen)).collect();
            self.define(index, DefinitionKind::Rec(checked), first.name.span, &types);
        }
    }

    fn exists(&mut self, index: usize, exists: &syntax::Exists, scope: &Scope<'_>) {
        let total_on = self.unchosen(&exists.total_on, scope);
        let extends = exists.extends.as_ref().map(|extends| self.unchosen(extends, scope));
        let (Some(total_on), true) = (total_on, !matches!(extends, Some(None))) else { return };
        let kind = DefinitionKind::Choice {
            name: self.final_name(index, &exists.name),
            total_on,
            extends: extends.flatten(),
        };
        let chosen = Some(Chosen::Entry(index));
        self.define(index, kind, exists.name.span, &[(Type::Relation, chosen)]);
    }

    /// A relation that no choice occurs in.
    fn unchosen(&mut self, expr: &Expr, scope: &Scope<'_>) -> Option<super::model::Expr> {
        let value = self.value_of_type(expr, Type::Relation, scope)?;
        let Some(chosen) = value.chosen else { return Some(value.expr) };
        let name = match chosen {
            Chosen::ReadsFrom => "rf",
            Chosen::Entry(entry) => {
                self.parts.entries[entry].name_at(0).map_or("", |name| &name.text)
            }
        };
        let message =
            format!("expected a relation without choices, found one that depends on `{name}`");
        let error = Diagnostic::error(Code::ChoiceInTotalOn, expr.span, message)
            .help("what is ordered must be known before orders are chosen; what the order must agree with is said by an axiom");
        self.error(scope, error);
        None
    }

    fn table(&mut self, index: usize, table: &syntax::Table, scope: &Scope<'_>) {
        let on = self.value_of_type(&table.on, Type::Relation, scope);
        let mut chosen = on.as_ref().and_then(|on| on.chosen);
        let mut letters = Vec::new();
        for letter in &table.letters {
            if let Some(value) = self.value_of_type(&letter.body, Type::Relation, scope) {
                chosen = chosen.or(value.chosen);
                letters.push((letter.name.text.clone(), value.expr));
            }
        }
        let mut head = |name: &Name| {
            let expr = Expr::new(syntax::ExprKind::Name(name.text.clone()), name.span);
            let value = self.value_of_type(&expr, Type::Set, scope)?;
            chosen = chosen.or(value.chosen);
            Some((name.text.clone(), value.expr))
        };
        let columns: Vec<_> = table.columns.iter().filter_map(&mut head).collect();
        let rows: Vec<_> = table
            .rows
            .iter()
            .filter_map(|row| {
                let (name, set) = head(&row.head)?;
                let cells =
                    row.cells.iter().filter_map(|cell| cell_kind(&cell.kind, table)).collect();
                Some((name, set, cells))
            })
            .collect();
        let is_whole = letters.len() == table.letters.len()
            && columns.len() == table.columns.len()
            && rows.len() == table.rows.len();
        if let (Some(on), true) = (on, is_whole) {
            let name = self.final_name(index, &table.name);
            let kind = DefinitionKind::Table(Table { name, on: on.expr, letters, columns, rows });
            self.define(index, kind, table.name.span, &[(Type::Relation, chosen)]);
        }
    }

    fn axiom(&mut self, axiom: &super::collect::AxiomEntry) -> Option<Axiom> {
        let scope = Scope::of_axiom(axiom.file, axiom.written);
        let body = match axiom.kind {
            AxiomKind::Empty => {
                let value = self.value(&axiom.body, &scope)?;
                let ty = value.ty.or_default();
                value.fixed(ty)
            }
            AxiomKind::Acyclic | AxiomKind::Irreflexive => {
                self.value_of_type(&axiom.body, Type::Relation, &scope)?.expr
            }
        };
        let (name, comment) = (axiom.name.clone(), axiom.comment.clone());
        Some(Axiom { name, kind: axiom.kind, body, comment, span: axiom.span })
    }

    /// Adds a definition and makes its names known. One that was replaced is left out if its replacement does
    /// not use it: then only its type is of interest.
    fn define(
        &mut self,
        index: usize,
        kind: DefinitionKind,
        span: Span,
        names: &[(Type, Option<Chosen>)],
    ) {
        let definition = self.definitions.len();
        self.known[index] = names
            .iter()
            .enumerate()
            .map(|(body, (ty, chosen))| Known {
                id: DefinitionId { definition, body },
                ty: *ty,
                chosen: *chosen,
            })
            .collect();
        let entry = &self.parts.entries[index];
        if self.parts.is_in_model(index) {
            self.definitions.push(Definition { kind, span });
            self.definition_sources.push(entry.file);
        }
    }

    /// The name in the model: for what was replaced but is still used, one that no text can say.
    fn final_name(&self, index: usize, name: &Name) -> String {
        let mut text = name.text.clone();
        let mut entry = &self.parts.entries[index];
        while let Some(by) = entry.replaced_by {
            text.push('\'');
            entry = &self.parts.entries[by];
        }
        text
    }
}

impl Parts {
    /// True for what was not replaced, and for what was if its replacement mentions it and is itself used.
    fn is_in_model(&self, index: usize) -> bool {
        let mut entry = &self.entries[index];
        while let Some(by) = entry.replaced_by {
            entry = &self.entries[by];
            let mut uses_former = false;
            entry.each_use(&mut |name, _| {
                uses_former |= entry.name_at(0).is_some_and(|own| own.text == name);
            });
            if !uses_former {
                return false;
            }
        }
        true
    }
}

fn cell_kind(cell: &CellKind, table: &syntax::Table) -> Option<Cell> {
    Some(match cell {
        CellKind::Ordered => Cell::Ordered,
        CellKind::Unordered => Cell::Unordered,
        CellKind::Letter(letter) => {
            Cell::Where(table.letters.iter().position(|known| known.name.text == *letter)?)
        }
    })
}

fn article(ty: Type) -> &'static str {
    match ty {
        Type::Set => "a set",
        Type::Relation => "a relation",
    }
}

impl<'a> Scope<'a> {
    fn of_entry(index: usize, entry: &Entry) -> Self {
        Self { entry: Some(index), ..Self::of_axiom(entry.file, entry.written) }
    }

    fn of_axiom(file: usize, written: usize) -> Self {
        Self {
            file,
            written,
            entry: None,
            parameters: &[],
            group: None,
            is_negative: false,
            call: None,
        }
    }
}
