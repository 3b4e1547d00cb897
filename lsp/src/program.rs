//! What is known of a program.

use std::collections::BTreeSet;
use std::sync::Arc;

use lang::diagnostic::{Code, Diagnostic};
use lang::litmus::ast::{self, HeaderKind};
use lang::litmus::methods::{KEYWORDS, statement};
use lang::litmus::models::is_model_file;
use lang::litmus::names::Kind;
use lang::litmus::{Survey, survey};
use lang::source::{Source, Span};
use lang::{Dialect, Test};
use model::asking::wrong_under;
use model::library;
use model::models;

use crate::events::Events;
use crate::names::{Names, Occurrence, PROGRAM, Space, in_wrong_text, words};
use crate::shipped::{self, ReadyModel, Texts};

/// A program.
pub struct ProgramText {
    /// Its tree, and the test if nothing is wrong.
    pub survey: Survey,
    /// The models that its header names.
    pub models: Vec<Arc<ReadyModel>>,
    /// What its statements mean to the first of them.
    pub events: Events,
}

impl ProgramText {
    /// Reads it. With it come its names, and what is wrong with it.
    pub fn new(source: &Source, texts: Texts<'_>) -> (Self, Names, Vec<Diagnostic>) {
        let libraries = library::shipped();
        let survey = survey(source, libraries.words());
        let mut problems = survey.diagnostics.clone();
        problems.extend(undeclared(&survey, source));
        let places = header(survey.tree.as_ref());
        let of_header = || places.iter().map(|name| name.text.clone()).collect();
        let named = survey.test.as_ref().map_or_else(of_header, |test| test.models.clone());
        let mut models = Vec::new();
        for name in &named {
            let place = places.iter().find(|known| known.text == *name);
            let span = place.map_or_else(Span::default, |name| name.place.span);
            match find(name, span, source, texts) {
                Ok(model) => models.push(model),
                Err(error) => problems.push(*error),
            }
        }
        if let Some(test) = survey.test.as_ref().filter(|_| models.len() == named.len()) {
            let all: Vec<_> = models.iter().map(|model| &model.loaded.model).collect();
            problems.extend(wrong_under(test, &all, libraries));
        }
        let names = names(&survey, source);
        (Self { survey, models, events: Events::default() }, names, problems)
    }

    /// The test, if nothing is wrong with it.
    pub fn test(&self) -> Option<&Test> {
        self.survey.test.as_ref()
    }

    /// The test without what is wrong with it.
    pub fn rest(&self) -> Option<&Test> {
        self.test().or(self.survey.rest.as_ref())
    }
}

/// The names that nothing declares, of a text that cannot all be read: those that do not stand in what cannot
/// be read, which may declare them.
fn undeclared(survey: &Survey, source: &Source) -> Vec<Diagnostic> {
    if survey.perhaps.is_empty() {
        return Vec::new();
    }
    let read: BTreeSet<usize> = survey.names.iter().map(|name| name.span.start).collect();
    let unread = words(&source.text, PROGRAM).into_iter().filter(|it| !read.contains(&it.start));
    let unread: BTreeSet<String> = unread.map(|span| plain(&source.text[span.range()])).collect();
    let is_known = |found: &&Diagnostic| {
        let name = source.text.get(found.span.range()).unwrap_or_default();
        let name = words(name, PROGRAM).first().map(|span| plain(&name[span.range()]));
        found.code == Code::UndeclaredName && name.is_some_and(|name| !unread.contains(&name))
    };
    survey.perhaps.iter().filter(is_known).cloned().collect()
}

/// A name without what may be written otherwise: `ȳ₁` is `y1`.
fn plain(name: &str) -> String {
    let letter = |letter: char| match letter {
        'ā' => 'a',
        'ē' => 'e',
        'ī' => 'i',
        'ō' => 'o',
        'ū' => 'u',
        'ȳ' => 'y',
        'ḡ' => 'g',
        '′' => '\'',
        '₀'..='₉' => char::from_digit(u32::from(letter) - u32::from('₀'), 10).unwrap_or(letter),
        other => other,
    };
    name.chars().map(letter).collect()
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
        let header = lines_of_header(&source.text);
        let is_in_header = |span: Span| {
            let next = header.partition_point(|line| line.start <= span.start);
            next.checked_sub(1).is_some_and(|line| span.start < header[line].end)
        };
        all.extend(found.into_iter().filter(|one| !is_in_header(one.span)));
    }
    Names::introduced(all)
}

/// Whether a word begins statements, so that it is hardly a name.
fn is_statement(word: &str) -> bool {
    KEYWORDS.contains(&word)
        || statement(Dialect::Rdma, word).is_some()
        || library::shipped().words().method(word).is_some()
}

/// The lines that declare nothing and state nothing.
fn lines_of_header(text: &str) -> Vec<Span> {
    let words = ["litmus ", "source ", "model ", "tags ", "bound ", "dialect "];
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        start += line.len();
        (line, Span::new(start - line.len(), start))
    });
    let is_one = |line: &str| words.iter().any(|word| line.trim_start().starts_with(word));
    lines.filter(|(line, _)| is_one(line)).map(|(_, span)| span).collect()
}
