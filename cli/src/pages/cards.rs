//! What pages show in another order than the data have it: a row for each cause, a card for each program.

use std::collections::{BTreeMap, BTreeSet};

use evidence::judge::Judgement;
use evidence::record::Status;
use evidence::reports::data::{Finding, Report, ResultReport, TestJudgement, TestReport};
use serde::Serialize;

/// How many programs of a cause are listed before their cards, and how many outcomes of each.
const LISTED: (usize, usize) = (12, 3);
/// From how many violating programs on cards are closed, but for the first of each cause.
const OPEN: usize = 3;

/// The records in the order of columns: the one that others are compared with, those with violations, the
/// others.
pub fn columns(report: &Report) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..report.runs.len()).collect();
    columns.sort_by_key(|run| (*run != 0, report.runs[*run].verdict.violations == 0, *run));
    columns
}

/// A cause, with the first of its programs.
#[derive(Serialize)]
pub struct Listing {
    cause: usize,
    rows: Vec<ListedProgram>,
    more: usize,
}

/// A program of a cause.
#[derive(Serialize)]
struct ListedProgram {
    program: usize,
    machines: String,
    outcomes: Vec<String>,
    more: usize,
    lowest: f64,
    highest: f64,
    is_known: bool,
}

/// Causes, each with programs, their outcomes and rates.
pub fn listing(report: &Report) -> Vec<Listing> {
    let of_cause = |(number, cause): (usize, &evidence::reports::data::Cause)| {
        let row = |program: &usize| {
            let findings: Vec<&Finding> = report
                .findings
                .iter()
                .filter(|finding| finding.cause == number && finding.program == *program)
                .collect();
            let rates = || findings.iter().map(|finding| finding.rate.rate);
            let mut outcomes: Vec<String> = Vec::new();
            for finding in &findings {
                if !outcomes.contains(&finding.outcome) {
                    outcomes.push(finding.outcome.clone());
                }
            }
            let more = outcomes.len().saturating_sub(LISTED.1);
            outcomes.truncate(LISTED.1);
            ListedProgram {
                program: *program,
                machines: machines(findings.iter().map(|finding| finding.machine.as_str())),
                outcomes,
                more,
                lowest: rates().fold(f64::INFINITY, f64::min),
                highest: rates().fold(0.0, f64::max),
                is_known: findings.iter().all(|finding| finding.is_known),
            }
        };
        let rows = cause.programs.iter().take(LISTED.0).map(row).collect();
        Listing { cause: number, rows, more: cause.programs.len().saturating_sub(LISTED.0) }
    };
    report.causes.iter().enumerate().map(of_cause).collect()
}

fn machines<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.filter(|name| *name != "hardware").collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// A violating program.
#[derive(Serialize)]
pub struct Card {
    program: usize,
    /// The violations, by their numbers: new ones first.
    findings: Vec<usize>,
    /// The tests that show them, by their numbers.
    tests: Vec<usize>,
    /// The violation that is explained, if one is.
    explained: Option<usize>,
    /// Others that are explained.
    others: Vec<usize>,
    machines: String,
    outcomes: usize,
    lowest: f64,
    highest: f64,
    is_known: bool,
    is_open: bool,
}

/// One card for each violating program, in the order of the causes; those with known violations only come
/// last.
pub fn cards(report: &Report, most: usize) -> Vec<Card> {
    let mut order: Vec<usize> = Vec::new();
    let mut by_program: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, finding) in report.findings.iter().enumerate() {
        by_program.entry(finding.program).or_default().push(index);
    }
    let mut first_of_cause = BTreeSet::new();
    for cause in &report.causes {
        for (place, program) in cause.programs.iter().enumerate() {
            if !order.contains(program) {
                order.push(*program);
                if place == 0 {
                    first_of_cause.insert(*program);
                }
            }
            if order.len() >= most {
                break;
            }
        }
    }
    let few = order.len() <= OPEN;
    let card = |program: usize| {
        let mut findings = by_program.get(&program).cloned().unwrap_or_default();
        findings.sort_by_key(|index| report.findings[*index].is_known);
        let of = || findings.iter().map(|index| &report.findings[*index]);
        let has_steps = |index: &&usize| {
            let finding = &report.findings[**index];
            finding.end.is_some() || finding.picture.is_some()
        };
        let explained = findings.iter().find(has_steps).copied();
        let tests: BTreeSet<usize> = of().map(|finding| finding.index).collect();
        let outcomes: BTreeSet<&str> = of().map(|finding| finding.outcome.as_str()).collect();
        let is_known = of().all(|finding| finding.is_known);
        Card {
            program,
            tests: tests.into_iter().collect(),
            others: findings
                .iter()
                .filter(has_steps)
                .filter(|index| Some(**index) != explained)
                .copied()
                .collect(),
            explained,
            machines: machines(of().map(|finding| finding.machine.as_str())),
            outcomes: outcomes.len(),
            lowest: of().map(|finding| finding.rate.rate).fold(f64::INFINITY, f64::min),
            highest: of().map(|finding| finding.rate.rate).fold(0.0, f64::max),
            is_known,
            is_open: !is_known && (few || first_of_cause.contains(&program)),
            findings,
        }
    };
    let mut cards: Vec<Card> = order.into_iter().map(card).collect();
    cards.sort_by_key(|card| card.is_known);
    cards
}

