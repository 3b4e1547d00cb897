//! The programs of the papers' figures, typed as they are printed: each is read, and has one normal form.

use crate::{check, load, parse};
use lang::litmus::{ast::without_places, print};
use lang::source::Source;

#[test]
fn figures_are_read_as_printed() {
    let files = crate::files("printed");
    let wrong: String = files.iter().map(|(_, source)| crate::rendered(source)).collect();
    assert!(wrong.is_empty(), "{wrong}");
    for (path, source) in files {
        let (test, _) = load(&source);
        let test = test.unwrap_or_else(|| panic!("{}: no test", path.display()));
        assert!(!test.expectations.is_empty(), "{}: no verdict", path.display());
        let (file, _) = parse(&source);
        let file = file.unwrap_or_else(|| panic!("{}: no tree", path.display()));
        let printed = print(&file);
        let normal = Source::new(source.name.clone(), printed.clone());
        let (again, _) = parse(&normal);
        let again = again.unwrap_or_else(|| panic!("{printed}\n{}", crate::rendered(&normal)));
        assert_eq!(without_places(&file), without_places(&again), "{printed}");
        assert_eq!(printed, print(&again));
        let (mut before, mut after) = (check(&file, &source).0, check(&again, &normal).0);
        // Places differ, and nothing else.
        for test in before.iter_mut().chain(&mut after) {
            test.expectations.iter_mut().for_each(|one| one.span = Default::default());
        }
        let [before, after] = [before, after].map(|test| {
            test.map(|test| (test.expectations, test.observables, test.program.registers))
        });
        assert_eq!(before, after, "{printed}");
    }
}

/// A caption above outcomes is not the name of a model, in all forms of verdicts.
#[test]
fn captions_are_not_models() {
    let verdicts = ["exactly {0} for (x)", "(x) in {0}", "x = 0 ✓", "x = 1 ✗, x = 0 ✓"];
    for caption in ["outputs", "Outputs", "outcome", "Expected outputs"] {
        for verdict in verdicts {
            let text = format!("litmus t\n\n  x = 0\n  -----\n  skip\n\n{caption}: {verdict}\n");
            let file = parse(&Source::new("t.litmus", text.clone())).0;
            let file = file.unwrap_or_else(|| panic!("{text}"));
            assert!(!print(&file).contains(':'), "{text}{}", print(&file));
        }
    }
}

/// A location or an object may have the name of a class in small letters.
#[test]
fn names_of_classes_in_small_letters_are_names() {
    for (declared, statement) in [
        ("ring = 0", "ring := 1"),
        ("barrier, sc = 0, 1", "barrier := 1"),
        ("Ring ring 1 -> {2}", "a := Submit(ring, 1)"),
        ("Ring buffer 1 -> {2}", "a := Submit(buffer, 1)"),
        ("Ring Buffer buffer 1 -> {2}", "a := Submit(buffer, 1)"),
        ("ring ring 1 -> {2}", "a := Submit(ring, 1)"),
        ("SVar svar; Barrier barrier", "Bar(barrier)"),
        ("SVAR svar = 3", "a := svar"),
    ] {
        let text = format!(
            "litmus t\nmodel rdma-wait\n\n  {declared}\n  x@1 = 0  ||\n  --------\n  {statement}  || skip\n\n  x = 0 ✓\n"
        );
        let source = Source::new("t.litmus", text.clone());
        let file = parse(&source).0;
        let file = file.unwrap_or_else(|| panic!("{text}{}", crate::rendered(&source)));
        let printed = print(&file);
        assert!(printed.contains(statement), "{text}\n{printed}");
        let name = declared.split(' ').find(|word| word.starts_with(|c: char| c.is_lowercase()));
        let name = name.map(|name| name.trim_end_matches([',', ';'])).unwrap_or_default();
        assert!(printed.contains(&format!(" {name}")), "{text}\n{printed}");
        assert!(!crate::rendered(&source).contains("undeclared"), "{}", crate::rendered(&source));
    }
}

/// Verdicts in LaTeX, with and without a blank line above, and with the labels of figures.
#[test]
fn verdicts_as_papers_typeset_them() {
    let read = |verdict: &str| {
        let program = "litmus t\n\n  x = 0 || y = 0\n  -----\n  a := x || b := y\n";
        let file = parse(&Source::new("t.litmus", format!("{program}{verdict}\n"))).0;
        print(&file.unwrap_or_else(|| panic!("{verdict}")))
    };
    for (typeset, normal) in [
        (r"a \neq 0 \checkmark", "a ≠ 0 ✓"),
        (r"a \ne 0 \checkmark", "a ≠ 0 ✓"),
        (r"a = 5 \times", "a = 5 ✗"),
        (r"a = 5 \land b \leq 1 \xmark", "a = 5 ∧ b ≤ 1 ✗"),
        (r"a = 5 \lor b \geq 1 \cmark", "a = 5 ∨ b ≥ 1 ✓"),
        ("(a) a = 0 ✓", "a = 0 ✓"),
        ("(b) (a, b) = (0, 0) ✓", "(a, b) = (0, 0) ✓"),
        ("(ii): tso: a = 0 ✓", "tso: a = 0 ✓"),
        ("(a) = 0 ✓", "a = 0 ✓"),
        ("(a) ∈ {0, 1}", "(a) ∈ {0, 1}"),
    ] {
        for above in ["", "\n"] {
            assert_eq!(
                read(&format!("{above}  {typeset}")),
                read(&format!("\n  {normal}")),
                "{typeset}"
            );
        }
    }
}
