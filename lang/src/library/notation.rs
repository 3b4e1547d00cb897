//! How programs write calls that are not written as calls, as a library's text declares it:
//! `written x :=SV v`.
//!
//! A program says which notation it uses, and its libraries say which method that is. Both compare a pattern,
//! in which `o` and `p` are objects, `v` is a value, `d` a work id, and `r` what takes the result.

use super::syntax::{Method, ParameterKind};
use super::{Library, Parameter};

/// The class of objects that are declared as `x[2] = 0`, by whatever name the library that writes them so
/// calls it.
pub const WORDS: &str = "[]";
/// What an object is, for messages.
pub fn of_class(class: &str) -> String {
    if class == WORDS { "of several words".to_owned() } else { format!("of class {class}") }
}

/// `x := (1, 2)`.
pub const WRITE_WORDS: &str = "o:=v";
/// `~x :=^d y`.
pub const PUT_WORDS: &str = "~o:=^d p";
/// `x :=^d ~y`.
pub const GET_WORDS: &str = "o:=^d~p";

/// `x :=SV v`.
pub fn write_by(mark: &str) -> String {
    format!("o:={mark} v")
}

/// `a :=SV x`.
pub fn read_by(mark: &str) -> String {
    format!("r:={mark} o")
}

/// What of a call's pattern readers of messages know: `:=SV`.
pub fn shown(method: &str) -> String {
    match method.split_once(":=") {
        Some((_, rest)) => format!(":={}", rest.split([' ', '~']).next().unwrap_or_default()),
        None => method.to_owned(),
    }
}

impl Method {
    /// The text of a call as programs write it, with what stands for its words, if it has a notation.
    pub fn notation(&self, mut stands: impl FnMut(&str) -> Option<String>) -> Option<String> {
        let text = self.written.as_ref()?;
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = match is_word(first) {
                true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (part, after) = rest.split_at(end);
            out.push_str(&stands(part).unwrap_or_else(|| part.to_owned()));
            rest = after;
        }
        Some(out)
    }

    /// What calls say for its name: a word, or the pattern of an assignment.
    pub(super) fn pattern(&self) -> Option<String> {
        if let Some((word, _)) = self.written.as_ref()?.split_once('(') {
            return Some(word.trim().to_owned());
        }
        let objects =
            self.parameters.iter().filter(|one| matches!(one.kind, ParameterKind::Object(_)));
        let objects: Vec<&Parameter> = objects.collect();
        let mark = self.written.as_ref()?.split_once(":=").map_or("", |(_, rest)| {
            rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
        });
        let stands = |word: &str| {
            let known = self.parameters.iter().find(|parameter| parameter.name == word);
            let letter = match known.map(|known| &known.kind) {
                Some(ParameterKind::Object(_))
                    if objects.first().is_some_and(|one| one.name == word) =>
                {
                    "o"
                }
                Some(ParameterKind::Object(_)) => "p",
                Some(ParameterKind::Id) => "d",
                Some(_) => "v",
                None if word == mark || !word.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                    return None;
                }
                None => "r",
            };
            Some(letter.to_owned())
        };
        let text = self.notation(stands)?;
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let mut pattern = String::new();
        for word in text.split_whitespace() {
            if is_word(pattern.chars().next_back()) && is_word(word.chars().next()) {
                pattern.push(' ');
            }
            pattern.push_str(word);
        }
        Some(pattern)
    }
}

impl Library {
    /// A method by its name, or by how programs write it, with its number.
    pub fn method(&self, name: &str) -> Option<(usize, &Method)> {
        let all = || self.methods.iter().enumerate();
        let named = all().find(|(_, method)| method.name == name);
        named.or_else(|| all().find(|(_, method)| method.pattern().as_deref() == Some(name)))
    }

    /// Whether calls on its objects are written as assignments, and conditions have their values.
    pub fn is_assigned(&self) -> bool {
        self.methods.iter().any(|method| method.written.is_some())
    }
}
