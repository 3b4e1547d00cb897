//! Text to instructions.

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;

use super::condition::Question;
use super::registers::Architecture;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::{Sink, blank, end_of_comment};
use crate::limits;
use crate::litmus::ast::Place;
use crate::source::{Source, Span};

mod grammar {
    //! What pest makes of the grammar.
    #![allow(missing_docs, reason = "the grammar file says it")]

    #[derive(pest_derive::Parser)]
    #[grammar = "herd/herd.pest"]
    pub struct HerdGrammar;
}
use grammar::HerdGrammar;
pub use grammar::Rule;

/// How deep conditions may be nested.
const DEEPEST: usize = 64;

/// A word and where it stands.
pub type Word = (String, Place);

/// A register of a thread, or a location.
#[derive(Clone, Debug)]
pub enum RawPlace {
    /// `0:rax`: the thread, and the register.
    Register(usize, Word),
    /// `x`, `[x]`
    Location(Word),
}

/// What an item of the initial state gives.
#[derive(Clone, Debug)]
pub enum RawValue {
    /// A number, modulo 2^64.
    Number(u64),
    /// A location's address.
    Address(Word),
}

/// An operand.
#[derive(Clone, Debug)]
pub enum Operand {
    /// `$1`
    Immediate(u64),
    /// `(x)`, `[x]`, `(%rax)`
    Memory(Word),
    /// `%rax`, `EAX`
    Register(Word),
}

/// An instruction, or a place that jumps lead to.
#[derive(Clone, Debug)]
pub enum Line {
    /// `L:`
    Label(Word),
    /// `lock xaddl %eax,(x)`
    Instruction(Instruction),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Whether it has the prefix `lock`.
    pub lock: bool,
    /// In lower case.
    pub mnemonic: String,
    /// In the order of the text.
    pub operands: Vec<Operand>,
    /// The whole instruction.
    pub place: Place,
}

/// A file.
pub struct Raw {
    /// Its format.
    pub architecture: Architecture,
    /// The test's name.
    pub name: Word,
    /// The first quoted line of the header.
    pub title: Option<String>,
    /// The initial state.
    pub initial: Vec<(RawPlace, RawValue, Place)>,
    /// Per thread, its lines.
    pub threads: Vec<(Vec<Line>, Place)>,
    /// What `locations` lists.
    pub shown: Vec<(RawPlace, Place)>,
    /// The question at the end.
    pub question: Option<Question>,
    /// The end of the text.
    pub end: Place,
}

/// Finds lines.
#[derive(Clone, Debug)]
pub struct Places(Vec<usize>);

