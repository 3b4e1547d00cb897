//! Litmus programs.
//!
//! Text becomes an [`ast::File`] ([`parse()`]), which says what the file says, and then a [`Test`]
//! ([`check()`]), in which every name is resolved; [`load`] does both. [`print()`] writes a tree in its one
//! normal form. The language is described in `docs/language.md`, and its grammar in `litmus.pest`.

pub mod ast;
mod check;
pub mod methods;
pub mod models;
pub mod names;
mod parse;
mod print;
mod survey;
mod text;

use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::herd;
use crate::library::Words;
use crate::outcome::Asked;
use crate::source::{Source, Span};
use crate::{Dialect, Test};

pub use parse::{LITMUS_MAX_NESTING as MAX_NESTING, complete, is_name};
pub use print::item_lines;
pub use survey::{Survey, survey};
pub use text::MAX_BYTES;

/// The most nodes, and the most threads, that a program may have.
pub const MAX_THREADS: usize = 64;

/// The most words of an array.
pub const MOST_WORDS: u64 = 64;

/// Reads a file's syntax, with the words of these libraries. There is a tree iff there is no error.
pub fn parse(source: &Source, words: Words<'_>) -> (Option<ast::File>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let file = parse::file(source, words, &mut sink);
    (file.filter(|_| !sink.has_errors()), sink.finish())
}

/// Resolves a file's names. There is a test iff there is no error.
///
/// The source is the one that the file was read from; its name is compared with the header's.
pub fn check(
    file: &ast::File,
    source: &Source,
    words: Words<'_>,
) -> (Option<Test>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let (test, _) = check::file(file, source, words, &mut sink);
    (Some(test).filter(|_| !sink.has_errors()), sink.finish())
}

/// Reads and checks a file, ours or one of herd's for x86, in which objects are declared, and calls of
/// libraries are by their names. There is a test iff there is no error.
pub fn load(source: &Source) -> (Option<Test>, Vec<Diagnostic>) {
    load_with(source, Words::default())
}

/// Reads and checks a file that may use all words of these libraries.
pub fn load_with(source: &Source, words: Words<'_>) -> (Option<Test>, Vec<Diagnostic>) {
    if herd::architecture(&source.text).is_some() {
        return herd::load(source);
    }
    let (file, mut diagnostics) = parse(source, words);
    let Some(file) = file else { return (None, diagnostics) };
    let (test, more) = check(&file, source, words);
    diagnostics.extend(more);
    (test, diagnostics)
}

/// Reads what is asked about a test in the language of verdicts: conditions that all hold. What the test's
/// outcomes do not show yet, they show from now on, behind all else.
///
/// # Errors
/// What is wrong with the text, with places in it.
pub fn ask(source: &Source, test: &mut Test) -> Result<Asked, Vec<Diagnostic>> {
    let mut sink = Sink::default();
    let asked = parse::asked(source, &mut sink).filter(|_| !sink.has_errors());
    let asked = asked.and_then(|question| check::asked(question, test, &mut sink));
    asked.ok_or_else(|| sink.finish())
}

/// The file in its one normal form, which `litmus fmt` writes. Nothing but places is lost by it.
pub fn print(file: &ast::File) -> String {
    print::file(file)
}

/// A statement in one line, as [`print()`] writes it; the bodies of one that has them are left out.
pub fn in_one_line(statement: &ast::Statement, dialect: Dialect) -> String {
    print::in_one_line(statement, dialect)
}

/// The text of a file's bytes.
///
/// # Errors
/// Bytes that are not UTF-8 (`not-utf8`), or nothing but blanks (`empty-file`); with the error comes a
/// source to draw it into.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Source, Box<(Diagnostic, Source)>> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.trim_start_matches('\u{feff}').trim().is_empty() => {
            let source = Source::new(name, text);
            let message = "expected a litmus program, found an empty file";
            let error = Diagnostic::error(Code::EmptyFile, Span::new(0, 0), message);
            Err(Box::new((error.help("the first line is `litmus NAME`"), source)))
        }
        Ok(text) => Ok(Source::new(name, text)),
        Err(error) => {
            let at = error.valid_up_to();
            let source = Source::new(name, String::from_utf8_lossy(bytes));
            let (line, column) = source.line_column(at);
            let byte = bytes.get(at).copied().unwrap_or(0);
            let message = format!(
                "expected UTF-8 text, found the byte 0x{byte:02x} on line {line}, column {column}"
            );
            // The replacement character takes three bytes in the text that is shown.
            let span = Span::new(at, at + '\u{fffd}'.len_utf8());
            let error = Diagnostic::error(Code::NotUtf8, span, message);
            Err(Box::new((error.help("save the file as UTF-8"), source)))
        }
    }
}
