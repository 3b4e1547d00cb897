//! What is known of a library's text.

use std::sync::{LazyLock, Mutex};

use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::library::Library;
use lang::mutex::lock;
use lang::source::{Source, Span};
use model::library::{self, shipped};
use model::{models, refine};

use crate::names::{LIBRARY, MODEL, Names, Occurrence, Space, words};

/// A library.
pub struct LibraryText {
    /// The library, if nothing is wrong.
    pub library: Option<Library>,
    /// What it defines, in the order of the text.
    pub parts: Vec<Part>,
}

/// A class, a method, memory, or what else a library defines.
pub struct Part {
    /// The word before it: `call`.
    pub word: &'static str,
    /// Its name.
    pub name: String,
    /// Where its name is.
    pub at: Span,
    /// Its place.
    pub whole: Span,
}

/// The words of the language.
pub const KEYWORDS: [&str; 44] = [
    "library",
    "source",
    "class",
    "call",
    "requires",
    "shares",
    "shows",
    "specification",
    "marked",
    "consistency",
    "sequential",
    "service",
    "linearizable",
    "implementation",
    "memory",
    "object",
    "local",
    "over",
    "of",
    "calls",
    "words",
    "locations",
    "also",
    "like",
    "before",
    "equal",
    "per",
    "node",
    "thread",
    "id",
    "at",
    "home",
    "for",
    "in",
    "if",
    "else",
    "loop",
    "while",
    "break",
    "skip",
    "return",
    "reads",
    "writes",
    "when",
];

/// The words of models that may stand in it.
const OF_MODELS: [&str; 9] =
    ["let", "rec", "and", "exists", "total", "on", "extends", "acyclic", "empty"];

/// What defines the word behind it.
const DEFINE: [&str; 8] = ["class", "call", "memory", "let", "rec", "exists", "local", "object"];

impl LibraryText {
    /// Reads it. With it come its names, and what is wrong with it.
    pub fn new(source: &Source) -> (Self, Names, Vec<Diagnostic>) {
        let names = names(&source.text);
        let parts = parts(&source.text, &names);
        match library::load(source) {
            Ok(found) => {
                let base = crate::shipped::model(models::UNDER_LIBRARIES);
                let base = base.as_ref().map(|base| &base.loaded.model);
                let wrong = base.map(|base| wrong_at_calls(&found, base));
                (Self { library: Some(found), parts }, names, wrong.unwrap_or_default())
            }
            Err(errors) => {
                let errors = errors.into_iter().map(|(_, error)| error).collect();
                (Self { library: None, parts }, names, errors)
            }
        }
    }
}

/// What only calls show, of the library that is edited.
fn wrong_at_calls(library: &Library, base: &Model) -> Vec<Diagnostic> {
    static CALLS: LazyLock<Mutex<refine::Calls>> = LazyLock::new(Mutex::default);
    let mut calls = lock(&CALLS);
    refine::wrong_at_calls_again(shipped(), library, base, &mut calls)
}

/// Whether a word is one of the language.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || OF_MODELS.contains(&word)
}

/// The names of a text. Those that a method's head or body brings are its own.
fn names(text: &str) -> Names {
    let all = all_words(text);
    let methods = methods(text, &all);
    let mut found = Vec::new();
    let mut before = "";
    for span in &all {
        let word = &text[span.range()];
        // `memory Class.name` and `object Class.name` define what is behind the dot.
        let is_class = ["memory", "object"].contains(&before) && text[span.end..].starts_with('.');
        if !is_keyword(word) {
            let dotted = text[..span.start].ends_with('.');
            let method = methods.iter().find(|method| method.holds(*span) && !dotted);
            let space = match method {
                Some(method) if method.locals.contains(&word) => Space::Local(method.span.start),
                _ => Space::Value,
            };
            let defines = DEFINE.contains(&before) && !is_class;
            found.push(Occurrence { name: word.to_owned(), span: *span, space, defines });
        }
        if !is_class {
            before = word;
        }
    }
    Names::with_locals(found)
}

