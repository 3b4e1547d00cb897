//! The text before any grammar sees it: comments and odd blanks turned into blanks of the same length, so
//! that every offset stays true; characters that nobody can see refused; lines found.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::{Source, Span};

use super::ast::{Comment, Place};
use crate::front::{Sink, blank};

/// The most bytes that a file may have.
pub const MAX_BYTES: usize = 1 << 20;

/// A text ready to be cut into pieces.
pub struct Text {
    /// The text with comments as blanks; as long as the source.
    pub masked: String,
    /// The comments.
    pub comments: Vec<Comment>,
    /// Where each line starts.
    line_starts: Vec<usize>,
}

impl Text {
    /// The line, from 0, that holds an offset.
    pub fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The place of a span.
    pub fn place(&self, span: Span) -> Place {
        Place { span, line: self.line_of(span.start) }
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.masked.get(span.range()).unwrap_or("")
    }

    /// The lines that are not blank, without the blanks around them.
    pub fn lines(&self) -> Vec<Span> {
        let ends = self.line_starts.iter().skip(1).copied().chain([self.masked.len()]);
        self.line_starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| self.trim(Span::new(start, end)))
            .filter(|line| line.start < line.end)
            .collect()
    }

    /// The span without the blanks at its ends.
    pub fn trim(&self, span: Span) -> Span {
        let text = self.slice(span);
        let start = span.start + (text.len() - text.trim_start().len());
        Span::new(start, (span.start + text.trim_end().len()).max(start))
    }
}

/// Prepares a text; `None` if it is too large to look at.
pub fn scan(source: &Source, sink: &mut Sink) -> Option<Text> {
    let text = source.text.as_str();
    if text.len() > MAX_BYTES {
        let message = format!("the file has {} bytes, and {MAX_BYTES} are the limit", text.len());
        sink.push(Diagnostic::error(Code::FileTooLarge, Span::new(0, 0), message));
        return None;
    }
    let mut masked = String::with_capacity(text.len());
    let mut comments = Vec::new();
    let mut quoted = false;
    let mut offset = 0;
    while let Some(character) = text[offset..].chars().next() {
        let rest = &text[offset..];
        // Most of a text says nothing about comments, quotes or blanks.
        let plain = rest.bytes().take_while(|byte| is_plain(*byte, quoted)).count();
        if plain > 0 {
            masked.push_str(&rest[..plain]);
            offset += plain;
            continue;
        }
        let mut length = character.len_utf8();
        // A name may hold a `#`, and a comment follows a blank.
        let sharp = character == '#' && !text[..offset].ends_with(|c: char| !c.is_whitespace());
        if !quoted && (sharp || ["//", "(*", "/*"].iter().any(|sign| rest.starts_with(sign))) {
            length = comment_length(rest, offset, sink);
            let span = Span::new(offset, offset + length);
            let shown = rest[..length].replace('\r', "");
            let text = shown.trim_end().to_owned();
            comments.push(Comment { text, own_line: false, place: Place { span, line: 0 } });
            masked.extend(blank(&rest[..length]));
        } else {
            match character {
                '"' => quoted = !quoted,
                '\n' => quoted = false,
                '\\' if quoted && (rest.starts_with("\\\"") || rest.starts_with("\\\\")) => {
                    length = 2
                }
                _ => {}
            }
            let refused = refuse(rest, character, offset);
            let is_masked = refused.is_some() || character != '\n' && is_blank(character, offset);
            refused.into_iter().for_each(|diagnostic| sink.push(diagnostic));
            if is_masked {
                masked.extend(blank(&rest[..length]));
            } else {
                masked.push_str(&rest[..length]);
            }
        }
        offset += length;
    }
    let line_starts =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut text = Text { masked, comments, line_starts };
    for index in 0..text.comments.len() {
        let span = text.comments[index].place.span;
        text.comments[index].place = text.place(span);
    }
    Some(text)
}

/// Whether a byte is a character that shows itself, or a line's end, and begins nothing.
fn is_plain(byte: u8, quoted: bool) -> bool {
    match byte {
        b'"' | b'\\' | b'#' | b'/' | b'(' => false,
        b'\n' => !quoted,
        byte => matches!(byte, b' '..=b'~'),
    }
}

fn is_blank(character: char, offset: usize) -> bool {
    let byte_order_mark = character == '\u{feff}' && offset == 0;
    byte_order_mark || character.is_control() || character.is_whitespace()
}

/// The length of the comment that begins here.
fn comment_length(rest: &str, offset: usize, sink: &mut Sink) -> usize {
    if rest.starts_with("//") || rest.starts_with('#') {
        return rest.find('\n').unwrap_or(rest.len());
    }
    let end = if rest.starts_with("/*") { "*/" } else { "*)" };
    match rest[2..].find(end) {
        Some(end) => end + 4,
        None => {
            let span = Span::new(offset, offset + 2);
            let message =
                format!("expected `{end}` to end this comment, found the end of the file");
            let error = Diagnostic::error(Code::UnterminatedComment, span, message);
            sink.push(error.label("begins here"));
            rest.len()
        }
    }
}

/// An error if a character is one that shows nothing, or reorders what is shown.
fn refuse(rest: &str, character: char, offset: usize) -> Option<Diagnostic> {
    let line_end = character == '\r' && rest.starts_with("\r\n");
    let control = character.is_control() && !matches!(character, '\n' | '\t') && !line_end;
    let invisible = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    if !(control || invisible && !(character == '\u{feff}' && offset == 0)) {
        return None;
    }
    let span = Span::new(offset, offset + character.len_utf8());
    let message =
        format!("expected visible text, found the character U+{:04X}", u32::from(character));
    let error = Diagnostic::error(Code::InvisibleCharacter, span, message);
    let error = error.help("delete it; only comments may contain such characters");
    Some(error.fixed("delete the character", span, ""))
}
