//! What is known of a library's text.

use lang::diagnostic::Diagnostic;
use lang::library::Library;
use lang::source::{Source, Span};
use model::library::{self, shipped};
use model::{models, refine};

use crate::names::{LIBRARY, Names, Occurrence, Space, words};

/// A library.
pub struct LibraryText {
    /// The library, if nothing is wrong.
    pub library: Option<Library>,
}

/// The words of the language.
pub const KEYWORDS: [&str; 43] = [
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
const DEFINE: [&str; 7] = ["class", "call", "memory", "let", "exists", "local", "object"];

impl LibraryText {
    /// Reads it. With it come its names, and what is wrong with it.
    pub fn new(source: &Source) -> (Self, Names, Vec<Diagnostic>) {
        let names = names(&source.text);
        match library::load(source) {
            Ok(found) => {
                let base = models::load_shipped(models::UNDER_LIBRARIES).and_then(Result::ok);
                let wrong = base.map(|base| refine::wrong_at_calls(shipped(), &found, &base.model));
                (Self { library: Some(found) }, names, wrong.unwrap_or_default())
            }
            Err(errors) => {
                let errors = errors.into_iter().map(|(_, error)| error).collect();
                (Self { library: None }, names, errors)
            }
        }
    }
}

/// The names of a text. Those that a method's head or body brings are its own.
fn names(text: &str) -> Names {
    let all = words(text, LIBRARY);
    let methods = methods(text, &all);
    let mut found = Vec::new();
    let mut before = "";
    for span in &all {
        let word = &text[span.range()];
        let is_keyword = KEYWORDS.contains(&word) || OF_MODELS.contains(&word);
        if !is_keyword {
            let dotted = text[..span.start].ends_with('.');
            let method = methods.iter().find(|method| method.holds(*span) && !dotted);
            let space = match method {
                Some(method) if method.locals.contains(&word) => Space::Local(method.span.start),
                _ => Space::Value,
            };
            let defines = DEFINE.contains(&before) || dotted && before == "memory";
            found.push(Occurrence { name: word.to_owned(), span: *span, space, defines });
        }
        // `memory Class.name` defines the name.
        if !(before == "memory" && text[span.end..].starts_with('.')) {
            before = word;
        }
    }
    Names::introduced(found)
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
    }
}