/// The words of a text. Those of its consistency are a model's: `same-object` is one.
fn all_words(text: &str) -> Vec<Span> {
    let mut all = words(text, LIBRARY);
    let is_block = |span: &&Span| {
        &text[span.range()] == "consistency" && text[span.end..].trim_start().starts_with('{')
    };
    let blocks: Vec<Span> = all
        .iter()
        .filter(is_block)
        .map(|span| Span::new(span.end, end_of(text, span.end)))
        .collect();
    for block in blocks {
        all.retain(|span| span.end <= block.start || block.end <= span.start);
        let inside = words(&text[block.range()], MODEL).into_iter();
        all.extend(inside.map(|span| Span::new(span.start + block.start, span.end + block.start)));
    }
    all.sort_unstable();
    all
}

/// What a text defines, without what methods keep to themselves.
fn parts(text: &str, names: &Names) -> Vec<Part> {
    let defined = names.all().iter().filter(|one| one.defines && one.space == Space::Value);
    let part = |one: &Occurrence| {
        let line = text[..one.span.start].rfind('\n').map_or(0, |at| at + 1);
        let before = &text[line..one.span.start];
        let word = DEFINE.iter().find_map(|word| Some((*word, before.rfind(word)?)));
        let (word, at) = word?;
        let start = line + at;
        let end = match word {
            "call" => end_of(text, start),
            _ => text[start..].find('\n').map_or(text.len(), |end| start + end),
        };
        let whole = Span::new(start, end.max(one.span.end));
        Some(Part { word, name: one.name.clone(), at: one.span, whole })
    };
    defined.filter_map(part).collect()
}

struct Method<'t> {
    span: Span,
    locals: Vec<&'t str>,
}

impl Method<'_> {
    fn holds(&self, span: Span) -> bool {
        self.span.start <= span.start && span.end <= self.span.end
    }
}

/// From each word `call` to the end of what it begins, with the names that are known there only.
fn methods<'t>(text: &'t str, words: &[Span]) -> Vec<Method<'t>> {
    let begins = |span: &&Span| &text[span.range()] == "call";
    let mut found = Vec::new();
    for start in words.iter().filter(begins) {
        let span = Span::new(start.start, end_of(text, start.end));
        let inside = words.iter().filter(|word| span.start <= word.start && word.end <= span.end);
        let mut locals = Vec::new();
        let (mut before, mut in_head) = ("", true);
        for word in inside {
            let (name, after) = (&text[word.range()], text[word.end..].trim_start());
            let is_parameter = in_head && after.starts_with([',', ')', '=']);
            if is_parameter || before == "for" || after.starts_with(":=") {
                locals.push(name);
            }
            in_head &= !after.starts_with(')');
            before = name;
        }
        found.push(Method { span, locals });
    }
    found
}

/// The end of the braces that open next, or of the line if none do on it.
fn end_of(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let line = rest.find('\n').unwrap_or(rest.len());
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth <= 1 => return from + at + 1,
            '}' => depth -= 1,
            '\n' if depth == 0 && at >= line => return from + at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_methods_are_their_own() {
        let text =
            "class L\ncall Do(L l) { aMF }\ncall Un(L l) {\n  v := l.next\n}\nmemory L.next\n";
        let names = names(text);
        let at = |index: usize| {
            let found = names.at(text.match_indices("l)").nth(index).map_or(0, |(at, _)| at));
            names.same(found.expect("a name")).count()
        };
        assert_eq!((at(0), at(1)), (1, 2));
        let next = names.definition("next", &Space::Value).expect("memory");
        assert_eq!(&text[next.span.start - 2..next.span.end], "L.next");
        let parts: Vec<(&str, String)> =
            parts(text, &names).into_iter().map(|part| (part.word, part.name)).collect();
        let expected = [("class", "L"), ("call", "Do"), ("call", "Un"), ("memory", "next")];
        assert_eq!(parts, expected.map(|(word, name)| (word, name.to_owned())));
        assert!(names.definition("aMF", &Space::Value).is_none(), "it is no name of this file");
    }
}