impl Places {
    fn new(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The place of a part of the text.
    pub fn of(&self, pair: &Pair<'_, Rule>) -> Place {
        let text = pair.as_str();
        let start = pair.as_span().start();
        self.at(Span::new(start, start + text.trim_end().len()))
    }

    fn at(&self, span: Span) -> Place {
        Place { span, line: self.0.partition_point(|start| *start <= span.start).saturating_sub(1) }
    }

    /// A word of the text.
    pub fn word(&self, pair: &Pair<'_, Rule>) -> Word {
        (pair.as_str().trim().to_owned(), self.of(pair))
    }
}

/// The text with `(* … *)`, which may be nested, as blanks of the same length.
pub fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("(*") {
        let (before, comment) = rest.split_at(start);
        let (comment, after) = comment.split_at(end_of_comment(comment).unwrap_or(comment.len()));
        out.push_str(before);
        out.extend(blank(comment));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Reads a file of herd's.
pub fn read(source: &Source, sink: &mut Sink) -> Option<Raw> {
    let architecture = super::architecture(&source.text)?;
    let text = without_comments(&source.text);
    let places = Places::new(&text);
    let Some(brace) = text.find('{') else {
        let message = "expected `{` and the initial state, found none";
        sink.push(Diagnostic::error(Code::HerdSyntax, Span::new(0, 0), message));
        return None;
    };
    if is_deep(&text) {
        let message =
            format!("expected parentheses nested at most {DEEPEST} deep, found deeper ones");
        sink.push(Diagnostic::error(Code::NestingTooDeep, Span::new(brace, brace + 1), message));
        return None;
    }
    let (name, title) = header(&text[..brace], &places);
    // Blanks for the header, so that places stay true.
    let header: String = blank(&text[..brace]).collect();
    let body = format!("{header}{}", &text[brace..]);
    let file = match HerdGrammar::parse(Rule::file, &body) {
        Ok(mut pairs) => pairs.next()?,
        Err(error) => {
            sink.push(syntax_error(&error, &body));
            return None;
        }
    };
    let mut raw = Raw {
        architecture,
        name,
        title,
        initial: Vec::new(),
        threads: Vec::new(),
        shown: Vec::new(),
        question: None,
        end: places.at(Span::new(text.trim_end().len(), text.trim_end().len())),
    };
    let mut reader = Reader { places: &places, sink };
    for part in file.into_inner() {
        match part.as_rule() {
            Rule::initial_state => reader.initial_state(part, &mut raw.initial),
            Rule::program => reader.program(part, &mut raw.threads),
            Rule::locations => {
                for shown in part.into_inner() {
                    let Some(place) = shown.into_inner().next() else { continue };
                    raw.shown.extend(reader.place(place));
                }
            }
            Rule::filter => {
                let place = places.of(&part);
                let message = "`filter` is not supported";
                reader.sink.push(Diagnostic::error(Code::HerdUnsupported, place.span, message));
            }
            Rule::question => raw.question = reader.question(part),
            _ => {}
        }
    }
    Some(raw)
}

/// The name on the first line, and the first quoted text below it.
fn header(text: &str, places: &Places) -> (Word, Option<String>) {
    let line = text.trim_start();
    let start = text.len() - line.len();
    let line = line.lines().next().unwrap_or_default();
    let after = line.find(char::is_whitespace).unwrap_or(line.len());
    let name = line[after..].trim();
    let at = start + after + (line[after..].len() - line[after..].trim_start().len());
    let name = (name.to_owned(), places.at(Span::new(at, at + name.len())));
    let quoted = text[start + line.len()..].split('"').nth(1).map(str::trim);
    (name, quoted.filter(|text| !text.is_empty() && !text.contains('\n')).map(str::to_owned))
}

fn is_deep(text: &str) -> bool {
    let mut depth = 0usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}

fn syntax_error(error: &pest::error::Error<Rule>, text: &str) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.chars().take_while(|c| c.is_alphanumeric() || "_%$".contains(*c)).count();
    let found = match rest.chars().next() {
        None => "the end of the file".to_owned(),
        Some(character) if length == 0 => format!("`{}`", character.escape_debug()),
        Some(_) => format!("`{}`", &rest[..rest.chars().take(length).map(char::len_utf8).sum()]),
    };
    let expected = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            let mut words: Vec<&str> = positives.iter().map(|rule| meaning(*rule)).collect();
            words.sort_unstable();
            words.dedup();
            words.join(" or ")
        }
        ErrorVariant::CustomError { message } => message.clone(),
    };
    let expected = if expected.is_empty() { "something else".to_owned() } else { expected };
    let end = at + rest.chars().next().map_or(0, char::len_utf8);
    Diagnostic::error(
        Code::HerdSyntax,
        Span::new(at, end),
        format!("expected {expected}, found {found}"),
    )
}

fn meaning(rule: Rule) -> &'static str {
    match rule {
        Rule::initial_state | Rule::item | Rule::array | Rule::typed | Rule::c_type => {
            "an item of the initial state"
        }
        Rule::threads | Rule::thread => "a thread, such as `P0`",
        Rule::row | Rule::cell | Rule::label | Rule::instruction | Rule::mnemonic | Rule::lock => {
            "an instruction"
        }
        Rule::operand | Rule::immediate | Rule::memory | Rule::address | Rule::register => {
            "an operand"
        }
        Rule::locations | Rule::shown => "`locations [x;]`",
        Rule::question | Rule::quantifier | Rule::exists | Rule::never | Rule::forall => {
            "`exists`, `~exists` or `forall`"
        }
        Rule::number => "a number",
        Rule::equal | Rule::unequal => "`=`",
        Rule::EOI => "the end of the file",
        _ => "a condition",
    }
}

/// Turns pairs into what they say.
pub struct Reader<'a> {
    /// Where things stand.
    pub places: &'a Places,
    /// Where errors go.
    pub sink: &'a mut Sink,
}

