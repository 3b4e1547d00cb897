//! The words that libraries give to programs: classes, methods, marks, and how else people spell them.

use std::sync::Arc;

use super::notation::{GET_WORDS, PUT_WORDS, WORDS, WRITE_WORDS, read_by, write_by};
use super::{Collection, Library, Method, ParameterKind};
use crate::{Dialect, litmus};

/// The libraries whose words a program may use. Without any, a program has objects of declared classes, and
/// calls by their names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    libraries: Option<&'a Collection>,
}

/// A method that a word spells.
#[derive(Clone, Copy, Debug)]
pub struct Called<'a> {
    /// Its library.
    pub library: &'a Library,
    /// The method.
    pub method: &'a Method,
    /// Whether the word has the library's mark, as in `Acq_WL`.
    pub is_marked: bool,
}

/// An assignment that papers write as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `Write(x, 1)` is `x := 1`.
    Write,
    /// `Write(x, 1, 2)` is `x := (1, 2)`.
    WriteWords,
    /// `a := Read(x)` is `a := x`.
    Read,
    /// `Put(x, y, d)` is `~x :=^d y`.
    Put,
    /// `Get(a, x, d)` is `a :=^d ~x`.
    Get,
}

/// The mark of the base language's statements.
const BASE: &str = "TSO";

impl<'a> Words<'a> {
    /// The words of these libraries. If two have the same word, the later one applies.
    pub fn of(libraries: &'a Collection) -> Self {
        Self { libraries: Some(libraries) }
    }

