//! A parser's way through tokens.

use super::tokens::{self, Kind, Token};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::Span;

/// What is read, or the error that ends it.
pub(crate) type Parse<T> = Result<T, Box<Diagnostic>>;

/// A text's tokens, and the one that is next.
pub(crate) struct Cursor<'t, K> {
    pub(crate) text: &'t str,
    /// Never empty; the last is the end of the file.
    tokens: Vec<Token<K>>,
    /// Always the index of a token.
    next: usize,
    /// What is wrong, as far as it is known.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'t, K: Kind> Cursor<'t, K> {
    /// The first token of a text, and what is wrong with its tokens.
    pub(crate) fn new(text: &'t str) -> Self {
        let (tokens, diagnostics) = tokens::tokens(text);
        Self { text, tokens, next: 0, diagnostics }
    }

    /// Keeps an error, unless it is about a flaw, which is reported already.
    pub(crate) fn report(&mut self, error: Diagnostic) {
        let is_flaw =
            |token: &Token<K>| token.kind == K::FLAWED && token.span.start == error.span.start;
        let place = self.tokens.partition_point(|token| token.span.start < error.span.start);
        if !self.tokens.get(place).is_some_and(is_flaw) {
            self.diagnostics.push(error);
        }
    }

    pub(crate) fn token(&self) -> Token<K> {
        self.tokens[self.next]
    }

    pub(crate) fn token_after(&self) -> Token<K> {
        self.tokens[(self.next + 1).min(self.tokens.len() - 1)]
    }

    pub(crate) fn peek(&self) -> K {
        self.token().kind
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.peek() == K::END
    }

    pub(crate) fn text_of(&self, token: Token<K>) -> &'t str {
        &self.text[token.span.range()]
    }

    pub(crate) fn text_here(&self) -> &'t str {
        self.text_of(self.token())
    }

    /// The next token if it is a word, else nothing.
    pub(crate) fn word(&self) -> &'t str {
        if self.peek() == K::NAME { self.text_here() } else { "" }
    }

    /// Where the last token stands that is behind.
    pub(crate) fn previous(&self) -> Span {
        self.tokens[self.next.saturating_sub(1)].span
    }

    pub(crate) fn advance(&mut self) {
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
    }

    pub(crate) fn accept(&mut self, kind: K) -> bool {
        let is_next = self.peek() == kind;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(crate) fn expect(&mut self, kind: K, what: &str) -> Parse<()> {
        if self.accept(kind) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// Whether the next token has this text; then it is behind.
    pub(crate) fn accept_text(&mut self, text: &str) -> bool {
        let is_next = !self.is_at_end() && self.text_here() == text;
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(crate) fn expect_text(&mut self, text: &str) -> Parse<()> {
        if self.accept_text(text) {
            return Ok(());
        }
        let error = self.expected(&format!("`{text}`"));
        match nearest(self.word(), [text]) {
            Some(meant) => Err(Box::new(error.did_you_mean(meant))),
            None => Err(error),
        }
    }

    /// What stands between two parts of a list that ends with `end`.
    pub(crate) fn expect_between(&mut self, text: &str, end: &str) -> Parse<()> {
        if self.accept_text(text) {
            return Ok(());
        }
        Err(self.expected(&format!("`{text}` or `{end}`")))
    }

    /// The tokens from a place to the next one.
    pub(crate) fn since(&self, start: Span) -> impl Iterator<Item = &'t str> {
        let first = self.tokens.partition_point(|token| token.span.start < start.start);
        let tokens = self.tokens.get(first..self.next).unwrap_or_default();
        tokens.iter().map(|token| self.text_of(*token))
    }

    /// The next token, a name, and where it stands.
    pub(crate) fn name(&mut self, what: &str) -> Parse<(String, Span)> {
        let token = self.token();
        self.expect(K::NAME, what)?;
        Ok((self.text_of(token).to_owned(), token.span))
    }

    /// The next token, a string, without its quotes, and where it stands.
    pub(crate) fn string(&mut self, what: &str) -> Parse<(String, Span)> {
        let token = self.token();
        self.expect(K::STRING, what)?;
        Ok((self.text_of(token).trim_matches('"').to_owned(), token.span))
    }

    /// A title, with which a text may begin.
    pub(crate) fn title(&mut self) -> Option<String> {
        self.string("").ok().map(|(title, _)| title)
    }

    /// The error that something else is next.
    pub(crate) fn expected(&self, what: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            kind if kind == K::END => "the end of the file".to_owned(),
            kind if kind == K::STRING => "a string".to_owned(),
            _ => format!("`{}`", self.text_here()),
        };
        let message = format!("expected {what}, found {found}");
        Box::new(Diagnostic::error(Code::Syntax, self.token().span, message))
    }
}
