//! What is wrong, as editors show it, and what makes it right.

use std::collections::HashMap;

use lang::diagnostic::Diagnostic;
use lang::source::Span;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, DiagnosticRelatedInformation,
    DiagnosticSeverity, Location, NumberOrString, TextEdit, Uri, WorkspaceEdit,
};

use crate::text::Text;

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

/// Changes that make problems go away that touch a place.
pub fn fixes(
    problems: &[Diagnostic],
    place: Span,
    text: &Text,
    uri: &Uri,
) -> Vec<CodeActionOrCommand> {
    let touches = |problem: &&Diagnostic| {
        let span = visible(problem.span, text);
        span.start <= place.end && place.start <= span.end
    };
    let action = |problem: &Diagnostic| {
        let fix = problem.fix.as_ref()?;
        let edits = fix.edits.iter();
        let edits = edits.map(|(span, new)| TextEdit::new(text.range(*span), new.clone()));
        Some(CodeActionOrCommand::CodeAction(CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![shown(problem, text, uri)]),
            edit: Some(edit(uri, edits.collect())),
            is_preferred: Some(true),
            ..CodeAction::default()
        }))
    };
    problems.iter().filter(touches).filter_map(action).collect()
}

/// Changes of one text.
pub fn edit(uri: &Uri, edits: Vec<TextEdit>) -> WorkspaceEdit {
    #[allow(clippy::mutable_key_type, reason = "the protocol's own type")]
    let changes = HashMap::from([(uri.clone(), edits)]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}
