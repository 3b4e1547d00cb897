//! Tokens of library files. Text of the model language in them is read by its own lexer; here it is only
//! passed over, so every character is some token.

use logos::{FilterResult, Lexer, Logos};

use crate::source::Span;

/// What a token is; its text is in the source.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip(r"[ \t\r\n]+"))]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum Kind {
    #[token("(*", comment)]
    Comment,
    #[regex(r"[A-Za-z_][A-Za-z0-9_']*")]
    Word,
    #[regex(r"[0-9]+")]
    Number,
    #[regex(r#""[^"\n]*""#)]
    String,
    #[token("⊥")]
    Bottom,
    #[token(":=")]
    Assign,
    #[token("..")]
    Range,
    #[token("<=")]
    #[token("≤")]
    LessEqual,
    #[token(">=")]
    #[token("≥")]
    GreaterEqual,
    #[token("!=")]
    #[token("≠")]
    NotEqual,
    #[regex(r"[^ \t\r\n]", priority = 0)]
    Symbol,
    EndOfFile,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
}

/// Skips a comment, which may hold comments; one without end goes to the end of the file.
fn comment(lexer: &mut Lexer<'_, Kind>) -> FilterResult<(), ()> {
    let bytes = lexer.remainder().as_bytes();
    let (mut depth, mut at) = (1, 0);
    while depth > 0 && at < bytes.len() {
        match &bytes[at..] {
            [b'(', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b')', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    lexer.bump(at);
    FilterResult::Skip
}

/// The tokens of a text; the last is the end of the file.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Kind::lexer(text)
        .spanned()
        .map(|(kind, range)| Token {
            kind: kind.unwrap_or(Kind::Symbol),
            span: Span::new(range.start, range.end),
        })
        .collect();
    let end = text.len();
    tokens.push(Token { kind: Kind::EndOfFile, span: Span::new(end, end) });
    tokens
}
