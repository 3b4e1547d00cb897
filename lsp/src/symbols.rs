//! The parts of a text, as an outline.

use lang::cat::syntax::{Statement, StatementKind};
use lang::litmus::ast::{self, ResultKind};
use lang::source::Span;
use lsp_types::{DocumentSymbol, SymbolKind};

use crate::documents::{Known, What};
use crate::text::Text;

/// A part: what it is called, and where it and its name are.
struct Part<'t> {
    name: String,
    detail: &'t str,
    kind: SymbolKind,
    whole: Span,
    at: Span,
}

/// The outline of a text.
pub fn symbols(known: &Known, text: &Text) -> Vec<DocumentSymbol> {
    let parts = match &known.what {
        What::Program(program) => program.survey.tree.as_ref().map_or_else(Vec::new, of_program),
        What::Model(model) => model.tree.statements.iter().flat_map(of_statement).collect(),
        What::Library(library) => library.parts.iter().map(of_library).collect(),
    };
    parts.into_iter().filter_map(|part| symbol(part, text)).collect()
}

fn symbol(part: Part<'_>, text: &Text) -> Option<DocumentSymbol> {
    // Editors refuse names that are empty, and names outside of what they name.
    let Part { name, detail, kind, whole, at } = part;
    let whole = whole.to(at);
    #[allow(deprecated, reason = "the field has to be there")]
    let symbol = DocumentSymbol {
        name,
        detail: (!detail.is_empty()).then(|| detail.to_owned()),
        kind,
        tags: None,
        deprecated: None,
        range: text.range(whole),
        selection_range: text.range(at),
        children: None,
    };
    (!symbol.name.trim().is_empty()).then_some(symbol)
}

fn of_library(part: &crate::library::Part) -> Part<'static> {
    let kind = match part.word {
        "class" => SymbolKind::CLASS,
        "call" => SymbolKind::METHOD,
        "memory" => SymbolKind::FIELD,
        "object" => SymbolKind::OBJECT,
        _ => SymbolKind::VARIABLE,
    };
    Part { name: part.name.clone(), detail: part.word, kind, whole: part.whole, at: part.at }
}

fn of_program(tree: &ast::File) -> Vec<Part<'_>> {
    let part = |name: &str, detail, kind, whole, at| Part {
        name: name.to_owned(),
        detail,
        kind,
        whole,
        at,
    };
    let mut parts = Vec::new();
    let name = tree.name.place.span;
    parts.push(part(&tree.name.text, "test", SymbolKind::FILE, name, name));
    for declaration in tree.declarations.iter().flat_map(|row| row.cells.all()) {
        let at = declaration.name.place.span;
        let detail = declaration.kind.class().unwrap_or("location");
        if at.start < at.end {
            parts.push(part(&declaration.name.text, detail, SymbolKind::VARIABLE, at, at));
        }
    }
    for (index, thread) in tree.threads.iter().enumerate() {
        let name = format!("thread {} on node {}", index + 1, thread.node);
        let spans = thread.body.statements.iter().map(|statement| statement.place.span);
        let Some(whole) = spans.reduce(Span::to) else { continue };
        let at = thread.body.statements.first().map_or(whole, |first| first.place.span);
        parts.push(part(&name, "", SymbolKind::FUNCTION, whole, at));
    }
    for line in &tree.results {
        if let ResultKind::Verdicts(model, verdicts) = &line.kind {
            let model = model.as_ref().map_or("", |name| name.text.as_str());
            for verdict in verdicts {
                let span = verdict.place.span;
                parts.push(part("verdict", model, SymbolKind::BOOLEAN, span, span));
            }
        }
    }
    parts
}

fn of_statement(statement: &Statement) -> Vec<Part<'_>> {
    let of = |name: &lang::cat::syntax::Name, detail, kind| Part {
        name: name.text.clone(),
        detail,
        kind,
        whole: statement.span,
        at: name.span,
    };
    match &statement.kind {
        StatementKind::Let(one) => vec![of(&one.name, "", SymbolKind::VARIABLE)],
        StatementKind::Replace(one) => vec![of(&one.name, "replaced", SymbolKind::VARIABLE)],
        StatementKind::Rec(all) => {
            all.iter().map(|one| of(&one.name, "recursive", SymbolKind::VARIABLE)).collect()
        }
        StatementKind::Function(one) => vec![of(&one.name, "", SymbolKind::FUNCTION)],
        StatementKind::Exists(one) => vec![of(&one.name, "chosen order", SymbolKind::VARIABLE)],
        StatementKind::Table(one) => vec![of(&one.name, "table", SymbolKind::ARRAY)],
        StatementKind::Axiom(axiom) => {
            axiom.name.iter().map(|name| of(name, "axiom", SymbolKind::BOOLEAN)).collect()
        }
        _ => Vec::new(),
    }
}
