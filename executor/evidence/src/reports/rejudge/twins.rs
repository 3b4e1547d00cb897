//! Twins: the same program without the one thing that forbids an outcome.

use std::collections::HashMap;

use lang::Test;
use lang::outcome::Outcome;

use super::super::data::Twin;
use super::JudgedRecord;

/// The name after `// twin:` in a test's text.
fn twin_name(program: &str) -> Option<&str> {
    let rest = program.lines().find_map(|line| line.trim().strip_prefix("// twin:"))?;
    rest.split_whitespace().next()
}

/// Finds each test's twin, and whether it showed something that this test's models forbid and the twin's
/// allow.
pub fn link_twins(tests: &mut [JudgedRecord]) {
    let mut by_name: HashMap<(usize, &str, &str), usize> = HashMap::new();
    for (index, test) in tests.iter().enumerate() {
        let report = &test.report;
        by_name.insert((report.run, &report.name, &report.machine), index);
    }
    let twins: Vec<Option<Twin>> = tests
        .iter()
        .map(|test| {
            let name = twin_name(&test.program.text)?;
            let key = (test.report.run, name, test.report.machine.as_str());
            let twin = by_name.get(&key).map(|index| &tests[*index]);
            let seen_weak = twin.is_some_and(|twin| shows_what_is_forbidden(test, twin));
            Some(Twin { name: name.to_owned(), was_run: twin.is_some(), seen_weak })
        })
        .collect();
    for (test, twin) in tests.iter_mut().zip(twins) {
        test.report.twin = twin;
    }
}

fn shows_what_is_forbidden(test: &JudgedRecord, twin: &JudgedRecord) -> bool {
    let names = |test: &Test| -> Vec<String> {
        test.observables.iter().map(|observable| observable.name.clone()).collect()
    };
    let seen: Vec<&Outcome> =
        twin.seen.outcomes.iter().filter(|(_, count)| **count > 0).map(|(one, _)| one).collect();
    if names(&test.test) == names(&twin.test) {
        let forbids =
            |outcome: &Outcome| test.by.iter().any(|by| by.allowed.forbids(outcome).is_some());
        return seen.into_iter().any(forbids);
    }
    // What is observed differs: any weak outcome of the twin will do.
    twin.sc.as_ref().is_some_and(|sc| seen.into_iter().any(|outcome| !sc.contains(outcome)))
}
