//! Text to tokens.

use logos::{FilterResult, Lexer, Logos};

use super::codes;
use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::source::Span;

/// What a token is; its text is in the source.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = Flaw)]
#[logos(skip(r"[ \t\r\n]+"))]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(super) enum Kind {
    #[token("(*", comment)]
    Comment,
    #[regex(r"([A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9_]+)([.-][A-Za-z0-9_]+)*", name)]
    Name,
    #[regex(r"[0-9]+")]
    Number,
    #[regex(r#""[^"\n]*""#)]
    #[regex(r#""[^"\n]*"#, unclosed_string)]
    String,

    #[token("include")]
    Include,
    #[token("let")]
    Let,
    #[token("rec")]
    Rec,
    #[token("and")]
    And,
    #[token("as")]
    As,
    #[token("acyclic")]
    Acyclic,
    #[token("irreflexive")]
    Irreflexive,
    #[token("empty")]
    Empty,
    #[token("exists")]
    Exists,
    #[token("total")]
    Total,
    #[token("on")]
    On,
    #[token("extends")]
    Extends,
    #[token("table")]
    Table,
    #[token("where")]
    Where,
    #[token("end")]
    End,
    #[token("calls")]
    Calls,
    #[token("uncall")]
    Uncall,
    #[token("machine")]
    Machine,
    #[token("drop")]
    Drop,
    #[token("set")]
    Set,
    #[token("replace")]
    Replace,
    #[token("domain")]
    Domain,
    #[token("range")]
    Range,

    #[token("|")]
    Pipe,
    #[token("\\")]
    Backslash,
    #[token("&")]
    Ampersand,
    #[token(";")]
    Semicolon,
    #[token("*")]
    #[token("^*")]
    Star,
    #[token("+")]
    #[token("^+")]
    Plus,
    #[token("?")]
    #[token("^?")]
    Question,
    #[token("^-1")]
    Inverse,
    #[token("~")]
    Tilde,
    #[token("_")]
    Underscore,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("(")]
    LeftParenthesis,
    #[token(")")]
    RightParenthesis,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token(",")]
    Comma,
    #[token("=")]
    Equals,
    #[token("✓")]
    Check,
    #[token("·")]
    #[token(".")]
    #[token("-")]
    Dot,

    /// What is no token; its error is reported already.
    Flawed,
    EndOfFile,
}

impl Kind {
    /// True for the words that begin a statement.
    pub(super) fn starts_statement(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Include
                | Let
                | Acyclic
                | Irreflexive
                | Empty
                | Exists
                | Table
                | Calls
                | Uncall
                | Machine
                | Drop
                | Set
                | Replace
        )
    }

    /// True for what can begin an operand: what makes a `*` before it a product.
    pub(super) fn starts_operand(self) -> bool {
        use Kind::*;
        matches!(
            self,
            Name | Number
                | Domain
                | Range
                | Tilde
                | Underscore
                | LeftBracket
                | LeftParenthesis
                | LeftBrace
        )
    }

    /// True for reserved words.
    pub(super) fn is_keyword(self) -> bool {
        use Kind::*;
        self.starts_statement()
            || matches!(self, Rec | And | As | Total | On | Extends | Where | End | Domain | Range)
    }
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// True if no other token stands before it on its line.
    pub(super) first_on_line: bool,
}

/// Why a piece of text is no token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flaw {
    #[default]
    BadCharacter,
    UnclosedComment,
    UnclosedString,
    LongName,
}

/// Skips a comment, which may hold comments.
fn comment(lexer: &mut Lexer<'_, Kind>) -> FilterResult<(), Flaw> {
    let rest = lexer.remainder();
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (1_usize, 0);
    while let [first, second, ..] = bytes[at..] {
        match (first, second) {
            (b'(', b'*') => (depth, at) = (depth + 1, at + 2),
            (b'*', b')') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            lexer.bump(at);
            return FilterResult::Skip;
        }
    }
    lexer.bump(rest.len());
    FilterResult::Error(Flaw::UnclosedComment)
}

fn name(lexer: &mut Lexer<'_, Kind>) -> Result<(), Flaw> {
    if lexer.slice().len() > super::LONGEST_NAME { Err(Flaw::LongName) } else { Ok(()) }
}

