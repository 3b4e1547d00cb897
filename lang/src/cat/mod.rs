//! The model language: herd's cat, with tables of orders and chosen orders.
//!
//! [`load`] is the way in: it reads a model and what it includes, and gives the checked [`model::Model`].
//! Its stages are one module each, in this order: text to tokens (`lexer`), to a syntax tree (`parser`),
//! with the included files put in their places (`files`), changes applied (`collect`), definitions put in
//! an order in which each uses earlier ones only (`order`), and names and types resolved (`check`).
//! docs/model-language.md is the reference.

mod check;
mod codes;
mod collect;
mod comments;
mod files;
mod formula;
mod lexer;
pub mod model;
mod names;
mod order;
mod parser;
mod printer;
pub mod syntax;
pub mod words;

pub use codes::CODES;
pub use parser::parse;
pub use printer::{print, print_expr};

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::front::Sink;
pub use crate::front::{LARGEST_FILE, MOST_DIAGNOSTICS};
use crate::source::Source;
use model::{Hardware, Model};

/// Finds an included text: of its name in quotes, and of the name of the file that includes it.
///
/// Two results of the same name are taken as the same file.
pub type Loader<'a> = &'a dyn Fn(&str, &str) -> Option<Source>;

/// The most levels of an expression as written.
pub const DEEPEST: usize = 64;
/// The most levels of an expression with its function calls replaced by what they stand for.
pub const DEEPEST_EXPANDED: usize = 256;
/// The most operators and names that a model's expressions have in all, calls replaced.
pub const LARGEST_MODEL: usize = 100_000;
/// The most statements of a model, those of the files that it includes counted.
pub const MOST_STATEMENTS: usize = 4096;
/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 255;
/// The most parameters of a function, and the most rows, columns and letters of a table.
pub const MOST_PARTS: usize = 255;

/// A model and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The model.
    pub model: Model,
    /// The files: the model's own first, then those that it includes, each once.
    pub sources: Vec<Source>,
    /// For each of the model's definitions, the index of its file in `sources`.
    pub definition_sources: Vec<usize>,
    /// For each of the model's axioms, the index of its file in `sources`.
    pub axiom_sources: Vec<usize>,
    /// What has a meaning but probably not the intended one, each with the file that it is about.
    pub warnings: Vec<(Source, Diagnostic)>,
}

impl Loaded {
    /// Whether the model is that of a name, or includes it, be it by others.
    pub fn includes(&self, name: &str) -> bool {
        let file = format!("{name}.cat");
        self.sources.iter().any(|source| Path::new(&source.name).ends_with(&file))
    }
}

/// Reads and checks a model. `loader` finds the texts that it includes.
///
/// # Errors
///
/// Everything found wrong, each with the file that it is about, by file and place; at most
/// [`MOST_DIAGNOSTICS`]. A file that cannot be parsed hides the errors of later stages.
pub fn load(source: &Source, loader: Loader<'_>) -> Result<Loaded, Vec<(Source, Diagnostic)>> {
    load_part(source, loader, &[])
}

/// The same for the consistency of a library, in which the names of its methods are sets of events:
/// [`model::Base::Method`] with their numbers.
///
/// # Errors
///
/// As [`load`].
pub fn load_part(
    source: &Source,
    loader: Loader<'_>,
    methods: &[String],
) -> Result<Loaded, Vec<(Source, Diagnostic)>> {
    let mut sink = Sink::default();
    let files = files::read(source, loader, &mut sink);
    if sink.has_errors() {
        return Err(sink.into_pairs(&files.sources));
    }
    let parts = collect::collect(files.statements, &files.sources, methods, &mut sink);
    let order = order::order(&parts, &mut sink);
    let checked = check::check(&parts, &order, &files.sources, &mut sink);
    if sink.has_errors() {
        return Err(sink.into_pairs(&files.sources));
    }
    let model = Model {
        name: stem(&source.name).to_owned(),
        title: files.title,
        calls: parts.calls,
        machine: parts.machine.map(|machine| machine.text),
        hardware: match parts.hardware {
            None => Hardware::Itself,
            Some(name) if name.text == "none" => Hardware::None,
            Some(name) => Hardware::By(name.text),
        },
        definitions: checked.definitions.into_iter().map(Arc::new).collect(),
        axioms: checked.axioms,
        words: Arc::new(parts.words),
    };
    Ok(Loaded {
        model,
        definition_sources: checked.definition_sources,
        axiom_sources: checked.axiom_sources,
        warnings: sink.into_pairs(&files.sources),
        sources: files.sources,
    })
}

/// Whether a text is one name, as relations and axioms have, and nothing else.
pub fn is_name(text: &str) -> bool {
    crate::front::is_name::<lexer::Kind>(text)
}

/// The name of a file without its folders and `.cat`.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.strip_suffix(".cat").unwrap_or(file)
}
