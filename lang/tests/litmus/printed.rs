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
