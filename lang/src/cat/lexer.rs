//! The tokens of models.

use logos::{Lexer, Logos};

use crate::front::{self, Flaw, Hint, comment, unclosed_string};

/// A token of a model.
pub(super) type Token = front::Token<Kind>;

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
    #[token("hardware")]
    Hardware,
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

    /// What is not a token; its error is reported already.
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
                | Hardware
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

fn name(lexer: &mut Lexer<'_, Kind>) -> Result<(), Flaw> {
    if lexer.slice().len() > super::LONGEST_NAME {
        Err(Flaw::LongName(super::LONGEST_NAME))
    } else {
        Ok(())
    }
}

impl front::Kind for Kind {
    const NAME: Self = Self::Name;
    const STRING: Self = Self::String;
    const FLAWED: Self = Self::Flawed;
    const END: Self = Self::EndOfFile;

    fn hint(character: char) -> Option<Hint> {
        Some(match character {
            '≜' | '∆' => Hint::Words("definitions are written `let name = …`"),
            '^' => Hint::Words("the operators with `^` are `^-1`, `^+`, `^*` and `^?`"),
            '\'' => Hint::Words("names are letters, digits, `_`, and `-` or `.` between those"),
            _ => {
                let (what, how) = ascii_form(character)?;
                Hint::Written(what, how)
            }
        })
    }
}

/// What the papers write with a character, and how this language writes it.
fn ascii_form(character: char) -> Option<(&'static str, &'static str)> {
    Some(match character {
        '∪' | '∨' => ("union", "|"),
        '∩' | '∧' => ("intersection", "&"),
        '∖' | '−' => ("difference", "\\"),
        '¬' => ("complement", "~"),
        '×' => ("the product of two sets", "*"),
        '∅' => ("nothing", "0"),
        '⁻' => ("the inverse", "^-1"),
        '⁺' => ("the transitive closure", "+"),
        '✗' | '✘' => ("a cell that does not order", "·"),
        '✔' | '√' => ("a cell that orders", "✓"),
        _ => return None,
    })
}
