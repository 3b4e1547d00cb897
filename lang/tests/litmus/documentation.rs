//! The examples of docs/language.md are real.

use std::path::Path;

use crate::load;
use lang::litmus::methods::SIGNATURES;
use lang::source::Source;

fn documentation() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn examples_are_valid() {
    let documentation = documentation();
    let examples: Vec<&str> = documentation
        .split("```litmus\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(examples.len() >= 4);
    for example in examples {
        let source = Source::new("docs/language.md", example);
        let (test, diagnostics) = load(&source);
        assert!(test.is_some() && diagnostics.is_empty(), "{}", crate::rendered(&source));
    }
}

#[test]
fn every_statement_is_documented() {
    let documentation = documentation();
    for signature in SIGNATURES {
        // In code, with its arguments or alone: prose that has the word says nothing of the statement.
        let word = signature.spellings[0];
        let forms = [format!("{word}("), format!("`{word}`")];
        let found = forms.iter().any(|form| documentation.contains(form));
        assert!(found, "{word} is not in docs/language.md");
    }
}
