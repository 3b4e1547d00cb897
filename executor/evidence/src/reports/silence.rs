//! What never having seen something is worth, and what a run cannot tell.

use std::collections::BTreeSet;

use super::data::{Coverage, MutantState, OutcomeKind, RunReport, TableReport, Unseen};
use super::rejudge::{JudgedRecord, outcome_text};
use super::statistics::rule_of_three;
use super::verdict::counted;
use super::{Source, percent};

/// Allowed outcomes that were never seen, of tests with their numbers.
pub fn unseen(tests: &[(usize, &JudgedRecord)]) -> Vec<Unseen> {
    let mut all = Vec::new();
    for (index, test) in tests.iter().filter(|(_, test)| test.report.finished > 0) {
        let mut known = BTreeSet::new();
        for outcome in test.by.iter().flat_map(|by| &by.judged.unseen) {
            if !known.insert(outcome) {
                continue;
            }
            let allowing = test.by.iter().filter(|by| by.judged.unseen.contains(outcome));
            all.push(Unseen {
                index: *index,
                test: test.report.name.clone(),
                machine: test.report.machine.clone(),
                models: allowing.map(|by| by.judge.identity.name.clone()).collect(),
                outcome: outcome_text(&test.test, outcome),
                kind: OutcomeKind::of_allowed(test.sc.as_deref(), outcome),
                finished: test.report.finished,
                bound: rule_of_three(test.report.finished),
            });
        }
    }
    all
}

/// What a run cannot tell: each point with its number.
pub fn cannot_tell(
    source: &Source,
    run: &RunReport,
    tables: &[&TableReport],
    tests: &[(usize, &JudgedRecord)],
) -> Vec<String> {
    let mut points = Vec::new();
    if let Some(shard) = &source.record.header.shard {
        points.push(format!(
            "Anything of the other parts: this record is part {} of {}, with {} of {} programs. `litmus merge` puts them together.",
            shard.part,
            shard.of,
            shard.items.len(),
            shard.inputs
        ));
    }
    points.extend(of_bounds(source, run));
    points.extend(of_coverage(&run.coverage, tables));
    let tested = &run.tested;
    if tested.twins_seen < tested.twins {
        points.push(format!(
            "In {} of {} tests with a twin, the twin was not seen either: there, not having seen what is forbidden may mean that the stress is too low, or that the machine is stronger than the model.",
            tested.twins - tested.twins_seen,
            tested.twins
        ));
    }
    if tested.weak > 0 && tested.weak_seen == 0 {
        points.push("Whether the machine is weak at all: no outcome was seen that a sequentially consistent machine would not show.".to_owned());
    }
    points.extend(of_overlap(tests));
    let verdict = &run.verdict;
    if verdict.permissive > 0 {
        points.push(format!(
            "Whether the machine conforms, by {} of {}: all that executions of these give is allowed, so they show only how weak the machine is.",
            verdict.permissive,
            counted(verdict.programs, "program")
        ));
    }
    let counts = [
        (verdict.skipped, "skipped"),
        (verdict.failed, "broken"),
        (verdict.unusable, "unusable as recorded"),
        (verdict.interrupted, "not run to the end"),
        (verdict.inconclusive, "inconclusive"),
    ];
    for (number, what) in counts.into_iter().filter(|(number, _)| *number > 0) {
        points.push(format!(
            "Anything of {}: {what}, for the reasons below.",
            counted(number, "program")
        ));
    }
    points.extend(of_setup(source));
    points
}

/// How many tests are named of which nothing showed that their threads met.
const NAMED: usize = 20;

/// Tests of which no outcome needed threads that overlapped.
fn of_overlap(tests: &[(usize, &JudgedRecord)]) -> Option<String> {
    let apart = |test: &JudgedRecord| {
        let overlapped = || test.by.iter().filter_map(|by| by.overlapped);
        overlapped().next().is_some() && !overlapped().any(|one| one)
    };
    let all: BTreeSet<&str> =
        tests.iter().filter(|(_, test)| apart(test)).map(|(_, test)| &*test.report.name).collect();
    if all.is_empty() {
        return None;
    }
    let names: Vec<&str> = all.iter().copied().take(NAMED).collect();
    let more = match all.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "What shows only while threads overlap, in {}: each outcome seen there is one of threads that ran one after another. More runs, or `litmus run --tune`, may show others: {}{more}.",
        counted(all.len(), "test"),
        names.join(", ")
    ))
}

