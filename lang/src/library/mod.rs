//! Libraries as text: what calls mean, and how they are implemented.
//!
//! A file gives the methods of a library, the stamps and locations of each call (depending on its result),
//! the order that the library exports (`so`, in the model language), and an implementation over lower
//! libraries. [`load`] reads one; `docs/libraries.md` describes the language. What programs mean by it is for
//! the crate `compiler` (events, inlining) and the crate `model` (composition) to say.

mod check;
mod collection;
mod lexer;
mod nodes;
pub mod notation;
mod parser;
pub mod syntax;
mod walk;
mod words;

use crate::cat::model::Model;
use crate::cat::{self, Loader};
use crate::diagnostic::{Code, Diagnostic};
use crate::front::blank;
use crate::source::{Source, Span};

pub use crate::front::LARGEST_FILE;
pub use collection::Collection;
pub use nodes::STATEMENTS;
pub use syntax::{
    Body, Case, Event, Expr, Implementation, Item, Memory, Method, Parameter, ParameterKind, Place,
    Rule, RuleKind, Sequential, Service, Shape, Statement, StatementKind,
};
pub use words::{Access, Called, Words};

/// How many words one memory of an object may have in one place.
pub const MOST_WORDS: u64 = 4096;

/// A checked library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The name after `library`.
    pub name: String,
    /// The title in quotes.
    pub title: Option<String>,
    /// `source "…"`.
    pub origin: Option<String>,
    /// The classes of its objects.
    pub classes: Vec<String>,
    /// The class whose objects programs declare as `x[2] = 0`.
    pub words: Option<String>,
    /// The class whose objects programs declare as `x = 0`, as if they were locations.
    pub locations: Option<String>,
    /// The class of objects that programs need not declare: what its calls name is one.
    pub calls: Option<String>,
    /// Other spellings of classes, each with its class.
    pub class_spellings: Vec<(String, String)>,
    /// What papers append to its methods: `SV` in `Bcast_SV`.
    pub mark: Option<String>,
    /// The memory that conditions on its objects have: `shows copy`.
    pub shows: Option<String>,
    /// The memory of its specification.
    pub memory: Vec<Memory>,
    /// Its methods in the order of the text.
    pub methods: Vec<Method>,
    /// What well-formed programs meet.
    pub rules: Vec<Rule>,
    /// Statements of the base language whose events are the library's too (`shares Wait`).
    pub shares: Vec<String>,
    /// Its consistency, over its own events; `so` is what it exports.
    pub consistency: Option<Model>,
    /// The sequential object that its histories are those of, in place of the consistency.
    pub sequential: Option<Sequential>,
    /// The model whose statements the methods are, for an implementation of those (`specification "…"`).
    pub base: Option<String>,
    /// How it is implemented.
    pub implementation: Option<Implementation>,
    /// Its text.
    pub source: Source,
}

/// Reads and checks a library. `loader` finds the models that its consistency includes.
///
/// # Errors
/// What is wrong, each with the file that it is about.
pub fn load(source: &Source, loader: Loader<'_>) -> Result<Library, Vec<(Source, Diagnostic)>> {
    let all = |errors: Vec<Diagnostic>| {
        errors.into_iter().map(|error| (source.clone(), error)).collect::<Vec<_>>()
    };
    let file = parser::parse(&source.text).map_err(all)?;
    let mut library = file.library;
    library.source = source.clone();
    let mut errors = check::sequential(&library, file.consistency);
    library.give_results();
    errors.extend(check::check(&library, &file.heads));
    if !errors.is_empty() {
        return Err(all(errors));
    }
    if let Some(block) = file.consistency {
        let names: Vec<String> = library.methods.iter().map(|method| method.name.clone()).collect();
        let text = only(&source.text, block);
        let part = Source::new(source.name.clone(), text);
        let loaded = cat::load_part(&part, loader, &names);
        let loaded = loaded.map_err(|errors| inside(source, block, errors))?;
        if !loaded.model.definitions.iter().any(|definition| definition.name() == Some("so")) {
            let message = "expected a definition of `so`, found none";
            let error = Diagnostic::error(Code::MissingSo, block, message)
                .help("`so` is the order that the library exports: `let so = …`");
            return Err(all(vec![error]));
        }
        library.consistency = Some(loaded.model);
    }
    Ok(library)
}

/// Whether a text is one word, as methods, memory and variables have for a name.
pub fn is_name(text: &str) -> bool {
    crate::front::is_name::<lexer::Kind>(text)
}

/// The text up to the end of the span, blank before it, so that places stay what they are.
fn only(text: &str, span: Span) -> String {
    let inside = text.get(span.range()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    blank(before).chain(inside.chars()).collect()
}

/// Errors of a part of a text, as errors of the whole: behind the part stands its `}`.
fn inside(
    source: &Source,
    part: Span,
    errors: Vec<(Source, Diagnostic)>,
) -> Vec<(Source, Diagnostic)> {
    let whole = |(of, mut error): (Source, Diagnostic)| {
        if of.name != source.name {
            return (of, error);
        }
        if error.span.start >= part.end {
            error.message = error.message.replace("the end of the file", "`}`");
            error.span = Span::new(part.end, part.end + 1);
        }
        (source.clone(), error)
    };
    errors.into_iter().map(whole).collect()
}
