//! A text with a name, and places in it.

use std::ops::Range;

/// A range of bytes of a source text; `start <= end <= text.len()`, on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span of the bytes `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// Whether it is at no place of a text, as the statements of services that implementations add.
    pub fn is_nowhere(self) -> bool {
        self == Self::default()
    }

    /// The span as a range of byte offsets.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A text and the name under which messages name it (mostly a path).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path or other name shown in messages.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// A source of that name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}
