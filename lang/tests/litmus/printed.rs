//! The programs of the papers' figures, typed as they are printed: each is read, and has one normal form.

use crate::{check, load, parse};
use lang::litmus::print;
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
        assert_eq!(file, again, "{printed}");
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