    fn in_order(self) -> impl DoubleEndedIterator<Item = &'a Library> {
        let all: &[Arc<Library>] = self.libraries.map_or(&[], |libraries| libraries);
        all.iter().map(AsRef::as_ref)
    }

    fn all(self) -> impl Iterator<Item = &'a Library> {
        self.in_order().rev()
    }

    /// The class that a word spells, in any letter case, and its library.
    pub fn class(self, word: &str) -> Option<(&'a Library, &'a str)> {
        self.all().find_map(|library| {
            let named = library.classes.iter().find(|class| class.eq_ignore_ascii_case(word));
            let spelled = || library.class_spellings.iter().find(|(other, _)| is(other, word));
            let class = named.or_else(|| spelled().map(|(_, class)| class))?;
            Some((library, class.as_str()))
        })
    }

    /// The text of declarations with each class spelled as the grammar knows classes: in one word that begins
    /// with a capital letter. No place in the text changes. A class has a name behind it: what has none is a
    /// name itself, such as a location `ring`.
    pub(crate) fn with_classes(self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let word = first_word(rest);
            let after = rest[word.len()..].trim_start();
            let next = first_word(after);
            let joined = || format!("{word}{next}");
            let whole = rest.len() - after.len() + next.len();
            let has_name = |behind: &str| behind.trim_start().starts_with(first_letter);
            let is_class = |word: &str| self.class(word).is_some();
            let (taken, class) = match has_name(after) {
                true if has_name(&after[next.len()..]) && is_class(&joined()) => (whole, joined()),
                true if is_class(word) => (word.len(), word.to_owned()),
                _ => {
                    out.push_str(word);
                    rest = &rest[word.len()..];
                    continue;
                }
            };
            out.push_str(&class[..1].to_ascii_uppercase());
            out.push_str(&class[1..]);
            out.push_str(&" ".repeat(taken - class.len()));
            rest = &rest[taken..];
            // The name may be that of a class in small letters: `Ring ring`.
            let name = rest.len() - rest.trim_start().len();
            let end = name + first_word(&rest[name..]).len();
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        out + rest
    }

    /// The library of a class, or of objects that are declared as `x[2] = 0`.
    pub fn library(self, class: &str) -> Option<&'a Library> {
        self.all().find(|library| match class {
            WORDS => library.words.is_some(),
            class => library.classes.iter().any(|known| known == class),
        })
    }

    /// The method that a word spells, with its library's mark or without.
    pub fn method(self, word: &str) -> Option<Called<'a>> {
        let plain = self.all().find_map(|library| {
            let method = library.methods.iter().find(|method| method.is_spelled(word))?;
            Some(Called { library, method, is_marked: false })
        });
        let is_it = |method: &Method, base: &str| {
            method.is_spelled(base) || method.word().is_some() && is(&method.name, base)
        };
        plain.or_else(|| self.marked(word, is_it))
    }

    /// A word that ends with a mark, `Acq_WL`, `Submit^RBL`: what stands before it, and the mark.
    fn split<'w>(self, word: &'w str) -> Option<(&'w str, &'a str)> {
        let marks = || self.all().filter_map(|library| library.mark.as_deref()).chain([BASE]);
        let Some((base, mark)) = word.split_once('^').or_else(|| word.rsplit_once('_')) else {
            return marks().find_map(|mark| Some((word.strip_suffix(mark)?, mark)));
        };
        let mark = mark.trim_start_matches('{').trim_end_matches('}');
        marks().find(|known| is(known, mark)).map(|mark| (base, mark))
    }

    /// The method by a word with a library's mark, the word as `is_it` compares it.
    fn marked(self, word: &str, is_it: impl Fn(&Method, &str) -> bool) -> Option<Called<'a>> {
        let (base, mark) = self.split(word)?;
        // `Wait_SV` is the method `WaitSV`, and `CAS_SC` is written `CASSC`.
        let whole = format!("{base}{mark}");
        self.all().filter(|library| library.mark.as_deref() == Some(mark)).find_map(|library| {
            let find = |word: &str| library.methods.iter().find(|method| is_it(method, word));
            let method = find(&whole).or_else(|| find(base))?;
            Some(Called { library, method, is_marked: true })
        })
    }

    /// The statement of the base language that a word with a mark spells, if those of the mark have it.
    pub(crate) fn base(self, word: &str) -> Option<litmus::methods::Method> {
        let (base, mark) = self.split(word)?;
        let method = litmus::methods::lookup(Dialect::Rdma, base)?;
        let has = |library: &Library| {
            let names = library.methods.iter().map(|method| &method.name).chain(&library.shares);
            names.into_iter().any(|name| name == method.spelling())
        };
        let mut of_mark = self.all().filter(|library| library.mark.as_deref() == Some(mark));
        (mark == BASE || of_mark.any(has)).then_some(method)
    }

    /// The assignment that a word means, and the mark that stands behind its `:=`.
    pub(crate) fn access(self, word: &str) -> Option<(Access, Option<&'a str>)> {
        if let Some(called) = self.marked(word, |method, base| is(&method.name, base)) {
            return called.method.access();
        }
        let base =
            self.split(word).filter(|(_, mark)| *mark == BASE).map_or(word, |(base, _)| base);
        let all = [
            ("Write", Access::Write),
            ("Read", Access::Read),
            ("Put", Access::Put),
            ("Get", Access::Get),
        ];
        all.into_iter().find(|(word, _)| is(word, base)).map(|(_, access)| (access, None))
    }

    /// The assignment that a word means for an object of a class.
    pub(crate) fn access_of(self, class: &str, word: &str) -> Option<(Access, Option<&'a str>)> {
        let library = self.library(class)?;
        if library.methods.iter().any(|method| method.is_spelled(word)) {
            return None;
        }
        let own = library.methods.iter().find(|method| is(&method.name, word));
        own.map_or_else(|| self.access(word), Method::access)
    }

    /// A mark as its library writes it, in the line of the mark or in how a method is written.
    pub(crate) fn mark(self, word: &str) -> Option<&'a str> {
        let known = |library: &'a Library| {
            let written = library.methods.iter().filter_map(|method| method.access()?.1);
            library.mark.as_deref().into_iter().chain(written)
        };
        self.all().flat_map(known).find(|mark| is(mark, word))
    }

    /// The method of the library of a class that a word is, as programs write it.
    pub fn of_class(self, class: &str, word: &str) -> Option<Called<'a>> {
        let library = self.library(class)?;
        let method = library.methods.iter().find(|method| method.is_spelled(word))?;
        Some(Called { library, method, is_marked: false })
    }

    /// The class whose objects are declared as locations that an assignment with a mark, or a call, is for.
    pub(crate) fn of_locations(self, is_use: impl Fn(&Method) -> bool) -> Option<&'a str> {
        self.all().find_map(|library| {
            let class = library.locations.as_deref()?;
            library.methods.iter().any(&is_use).then_some(class)
        })
    }

    /// Whether objects of a class are declared as locations are.
    pub(crate) fn is_location(self, class: &str) -> bool {
        self.library(class).is_some_and(|library| library.locations.as_deref() == Some(class))
    }

    /// The class of an object that is not declared, by what is called on it, unless there are several.
    pub(crate) fn implied(self, word: &str) -> Option<&'a str> {
        let mut classes: Vec<&str> = Vec::new();
        for library in self.all() {
            if let Some(class) = library.calls.as_deref()
                && library.methods.iter().any(|method| method.is_spelled(word))
                && !classes.contains(&class)
            {
                classes.push(class);
            }
        }
        if let [class] = classes.as_slice() { Some(class) } else { None }
    }

    /// All words that call methods, as they are printed.
    pub fn spellings(self) -> impl Iterator<Item = &'a str> {
        let methods = self.in_order().flat_map(|library| &library.methods);
        methods.flat_map(|method| method.word().into_iter().chain(method.also.iter().map(|w| &**w)))
    }

    /// How a call is written that goes by another word elsewhere.
    pub(crate) fn like(self, word: &str) -> Option<String> {
        let mut methods = self.in_order().flat_map(|library| &library.methods);
        let found = methods.find(|method| method.like.iter().any(|like| is(like, word)))?;
        found.usage()
    }
}

