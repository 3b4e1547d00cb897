//! docs/model-language.md says what is so.

use std::collections::BTreeSet;

use lang::cat::model::{Base, CALLS, Type};
use lang::cat::{CODES, parse};

use super::{folder, load_right};

fn reference() -> String {
    std::fs::read_to_string(folder("docs/model-language.md")).unwrap()
}

/// The part of the reference under a heading.
fn section(heading: &str) -> String {
    let text = reference();
    let (_, after) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    after.split("\n## ").next().unwrap().to_owned()
}

/// The first words, between backticks, of the rows of a section's tables, and the cell after each.
fn rows(section: &str) -> Vec<(String, String)> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(name, rest)| (name.to_owned(), rest.split(" |").next().unwrap().to_owned()))
        .collect()
}

#[test]
fn lists_the_base_sets_and_relations() {
    let expected: Vec<(String, String)> = Base::ALL
        .iter()
        .map(|base| {
            let ty = if base.ty() == Type::Set { "set" } else { "relation" };
            (base.name().to_owned(), ty.to_owned())
        })
        .collect();
    assert_eq!(rows(&section("Base sets and relations")), expected);
}

#[test]
fn lists_the_codes() {
    let page = std::fs::read_to_string(folder("docs/diagnostics.md")).unwrap();
    let (_, models) = page.split_once("\n## Models\n").unwrap();
    let models = models.split("\n## ").next().unwrap();
    let codes = models.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let known: Vec<_> = CODES.iter().map(|code| code.name()).collect();
    assert_eq!(codes.collect::<Vec<_>>(), known);
}

#[test]
fn lists_the_calls_and_reserved_words() {
    let files = section("Files");
    for call in CALLS {
        assert!(files.contains(&format!("`{call}`")), "{call} is not explained");
    }
    let (_, words) = files.split_once("Reserved words:").unwrap();
    let listed: BTreeSet<&str> = words.split('`').skip(1).step_by(2).collect();
    for word in &listed {
        assert!(!parse(&format!("let {word} = po")).1.is_empty(), "{word} is not reserved");
    }
    let lexer = std::fs::read_to_string(folder("lang/src/cat/lexer.rs")).unwrap();
    let tokens = lexer
        .lines()
        .filter_map(|line| line.trim().strip_prefix("#[token(\"")?.strip_suffix("\")]"));
    let reserved: BTreeSet<&str> =
        tokens.filter(|token| token.starts_with(char::is_alphabetic)).collect();
    assert_eq!(listed, reserved);
}

/// The indented examples.
fn examples() -> Vec<String> {
    let text = reference();
    let mut examples = vec![String::new()];
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(code) => examples.last_mut().unwrap().push_str(&format!("{code}\n")),
            None if line.is_empty() => examples.last_mut().unwrap().push('\n'),
            None => examples.push(String::new()),
        }
    }
    examples.retain(|example| !example.trim().is_empty());
    examples
}

#[test]
fn has_examples_that_load() {
    let examples = examples();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let loaded = load_right(&example);
        let warns = example.contains("acyclic") || example.contains("include");
        assert!(!warns || loaded.warnings.is_empty(), "{example}");
    }
}
