//! No text makes the language panic, run out of stack, or take long.

use std::time::{Duration, Instant};

use lang::cat::{LARGEST_FILE, load, parse, print};
use lang::source::Source;
use proptest::prelude::*;

use super::{cat_files, load_text, read};

/// Loads a text, including itself and nothing where it asks for more, and shows what is wrong with it.
fn survives(text: &str) {
    let started = Instant::now();
    let source = Source::new("hostile.cat", text);
    let result = load(&source, &|name, _| (name == "hostile").then(|| source.clone()));
    let said = result.map_or_else(|errors| errors, |loaded| loaded.warnings);
    for (source, diagnostic) in said.iter().take(3) {
        diagnostic.render(source, false);
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?} for {}", &text[..text.len().min(80)]);
}

/// A text of about the largest size that is read.
fn repeated(before: &str, part: &str, after: &str) -> String {
    let count = (LARGEST_FILE - before.len() - after.len()) / part.len();
    format!("{before}{}{after}", part.repeat(count))
}

#[test]
fn deep_texts() {
    for (before, part, after) in [
        ("let x = ", "(", ""),
        ("let x = ", "[", ""),
        ("let x = ", "~", "po"),
        ("let x = po", "+", ""),
        ("let x = po", "*", ""),
        ("let x = po", "*po", ""),
        ("let x = po", "|po", ""),
        ("let x = ", "f(", ""),
        ("let x = ", "domain(", ""),
        ("", "(*", ""),
        ("table x on ", "(", ""),
    ] {
        survives(&repeated(before, part, after));
    }
}

#[test]
fn long_texts() {
    for (before, part, after) in [
        ("let x = ", "x", ""),
        ("", "let ", ""),
        ("", "let x = y\n", ""),
        ("", "let x = po\n", ""),
        ("let rec x = po", " and x = x", ""),
        ("let x = ", "∪ ", ""),
        ("", "\"\n", ""),
        ("", "include \"hostile\"\n", ""),
        ("", "include \"other\"\n", ""),
        ("calls", " Rite", ""),
        ("", "empty 0\n", ""),
        ("", "drop x\n", ""),
        ("table t on po\n|", " |", ""),
        ("table t on po\n| |", " R |", "\n| R | x |\nend"),
        ("table t on po\n| | R |\n", "| R | x |\n", "end"),
        ("table t on po where a = 0", ", a = 0", "\n| | R |\n| R | q |\nend"),
        ("let f(x", ", x", ") = x"),
        ("let f(x) = x\nacyclic f(po", ", po", ")"),
        ("let a = po\n", "replace let a = a\n", "acyclic a as x"),
        ("let a = po\nlet b = a\n", "replace let a = b\n", "acyclic a as x"),
        ("\0", "\u{202e}", ""),
        ("", "\u{2028}\u{2028}", ""),
    ] {
        survives(&repeated(before, part, after));
    }
    survives(&" ".repeat(LARGEST_FILE + 1));
    survives(&format!("let {} = {}", "a".repeat(500_000), "b".repeat(500_000)));
}

/// `count` statements after each other, made of their number.
fn numbered(count: usize, statement: impl Fn(usize) -> String) -> String {
    (0..count).map(statement).collect()
}

#[test]
fn long_chains() {
    let functions = numbered(4000, |n| format!("let f{}(x) = f{n}(x)\n", n + 1));
    survives(&format!("let f0(x) = x\n{functions}acyclic f4000(po) as x"));
    let doubling = numbered(100, |n| format!("let f{}(x) = f{n}(f{n}(x) | x)\n", n + 1));
    survives(&format!("let f0(x) = x | x\n{doubling}acyclic f100(po) as x"));
    let vanishing = numbered(100, |n| format!("let f{}(x) = f{n}(f{n}(f{n}(x)))\n", n + 1));
    survives(&format!("let f0(x) = x\n{vanishing}acyclic f100(po) as x"));
    let constant = numbered(200, |n| format!("let f{}(x) = f{n}(0) | f{n}(x)\n", n + 1));
    survives(&format!("let f0(x) = 0\n{constant}acyclic f200(po) as x"));
    let replaced = numbered(2000, |n| format!("let a{} = a{n}\n", n + 1));
    survives(&format!("let x = po\nlet a0 = po\n{replaced}replace let x = a2000\nacyclic x as x"));
    let recursion = numbered(20_000, |n| format!(" and a{n} = a{}", n + 1));
    survives(&format!("let rec a = po{recursion} and a20000 = W"));
    let formers = numbered(4000, |_| "replace let a = a | po\n".to_owned());
    survives(&format!("let a = po\n{formers}acyclic a as x"));
    let names =
        numbered(4000, |n| format!("let {}{n} = {}{n}\n", "a".repeat(200), "b".repeat(200)));
    survives(&names);
}

/// Words that mean something, in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = [
        "let",
        "rec",
        "and",
        "=",
        "po",
        "rf",
        "W",
        "R",
        "mo",
        "a",
        "b",
        "c",
        "f",
        "(",
        ")",
        "[",
        "]",
        "{}",
        "0",
        "_",
        "|",
        ";",
        "\\",
        "&",
        "*",
        "+",
        "?",
        "^-1",
        "~",
        "domain",
        "range",
        ",",
        "acyclic",
        "irreflexive",
        "empty",
        "as",
        "exists",
        "total",
        "on",
        "extends",
        "table",
        "where",
        "end",
        "calls",
        "uncall",
        "machine",
        "drop",
        "set",
        "replace",
        "include",
        "\"hostile\"",
        "\"",
        "Put",
        "\n|",
        "\n",
        "✓",
        "·",
        "Q",
        "(*",
        "*)",
        "//",
        "∪",
        "table t on po where Q = loc\n| | W |\n| R | Q |\nend\n",
        "set t[R, W] = ",
        "replace let a = ",
        "let f(x) = ",
        "let rec a = ",
        "let b = ",
        "exists mo total on ",
        "\nacyclic ",
        " as x\n",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60)
        .prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn any_words(text in soup()) {
        survives(&text);
    }

    #[test]
    fn what_parses_is_printed_and_parsed_alike(text in soup()) {
        let (tree, diagnostics) = parse(&text);
        if diagnostics.is_empty() {
            let printed = print(&tree);
            prop_assert_eq!(parse(&printed), (tree, Vec::new()), "{}", printed);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_models(place in any::<prop::sample::Index>(), length in 0..40_usize, insert in soup()) {
        for path in cat_files("model/models") {
            let text = read(&path).text;
            let characters: Vec<char> = text.chars().collect();
            let start = place.index(characters.len());
            let end = (start + length).min(characters.len());
            let damaged: String = characters[..start].iter().chain(&characters[end..]).collect();
            survives(&damaged);
            let start = characters[..start].iter().map(|character| character.len_utf8()).sum();
            let (before, after) = text.split_at(start);
            let _ = load_text(&format!("{before}{insert}{after}"));
        }
    }
}
