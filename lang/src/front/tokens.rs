//! Text to tokens.

use logos::{FilterResult, Lexer, Logos};

use crate::diagnostic::{Code, Diagnostic};
use crate::limits;
use crate::source::Span;

/// The most flaws of a text that are reported.
const MOST_FLAWS: usize = 64;

/// What the tokens of a language can be.
pub(crate) trait Kind:
    Copy + PartialEq + for<'t> Logos<'t, Source = str, Error = Flaw, Extras = ()>
{
    /// A word that may be a name.
    const NAME: Self;
    /// Text in quotes.
    const STRING: Self;
    /// What is not a token; its error is reported already.
    const FLAWED: Self;
    /// What stands behind the last token.
    const END: Self;
    /// What is said of a character that the language does not use.
    fn hint(character: char) -> Option<Hint>;
}

/// What to do about a character that a language does not use.
pub(crate) enum Hint {
    /// What it stands for, and how the language writes that.
    Written(&'static str, &'static str),
    /// In words.
    Words(&'static str),
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<K> {
    pub(crate) kind: K,
    pub(crate) span: Span,
    /// True if no other token stands before it on its line.
    pub(crate) first_on_line: bool,
}

/// Why a piece of text is not a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flaw {
    #[default]
    BadCharacter,
    UnclosedComment,
    UnclosedString,
    /// A name that is longer than this, in bytes.
    LongName(usize),
}

/// Skips a comment, of which `(*` has been read.
pub(crate) fn comment<'t, K: Logos<'t, Source = str>>(
    lexer: &mut Lexer<'t, K>,
) -> FilterResult<(), Flaw> {
    let text = &lexer.source()[lexer.span().start..];
    match super::end_of_comment(text) {
        Some(end) => {
            lexer.bump(end - lexer.slice().len());
            FilterResult::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            FilterResult::Error(Flaw::UnclosedComment)
        }
    }
}

pub(crate) fn unclosed_string<'t, K: Logos<'t>>(_: &mut Lexer<'t, K>) -> Result<(), Flaw> {
    Err(Flaw::UnclosedString)
}

/// The tokens of a text, the last of them [`Kind::END`], and what is wrong with the rest. A text that is not
/// fit to be read has only the end.
pub(crate) fn tokens<K: Kind>(text: &str) -> (Vec<Token<K>>, Vec<Diagnostic>) {
    let end = Span::new(text.len(), text.len());
    let end = Token { kind: K::END, span: end, first_on_line: true };
    let unfit = unfit(text);
    if !unfit.is_empty() {
        return (vec![end], unfit);
    }
    let mut tokens = Vec::new();
    let mut flaws: Vec<(Flaw, Span)> = Vec::new();
    let mut last = 0;
    for (result, range) in K::lexer(text).spanned() {
        limits::look();
        let span = Span::new(range.start, range.end);
        let first_on_line = last == 0 || text[last..span.start].contains('\n');
        last = span.end;
        let kind = match (result, flaws.last_mut()) {
            (Ok(kind), _) => kind,
            (Err(Flaw::BadCharacter), Some((Flaw::BadCharacter, known)))
                if known.end == span.start =>
            {
                known.end = span.end;
                continue;
            }
            (Err(flaw), _) => {
                flaws.push((flaw, span));
                K::FLAWED
            }
        };
        tokens.push(Token { kind, span, first_on_line });
    }
    tokens.push(end);
    flaws.truncate(MOST_FLAWS);
    let flaws = flaws.into_iter().map(|(flaw, span)| describe::<K>(flaw, span, text));
    (tokens, flaws.collect())
}

/// Whether a text is one name, and nothing else.
pub(crate) fn is_name<K: Kind>(text: &str) -> bool {
    let (tokens, flaws) = tokens::<K>(text);
    let is_whole =
        |token: &Token<K>| token.kind == K::NAME && token.span.range() == (0..text.len());
    flaws.is_empty() && tokens.first().is_some_and(is_whole)
}

/// Why a text is not read at all: it is too large, or not what it looks like.
fn unfit(text: &str) -> Vec<Diagnostic> {
    if text.len() <= super::LARGEST_FILE {
        return hidden_characters(text);
    }
    let message = format!("expected a file of at most {} bytes", super::LARGEST_FILE);
    let error = Diagnostic::error(Code::TooLarge, Span::default(), message);
    vec![error.label(format!("this one has {}", text.len()))]
}

fn describe<K: Kind>(flaw: Flaw, span: Span, text: &str) -> Diagnostic {
    match flaw {
        Flaw::UnclosedComment => {
            let opening = Span::new(span.start, span.start + 2);
            Diagnostic::error(Code::UnclosedComment, opening, "this comment has no end")
                .label("opened here")
                .help("comments nest: every `(*` needs its own `*)`")
        }
        Flaw::UnclosedString => {
            Diagnostic::error(Code::UnclosedString, span, "this string has no end on its line")
                .label("expected `\"` before the end of the line")
        }
        Flaw::LongName(most) => {
            let message = format!("a name has at most {most} characters");
            Diagnostic::error(Code::TooLarge, span, message)
        }
        Flaw::BadCharacter => {
            let found = &text[span.range()];
            let message = format!("`{found}` has no meaning in a model");
            let error = Diagnostic::error(Code::BadCharacter, span, message);
            match found.chars().next().and_then(K::hint) {
                Some(Hint::Written(what, how)) => {
                    let error = error.help(format!("{what} is written `{how}`"));
                    let is_alone = found.chars().count() == 1;
                    if is_alone { error.replace(span, how) } else { error }
                }
                Some(Hint::Words(words)) => error.help(words),
                None => error,
            }
        }
    }
}

/// Control characters, and those that make text look like what it is not: errors even in comments.
fn hidden_characters(text: &str) -> Vec<Diagnostic> {
    text.char_indices()
        .filter(|(_, character)| is_hidden(*character))
        .take(MOST_FLAWS)
        .map(|(start, character)| {
            let span = Span::new(start, start + character.len_utf8());
            let code_point = u32::from(character);
            let message = format!(
                "the hidden character U+{code_point:04X} is not accepted, not even in comments"
            );
            let error = Diagnostic::error(Code::BadCharacter, span, message);
            error.fixed("delete the character", span, "")
        })
        .collect()
}

fn is_hidden(character: char) -> bool {
    // Most are none of it, and all texts that are shipped are read at every start.
    if matches!(character, ' '..='~' | '\n') {
        return false;
    }
    (character.is_control() && !matches!(character, '\r' | '\t'))
        || matches!(
            character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}
