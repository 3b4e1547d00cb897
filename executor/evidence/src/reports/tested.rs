//! What was tested, and what it was able to show.

use std::collections::BTreeSet;

use lang::outcome::Outcome;

use super::data::{Bounds, MachineReport, OutcomeKind, Tested};
use super::rejudge::JudgedRecord;
use super::statistics::{joint_bound, median, rule_of_three};
use crate::judge::Forbids;

/// The forbidden outcomes that a test shows.
pub fn violations(test: &JudgedRecord) -> BTreeSet<&Outcome> {
    test.by.iter().flat_map(|by| by.judged.violations()).map(|seen| &seen.outcome).collect()
}

/// Sums up some tests.
pub fn tested(tests: &[&JudgedRecord]) -> Tested {
    let mut tested = Tested::default();
    let (mut programs, mut forbidding, mut outcomes) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for test in tests.iter().filter(|test| test.report.finished > 0) {
        let program = test.report.program;
        programs.insert(program);
        if test.report.forbids == Forbids::Something {
            forbidding.insert(program);
        }
        outcomes.extend(violations(test).into_iter().map(|outcome| (program, outcome)));
        let twin = test.report.twin.as_ref().filter(|twin| twin.was_run);
        if let Some(twin) = twin.filter(|_| test.report.forbids == Forbids::Something) {
            tested.twins += 1;
            tested.twins_seen += usize::from(twin.seen_weak);
        }
        let rows = || test.report.results.iter().flat_map(|result| &result.rows);
        tested.weak += usize::from(rows().any(|row| row.kind == OutcomeKind::Weak));
        tested.weak_seen +=
            usize::from(rows().any(|row| row.kind == OutcomeKind::Weak && row.count > 0));
        tested.runs = tested.runs.saturating_add(test.report.finished);
    }
    tested.programs = programs.len();
    tested.forbidding = forbidding.len();
    tested.violations = outcomes.len();
    tested.violating = outcomes.iter().map(|(program, _)| program).collect::<BTreeSet<_>>().len();
    tested.bounds = bounds(tests);
    tested
}

/// How rare what is forbidden must be to have been missed, over the tests that could have shown it and did
/// not.
fn bounds(tests: &[&JudgedRecord]) -> Option<Bounds> {
    let is_silent = |test: &&&JudgedRecord| {
        test.report.forbids == Forbids::Something
            && test.report.finished > 0
            && violations(test).is_empty()
    };
    let silent: Vec<&JudgedRecord> = tests.iter().filter(is_silent).copied().collect();
    let worst = silent.iter().min_by_key(|test| test.report.finished)?;
    let each = silent.iter().filter_map(|test| rule_of_three(test.report.finished)).collect();
    let runs = silent.iter().map(|test| test.report.finished).fold(0, u64::saturating_add);
    Some(Bounds {
        tests: silent.len(),
        runs,
        median: median(each)?,
        worst: rule_of_three(worst.report.finished)?,
        worst_test: worst.report.name.clone(),
        worst_machine: worst.report.machine.clone(),
        worst_runs: worst.report.finished,
        joint: joint_bound(silent.len(), worst.report.finished)?,
        pooled: rule_of_three(runs)?,
    })
}

/// Sums up the tests of each machine.
pub fn machines(tests: &[&JudgedRecord]) -> Vec<MachineReport> {
    let names: BTreeSet<&str> = tests.iter().map(|test| test.report.machine.as_str()).collect();
    let of = |machine: &str| -> Vec<&JudgedRecord> {
        tests.iter().filter(|test| test.report.machine == machine).copied().collect()
    };
    names
        .into_iter()
        .map(|name| MachineReport { machine: name.to_owned(), tested: tested(&of(name)) })
        .collect()
}
