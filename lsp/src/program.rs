//! What is known of a program.

use std::sync::Arc;

use lang::diagnostic::{Code, Diagnostic};
use lang::litmus::ast::{self, HeaderKind};
use lang::litmus::methods::{KEYWORDS, Method, lookup};
use lang::litmus::models::is_model_file;
use lang::litmus::names::Kind;
use lang::litmus::{Survey, survey};
use lang::source::{Source, Span};
use lang::{Dialect, Test};
use model::asking::wrong_under;
use model::library;
use model::models;

use crate::names::{Names, Occurrence, PROGRAM, Space, in_wrong_text};
use crate::shipped::{self, ReadyModel, Texts};

/// A program.
pub struct ProgramText {
    /// Its tree, and the test if nothing is wrong.
    pub survey: Survey,
    /// The models that its header names.
    pub models: Vec<Arc<ReadyModel>>,
}

impl ProgramText {
    /// Reads it. With it come its names, and what is wrong with it.
    pub fn new(source: &Source, texts: Texts<'_>) -> (Self, Names, Vec<Diagnostic>) {
        let libraries = library::shipped();
        let survey = survey(source, libraries.words());
        let mut problems = survey.diagnostics.clone();
        let mut models = Vec::new();
        if let Some(test) = &survey.test {
            let places = header(survey.tree.as_ref());
            for name in &test.models {
                let place = places.iter().find(|known| known.text == *name);
                let span = place.map_or_else(Span::default, |name| name.place.span);
                match find(name, span, source, texts) {
                    Ok(model) => models.push(model),
                    Err(error) => problems.push(*error),
                }
            }
            if models.len() == test.models.len() {
                let all: Vec<_> = models.iter().map(|model| &model.loaded.model).collect();
                problems.extend(wrong_under(test, &all, libraries));
            }
        }
        let names = names(&survey, source);
        (Self { survey, models }, names, problems)
    }

    /// The test, if nothing is wrong with it.
    pub fn test(&self) -> Option<&Test> {
        self.survey.test.as_ref()
    }
}

/// The models that a header names.
fn header(tree: Option<&ast::File>) -> Vec<&ast::Name> {
    let lines = tree.into_iter().flat_map(|tree| &tree.header);
    let models = lines.filter_map(|line| match &line.kind {
        HeaderKind::Models(models) => Some(models),
        _ => None,
    });
    models.flatten().collect()
}

/// The model of a name in a header.
fn find(
    name: &str,
    span: Span,
    source: &Source,
    texts: Texts<'_>,
) -> Result<Arc<ReadyModel>, Box<Diagnostic>> {
    if !is_model_file(name) {
        return shipped::model(name).ok_or_else(|| Box::new(models::unknown(name, span)));
    }
    let path = shipped::beside(&source.name, name);
    let why = match texts(&path) {
        None => "it cannot be read".to_owned(),
        Some(_) => match shipped::of_file(&path, texts) {
            Ok(model) => return Ok(model),
            Err(errors) => {
                errors.first().map(|(_, first)| first.message.clone()).unwrap_or_default()
            }
        },
    };
    let message = format!("the model `{name}` of the header cannot be used: {why}");
    Err(Box::new(Diagnostic::error(Code::UnusableModelFile, span, message)))
}

/// The names of a program. Where its text is wrong, words that are names elsewhere are taken for them.
fn names(survey: &Survey, source: &Source) -> Names {
    let mut all: Vec<Occurrence> = Vec::new();
    for named in &survey.names {
        let space = match named.kind {
            Kind::Value => Space::Value,
            Kind::WorkId => Space::WorkId,
            Kind::Model => Space::Model,
        };
        let (name, span) = (named.text.clone(), named.span);
        all.push(Occurrence { name, span, space, defines: named.is_declaration });
    }
    let is_broken = survey.tree.is_none() || survey.diagnostics.iter().any(Diagnostic::is_error);
    if is_broken {
        let is_name = |word: &str, known: bool| match survey.tree {
            Some(_) => known,
            None => !is_statement(word),
        };
        let found = in_wrong_text(&source.text, PROGRAM, &all, is_name);
        all.extend(found.into_iter().filter(|one| !is_in_header(source, one.span)));
    }
    Names::introduced(all)
}

/// Whether a word begins statements, so that it is hardly a name.
fn is_statement(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || lookup(Dialect::Rdma, word).is_some_and(|method| method != Method::Library)
        || library::shipped().words().method(word).is_some()
}

/// Whether a word is in a line that declares nothing and states nothing.
fn is_in_header(source: &Source, span: Span) -> bool {
    let start = source.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line = source.text[start..].trim_start();
    let words = ["litmus ", "source ", "model ", "tags ", "bound ", "dialect "];
    words.iter().any(|word| line.starts_with(word))
}
