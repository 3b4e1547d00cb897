//! Header lines.

use crate::Dialect;
use pest::iterators::Pair;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

use super::super::ast::{HeaderKind, HeaderLine, Name};
use super::super::models::is_model_file;
use super::{Context, Piece, Rule};

/// The words that begin header lines.
pub const KEYWORDS: &[&str] = &["litmus", "source", "model", "tags", "bound", "dialect", "crash"];

/// How often a loop may be unrolled.
const MAX_LOOP_BOUND: u64 = 1000;

/// The test's name, from the first line.
pub fn name(context: &mut Context<'_>, line: Option<Span>) -> Name {
    let Some(line) = line else { return Name::default() };
    let piece = Piece::of(context.text, line);
    let pair = context.read(Rule::test_name, &piece).and_then(|mut pairs| pairs.next());
    pair.map(|pair| context.name(&piece, &pair)).unwrap_or_default()
}

/// One other line.
pub fn line(context: &mut Context<'_>, line: Span) -> Option<HeaderLine> {
    let text = context.text.slice(line);
    let word = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
    let piece = Piece::of(context.text, line);
    let kind = match word {
        _ if text.starts_with('"') => quoted(context, Rule::title, &piece).map(HeaderKind::Title),
        "source" => quoted(context, Rule::origin, &piece).map(HeaderKind::Source),
        "model" => models(context, &piece).map(HeaderKind::Models),
        "tags" => labels(context, Rule::tags, &piece).map(HeaderKind::Tags),
        "bound" => loop_bound(context, &piece),
        "dialect" => dialect(context, &piece),
        "crash" => context.read(Rule::crash, &piece).map(|_| HeaderKind::Crash),
        _ => {
            unknown(context, line, word);
            None
        }
    };
    kind.map(|kind| HeaderLine { kind, place: context.text.place(line) })
}

fn unknown(context: &mut Context<'_>, line: Span, word: &str) {
    let word = if word.is_empty() { context.text.slice(line) } else { word };
    let span = Span::new(line.start, line.start + word.len());
    let error = match word {
        "litmus" => Diagnostic::error(Code::RepeatedHeader, span, "the header has two names"),
        _ => {
            let message = format!("expected a header line or a declaration, found `{word}`");
            Diagnostic::error(Code::UnknownHeaderKeyword, span, message)
        }
    };
    context.sink.push(match context.sink.suggest(word, KEYWORDS.iter().copied()) {
        _ if word == "observe" => error.help("`observe` stands below the program"),
        Some(known) if known != word => error.did_you_mean(known),
        _ => error.help(format!(
            "header lines are a title in quotes, {}; declarations look like `x = 0`",
            KEYWORDS[1..].join(", ")
        )),
    });
}

fn quoted(context: &mut Context<'_>, rule: Rule, piece: &Piece) -> Option<String> {
    if piece.text.matches('"').count() == 1 {
        let at = piece.text.len();
        let span = piece.span(at, at);
        let message = "expected `\"` to end the text, found the end of the line";
        context.sink.push(Diagnostic::error(Code::Syntax, span, message));
        return None;
    }
    let pair = context.read(rule, piece)?.next()?;
    Some(unquoted(pair))
}

/// The text between quotes.
fn unquoted(pair: Pair<'_, Rule>) -> String {
    let mut text = String::new();
    for inner in pair.into_inner() {
        if !inner.as_str().contains('\\') {
            text.push_str(inner.as_str());
            continue;
        }
        let mut characters = inner.as_str().chars();
        while let Some(character) = characters.next() {
            text.push(if character == '\\' {
                characters.next().unwrap_or('\\')
            } else {
                character
            });
        }
    }
    text
}

/// Names of shipped models, and files of others.
fn models(context: &mut Context<'_>, piece: &Piece) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    for pair in context.read(Rule::models, piece)? {
        let mut name = context.name(piece, &pair);
        match pair.as_rule() {
            Rule::label => {}
            Rule::quoted => {
                name.text = unquoted(pair);
                if !is_model_file(&name.text) {
                    let found = if name.text.is_empty() {
                        "nothing".to_owned()
                    } else {
                        format!("`{}`", name.text)
                    };
                    let message = format!("expected a file `NAME.cat`, found {found}");
                    let error = Diagnostic::error(Code::BadModelFile, name.place.span, message);
                    let help = "shipped models are named without quotes; files end in `.cat`";
                    context.sink.push(error.help(help));
                }
            }
            _ => continue,
        }
        names.push(name);
    }
    Some(names)
}

fn labels(context: &mut Context<'_>, rule: Rule, piece: &Piece) -> Option<Vec<Name>> {
    let pairs = context.read(rule, piece)?;
    Some(
        pairs
            .filter(|pair| pair.as_rule() == Rule::label)
            .map(|pair| context.name(piece, &pair))
            .collect(),
    )
}

fn loop_bound(context: &mut Context<'_>, piece: &Piece) -> Option<HeaderKind> {
    let pairs = context.read(Rule::loop_bound, piece)?;
    let pair = pairs.into_iter().find(|pair| pair.as_rule() == Rule::number)?;
    let number = context.number(piece, &pair);
    match u32::try_from(number.value) {
        Ok(bound) if (1..=MAX_LOOP_BOUND).contains(&number.value) => {
            Some(HeaderKind::LoopBound(bound))
        }
        _ => {
            let message =
                format!("expected a number from 1 to {MAX_LOOP_BOUND}, found {}", pair.as_str());
            context.error(Code::BadLoopBound, number.place, message);
            None
        }
    }
}

fn dialect(context: &mut Context<'_>, piece: &Piece) -> Option<HeaderKind> {
    let pair = context.read(Rule::dialect, piece)?.next()?;
    match pair.as_str() {
        "corerma" => Some(HeaderKind::Dialect(Dialect::CoreRma)),
        "rdma" => Some(HeaderKind::Dialect(Dialect::Rdma)),
        other => {
            let place = context.place(piece, &pair);
            let message = format!("expected `rdma` or `corerma`, found `{other}`");
            context.error(Code::UnknownDialect, place, message);
            None
        }
    }
}
