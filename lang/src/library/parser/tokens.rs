//! The parser's way through tokens.

use super::super::lexer::{Kind, Token};
use super::{DEEPEST, Parse, Parser};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Parser<'_> {
    pub(super) fn deeper(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("nested deeper than {DEEPEST}");
            return Err(Box::new(Diagnostic::error(
                "nesting-too-deep",
                self.token().span,
                message,
            )));
        }
        Ok(())
    }

    pub(super) fn token(&self) -> Token {
        self.tokens[self.next]
    }

    pub(super) fn peek(&self) -> Kind {
        self.token().kind
    }

    pub(super) fn text_here(&self) -> &str {
        &self.text[self.token().span.range()]
    }

    /// The next token if it is a word, else nothing.
    pub(super) fn word(&self) -> &str {
        if self.peek() == Kind::Word { self.text_here() } else { "" }
    }

    pub(super) fn advance(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    pub(super) fn previous(&self) -> Span {
        self.tokens[self.next.saturating_sub(1)].span
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let is_next = self.peek() != Kind::EndOfFile && self.text_here() == symbol;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn symbol(&mut self, symbol: &str) -> Parse<()> {
        if self.accept(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    pub(super) fn keyword(&mut self, word: &str) -> Parse<()> {
        if self.word() == word {
            self.advance();
            return Ok(());
        }
        Err(self.expected(&format!("`{word}`")))
    }

    pub(super) fn name(&mut self, what: &str) -> Parse<(String, Span)> {
        if self.peek() != Kind::Word {
            return Err(self.expected(what));
        }
        let found = (self.text_here().to_owned(), self.token().span);
        self.advance();
        Ok(found)
    }

    /// A name with hyphens, such as `rdma-wait`.
    pub(super) fn label(&mut self) -> Parse<String> {
        let (mut label, mut end) = self.name("a name")?;
        while self.text_here() == "-" && self.token().span.start == end.end {
            self.advance();
            let number = self.peek() == Kind::Number;
            let part = match number {
                true => {
                    let part = (self.text_here().to_owned(), self.token().span);
                    self.advance();
                    part
                }
                false => self.name("the rest of the name")?,
            };
            label = format!("{label}-{}", part.0);
            end = part.1;
        }
        Ok(label)
    }

    pub(super) fn string(&mut self) -> Parse<String> {
        if self.peek() != Kind::String {
            return Err(self.expected("a string in quotes"));
        }
        let text = self.text_here().trim_matches('"').to_owned();
        self.advance();
        Ok(text)
    }

    pub(super) fn expected(&self, what: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            Kind::EndOfFile => "the end of the file".to_owned(),
            _ => format!("`{}`", self.text_here()),
        };
        let message = format!("expected {what}, found {found}");
        Box::new(Diagnostic::error("syntax", self.token().span, message))
    }
}
