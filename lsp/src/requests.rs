//! What can be answered at once: each request of the protocol, and its answer.

use std::collections::HashMap;
use std::path::Path;

use lang::litmus;
use lsp_server::ErrorCode;
use lsp_types::{
    CodeActionParams, CodeLens, CodeLensParams, Command, CompletionParams, CompletionResponse,
    DocumentFormattingParams, DocumentHighlight, DocumentHighlightParams, DocumentSymbolParams,
    DocumentSymbolResponse, GotoDefinitionParams, Hover, HoverContents, HoverParams, Location,
    MarkupContent, MarkupKind, Position, Range, ReferenceParams, RenameParams,
    TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use serde_json::{Value, json};

use crate::documents::{Document, Documents, Known, What};
use crate::names::{Occurrence, Space};
use crate::paths::uri_of;
use crate::{actions, commands, completion, hover, rename, shipped, symbols};

/// Why a request has no answer.
#[derive(Clone, Debug)]
pub struct Refused {
    /// What kind of reason it is.
    pub code: ErrorCode,
    /// The reason.
    pub why: String,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self { code: ErrorCode::RequestFailed, why }
    }
}

/// The answer to a request; `None` if there is no such request.
pub fn answer(
    documents: &Documents,
    method: &str,
    params: Value,
) -> Option<Result<Value, Refused>> {
    Some(match method {
        "textDocument/hover" => with(params, |it| hovered(documents, it)),
        "textDocument/definition" => with(params, |it| definition(documents, it)),
        "textDocument/references" => with(params, |it| references(documents, it)),
        "textDocument/documentHighlight" => with(params, |it| highlights(documents, it)),
        "textDocument/prepareRename" => with(params, |it| prepare_rename(documents, it)),
        "textDocument/rename" => with(params, |it| renaming(documents, it)),
        "textDocument/completion" => with(params, |it| completed(documents, it)),
        "textDocument/documentSymbol" => with(params, |it| outline(documents, it)),
        "textDocument/formatting" => with(params, |it| formatted(documents, it)),
        "textDocument/codeAction" => with(params, |it| quick_fixes(documents, it)),
        "textDocument/codeLens" => with(params, |it| lenses(documents, it)),
        _ => return None,
    })
}

fn with<P: serde::de::DeserializeOwned>(
    params: Value,
    answer: impl FnOnce(P) -> Result<Value, Refused>,
) -> Result<Value, Refused> {
    let invalid = |error: serde_json::Error| Refused {
        code: ErrorCode::InvalidParams,
        why: error.to_string(),
    };
    serde_json::from_value(params).map_err(invalid).and_then(answer)
}

/// A text, what is known of it, and an offset in it.
type Place<'d> = (&'d Document, std::rc::Rc<Known>, usize);

fn place(documents: &Documents, at: TextDocumentPositionParams) -> Option<Place<'_>> {
    let document = documents.get(&at.text_document.uri)?;
    let offset = document.text.offset(at.position);
    Some((document, documents.known(document), offset))
}

fn hovered(documents: &Documents, asked: HoverParams) -> Result<Value, Refused> {
    let found = place(documents, asked.text_document_position_params);
    let found = found.and_then(|(document, known, offset)| {
        let (value, span) = hover::hover(&known, offset)?;
        let contents = MarkupContent { kind: MarkupKind::Markdown, value };
        let range = Some(document.text.range(span));
        Some(Hover { contents: HoverContents::Markup(contents), range })
    });
    Ok(json!(found))
}

fn definition(documents: &Documents, asked: GotoDefinitionParams) -> Result<Value, Refused> {
    let found = place(documents, asked.text_document_position_params);
    let found = found.and_then(|(document, known, offset)| {
        let name = known.names.at(offset)?;
        if name.space == Space::Model {
            return file(documents, &known, &name.name);
        }
        if let Some(own) = known.names.definition(&name.name, &name.space) {
            return Some(Location::new(document.uri.clone(), document.text.range(own.span)));
        }
        let What::Model(model) = &known.what else { return None };
        let (source, span) = model.included.iter().find_map(|one| {
            let found = one.names.definition(&name.name, &name.space)?;
            Some((&one.source, found.span))
        })?;
        let text = documents.counted(source.text.clone());
        Some(Location::new(opened(&source.name)?, text.range(span)))
    });
    Ok(json!(found))
}

/// The file of a model that is named in a text.
fn file(documents: &Documents, known: &Known, name: &str) -> Option<Location> {
    let path = shipped::beside(&known.source.name, name);
    let uri = match name.ends_with(".cat") && documents.text_of(&path).is_some() {
        true => uri_of(&path)?,
        false => uri_of(&shipped::shown(&format!("{}.cat", name.trim_end_matches(".cat")))?)?,
    };
    Some(Location::new(uri, Range::default()))
}

