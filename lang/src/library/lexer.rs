//! The tokens of libraries. Text of the model language in them is read by its own lexer; here it is only
//! passed over, so every character is some token.

use logos::Logos;

use crate::front::{self, Flaw, Hint, comment, unclosed_string};

/// What a token is; its text is in the source.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = Flaw)]
#[logos(skip(r"[ \t\r\n]+"))]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(super) enum Kind {
    #[token("(*", comment)]
    Comment,
    #[regex(r"[A-Za-z_][A-Za-z0-9_']*")]
    Word,
    #[regex(r"[0-9]+")]
    Number,
    #[regex(r#""[^"\n]*""#)]
    #[regex(r#""[^"\n]*"#, unclosed_string)]
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

    /// What is not a token; its error is reported already.
    Flawed,
    EndOfFile,
}

impl front::Kind for Kind {
    const NAME: Self = Self::Word;
    const STRING: Self = Self::String;
    const FLAWED: Self = Self::Flawed;
    const END: Self = Self::EndOfFile;

    fn hint(_: char) -> Option<Hint> {
        None
    }
}
