//! What is wrong, as editors show it, and what makes it right.

use std::collections::HashMap;
use std::time::Duration;

use lang::diagnostic::{Code, Diagnostic, Fix, apply};
use lang::limits::Limits;
use lang::source::Span;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, DiagnosticRelatedInformation,
    DiagnosticSeverity, Location, NumberOrString, TextEdit, Uri, WorkspaceEdit,
};

use crate::documents::{Document, Documents, Known, What};
use crate::text::Text;

/// How long changes are tried.
const LIMIT: Duration = Duration::from_millis(1500);

/// A problem as editors show it.
pub fn shown(problem: &Diagnostic, text: &Text, uri: &Uri) -> lsp_types::Diagnostic {
    let related = problem.related.iter().map(|(span, message)| DiagnosticRelatedInformation {
        location: Location::new(uri.clone(), text.range(*span)),
        message: message.clone(),
    });
    let related: Vec<_> = related.collect();
    let mut message = problem.message.clone();
    if !problem.label.is_empty() {
        message.push_str(&format!(" ({})", problem.label));
    }
    if let Some(help) = &problem.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    lsp_types::Diagnostic {
        range: text.range(visible(problem.span, text)),
        severity: Some(match problem.is_error() {
            true => DiagnosticSeverity::ERROR,
            false => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(problem.code.name().to_owned())),
        source: Some("litmus".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

/// A place that can be seen: an empty one takes the character before it.
fn visible(span: Span, text: &Text) -> Span {
    if span.start < span.end {
        return span;
    }
    let before = text.text.get(..span.start).and_then(|before| before.chars().next_back());
    match before.filter(|character| *character != '\n') {
        Some(character) => Span::new(span.start - character.len_utf8(), span.end),
        None => span,
    }
}

/// What is said of a text that takes too long to check.
pub fn not_checked(why: &str) -> lsp_types::Diagnostic {
    lsp_types::Diagnostic {
        severity: Some(DiagnosticSeverity::WARNING),
        source: Some("litmus".to_owned()),
        message: format!("not checked: {why}"),
        ..lsp_types::Diagnostic::default()
    }
}

/// Changes that make problems go away that touch a place. Each was tried: nothing is wrong with it that was
/// not.
pub fn fixes(
    documents: &Documents,
    document: &Document,
    known: &Known,
    place: Span,
) -> Vec<CodeActionOrCommand> {
    let (text, uri) = (&document.text, &document.uri);
    let touches = |problem: &&Diagnostic| {
        let span = visible(problem.span, text);
        span.start <= place.end && place.start <= span.end
    };
    let action = |problem: &Diagnostic, fix: &Fix| {
        let edits = fix.edits.iter();
        let edits = edits.map(|(span, new)| TextEdit::new(text.range(*span), new.clone()));
        CodeActionOrCommand::CodeAction(CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![shown(problem, text, uri)]),
            edit: Some(edit(uri, edits.collect())),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
    };
    let mut found = Vec::new();
    // What there is no time to try is not offered.
    let limits = Limits::of_time(LIMIT);
    for problem in known.problems.iter().filter(touches) {
        let Some(fix) = &problem.fix else { continue };
        match limits.within(|| mends(documents, document, known, problem, fix)) {
            Ok(true) => found.push(action(problem, fix)),
            Ok(false) => {}
            Err(_) => break,
        }
    }
    found
}

/// Whether a change makes a problem go away, and brings no other one. Errors hide warnings, so a change that
/// mends an error may show one.
fn mends(
    documents: &Documents,
    document: &Document,
    known: &Known,
    problem: &Diagnostic,
    fix: &Fix,
) -> bool {
    let new = || fix.edits.iter().map(|(_, new)| new.as_str());
    if let (Code::UnlistedModel, What::Program(program)) = (problem.code, &known.what) {
        // A model that the header misspells is none to write elsewhere too.
        let is_known = |name| program.models.iter().any(|model| model.loaded.model.name == name);
        if !new().all(is_known) {
            return false;
        }
    }
    let after = documents.with_text(document, apply(&document.text.text, &fix.edits));
    let said = |of: &Diagnostic| (of.code, of.message.clone());
    let mut before: Vec<_> = known.all_problems().map(said).collect();
    let Some(at) = before.iter().position(|one| *one == said(problem)) else { return false };
    before.swap_remove(at);
    let counts = |one: &&Diagnostic| one.is_error() || !problem.is_error();
    after.problems.iter().filter(counts).map(said).all(|one| {
        let known = before.iter().position(|before| *before == one);
        known.is_some_and(|at| {
            before.swap_remove(at);
            true
        })
    })
}

/// Changes of one text.
pub fn edit(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    #[allow(clippy::mutable_key_type, reason = "the protocol's own type")]
    let changes = HashMap::from([(uri.clone(), edits)]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
