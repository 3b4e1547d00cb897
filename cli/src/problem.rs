//! What is wrong with an input, and where.

use std::sync::Arc;

use lang::diagnostic::{Code, Diagnostic};
use lang::source::{Source, Span};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::ordered::Broken;

/// A diagnostic with its file.
#[derive(Clone, Debug)]
pub struct Problem {
    file: String,
    /// `None` if the file could not be read.
    source: Option<Arc<Source>>,
    /// What is wrong.
    pub diagnostic: Diagnostic,
}

impl Problem {
    /// Whether it is reported with `--quiet` too: errors, and warnings without which "ok" would mislead.
    pub fn is_printed(&self, quiet: bool) -> bool {
        !quiet || self.diagnostic.is_error() || self.diagnostic.code == Code::NoOutcome
    }

    /// A problem at a place of a text.
    pub fn at(source: &Arc<Source>, diagnostic: Diagnostic) -> Self {
        Self { file: source.name.clone(), source: Some(Arc::clone(source)), diagnostic }
    }

    /// A problem with a file that is of no place in it.
    pub fn of_file(file: &str, code: Code, message: impl Into<String>) -> Self {
        let diagnostic = Diagnostic::error(code, Span::default(), message);
        Self { file: file.to_owned(), source: None, diagnostic }
    }

    /// A file that work on has no result.
    pub fn of_broken(file: &str, broken: &Broken) -> Self {
        match broken {
            Broken::Limit(reached) => Self::of_file(file, Code::LimitReached, reached.to_string()),
            Broken::Panic(panic) => {
                Self::of_file(file, Code::InternalError, format!("internal error: {panic}"))
                    .help("this is a bug; please report it with the command and its input")
            }
        }
    }

    /// The same with a hint.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.help(help);
        self
    }

    /// What it comes to.
    pub fn exit(&self) -> Exit {
        match self.diagnostic.code {
            _ if !self.diagnostic.is_error() => Exit::Fine,
            Code::EngineUnsound | Code::InternalError => Exit::Internal,
            Code::EnginesDisagree => Exit::Violation,
            Code::UnwritableFile => Exit::Unwritable,
            Code::LimitReached => Exit::Unknown,
            _ => Exit::BadInput,
        }
    }

    /// As terminals show it.
    pub fn render(&self, color: bool) -> String {
        match &self.source {
            Some(source) => self.diagnostic.render(source, color),
            None => {
                let Diagnostic { code, message, help, .. } = &self.diagnostic;
                let help = help.as_ref().map_or(String::new(), |help| format!("  help: {help}\n"));
                format!("[{code}] Error: {}: {message}\n{help}", self.file)
            }
        }
    }

    /// In one line: where it is, and what.
    pub fn in_a_line(&self) -> String {
        let message = &self.diagnostic.message;
        match &self.source {
            Some(source) => {
                let (line, column) = source.line_column(self.diagnostic.span.start);
                format!("{}:{line}:{column}: {message}", self.file)
            }
            None => format!("{}: {message}", self.file),
        }
    }

    /// As JSON output has it.
    pub fn reported(&self) -> Reported {
        let (line, column) = match &self.source {
            Some(source) => source.line_column(self.diagnostic.span.start),
            None => (0, 0),
        };
        let severity = if self.diagnostic.is_error() { "error" } else { "warning" };
        Reported {
            file: self.file.clone(),
            line,
            column,
            severity: severity.to_owned(),
            code: self.diagnostic.code.to_string(),
            message: self.diagnostic.message.clone(),
            help: self.diagnostic.help.clone(),
        }
    }
}

/// A problem as JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reported {
    /// The file; empty if it is of none.
    pub file: String,
    /// Counted from 1; 0 if it is of no place. So is the column.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// `error` or `warning`.
    pub severity: String,
    /// What kind of problem it is.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Reported {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == "error"
    }
}

/// All diagnostics of a text.
pub fn problems(source: &Arc<Source>, diagnostics: Vec<Diagnostic>) -> Vec<Problem> {
    diagnostics.into_iter().map(|diagnostic| Problem::at(source, diagnostic)).collect()
}