fn unclosed_string(_: &mut Lexer<'_, Kind>) -> Result<(), Flaw> {
    Err(Flaw::UnclosedString)
}

/// The tokens of a text, the last of them [`Kind::EndOfFile`], and what is wrong with the rest.
pub(super) fn tokens(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let hidden = hidden_characters(text);
    if !hidden.is_empty() {
        return (Vec::new(), hidden);
    }
    let mut tokens = Vec::new();
    let mut flaws: Vec<(Flaw, Span)> = Vec::new();
    let mut end = 0;
    for (result, range) in Kind::lexer(text).spanned() {
        limits::look();
        let span = Span::new(range.start, range.end);
        let first_on_line = end == 0 || text[end..span.start].contains('\n');
        end = span.end;
        let kind = match (result, flaws.last_mut()) {
            (Ok(kind), _) => kind,
            (Err(Flaw::BadCharacter), Some((Flaw::BadCharacter, last)))
                if last.end == span.start =>
            {
                last.end = span.end;
                continue;
            }
            (Err(flaw), _) => {
                flaws.push((flaw, span));
                Kind::Flawed
            }
        };
        tokens.push(Token { kind, span, first_on_line });
    }
    let end = Span::new(text.len(), text.len());
    tokens.push(Token { kind: Kind::EndOfFile, span: end, first_on_line: true });
    flaws.truncate(super::MOST_DIAGNOSTICS);
    (tokens, flaws.into_iter().map(|(flaw, span)| describe(flaw, span, text)).collect())
}

fn describe(flaw: Flaw, span: Span, text: &str) -> Diagnostic {
    match flaw {
        Flaw::UnclosedComment => {
            let opening = Span::new(span.start, span.start + 2);
            Diagnostic::error(codes::UNCLOSED_COMMENT, opening, "this comment has no end")
                .label("opened here")
                .help("comments nest: every `(*` needs its own `*)`")
        }
        Flaw::UnclosedString => {
            Diagnostic::error(codes::UNCLOSED_STRING, span, "this string has no end on its line")
                .label("expected `\"` before the end of the line")
        }
        Flaw::LongName => {
            let message = format!("a name has at most {} characters", super::LONGEST_NAME);
            Diagnostic::error(codes::TOO_LARGE, span, message)
        }
        Flaw::BadCharacter => {
            let found = &text[span.range()];
            let error = Diagnostic::error(
                codes::BAD_CHARACTER,
                span,
                format!("`{found}` has no meaning in a model"),
            );
            match found.chars().next().and_then(ascii_form) {
                Some(help) => error.help(help),
                None => error,
            }
        }
    }
}

/// How this language writes what the papers write with another character.
fn ascii_form(character: char) -> Option<&'static str> {
    Some(match character {
        '∪' | '∨' => "union is written `|`",
        '∩' | '∧' => "intersection is written `&`",
        '∖' | '−' => "difference is written `\\`",
        '¬' => "complement is written `~`",
        '×' => "the product of two sets is written `*`",
        '∅' => "nothing is written `0`",
        '⁻' => "the inverse is written `^-1`",
        '⁺' => "the transitive closure is written `+`",
        '≜' | '∆' => "definitions are written `let name = …`",
        '✗' | '✘' => "a cell that does not order is written `·`",
        '✔' | '√' => "a cell that orders is written `✓`",
        '^' => "the operators with `^` are `^-1`, `^+`, `^*` and `^?`",
        '\'' => "names are letters, digits, `_`, and `-` or `.` between those",
        _ => return None,
    })
}

/// Control characters, and those that make text look like what it is not: errors even in comments.
fn hidden_characters(text: &str) -> Vec<Diagnostic> {
    text.char_indices()
        .filter(|(_, character)| is_hidden(*character))
        .take(super::MOST_DIAGNOSTICS)
        .map(|(start, character)| {
            let span = Span::new(start, start + character.len_utf8());
            let code_point = u32::from(character);
            Diagnostic::error(
                codes::BAD_CHARACTER,
                span,
                format!(
                    "the hidden character U+{code_point:04X} is not accepted, not even in comments"
                ),
            )
        })
        .collect()
}

fn is_hidden(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\r' | '\t'))
        || matches!(
            character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}
