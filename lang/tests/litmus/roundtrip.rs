//! What is printed says what was read.

use crate::{load, parse};
use lang::litmus::{ast::without_places, print};
use lang::source::Source;

#[test]
fn valid_files_survive_printing() {
    for (path, source) in super::files("ok") {
        let name = path.display();
        let (file, diagnostics) = parse(&source);
        let file = file.unwrap_or_else(|| panic!("{name}:\n{}", super::rendered(&source)));
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
        let printed = print(&file);
        if std::env::var_os("SHOW").is_some() {
            println!("{printed}");
        }
        let again = Source::new(source.name.clone(), printed.clone());
        let (reread, _) = parse(&again);
        let reread =
            reread.unwrap_or_else(|| panic!("{name}:\n{printed}\n{}", super::rendered(&again)));
        assert_eq!(without_places(&file), without_places(&reread), "{name}:\n{printed}");
        assert_eq!(printed, print(&reread), "{name}: printing twice differs");
        let (test, _) = load(&source);
        assert!(test.is_some(), "{name}:\n{}", super::rendered(&source));
    }
}

#[test]
fn line_ends_and_marks_do_not_matter() {
    for (path, source) in crate::files("ok") {
        let Some(file) = parse(&source).0 else { panic!("{}", path.display()) };
        let windows = format!("\u{feff}{}", source.text.replace('\n', "\r\n").replace("  ", " \t"));
        let again = Source::new("t", windows);
        let (reread, _) = parse(&again);
        let printed = reread.map(|file| print(&file)).unwrap_or_else(|| crate::rendered(&again));
        // Blanks inside a comment are its own.
        let blanks = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(blanks(&printed), blanks(&print(&file)), "{}", path.display());
    }
}

#[test]
fn whatever_an_inline_value_begins_with_is_read_again() {
    let values =
        ["y", "not y", "¬y", "!y", "~y", "ȳ", "\\bar{y}", "bot", "⊥", "true", "-1", "-1 + y"];
    for value in values {
        let text = format!(
            "litmus t\nmodel rdma-wait-rmw\n\n  x = 0 || y = 0\n  ---\n  y^2 := inline {value} || skip\n"
        );
        let (file, diagnostics) = parse(&Source::new("t", text));
        let file = file.unwrap_or_else(|| panic!("{value}: {diagnostics:?}"));
        let printed = print(&file);
        assert!(printed.contains(":= inline "), "{value}: {printed}");
        let (again, diagnostics) = parse(&Source::new("t", printed.clone()));
        let again = again.unwrap_or_else(|| panic!("{printed}\n{diagnostics:?}"));
        assert_eq!(without_places(&file), without_places(&again), "{printed}");
    }
}
