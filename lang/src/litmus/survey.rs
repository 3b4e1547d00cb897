//! All that is known of a text that may be wrong, for editors.

use super::ast::File;
use super::names::{Named, names};
use super::{check, parse};
use crate::Test;
use crate::diagnostic::Diagnostic;
use crate::front::Sink;
use crate::herd;
use crate::library::Words;
use crate::source::Source;

/// What is known of a text.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// What the text says, without the statements and lines that are wrong; nothing if it has no rule.
    pub tree: Option<File>,
    /// The test, if nothing is wrong.
    pub test: Option<Test>,
    /// If something is wrong, the test without it: good for saying what its statements are, and no more.
    pub rest: Option<Test>,
    /// Where the tree has names, by place.
    pub names: Vec<Named>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// What is wrong with the tree, if something of the text is not in it, maybe because that is missing.
    pub perhaps: Vec<Diagnostic>,
}

/// Reads a text as [`super::load_with`] does, and goes on where that ends.
pub fn survey(source: &Source, words: Words<'_>) -> Survey {
    if herd::architecture(&source.text).is_some() {
        let (test, diagnostics) = herd::load(source);
        return Survey { test, diagnostics, ..Survey::default() };
    }
    let mut sink = Sink::default();
    let tree = parse::file(source, words, &mut sink);
    let is_broken = sink.has_errors();
    let mut survey = Survey { tree, diagnostics: sink.finish(), ..Survey::default() };
    let Some(tree) = &survey.tree else { return survey };
    let mut sink = Sink::default();
    let (test, ids) = check::file(tree, source, words, &mut sink);
    survey.names = names(tree, &source.text, &ids);
    match is_broken || sink.has_errors() {
        true => survey.rest = Some(test),
        false => survey.test = Some(test),
    }
    match is_broken {
        true => survey.perhaps = sink.finish(),
        false => survey.diagnostics.extend(sink.finish()),
    }
    survey
}