impl Reader<'_> {
    fn unsupported(&mut self, pair: &Pair<'_, Rule>, message: &str) {
        let place = self.places.of(pair);
        self.sink.push(Diagnostic::error(Code::HerdUnsupported, place.span, message));
    }

    /// A number modulo 2^64. One that has no single meaning in four and in eight bytes is refused.
    pub fn number(&mut self, pair: &Pair<'_, Rule>) -> Option<u64> {
        let text = pair.as_str().trim();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let value = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        match value {
            Ok(value) if value <= i32::MAX as u64 => {
                Some(if text.starts_with('-') { value.wrapping_neg() } else { value })
            }
            _ => {
                self.unsupported(pair, "expected a number of at most 31 bits, found a larger one");
                None
            }
        }
    }

    /// A register of a thread, or a location.
    pub fn place(&mut self, pair: Pair<'_, Rule>) -> Option<(RawPlace, Place)> {
        let place = self.places.of(&pair);
        let inner = pair.into_inner().next()?;
        let raw = match inner.as_rule() {
            Rule::thread_register => {
                let mut parts = inner.into_inner();
                let thread = parts.next()?;
                let number = thread.as_str().trim_start_matches('P').parse().ok();
                let register = parts.next()?;
                match number {
                    Some(number) => RawPlace::Register(number, self.places.word(&register)),
                    None => {
                        self.unsupported(&thread, "expected the number of a thread");
                        return None;
                    }
                }
            }
            _ => RawPlace::Location(self.location(inner)?),
        };
        Some((raw, place))
    }

    /// `x` or `[x]`
    pub fn location(&self, pair: Pair<'_, Rule>) -> Option<Word> {
        pair.into_inner().next().map(|word| self.places.word(&word))
    }

    fn initial_state(
        &mut self,
        pair: Pair<'_, Rule>,
        initial: &mut Vec<(RawPlace, RawValue, Place)>,
    ) {
        for item in pair.into_inner() {
            limits::look();
            let whole = self.places.of(&item);
            let (mut place, mut value) = (None, Some(RawValue::Number(0)));
            for part in item.into_inner() {
                match part.as_rule() {
                    Rule::array => self.unsupported(&part, "arrays are not supported"),
                    Rule::place => place = self.place(part),
                    Rule::number => value = self.number(&part).map(RawValue::Number),
                    Rule::location => value = self.location(part).map(RawValue::Address),
                    Rule::typed => self.c_type(&part),
                    _ => {}
                }
            }
            if let (Some((place, _)), Some(value)) = (place, value) {
                initial.push((place, value, whole));
            }
        }
    }

    fn c_type(&mut self, pair: &Pair<'_, Rule>) {
        let narrow = ["char", "short", "int8_t", "uint8_t", "int16_t", "uint16_t"];
        let word = pair.as_str().trim().trim_end_matches('*').trim();
        if narrow.contains(&word) {
            self.unsupported(pair, "expected a type of four or eight bytes, found a smaller one");
        }
    }

    fn program(&mut self, pair: Pair<'_, Rule>, threads: &mut Vec<(Vec<Line>, Place)>) {
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::threads => {
                    for (index, thread) in part.into_inner().enumerate() {
                        let number = thread.as_str().trim_start_matches('P').parse();
                        if number != Ok(index) {
                            let message = format!(
                                "expected the thread P{index}, found `{}`",
                                thread.as_str()
                            );
                            self.unsupported(&thread, &message);
                        }
                        threads.push((Vec::new(), self.places.of(&thread)));
                    }
                }
                _ => self.row(part, threads),
            }
        }
    }

    fn row(&mut self, row: Pair<'_, Rule>, threads: &mut [(Vec<Line>, Place)]) {
        let whole = row.clone();
        let mut count = 0;
        for (index, cell) in row.into_inner().enumerate() {
            limits::look();
            count += 1;
            let Some((lines, _)) = threads.get_mut(index) else { continue };
            for part in cell.into_inner() {
                match part.as_rule() {
                    Rule::label => {
                        let word = part.into_inner().next().map(|word| self.places.word(&word));
                        lines.extend(word.map(Line::Label));
                    }
                    _ => lines.extend(self.instruction(part).map(Line::Instruction)),
                }
            }
        }
        if count != threads.len() {
            let message =
                format!("expected a cell for each of {} threads, found {count}", threads.len());
            self.unsupported(&whole, &message);
        }
    }

    fn instruction(&mut self, pair: Pair<'_, Rule>) -> Option<Instruction> {
        let place = self.places.of(&pair);
        let (mut lock, mut mnemonic, mut operands) = (false, String::new(), Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::lock => lock = true,
                Rule::mnemonic => mnemonic = part.as_str().trim().to_ascii_lowercase(),
                _ => operands.push(self.operand(part.into_inner().next()?)?),
            }
        }
        Some(Instruction { lock, mnemonic, operands, place })
    }

    fn operand(&mut self, pair: Pair<'_, Rule>) -> Option<Operand> {
        match pair.as_rule() {
            Rule::immediate => {
                let number = pair.into_inner().next()?;
                self.number(&number).map(Operand::Immediate)
            }
            Rule::register => Some(Operand::Register(self.places.word(&pair))),
            _ => {
                let whole = pair.clone();
                let mut base = None;
                for part in pair.into_inner() {
                    match part.as_rule() {
                        Rule::number if part.as_str().trim() == "0" => {}
                        Rule::number => {
                            self.unsupported(&whole, "an offset is not supported");
                            return None;
                        }
                        _ => {
                            let mut parts = part.into_inner();
                            base = parts.next().map(|word| self.places.word(&word));
                            if parts.next().is_some() {
                                self.unsupported(&whole, "an index is not supported");
                                return None;
                            }
                        }
                    }
                }
                base.map(Operand::Memory)
            }
        }
    }
}
