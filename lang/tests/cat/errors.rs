//! What is said of models that are wrong: each file of test_data/cat/err beside a file with the words.

use std::collections::BTreeSet;

use expect_test::expect_file;
use lang::cat::{CODES, load};
use lang::diagnostic::Diagnostic;
use lang::source::Source;

use super::{cat_files, folder, read, rendered};

const WRONG: &str = "lang/test_data/cat/err";

/// Everything that is said of a model, warnings too. Includes are found from the folder of wrong models.
fn said(source: &Source) -> Vec<(Source, Diagnostic)> {
    let result = load(source, &|name, _| {
        let text = std::fs::read_to_string(folder(WRONG).join(format!("{name}.cat"))).ok()?;
        Some(Source::new(format!("{name}.cat"), text))
    });
    result.map_or_else(|errors| errors, |loaded| loaded.warnings)
}

#[test]
fn are_as_recorded() {
    for path in cat_files(WRONG) {
        let said = said(&read(&path));
        assert!(!said.is_empty(), "nothing is wrong with {}", path.display());
        expect_file![path.with_extension("txt")].assert_eq(&rendered(&said));
    }
}

#[test]
fn have_every_code() {
    let mut missing: BTreeSet<_> = CODES.iter().copied().collect();
    for path in cat_files(WRONG) {
        for (_, diagnostic) in said(&read(&path)) {
            assert!(CODES.contains(&diagnostic.code), "{} is not in CODES", diagnostic.code);
            missing.remove(&diagnostic.code);
        }
    }
    assert_eq!(missing, BTreeSet::new(), "codes that no model in {WRONG} shows");
}

#[test]
fn follow_the_house_style() {
    for path in cat_files(WRONG) {
        for (_, Diagnostic { message, help, .. }) in said(&read(&path)) {
            let help = help.unwrap_or_default();
            assert!(!message.ends_with('.') && !help.ends_with('.'), "{message}\n{help}");
            assert!(!message.starts_with(char::is_uppercase), "{message}");
        }
    }
}
