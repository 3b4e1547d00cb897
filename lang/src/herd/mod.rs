//! herd's litmus files for X86 and X86_64, read as programs of ours on one node.
//!
//! [`convert`] turns such a text into the tree of a file of ours: `parse` reads it by the grammar
//! `herd.pest`, `lower` finds statements for instructions and `jumps` for branches. What is not known is
//! refused with its place: herd takes a misspelt register for a new one, and so answers another question than
//! was asked. [`write()`] is the other way.

mod condition;
mod instructions;
mod jumps;
mod lower;
mod parse;
mod registers;
mod write;

use crate::Test;
use crate::diagnostic::Diagnostic;
use crate::front::Sink;
use crate::library::Words;
use crate::litmus;
use crate::litmus::ast::File;
use crate::source::Source;

pub use lower::shown_name;
pub use registers::Architecture;
pub use write::{MARK, Written, write};

/// The format of a text, if its first word names one of herd's.
pub fn architecture(text: &str) -> Option<Architecture> {
    if !text.trim_start().starts_with(['X', '(']) {
        return None;
    }
    match parse::without_comments(text).split_whitespace().next()? {
        "X86" => Some(Architecture::X86),
        "X86_64" => Some(Architecture::X86_64),
        _ => None,
    }
}

/// Architectures of herd's whose files are not read.
const OTHER_ARCHITECTURES: [&str; 10] =
    ["AArch64", "ARM", "ASL", "BPF", "C", "CPP", "LISA", "MIPS", "PPC", "RISCV"];

/// The first word of a text, if it names an architecture of herd's whose files are not read.
pub fn other_architecture(text: &str) -> Option<&'static str> {
    let text = parse::without_comments(text);
    let first = text.split_whitespace().next()?;
    OTHER_ARCHITECTURES.into_iter().find(|known| *known == first)
}

/// The file as one of ours, under a name that ours can have. There is a tree iff there is no error.
pub fn convert(source: &Source) -> (Option<File>, Vec<Diagnostic>) {
    let (file, diagnostics) = tree(source);
    let named = file.map(|mut file| {
        file.name.text = our_name(&file.name.text, source);
        file
    });
    (named, diagnostics)
}

/// The file's tree, under herd's name.
fn tree(source: &Source) -> (Option<File>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let file = parse::read(source, &mut sink).and_then(|raw| lower::file(&raw, &mut sink));
    (file.filter(|_| !sink.has_errors()), sink.finish())
}

/// A name for a file and its first line: herd's may have blanks and slashes, or be missing.
fn our_name(name: &str, source: &Source) -> String {
    let is_ours = |c: char| !(c.is_whitespace() || c.is_control() || "/\\\"".contains(c));
    let ours: String = name.chars().map(|c| if is_ours(c) { c } else { '_' }).collect();
    if !ours.is_empty() {
        return ours;
    }
    let stem = std::path::Path::new(&source.name).file_stem();
    let stem = stem.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = stem.replace(|c: char| !is_ours(c), "_");
    if stem.is_empty() { "test".to_owned() } else { stem }
}

/// Reads and checks a file. Its registers are shown under herd's names, such as `0:rax`.
pub fn load(source: &Source) -> (Option<Test>, Vec<Diagnostic>) {
    let (file, mut diagnostics) = tree(source);
    let Some(file) = file else { return (None, diagnostics) };
    let (mut test, more) = litmus::check(&file, source, Words::default());
    // Files are named as their owners like, and instructions may leave registers unused.
    diagnostics.extend(more.into_iter().filter(Diagnostic::is_error));
    if let Some(test) = &mut test {
        for observable in &mut test.observables {
            observable.name = shown_name(&observable.name);
        }
        for expectation in &mut test.expectations {
            let text = source.text.get(expectation.span.range()).unwrap_or_default();
            expectation.text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
    }
    (test, diagnostics)
}

#[cfg(test)]
mod tests;
