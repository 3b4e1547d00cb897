//! Texts and places in them, counted as editors do.

use lang::source::Span;
use lsp_types::{Position, Range};

/// In what columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// In bytes.
    Utf8,
    /// In units of UTF-16: a character outside of the basic plane is two.
    #[default]
    Utf16,
}

impl Encoding {
    fn width(self, character: char) -> usize {
        match self {
            Self::Utf8 => character.len_utf8(),
            Self::Utf16 => character.len_utf16(),
        }
    }
}

/// A text, and where its lines begin.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub text: String,
    lines: Vec<usize>,
    encoding: Encoding,
}

impl Text {
    /// A text whose columns are counted so.
    pub fn new(text: String, encoding: Encoding) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { text, lines, encoding }
    }

    /// The line of an offset, from 0.
    pub fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The place of a line, its end not included.
    pub fn span_of_line(&self, line: usize) -> Span {
        let length = self.text.len();
        let start = self.lines.get(line).copied().unwrap_or(length);
        let end = self.lines.get(line + 1).map_or(length, |next| next - 1);
        Span::new(start, end.max(start))
    }

    /// An offset as editors name it.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line(offset);
        let before = &self.text[self.lines[line]..offset];
        let column: usize = before.chars().map(|c| self.encoding.width(c)).sum();
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Position::new(number(line), number(column))
    }

    /// The offset that an editor names. A column behind a line's end is that end.
    pub fn offset(&self, position: Position) -> usize {
        let line = self.span_of_line(position.line as usize);
        let mut column = 0;
        for (at, character) in self.text[line.range()].char_indices() {
            if column >= position.character as usize || character == '\r' {
                return line.start + at;
            }
            column += self.encoding.width(character);
        }
        line.end
    }

    /// A place as editors name it.
    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end))
    }

    /// The place that an editor names.
    pub fn span(&self, range: Range) -> Span {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        Span::new(start, end.max(start))
    }

    /// Replaces a place.
    pub fn replace(&mut self, range: Range, with: &str) {
        let span = self.span(range);
        let mut text = std::mem::take(&mut self.text);
        text.replace_range(span.range(), with);
        *self = Self::new(text, self.encoding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_units() {
        // `ā` has two bytes and one unit, `𝔸` four bytes and two units.
        let text = "x̄ ✓\nā 𝔸 y\r\n";
        for (encoding, columns) in [(Encoding::Utf16, 5), (Encoding::Utf8, 8)] {
            let text = Text::new(text.to_owned(), encoding);
            let at = text.text.find('y').unwrap_or_default();
            assert_eq!(text.position(at), Position::new(1, columns));
            assert_eq!(text.offset(Position::new(1, columns)), at);
            for (offset, _) in text.text.char_indices().filter(|(_, c)| !"\r\n".contains(*c)) {
                assert_eq!(text.offset(text.position(offset)), offset, "{offset}");
            }
            assert_eq!(text.offset(Position::new(1, 99)), at + 1);
            assert_eq!(text.offset(Position::new(9, 0)), text.text.len());
        }
    }

    #[test]
    fn a_part_is_replaced() {
        let mut text = Text::new("a ✓ b\nc".to_owned(), Encoding::Utf16);
        text.replace(Range::new(Position::new(0, 2), Position::new(1, 0)), "✗\n");
        assert_eq!(text.text, "a ✗\nc");
        assert_eq!(text.line(text.text.len()), 1);
    }
}