/// A program with its tests, for the list of all.
#[derive(Serialize)]
pub struct Listed {
    program: usize,
    tests: Vec<usize>,
    judgement: TestJudgement,
    runs: u64,
    /// Machines by how they came out.
    results: Vec<(TestJudgement, String)>,
}

/// All programs with their tests: first those that need a look.
pub fn programs(report: &Report) -> Vec<Listed> {
    let mut tests: Vec<Vec<usize>> = vec![Vec::new(); report.programs.len()];
    for (index, test) in report.tests.iter().enumerate() {
        tests[test.program].push(index);
    }
    let listed = |(program, tests): (usize, Vec<usize>)| {
        let of = || tests.iter().map(|index| &report.tests[*index]);
        let mut results: BTreeMap<TestJudgement, Vec<String>> = BTreeMap::new();
        for test in of() {
            results.entry(test.judgement).or_default().push(place(report, test));
        }
        Listed {
            program,
            judgement: results.keys().next().copied().unwrap_or(TestJudgement::Inconclusive),
            runs: of().map(|test| test.finished).fold(0, u64::saturating_add),
            results: results
                .into_iter()
                .map(|(judgement, places)| (judgement, places.join(", ")))
                .collect(),
            tests,
        }
    };
    let mut all: Vec<Listed> = tests.into_iter().enumerate().map(listed).collect();
    // Whether all that is allowed was seen is no reason to look at a program first.
    all.sort_by_key(|listed| listed.judgement.min(TestJudgement::Unseen));
    all
}

/// A test that is not decided, or did not run to its end.
#[derive(Serialize)]
pub struct Undecided {
    /// The test, by its number.
    test: usize,
    why: String,
}

/// What is not decided, or not to the end, and why.
pub fn undecided(report: &Report) -> Vec<Undecided> {
    let of = |(test, report): (usize, &TestReport)| {
        let open =
            report.results.iter().filter(|result| result.judgement == Judgement::Inconclusive);
        let why = |result: &ResultReport| {
            let other =
                if report.finished == 0 { "no finished run" } else { "not everything is known" };
            let reason = result.reason.as_deref().unwrap_or(other);
            format!("inconclusive under {}: {reason}", result.models.join(", "))
        };
        let mut all: Vec<String> = open.map(why).collect();
        if report.status == Status::Interrupted {
            all.push(format!("stopped early, after {} runs", report.finished));
        }
        all.into_iter().map(|why| Undecided { test, why }).collect::<Vec<_>>()
    };
    report.tests.iter().enumerate().flat_map(of).collect()
}

/// Where a test was run: the record if there are several, and the machine.
fn place(report: &Report, test: &TestReport) -> String {
    let machine = if test.machine == "hardware" { "" } else { &test.machine };
    match (report.subjects().count() > 1, machine) {
        (false, machine) => machine.to_owned(),
        (true, "") => report.runs[test.run].key.clone(),
        (true, machine) => format!("{} {machine}", report.runs[test.run].key),
    }
}

/// Groups with the number of programs of each judgement.
pub fn groups(report: &Report) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut groups: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for listed in programs(report) {
        let group = groups.entry(report.programs[listed.program].group.clone()).or_default();
        *group.entry(listed.judgement.name().to_owned()).or_default() += 1;
    }
    groups
}
