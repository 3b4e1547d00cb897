//! How reading goes on behind an error, so that one look at a file shows all of them. A section begins with
//! a word at the very beginning of a line, a part of a section with its word at the head of a line, and a
//! statement at the head of a line or behind a `;`, outside of braces.

use super::super::lexer::Kind;
use super::{Parser, SECTIONS};
use crate::diagnostic::{Code, Diagnostic};
use crate::front::{MOST_DIAGNOSTICS, Parse};
use crate::source::Span;

/// The words that begin parts of a sequential object or an implementation.
pub(super) const PARTS: [&str; 5] = ["memory", "object", "local", "call", "service"];

impl Parser<'_> {
    /// Goes on to the next section. The one with the error began at `start`.
    pub(super) fn past_section(&mut self, start: Span, error: Diagnostic) {
        self.keep(start, error);
        let is_word = |parser: &Self| !parser.tokens.word().is_empty() && parser.is_at_margin();
        while !self.tokens.is_at_end() && !is_word(self) {
            self.tokens.advance();
        }
    }

    /// Goes on to the next part of a section, or to the brace that ends the section.
    ///
    /// # Errors
    /// The error itself, where the section has no more parts.
    pub(super) fn past_part(&mut self, start: Span, error: Box<Diagnostic>) -> Parse<()> {
        if self.is_over(&error) || self.is_section() {
            return Err(error);
        }
        self.keep(start, *error);
        while !self.tokens.is_at_end() && !self.is_section() && !self.is_part() {
            if self.tokens.text_here() == "}" && self.is_at_margin() {
                break;
            }
            self.tokens.advance();
        }
        Ok(())
    }

    /// Goes on to the next statement of a block, or to the brace that ends the block.
    ///
    /// # Errors
    /// The error itself, where the block has no more statements.
    pub(super) fn past_statement(&mut self, start: Span, error: Box<Diagnostic>) -> Parse<()> {
        if self.is_over(&error) || self.is_outside() {
            return Err(error);
        }
        self.keep(start, *error);
        let mut depth = self.tokens.since(start).fold(0_usize, |depth, text| match text {
            "{" => depth + 1,
            "}" => depth.saturating_sub(1),
            _ => depth,
        });
        while !self.tokens.is_at_end() {
            let is_new = self.tokens.token().first_on_line && self.tokens.token().span != start;
            match self.tokens.text_here() {
                _ if self.is_outside() || (depth == 0 && is_new) => break,
                ";" | "}" if depth == 0 => break,
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            self.tokens.advance();
        }
        Ok(())
    }

    /// Whether no statement can stand here: another part of the section, or another section.
    pub(super) fn is_outside(&self) -> bool {
        self.tokens.is_at_end() || self.is_section() || self.is_part()
    }

    /// Reports an error, and makes sure that at least one token is behind.
    fn keep(&mut self, start: Span, error: Diagnostic) {
        self.tokens.report(error);
        if self.tokens.token().span == start {
            self.tokens.advance();
        }
    }

    /// Whether an error ends the file.
    fn is_over(&self, error: &Diagnostic) -> bool {
        error.code == Code::NestingTooDeep
            || self.tokens.is_at_end()
            || self.tokens.diagnostics.len() >= MOST_DIAGNOSTICS
    }

    pub(super) fn is_section(&self) -> bool {
        let is_followed = self.tokens.text_here() == "implementation"
            || matches!(self.tokens.token_after().kind, Kind::Word | Kind::String)
            || self.tokens.text_of(self.tokens.token_after()) == "{";
        SECTIONS.contains(&self.tokens.word()) && self.is_at_margin() && is_followed
    }

    fn is_part(&self) -> bool {
        PARTS.contains(&self.tokens.word())
            && self.tokens.token().first_on_line
            && self.tokens.token_after().kind == Kind::Word
    }

    /// Whether the next token is the first of its line, and stands where `library` does.
    fn is_at_margin(&self) -> bool {
        let start = self.tokens.token().span.start;
        let line = self.tokens.text[..start].rfind('\n').map_or(0, |end| end + 1);
        self.tokens.token().first_on_line && line > 0 && start - line == self.margin
    }
}
