//! Text to tree.
//!
//! [`file()`] cuts the text into header lines, declaration rows, statement rows and verdict lines, rows into
//! cells, and gives each piece to the grammar; a column's cells are joined first, since a block may span
//! rows.

mod calls;
mod cells;
mod claims;
mod declarations;
mod expected;
mod expressions;
mod header;
mod implied;
mod labels;
mod numbering;
mod owners;
mod printed;
mod sections;
mod statements;
pub(super) mod uses;

use rustc_hash::{FxHashMap, FxHashSet};

use pest::Parser as _;
use pest::iterators::{Pair, Pairs};

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::Words;
use crate::limits;
use crate::source::{Source, Span};

use super::ast::{Claim, File, Form, Name, Number, Place, ResultLine};
use super::text::{self, Text};
use crate::front::Sink;

mod grammar {
    //! What pest makes of the grammar.
    #![allow(missing_docs, reason = "the grammar file says it")]

    #[derive(pest_derive::Parser)]
    #[grammar = "litmus.pest"]
    pub struct LitmusGrammar;
}
use grammar::{LitmusGrammar, Rule};

pub use owners::check_owners;

/// How deep parentheses, braces and negations may be nested.
pub const LITMUS_MAX_NESTING: usize = 64;

/// How many operators one statement or verdict may have.
const MAX_OPERATORS: usize = 256;

/// What the parts of the parser share.
struct Context<'a> {
    text: &'a Text,
    sink: &'a mut Sink,
    dialect: Dialect,
    /// Operators seen in the statement or verdict at hand.
    operators: usize,
    /// The bars of rows that do not have their columns.
    ragged: Vec<Vec<cells::Bar>>,
    /// Some object is of a class that no known library has, so words may be methods that none has.
    has_other_classes: bool,
    /// The words of the libraries that are known.
    words: Words<'a>,
    /// The class of each declared object: what words mean for it, its library says.
    objects: FxHashMap<String, String>,
    /// Objects, and the class that the mark on a call of each says: `Acq_WL(l)`.
    said: Vec<(Name, String)>,
    /// Names of declared locations and objects.
    declared: FxHashSet<String>,
    /// Words that are not statements, and have been reported.
    unknown: FxHashSet<String>,
    /// What the first of the labels above columns counts from, `P0` or `P1`.
    first_label: Option<u64>,
    /// Registers that verdicts name with their thread, as `1:r`: the thread, and the name.
    owned: Vec<(Number, Name)>,
}

/// A piece of text given to the grammar, and where its parts stand in the file.
struct Piece {
    text: String,
    /// Ascending offsets in the piece, and the file's offsets that they stand for.
    map: Vec<(usize, usize)>,
}

impl Piece {
    /// A piece that is one stretch of the file; line ends count as blanks.
    fn of(text: &Text, span: Span) -> Self {
        Self { text: text.slice(span).replace('\n', " "), map: vec![(0, span.start)] }
    }

    /// A part of it.
    fn part(&self, start: usize, end: usize) -> Self {
        let first = self.map.partition_point(|&(at, _)| at <= start).saturating_sub(1);
        let until = self.map.partition_point(|&(at, _)| at < end.max(start + 1));
        let inside = self.map.get(first + 1..until).unwrap_or_default();
        let map = std::iter::once((0, self.offset(start)))
            .chain(inside.iter().map(|&(at, file)| (at - start, file)));
        Self { text: self.text.get(start..end).unwrap_or_default().to_owned(), map: map.collect() }
    }

    /// The file's offset of an offset in the piece.
    fn offset(&self, at: usize) -> usize {
        let index = self.map.partition_point(|&(start, _)| start <= at).saturating_sub(1);
        self.map.get(index).map_or(at, |&(start, file)| file + (at - start))
    }

    /// The file's span of a range in the piece, without the blanks at its ends. A span that ends with a cell
    /// stays in that cell.
    fn span(&self, start: usize, end: usize) -> Span {
        let inner = self.text.get(start..end).unwrap_or("");
        let shows = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
        // Most parts have no blanks at their ends.
        if shows(inner.as_bytes().first()) && shows(inner.as_bytes().last()) {
            return Span::new(self.offset(start), self.offset(end - 1) + 1);
        }
        let from = start + (inner.len() - inner.trim_start().len());
        let to = (start + inner.trim_end().len()).max(from);
        if from == to {
            let at = self.offset(start);
            return Span::new(at, at);
        }
        Span::new(self.offset(from), self.offset(to - 1) + 1)
    }
}

