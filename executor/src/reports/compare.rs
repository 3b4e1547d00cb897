//! Records side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::data::{Rate, Skipped};
use super::judging::{JudgedRecord, outcome_text};
use super::setup::subject;
use super::statistics::rate;
use super::{Source, skip};
use crate::judge::Judgement;

/// Records side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// What the columns are.
    pub columns: Vec<String>,
    /// Tests in which something differs.
    pub rows: Vec<ComparedRow>,
    /// How many tests all records have.
    pub common: usize,
    /// Outcomes of these that are seen at rates that do not differ beyond chance.
    pub same: usize,
    /// Tests that are not compared, and why.
    pub refused: Vec<Skipped>,
    /// How many of these leave something unknown: the other records did not run them, or another program.
    pub unanswered: usize,
    /// Violations of the other records that the first does not have.
    pub new_violations: Vec<String>,
    /// Violations of the first record that none of the others has.
    pub gone_violations: Vec<String>,
}

/// An outcome that differs between records.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedRow {
    /// The test.
    pub test: String,
    /// The outcome.
    pub outcome: String,
    /// `violation`, `new`, `gone` or `rate`: the heaviest thing to say.
    pub change: String,
    /// For each record: how often it was seen, of how many, with the rate's interval.
    pub cells: Vec<ComparedCell>,
}

/// What one record has of an outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedCell {
    /// How often it was seen.
    pub count: u64,
    /// Of how many runs.
    pub finished: u64,
    /// The rate.
    pub rate: Rate,
    /// Whether it is a violation there.
    pub is_violation: bool,
}

/// What outcome is seen where.
struct Seen {
    count: u64,
    is_violation: bool,
}

/// Puts records side by side: the first is the one that the others are compared with.
pub fn compare<'a>(
    sources: &[Source],
    judged: impl Iterator<Item = &'a JudgedRecord>,
) -> Comparison {
    let mut comparison = Comparison {
        columns: sources
            .iter()
            .map(|source| format!("{}: {}", source.name, subject(&source.record.header)))
            .collect(),
        ..Comparison::default()
    };
    let mut tests: BTreeMap<(&str, &str), Vec<&JudgedRecord>> = BTreeMap::new();
    for test in judged {
        let key = (test.report.name.as_str(), test.report.machine.as_str());
        tests.entry(key).or_default().push(test);
    }
    for ((name, _), same_name) in &tests {
        for row in rows(same_name, sources.len()) {
            compare_row(name, &row, sources, &mut comparison);
        }
    }
    comparison
}

/// For each test, what each record has of it. The name and the machine say which test it is; where a record has several
/// of one name, the file does too, and where one file's program changed, the program.
fn rows<'a>(same_name: &[&'a JudgedRecord], runs: usize) -> Vec<Vec<Option<&'a JudgedRecord>>> {
    let mut groups = vec![same_name.to_vec()];
    let keys: [fn(&JudgedRecord) -> &str; 2] =
        [|test| test.report.file.as_str(), |test| test.report.hash.as_str()];
    for key in keys {
        let split = |group: Vec<&'a JudgedRecord>| {
            let mut in_runs: Vec<usize> = group.iter().map(|test| test.report.run).collect();
            in_runs.dedup();
            if in_runs.len() == group.len() {
                return vec![group];
            }
            let mut parts: BTreeMap<&str, Vec<&'a JudgedRecord>> = BTreeMap::new();
            group.into_iter().for_each(|test| parts.entry(key(test)).or_default().push(test));
            parts.into_values().collect()
        };
        groups = groups.into_iter().flat_map(split).collect();
    }
    let row = |group: Vec<&'a JudgedRecord>| {
        let mut row = vec![None; runs];
        group.into_iter().for_each(|test| row[test.report.run] = Some(test));
        row
    };
    groups.into_iter().map(row).collect()
}