/// What is too rare, and what the bounds take for granted.
fn of_bounds(source: &Source, run: &RunReport) -> Vec<String> {
    let Some(bounds) = &run.tested.bounds else { return Vec::new() };
    let at_once = match bounds.tests {
        1 => String::new(),
        tests => {
            format!(
                "; or, for all {tests} tests at once, rarer than {} per run",
                percent(bounds.joint)
            )
        }
    };
    let (worst, name, runs) = (percent(bounds.worst), bounds.worst_name(), bounds.worst_runs);
    let mut points = vec![format!(
        "What is rarer than {worst} per run of {name}, the test with the fewest runs ({runs}){at_once} (95 %)."
    )];
    let header = &source.record.header;
    if header.is_hardware() {
        let instances = header.parameters.get("instances").and_then(serde_json::Value::as_u64);
        let how_much = match instances.filter(|number| *number > 1) {
            Some(number) => format!(
                " If the {number} instances after one barrier counted as one observation, all bounds would be {number} times as large."
            ),
            None => String::new(),
        };
        points.push(format!(
            "How much the runs are worth that the bounds count: they take runs for independent, and instances of one batch are not, which share caches, queues and timing.{how_much}"
        ));
    }
    points
}

/// What no test of the record is about.
fn of_coverage(coverage: &Coverage, tables: &[&TableReport]) -> Vec<String> {
    let mut points = Vec::new();
    let &Coverage { cells, cells_tested, cells_not_known, undecided, .. } = coverage;
    let untested = cells - cells_tested - cells_not_known;
    if untested > 0 {
        points.push(format!(
            "Whether {untested} of {cells} ordered cells of the models' tables are kept: no test of this run would show their loss (the rest of the model implies some of them)."
        ));
    }
    if cells_not_known > 0 {
        points.push(format!(
            "Whether {cells_not_known} of {cells} ordered cells of the models' tables are kept: no test of this run is known to show their loss, and for {} a limit was reached first.",
            counted(undecided, "program")
        ));
    }
    for table in tables.iter().filter(|table| table.examined < table.programs) {
        let (examined, programs, model) = (table.examined, table.programs, &table.model);
        points.push(format!(
            "The evidence for cells of {model} is from the {examined} smallest of {programs} programs; `--thorough` examines all."
        ));
    }
    let Some(mutants) = &coverage.mutants else { return points };
    use MutantState::{NotCaught, NotKnown, Open, OutOfReach};
    let [unreachable, missed, open, unknown] =
        [OutOfReach, NotCaught, Open, NotKnown].map(|state| mutants.named(state).join(", "));
    if !unreachable.is_empty() {
        points.push(format!(
            "Faults like {unreachable}: no test that was run has what they are about."
        ));
    }
    if !missed.is_empty() {
        points.push(format!(
            "Faults like {missed}: on the simulator, these tests with {} runs of each do not catch them.",
            mutants.iterations
        ));
    }
    if !open.is_empty() {
        points.push(format!(
            "Whether these tests catch faults like {open}: on the simulator, there was time for {} of {} different tests only, and these do not.",
            mutants.cut_after.unwrap_or_default(),
            mutants.tests
        ));
    }
    if !unknown.is_empty() {
        let reason = mutants
            .mutants
            .iter()
            .find_map(|mutant| mutant.reason.as_deref().filter(|_| mutant.state == NotKnown));
        points.push(format!(
            "Whether these tests catch faults like {unknown}: on the simulator, some showed outcomes that the models could not decide ({}).",
            reason.unwrap_or_default()
        ));
    }
    points
}

fn of_setup(source: &Source) -> Vec<String> {
    let mut points = Vec::new();
    let header = &source.record.header;
    let flag =
        |name: &str| header.parameters.get(name).and_then(serde_json::Value::as_bool) == Some(true);
    if header.is_simulated() {
        points.push("Anything of a real machine: a simulator ran the tests.".to_owned());
    }
    if header.is_hardware() {
        points.push("Anything of other devices, firmware, links, hosts, PCIe settings and parameters than those in the configuration below.".to_owned());
    }
    if header.nodes.len() == 1 {
        points.push("What happens between two machines: everything ran on one, over its device's loop-back.".to_owned());
    }
    if flag("inline") {
        points.push(
            "Whether a put's source is read in order: puts were posted inline, so the CPU read it."
                .to_owned(),
        );
    }
    if flag("relaxed_ordering") {
        points.push("Whether the default registration of memory keeps the model: memory was registered with relaxed ordering, which the models do not describe.".to_owned());
    }
    points
}