impl Context<'_> {
    fn place(&self, piece: &Piece, pair: &Pair<'_, Rule>) -> Place {
        self.text.place(piece.span(pair.as_span().start(), pair.as_span().end()))
    }

    fn error(&mut self, code: Code, place: Place, message: impl Into<String>) {
        self.sink.push(Diagnostic::error(code, place.span, message));
    }

    /// Reads a whole piece by a rule; an error becomes a diagnostic.
    fn read<'p>(&mut self, rule: Rule, piece: &'p Piece) -> Option<Pairs<'p, Rule>> {
        limits::look_now();
        if !self.shallow(piece) {
            return None;
        }
        match LitmusGrammar::parse(rule, &piece.text) {
            Ok(mut pairs) => pairs.next().map(Pair::into_inner),
            Err(error) => {
                self.sink.push(expected::diagnostic(&error, piece, 0));
                None
            }
        }
    }

    /// True if nothing is nested so deep that reading it would need much stack.
    fn shallow(&mut self, piece: &Piece) -> bool {
        // Each byte that one of the signs below begins with, `\neg` by its `n`: few of them cannot nest deep.
        let may_nest = |byte: u8| matches!(byte, b'(' | b'{' | b'[' | b'~' | b'!' | b'n' | 0x80..);
        if piece.text.bytes().filter(|byte| may_nest(*byte)).count() <= LITMUS_MAX_NESTING {
            return true;
        }
        // Of each kind: a text that is broken may have one that closes nothing.
        let mut depths = [0usize; 3];
        let mut prefixes = 0usize;
        for (at, character) in piece.text.char_indices() {
            match character {
                '(' => depths[0] += 1,
                '{' => depths[1] += 1,
                '[' => depths[2] += 1,
                ')' => depths[0] = depths[0].saturating_sub(1),
                '}' => depths[1] = depths[1].saturating_sub(1),
                ']' => depths[2] = depths[2].saturating_sub(1),
                _ => {}
            }
            match character {
                '~' | '!' | '¬' => prefixes += 1,
                'n' if piece.text[at..].starts_with("not") => prefixes += 1,
                ' ' | 'o' | 't' | '(' => {}
                _ => prefixes = 0,
            }
            let depth: usize = depths.iter().sum();
            if depth > LITMUS_MAX_NESTING || prefixes > LITMUS_MAX_NESTING {
                let span = piece.span(at, at + character.len_utf8());
                let message = format!("this is nested more than {LITMUS_MAX_NESTING} deep");
                self.sink.push(Diagnostic::error(Code::NestingTooDeep, span, message));
                return false;
            }
        }
        true
    }

    fn name(&self, piece: &Piece, pair: &Pair<'_, Rule>) -> Name {
        // `b₁` is `b1`, and `x′` is `x'`.
        let plain = |c: char| match c {
            '₀'..='₉' => char::from(b'0' + (u32::from(c) - u32::from('₀')) as u8),
            '′' => '\'',
            other => other,
        };
        let text = match pair.as_str() {
            text if text.is_ascii() => text.to_owned(),
            text => text.chars().map(plain).collect(),
        };
        Name { text, place: self.place(piece, pair) }
    }

    /// A number token; one that does not fit is an error, and 0.
    fn number(&mut self, piece: &Piece, pair: &Pair<'_, Rule>) -> Number {
        let place = self.place(piece, pair);
        let digits = pair.as_str();
        let value = match digits.strip_prefix("0x") {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
            None => digits.parse(),
        };
        let value = value.unwrap_or_else(|_| {
            let error = Diagnostic::error(
                Code::ValueTooLarge,
                place.span,
                format!("expected a number below 2^64, found {digits}"),
            );
            self.sink.push(error.help("values are unsigned, 64 bits"));
            0
        });
        Number { value, place }
    }

    /// A number that may be negative: modulo 2^64, as all arithmetic is.
    fn signed(&mut self, piece: &Piece, pair: Pair<'_, Rule>) -> Number {
        let place = self.place(piece, &pair);
        let mut is_negative = false;
        let mut value = 0;
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::minus => is_negative = true,
                _ => value = self.number(piece, &part).value,
            }
        }
        Number { value: if is_negative { value.wrapping_neg() } else { value }, place }
    }

    /// A node's or a thread's number: `2`, `n2`, `n_2`, `P2`.
    fn place_number(&mut self, piece: &Piece, pair: &Pair<'_, Rule>) -> Number {
        let place = self.place(piece, pair);
        let digits =
            pair.as_str().trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_');
        // One too large for any place is not in the file.
        Number { value: digits.parse().unwrap_or(u64::MAX), place }
    }

    /// Counts an operator, and is false if there are too many.
    fn operator(&mut self, place: Place) -> bool {
        self.operators += 1;
        if self.operators == MAX_OPERATORS + 1 {
            let message = format!("this has more than {MAX_OPERATORS} operators");
            self.error(Code::NestingTooDeep, place, message);
        }
        self.operators <= MAX_OPERATORS
    }
}