fn is(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn first_letter(c: char) -> bool {
    c.is_ascii_alphabetic()
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

impl Method {
    /// The word of a call, unless it is written as an assignment.
    pub fn word(&self) -> Option<&str> {
        match &self.written {
            None => Some(&self.name),
            Some(written) => {
                written.split_once('(').filter(|_| !written.contains(":=")).map(|s| s.0.trim())
            }
        }
    }

    fn is_spelled(&self, word: &str) -> bool {
        let Some(own) = self.word() else { return false };
        is(own, word) || self.also.iter().any(|other| is(other, word))
    }

    /// The assignment that it is written as, and the mark behind `:=`.
    fn access(&self) -> Option<(Access, Option<&str>)> {
        let written = self.written.as_ref()?;
        let pattern = self.pattern()?;
        let (_, rest) = written.split_once(":=")?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let mark = &rest[..end];
        match pattern.as_str() {
            WRITE_WORDS => Some((Access::WriteWords, None)),
            PUT_WORDS => Some((Access::Put, None)),
            GET_WORDS => Some((Access::Get, None)),
            other if other == write_by(mark) => Some((Access::Write, Some(mark))),
            other if other == read_by(mark) => Some((Access::Read, Some(mark))),
            _ => None,
        }
    }

    /// Whether it is written as an assignment with this mark.
    pub(crate) fn is_assigned_by(&self, mark: &str) -> bool {
        self.access().is_some_and(|(_, own)| own == Some(mark))
    }

    /// Whether any case of it gives a value.
    pub fn has_result(&self) -> bool {
        self.cases.iter().any(|case| case.returns.is_some())
    }

    /// Whether it is on an object.
    pub fn has_object(&self) -> bool {
        self.parameters.iter().any(|one| matches!(one.kind, ParameterKind::Object(_)))
    }

    /// Whether all that it does is to wait for operations of a work id.
    pub fn is_wait(&self) -> bool {
        matches!(self.parameters.as_slice(), [one] if one.kind == ParameterKind::Id)
    }

    /// The fewest and the most arguments of a call. A work id may be left out if something else is passed.
    pub fn arity(&self) -> (usize, usize) {
        let all = self.parameters.iter();
        let is_open = |kind: &ParameterKind| *kind == ParameterKind::Values;
        let most = if all.clone().any(|one| is_open(&one.kind)) { 255 } else { all.len() };
        let needed = all.filter(|one| one.default.is_none() && one.kind != ParameterKind::Id);
        (needed.count().max(self.parameters.len().min(1)), most)
    }

    /// How a call is written, for hints: `a := Submit(x, 1)`.
    pub fn usage(&self) -> Option<String> {
        let values = self.parameters.iter().filter(|one| one.kind == ParameterKind::Value);
        let mut next = if values.count() == 1 { 1 } else { 0 };
        let mut passed = Vec::new();
        for parameter in &self.parameters {
            passed.push(match parameter.kind {
                ParameterKind::Object(_) | ParameterKind::Location => parameter.name.clone(),
                ParameterKind::Value => {
                    next += 1;
                    (next - 1).to_string()
                }
                ParameterKind::Values => "1, 2".to_owned(),
                ParameterKind::Id => "d".to_owned(),
                ParameterKind::Nodes => "{2, 3}".to_owned(),
            });
        }
        let result = if self.has_result() { "a := " } else { "" };
        Some(format!("{result}{}({})", self.word()?, passed.join(", ")))
    }
}