/// The document of a file that messages name so.
fn opened(name: &str) -> Option<Uri> {
    match name.strip_prefix(shipped::FOLDER) {
        Some(file) => uri_of(&shipped::shown(file)?),
        None => uri_of(Path::new(name)),
    }
}

fn references(documents: &Documents, asked: ReferenceParams) -> Result<Value, Refused> {
    let with_definition = asked.context.include_declaration;
    let found = place(documents, asked.text_document_position);
    let found = found.and_then(|(document, known, offset)| {
        let name = known.names.at(offset)?;
        let all = known.names.same(name).filter(|one| with_definition || !one.defines);
        let place =
            |one: &Occurrence| Location::new(document.uri.clone(), document.text.range(one.span));
        Some(all.map(place).collect::<Vec<_>>())
    });
    Ok(json!(found))
}

fn highlights(documents: &Documents, asked: DocumentHighlightParams) -> Result<Value, Refused> {
    let found = place(documents, asked.text_document_position_params);
    let found = found.and_then(|(document, known, offset)| {
        let name = known.names.at(offset)?;
        let place = |one: &Occurrence| DocumentHighlight {
            range: document.text.range(one.span),
            kind: None,
        };
        Some(known.names.same(name).map(place).collect::<Vec<_>>())
    });
    Ok(json!(found))
}

fn prepare_rename(
    documents: &Documents,
    asked: TextDocumentPositionParams,
) -> Result<Value, Refused> {
    let Some((document, known, offset)) = place(documents, asked) else { return Ok(Value::Null) };
    let name = rename::renamed(&known, offset)?;
    Ok(json!({ "range": document.text.range(name.span), "placeholder": name.name }))
}

fn renaming(documents: &Documents, asked: RenameParams) -> Result<Value, Refused> {
    let Some((document, _, offset)) = place(documents, asked.text_document_position) else {
        return Ok(Value::Null);
    };
    let changes = rename::rename(documents, document, offset, &asked.new_name)?;
    #[allow(clippy::mutable_key_type, reason = "the protocol's own type")]
    let all: HashMap<Uri, Vec<TextEdit>> = changes.into_iter().collect();
    Ok(json!(WorkspaceEdit { changes: Some(all), ..WorkspaceEdit::default() }))
}

fn completed(documents: &Documents, asked: CompletionParams) -> Result<Value, Refused> {
    let found = place(documents, asked.text_document_position);
    let items = found
        .map(|(document, known, offset)| completion::completion(&known, &document.text, offset));
    Ok(json!(CompletionResponse::Array(items.unwrap_or_default())))
}

fn outline(documents: &Documents, asked: DocumentSymbolParams) -> Result<Value, Refused> {
    let Some(document) = documents.get(&asked.text_document.uri) else { return Ok(Value::Null) };
    let found = symbols::symbols(&documents.known(document), &document.text);
    Ok(json!(DocumentSymbolResponse::Nested(found)))
}

/// The normal form of a program, as `litmus fmt` writes it; nothing if it is wrong, or of another language.
fn formatted(documents: &Documents, asked: DocumentFormattingParams) -> Result<Value, Refused> {
    let Some(document) = documents.get(&asked.text_document.uri) else { return Ok(Value::Null) };
    let known = documents.known(document);
    let What::Program(program) = &known.what else { return Ok(Value::Null) };
    let is_broken = program.survey.diagnostics.iter().any(|problem| problem.is_error());
    let Some(tree) = program.survey.tree.as_ref().filter(|_| !is_broken) else {
        return Ok(Value::Null);
    };
    let new = litmus::print(tree);
    if new == document.text.text {
        return Ok(json!([]));
    }
    let end = document.text.position(document.text.text.len());
    let whole = Range::new(Position::default(), end);
    Ok(json!([TextEdit::new(whole, new)]))
}

fn quick_fixes(documents: &Documents, asked: CodeActionParams) -> Result<Value, Refused> {
    let Some(document) = documents.get(&asked.text_document.uri) else { return Ok(Value::Null) };
    let known = documents.known(document);
    let place = document.text.span(asked.range);
    Ok(json!(actions::fixes(documents, document, &known, place)))
}

/// Above the first line, what may be done with the text.
fn lenses(documents: &Documents, asked: CodeLensParams) -> Result<Value, Refused> {
    let Some(document) = documents.get(&asked.text_document.uri) else { return Ok(Value::Null) };
    let known = documents.known(document);
    let is_program = matches!(known.what, What::Program(_));
    let all = commands::ALL.iter().filter(|offered| is_program || !offered.is_of_programs);
    let lens = |offered: &commands::Offered| CodeLens {
        range: document.text.range(document.text.span_of_line(0)),
        command: Some(Command {
            title: offered.title.to_owned(),
            command: offered.name.to_owned(),
            arguments: Some(vec![json!(document.uri)]),
        }),
        data: None,
    };
    Ok(json!(all.map(lens).collect::<Vec<_>>()))
}