impl<'a> Context<'a> {
    fn new(text: &'a Text, words: Words<'a>, sink: &'a mut Sink) -> Self {
        Self {
            text,
            sink,
            dialect: Dialect::default(),
            operators: 0,
            ragged: Vec::new(),
            has_other_classes: false,
            words,
            objects: FxHashMap::default(),
            said: Vec::new(),
            declared: FxHashSet::default(),
            unknown: FxHashSet::default(),
            first_label: None,
            owned: Vec::new(),
        }
    }
}

/// Whether a text is one name, as locations, registers and work ids have, and nothing else.
pub fn is_name(text: &str) -> bool {
    let parsed = LitmusGrammar::parse(Rule::name, text);
    parsed.is_ok_and(|mut pairs| pairs.next().is_some_and(|name| name.as_str() == text))
}

/// What is asked about a test.
pub struct Question {
    /// Conditions that all hold.
    pub claims: Vec<Claim>,
    /// Registers that they name with their thread.
    pub owned: Vec<(Number, Name)>,
}

/// Reads what is asked about a test.
pub fn asked(source: &Source, sink: &mut Sink) -> Option<Question> {
    let text = text::scan(source, sink)?;
    let line = text.trim(Span::new(0, text.masked.len()));
    if line.start == line.end {
        let message = "expected an outcome such as `a = 1, b = 0`, found nothing";
        sink.push(Diagnostic::error(Code::Syntax, line, message));
        return None;
    }
    let mut context = Context::new(&text, Words::default(), sink);
    let claims = claims::asked(&mut context, line)?;
    Some(Question { claims, owned: context.owned })
}

/// Reads a file. The tree is only of use if there is no error.
pub fn file(source: &Source, words: Words<'_>, sink: &mut Sink) -> Option<File> {
    let text = text::scan(source, sink)?;
    let mut context = Context::new(&text, words, sink);
    let sections = sections::find(&mut context)?;
    let mut file = File { rule: sections.rule, form: sections.form, ..File::default() };
    file.name = header::name(&mut context, sections.name);
    for line in &sections.header {
        file.header.extend(header::line(&mut context, *line));
    }
    implied::header(&mut file);
    context.dialect = file.dialect();
    match sections.form {
        Form::Columns => cells::columns(&mut context, &sections, &mut file),
        Form::Blocks => cells::blocks(&mut context, &sections, &mut file),
    }
    for line in &sections.results {
        let place = context.text.place(*line);
        let end = context.text.place(Span::new(line.end.max(1) - 1, line.end));
        if let Some(kind) = claims::result_line(&mut context, *line) {
            file.results.push(ResultLine { kind, place, end });
        }
    }
    numbering::from_1(&mut file, context.first_label);
    let said = implied::said(&mut context, &file);
    implied::declarations(&mut file, words, said);
    if context.ragged.is_empty() {
        owners::check(&mut context, &file);
    }
    file.comments = comments(&text, &file);
    Some(file)
}

/// Says in a tree what it only implies: which objects it calls, on which nodes its locations are. Trees that
/// are read from a text say so already.
pub fn complete(file: &mut File, words: Words<'_>) {
    implied::header(file);
    numbering::from_1(file, None);
    implied::declarations(file, words, Vec::new());
}

/// The comments, each with what it belongs to.
fn comments(text: &Text, file: &File) -> Vec<super::ast::Comment> {
    if text.comments.is_empty() {
        return Vec::new();
    }
    let items = super::print::item_lines(file);
    let mut comments = text.comments.clone();
    for comment in &mut comments {
        comment.own_line = items.binary_search(&comment.place.line).is_err();
    }
    comments
}
