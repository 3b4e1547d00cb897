//! The shipped models: text files beside this crate, built into the program.

use lang::cat::{self, Loaded};
use lang::diagnostic::{Code, Diagnostic, nearest};
use lang::source::{Source, Span};

/// The shipped models, by name: every file in `model/models`.
pub const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The shipped model that implementations of libraries run on, as in "Specifying and Verifying RDMA
/// Synchronisation", §4.
pub const UNDER_LIBRARIES: &str = "rdma-wait-rmw";

/// The text of a shipped model.
pub fn shipped(name: &str) -> Option<Source> {
    let (_, text) = SHIPPED.iter().find(|(known, _)| *known == name)?;
    Some(Source::new(format!("{name}.cat"), *text))
}

/// The error for a name that no shipped model has, in the header of a test.
pub fn unknown(name: &str, span: Span) -> Diagnostic {
    let error = Diagnostic::error(Code::UnknownModel, span, format!("there is no model `{name}`"));
    let names = || SHIPPED.iter().map(|(name, _)| *name);
    match nearest(name, names()) {
        Some(near) => error.did_you_mean(near),
        None => error.help(format!("the models are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

/// Loads a shipped model.
///
/// # Errors
/// `None` if there is no model of that name; diagnostics if its text is wrong, which a test excludes.
pub fn load_shipped(name: &str) -> Option<Result<Loaded, Vec<(Source, Diagnostic)>>> {
    let source = shipped(name)?;
    let loader = |include: &str, _: &str| shipped(include.strip_suffix(".cat").unwrap_or(include));
    Some(cat::load(&source, &loader))
}
