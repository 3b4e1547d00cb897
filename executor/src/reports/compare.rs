//! Records side by side.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::data::{Rate, Skipped};
use super::judging::{Judged, JudgedRecord, outcome_text};
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
    /// Violations of the last record that the first does not have.
    pub new_violations: Vec<String>,
    /// Violations of the first record that the last does not have.
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
pub fn compare(sources: &[Source], judged: &Judged) -> Comparison {
    let mut comparison = Comparison {
        columns: sources
            .iter()
            .map(|source| format!("{}: {}", source.name, subject(&source.record.header)))
            .collect(),
        ..Comparison::default()
    };
    let mut tests: BTreeMap<(&str, &str), Vec<Option<&JudgedRecord>>> = BTreeMap::new();
    for test in &judged.tests {
        let key = (test.report.name.as_str(), test.report.machine.as_str());
        let row = tests.entry(key).or_insert_with(|| vec![None; sources.len()]);
        row[test.report.run] = Some(test);
    }
    for ((name, _), row) in &tests {
        let hashes: BTreeSet<&str> =
            row.iter().flatten().map(|test| test.report.hash.as_str()).collect();
        let file = row.iter().flatten().next().map_or("", |test| test.report.file.as_str());
        if hashes.len() > 1 {
            let reason = "the records have different programs under this name";
            comparison.refused.push(skip(name, file, None, reason));
            continue;
        }
        let present: Vec<&JudgedRecord> = row.iter().flatten().copied().collect();
        if present.len() < sources.len() {
            let missing: Vec<&str> = row
                .iter()
                .zip(sources)
                .filter(|(test, _)| test.is_none())
                .map(|(_, source)| source.name.as_str())
                .collect();
            let reason = format!("not in {}", missing.join(", "));
            comparison.refused.push(skip(name, file, None, reason));
        } else {
            comparison.common += 1;
            compare_test(name, &present, &mut comparison);
        }
        violations(name, row, &mut comparison);
    }
    comparison
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

/// New and gone violations, between the first record and the last. A test that the first does not have can be
/// violated anew; one that the last does not have says nothing.
fn violations(name: &str, row: &[Option<&JudgedRecord>], comparison: &mut Comparison) {
    let of = |test: Option<&JudgedRecord>| -> BTreeSet<String> {
        let outcomes = test.map(outcomes).unwrap_or_default().into_iter();
        outcomes.filter(|(_, seen)| seen.is_violation).map(|(outcome, _)| outcome).collect()
    };
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return };
    let (before, after) = (of(*first), of(*last));
    let text = |outcome: &String| format!("{name}: {outcome}");
    comparison.new_violations.extend(after.difference(&before).map(text));
    if last.is_some() {
        comparison.gone_violations.extend(before.difference(&after).map(text));
    }
}