fn compare_row(
    name: &str,
    row: &[Option<&JudgedRecord>],
    sources: &[Source],
    comparison: &mut Comparison,
) {
    violations(name, row, comparison);
    let hashes: BTreeSet<&str> =
        row.iter().flatten().map(|test| test.report.hash.as_str()).collect();
    let file = row.iter().flatten().next().map_or("", |test| test.report.file.as_str());
    if hashes.len() > 1 {
        let reason = "the records have different programs under this name";
        comparison.refused.push(skip(name, file, None, reason));
        comparison.unanswered += 1;
        return;
    }
    let is_missing =
        |test: &Option<&JudgedRecord>| test.is_none_or(|test| test.report.finished == 0);
    let missing: Vec<usize> = (0..row.len()).filter(|run| is_missing(&row[*run])).collect();
    if missing.is_empty() {
        comparison.common += 1;
        let present: Vec<&JudgedRecord> = row.iter().flatten().copied().collect();
        compare_test(name, &present, comparison);
        return;
    }
    let names: Vec<&str> = missing.iter().map(|run| sources[*run].name.as_str()).collect();
    let reason = format!("not run in {}", names.join(", "));
    comparison.refused.push(skip(name, file, None, reason));
    // What the first record alone does not have is judged like any other test.
    comparison.unanswered += usize::from(missing != [0]);
}

fn outcomes(test: &JudgedRecord) -> BTreeMap<String, Seen> {
    let mut outcomes = BTreeMap::new();
    for (outcome, count) in test.seen.outcomes.iter().filter(|(_, count)| **count > 0) {
        let judged = test.by.iter().flat_map(|by| &by.judged.outcomes);
        let is_violation = judged
            .filter(|judged| judged.outcome == *outcome)
            .any(|judged| judged.judgement == Judgement::Violation);
        let text = outcome_text(&test.test, outcome);
        outcomes.insert(text, Seen { count: *count, is_violation });
    }
    outcomes
}

fn compare_test(name: &str, present: &[&JudgedRecord], comparison: &mut Comparison) {
    let all: Vec<BTreeMap<String, Seen>> = present.iter().map(|test| outcomes(test)).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    for outcome in names {
        let cells: Vec<ComparedCell> = present
            .iter()
            .zip(&all)
            .map(|(test, outcomes)| {
                let seen = outcomes.get(outcome);
                let count = seen.map_or(0, |seen| seen.count);
                let finished = test.report.finished;
                let is_violation = seen.is_some_and(|seen| seen.is_violation);
                ComparedCell { count, finished, rate: rate(count, finished), is_violation }
            })
            .collect();
        match change(&cells) {
            Some(change) => comparison.rows.push(ComparedRow {
                test: name.to_owned(),
                outcome: outcome.clone(),
                change: change.to_owned(),
                cells,
            }),
            None => comparison.same += 1,
        }
    }
}

/// How the other records differ from the first, if they do beyond chance: their intervals do not meet.
fn change(cells: &[ComparedCell]) -> Option<&'static str> {
    let (first, others) = cells.split_first()?;
    if cells.iter().any(|cell| cell.is_violation) {
        return Some("violation");
    }
    let differs = |other: &&ComparedCell| {
        other.rate.low > first.rate.high || other.rate.high < first.rate.low
    };
    if first.count == 0 && others.iter().any(|other| other.count > 0) {
        return Some("new");
    }
    if first.count > 0 && others.iter().any(|other| other.count == 0) {
        return Some("gone");
    }
    others.iter().find(differs).map(|_| "rate")
}

/// New and gone violations: of any of the other records, compared with the first. What the first has of another program
/// says nothing of this one.
fn violations(name: &str, row: &[Option<&JudgedRecord>], comparison: &mut Comparison) {
    let of = |test: &JudgedRecord| -> BTreeSet<String> {
        let violations = outcomes(test).into_iter().filter(|(_, seen)| seen.is_violation);
        violations.map(|(outcome, _)| outcome).collect()
    };
    let Some((first, others)) = row.split_first() else { return };
    let known = |hash: &str| first.filter(|first| first.report.hash == hash).map(of);
    let (mut new, mut still) = (BTreeSet::new(), BTreeSet::new());
    let mut was_run = false;
    for test in others.iter().flatten().filter(|test| test.report.finished > 0) {
        let before = known(&test.report.hash);
        was_run |= before.is_some();
        let (old, fresh): (BTreeSet<_>, BTreeSet<_>) = of(test)
            .into_iter()
            .partition(|one| before.as_ref().is_some_and(|before| before.contains(one)));
        new.extend(fresh);
        still.extend(old);
    }
    let text = |outcome: &String| format!("{name}: {outcome}");
    comparison.new_violations.extend(new.iter().map(text));
    if let Some(first) = first.filter(|_| was_run) {
        comparison.gone_violations.extend(of(first).difference(&still).map(text));
    }
}
