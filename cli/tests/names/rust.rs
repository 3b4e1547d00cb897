//! No name that a shipped text defines is in Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lang::cat::model::{Base, Model};

use super::{is_statement, of_libraries, root};

/// Names that texts define and Rust may know, with the reason.
const KNOWN: [(&str, &str); 8] = [
    ("mo", "the order by which the language says what is last in memory"),
    ("so", "what a library exports, and what a model composes"),
    ("ppo", "the order of a thread's events, which a model composes with what libraries export"),
    ("ib", "the end of a unit of memory, as in MiB"),
    ("hb", "what a model composes of what libraries export"),
    ("undefined-reads", "the language's word for reads that give any value"),
    ("undefined-writes", "the language's word for writes that leave any value"),
    ("rb", "what explanations call reads before later writes where a model gives them no name"),
];

/// Files that may have such names, with the reason.
const FILES: [(&str, &str); 4] = [
    ("lang/src/cat/names.rs", "hints: what other tools and papers call things"),
    (
        "model/machine/src/fault.rs",
        "descriptions of faults, which quote cells of the papers' tables",
    ),
    ("model/src/generate/relaxations.rs", "words of `gen cycles`, for events as papers write them"),
    ("cli/src/examples.rs", "examples of commands"),
];

/// All names that shipped texts define, apart from the names of the texts themselves.
fn defined() -> BTreeSet<String> {
    let mut names = of_libraries();
    let mut add = |model: &Model| {
        names.extend(super::named(model));
        names.extend(model.definitions.iter().filter_map(|one| one.name()).map(str::to_owned));
        names.extend(model.axioms.iter().map(|axiom| axiom.name.clone()));
    };
    for library in model::library::shipped().all.iter() {
        library.consistency.iter().for_each(&mut add);
    }
    for (name, _) in model::models::SHIPPED {
        add(&super::loaded(name));
    }
    let texts = model::models::SHIPPED.iter().chain(model::library::SHIPPED);
    let texts: BTreeSet<&str> = texts.map(|(name, _)| *name).collect();
    names.retain(|name| {
        let is_base = Base::ALL.iter().any(|base| base.name() == name);
        name.len() > 1 && !is_base && !is_statement(name) && !texts.contains(name.as_str())
    });
    names
}

/// The files of the program, tests of a crate's own left out.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable").flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().expect("it is text");
        let is_test = ["target", "tests", "benches", "examples", "tests.rs", "litmus-suite"];
        if is_test.contains(&name.as_str()) || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// The string literals of a file.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let line = line.replace("'\"'", "").replace("'\\\"'", "").replace("\\\"", "'");
        found.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    found
}

/// The names in a literal that stand for something, not words of a sentence: alone, in quotes, called, or
/// with signs that sentences have not.
fn names_in(literal: &str, names: &BTreeSet<String>) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut found = Vec::new();
    let mut before = None;
    let mut rest = literal;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        let is_plain = word.chars().skip(1).all(|c| c.is_ascii_lowercase());
        let is_quoted = before == Some('`') && after.starts_with(['`', '(']);
        let is_marked = !is_plain || is_quoted || after.starts_with('(') || word == literal;
        if is_marked && names.contains(word) {
            found.push(word.to_owned());
        }
        before = word.chars().next_back();
        rest = after;
    }
    found
}

#[test]
fn rust_knows_no_name_that_a_shipped_text_defines() {
    let names = defined();
    for wanted in ["SVar", "Bcast", "WaitSV", "Ring", "RingBuffer", "Release", "WL", "nrW", "ippo"]
    {
        assert!(names.contains(wanted), "{wanted}");
    }
    let mut paths = Vec::new();
    files(root(), &mut paths);
    assert!(paths.len() > 300, "{}", paths.len());
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("it is readable");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let file = path.strip_prefix(root()).expect("it is inside").display().to_string();
        for name in literals(text).iter().flat_map(|literal| names_in(literal, &names)) {
            found.entry(name).or_default().insert(file.clone());
        }
    }
    let is_known = |name: &str| KNOWN.iter().any(|(known, _)| *known == name);
    let unused: Vec<&str> =
        KNOWN.iter().map(|known| known.0).filter(|n| !found.contains_key(*n)).collect();
    assert!(unused.is_empty(), "Rust does not know these any more: {unused:?}");
    for (file, _) in FILES {
        assert!(
            found.values().any(|files| files.contains(file)),
            "{file} has no such name any more"
        );
    }
    found.retain(|name, files| {
        files.retain(|file| !FILES.iter().any(|(known, _)| known == file));
        !is_known(name) && !files.is_empty()
    });
    assert!(found.is_empty(), "texts define these names; take them from there: {found:#?}");
}
