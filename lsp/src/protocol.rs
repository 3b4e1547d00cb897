//! What the editor can do, and what is offered to it.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions,
    CompletionOptions, ExecuteCommandOptions, HoverProviderCapability, OneOf, PositionEncodingKind,
    RenameOptions, ServerCapabilities, TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
    WorkDoneProgressOptions,
};
use serde_json::{Value, json};

use crate::commands;
use crate::paths::path_of;
use crate::text::Encoding;

/// What is known of the editor.
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// In what it counts columns.
    pub encoding: Encoding,
    /// It asks for verdicts again when it is told to.
    pub refreshes_hints: bool,
    /// It says when files change, if it is asked to.
    pub watches_files: bool,
    /// It shows what commands come to by itself.
    pub shows_results: bool,
    /// The folders that it has open.
    pub folders: Vec<PathBuf>,
    /// How long anything may take that is answered at once.
    pub limit: Duration,
}

impl Client {
    /// What an `initialize` says. The encodings are those that the editor prefers, in its order.
    pub fn of(asked: &Value) -> Self {
        let capabilities = &asked["capabilities"];
        let encodings = capabilities["general"]["positionEncodings"].as_array();
        let known = encodings.into_iter().flatten().find_map(|name| match name.as_str()? {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            _ => None,
        });
        // What it says if it knows no more than one.
        let several = asked["workspaceFolders"].as_array().filter(|all| !all.is_empty());
        let folders = match several {
            Some(all) => all.iter().map(|folder| &folder["uri"]).collect(),
            None => vec![&asked["rootUri"]],
        };
        let folder = |uri: &Value| path_of(&Uri::from_str(uri.as_str()?).ok()?);
        let is_true = |value: &Value| value.as_bool() == Some(true);
        Self {
            encoding: known.unwrap_or_default(),
            refreshes_hints: is_true(&capabilities["workspace"]["inlayHint"]["refreshSupport"]),
            watches_files: is_true(
                &capabilities["workspace"]["didChangeWatchedFiles"]["dynamicRegistration"],
            ),
            shows_results: is_true(&asked["initializationOptions"]["showsResults"]),
            folders: folders.into_iter().filter_map(folder).collect(),
            limit: Duration::from_secs(
                asked["initializationOptions"]["seconds"].as_u64().unwrap_or(2),
            ),
        }
    }
}

/// The answer to `initialize`.
pub fn offered(client: &Client) -> Value {
    let encoding = match client.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
    };
    let actions = CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
        ..CodeActionOptions::default()
    };
    let capabilities = ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        completion_provider: Some(CompletionOptions::default()),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(actions)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.iter().map(|command| command.name.to_owned()).collect(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    };
    json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "litmus", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// Asks the editor to say when a model changes that it does not have open.
pub fn watching() -> Value {
    let watchers = json!([{ "globPattern": "**/*.cat" }]);
    let method = "workspace/didChangeWatchedFiles";
    let options = json!({ "watchers": watchers });
    json!({ "registrations": [{ "id": "models", "method": method, "registerOptions": options }] })
}
