//! Models and libraries: the shipped ones, and those that the page has in its own editors.

use std::sync::Arc;

use compiler::library::Libraries;
use lang::cat::{self, Loaded};
use lang::diagnostic::{Code, Diagnostic, Severity, nearest};
use lang::source::{Source, Span};
use model::explain::STYLE;
use model::{library, models};
use serde_json::{Value as Json, json};

/// What is wrong, each with the file that it is about.
pub type Wrong = Vec<(Source, Diagnostic)>;

/// The models and libraries that a program may use.
pub struct Files {
    models: Vec<Source>,
    /// The libraries, one's own last, so that their words come first.
    pub libraries: Libraries,
    /// What is wrong with one's own libraries.
    pub wrong: Wrong,
}

impl Files {
    /// Those of one's own, and the shipped ones.
    pub fn of(own: &[(String, String)]) -> Self {
        let mut files =
            Self { models: Vec::new(), libraries: library::shipped().clone(), wrong: Vec::new() };
        for (name, text) in own {
            let source = Source::new(name.as_str(), text.as_str());
            if !name.ends_with(".lib") {
                files.models.push(source);
                continue;
            }
            match library::load(&source) {
                Ok(library) => files.libraries.all.push(Arc::new(library)),
                Err(wrong) => files.wrong.extend(wrong),
            }
        }
        files
    }

    /// Whether a model is one's own.
    pub fn is_own(&self, model: &str) -> bool {
        self.own(model).is_some()
    }

    fn own(&self, model: &str) -> Option<&Source> {
        let file = format!("{}.cat", model.trim_end_matches(".cat"));
        self.models.iter().find(|source| source.name == file)
    }

    /// The model of a name.
    ///
    /// # Errors
    /// That there is none, or what is wrong with its text.
    pub fn model(&self, name: &str) -> Result<Loaded, Wrong> {
        let Some(source) = self.find(name) else {
            return Err(vec![(Source::new(name, ""), self.unknown(name, Span::default()))]);
        };
        cat::load(&source, &|include: &str, _: &str| self.find(include))
    }

    /// The text of a model: one's own, or a shipped one.
    pub fn find(&self, name: &str) -> Option<Source> {
        let name = name.trim_end_matches(".cat");
        self.own(name).cloned().or_else(|| models::shipped(name))
    }

    /// The error for a name that no model has.
    pub fn unknown(&self, name: &str, span: Span) -> Diagnostic {
        let own = self.models.iter().map(|source| source.name.trim_end_matches(".cat"));
        let known = models::SHIPPED.iter().map(|(known, _)| *known).chain(own);
        let message = format!("expected a model, found `{name}`");
        let error = Diagnostic::error(Code::UnknownModel, span, message);
        match nearest(name, known) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

/// The names and titles of what is shipped, and the style sheet of pictures.
pub fn shipped() -> Json {
    let title = |name: &str| {
        let loaded = models::load_shipped(name)?.ok()?;
        loaded.model.title
    };
    let model = |(name, _): &(&str, &str)| json!({ "name": name, "title": title(name) });
    let models: Vec<Json> = models::SHIPPED.iter().map(model).collect();
    let libraries: Vec<&str> = library::SHIPPED.iter().map(|(name, _)| *name).collect();
    json!({ "models": models, "libraries": libraries, "style": STYLE })
}

/// The text of a shipped file.
pub fn text(file: &str) -> Option<&'static str> {
    let (name, ending) = file.rsplit_once('.')?;
    let all = match ending {
        "cat" => models::SHIPPED,
        "lib" => library::SHIPPED,
        _ => return None,
    };
    all.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What is wrong with a model or library.
pub fn check(file: &str, text: &str) -> Json {
    let own = [(file.to_owned(), text.to_owned())];
    let files = Files::of(&own);
    let wrong = match file.strip_suffix(".cat") {
        Some(name) => files.model(name).map_or_else(|wrong| wrong, |loaded| loaded.warnings),
        None => files.wrong,
    };
    located(&wrong)
}

/// Diagnostics with their files.
pub fn located(wrong: &[(Source, Diagnostic)]) -> Json {
    wrong.iter().map(|(source, diagnostic)| one(source, diagnostic)).collect()
}

/// Diagnostics of one file.
pub fn diagnostics(source: &Source, all: &[Diagnostic]) -> Vec<Json> {
    all.iter().map(|diagnostic| one(source, diagnostic)).collect()
}

/// A diagnostic. Its place is given in UTF-16 units, as browsers count.
pub fn one(source: &Source, diagnostic: &Diagnostic) -> Json {
    let unit = |byte: usize| {
        let mut byte = byte.min(source.text.len());
        while !source.text.is_char_boundary(byte) {
            byte -= 1;
        }
        source.text[..byte].encode_utf16().count()
    };
    let (line, column) = source.line_column(diagnostic.span.start.min(source.text.len()));
    json!({
        "file": source.name,
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "code": diagnostic.code.to_string(),
        "message": diagnostic.message,
        "label": diagnostic.label,
        "help": diagnostic.help,
        "line": line,
        "column": column,
        "from": unit(diagnostic.span.start),
        "to": unit(diagnostic.span.end),
    })
}
