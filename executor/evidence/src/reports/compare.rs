//! Records side by side.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use super::data::{Rate, Skipped};
use super::rejudge::{JudgedRecord, name_on, outcome_text};
use super::statistics::{differ, discoveries, rate};

/// Of the differences in rate that are listed, this share is chance on average.
const FALSE_DISCOVERIES: f64 = 0.05;

/// Records side by side: the others are compared with the first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The keys of the records.
    pub keys: Vec<String>,
    /// Outcomes that differ: violations that not all records show, then rates that differ beyond chance.
    pub rows: Vec<ComparedRow>,
    /// Violations that all records show.
    pub same_violations: Vec<ComparedRow>,
    /// How many tests all records have.
    pub common: usize,
    /// How many more at least two of them have, and not all.
    pub partly: usize,
    /// How many rates of their outcomes were compared.
    pub compared: usize,
    /// Of the differences in rate that are listed, this share is chance on average.
    pub false_discoveries: f64,
    /// Tests that are not compared, or not with all records, and why.
    pub refused: Vec<Skipped>,
    /// How many of these leave something unknown: the other records did not run them, or another program.
    pub unanswered: usize,
    /// Violations of the other records that the first does not have: program, machines and outcome.
    pub new_violations: Vec<String>,
    /// Violations that the first record and another one have; where it has one on some machines only, it is
    /// among the new ones.
    pub known_violations: Vec<String>,
    /// Violations of the first record that none of the others has.
    pub gone_violations: Vec<String>,
}

/// How an outcome differs between records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Some record shows it, and it is forbidden.
    Violation,
    /// The first record that has the test never shows it, and that is not chance.
    New,
    /// All records but the first that has the test never show it, and that is not chance.
    Gone,
    /// Its rate differs.
    Rate,
}

impl Change {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => "violation",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Rate => "rate",
        }
    }
}

/// An outcome that differs between records.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRow {
    /// The test.
    pub test: String,
    /// Its machine.
    pub machine: String,
    /// The outcome.
    pub outcome: String,
    /// The heaviest thing to say about it.
    pub change: Change,
    /// The probability of such a difference if the rates are equal: the smallest of those of the other
    /// records.
    pub probability: f64,
    /// For each record that has the test: how often it was seen, of how many, with the rate's interval.
    pub cells: Vec<Option<ComparedCell>>,
}

/// What one record has of an outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A violation that the first record has too: record, program as a text, machine, outcome.
pub type KnownViolation = (usize, String, String, String);

/// What outcome is seen where.
struct Seen {
    count: u64,
    is_violation: bool,
}

/// Puts records side by side: the first is the one that the others are compared with. Also says which
/// violations of the others it has too.
pub fn compare<'a>(
    keys: Vec<String>,
    judged: impl Iterator<Item = &'a JudgedRecord>,
) -> (Comparison, HashSet<KnownViolation>) {
    let runs = keys.len();
    let mut comparing = Comparing {
        comparison: Comparison {
            keys,
            false_discoveries: FALSE_DISCOVERIES,
            ..Comparison::default()
        },
        known: HashSet::new(),
        violations: Default::default(),
        rates: Vec::new(),
    };
    let mut tests: BTreeMap<(&str, &str), Vec<&JudgedRecord>> = BTreeMap::new();
    for test in judged {
        let key = (test.report.name.as_str(), test.report.machine.as_str());
        tests.entry(key).or_default().push(test);
    }
    for same_name in tests.values() {
        for row in rows(same_name, runs) {
            comparing.row(&row);
        }
    }
    comparing.finish()
}

/// For each test, what each record has of it. The name and the machine say which test it is; where a record
/// has several of one name, the file does too, and where one file's program changed, the program.
fn rows<'a>(same_name: &[&'a JudgedRecord], runs: usize) -> Vec<Vec<Option<&'a JudgedRecord>>> {
    let mut groups = vec![same_name.to_vec()];
    let keys: [fn(&JudgedRecord) -> &str; 2] =
        [|test| test.program.file.as_str(), |test| test.program.hash.as_str()];
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

fn outcomes(test: &JudgedRecord) -> BTreeMap<String, Seen> {
    let mut outcomes = BTreeMap::new();
    for (outcome, count) in test.seen.outcomes.iter().filter(|(_, count)| **count > 0) {
        let mut violations = test.by.iter().flat_map(|by| by.judged.violations());
        let is_violation = violations.any(|judged| judged.outcome == *outcome);
        let text = outcome_text(&test.test, outcome);
        outcomes.insert(text, Seen { count: *count, is_violation });
    }
    outcomes
}

fn violations(test: &JudgedRecord) -> BTreeSet<String> {
    let violations = outcomes(test).into_iter().filter(|(_, seen)| seen.is_violation);
    violations.map(|(outcome, _)| outcome).collect()
}

/// Violations by test, file and outcome, with the machines that show them.
type Violations = BTreeMap<(String, String, String), BTreeSet<String>>;

/// `MP on rdma-tso, rdma-wait: a=1, b=0`.
fn named(violations: Violations) -> Vec<String> {
    let name = |((test, _, outcome), machines): (_, BTreeSet<String>)| {
        let machines = machines.into_iter().collect::<Vec<_>>().join(", ");
        let test: String = test;
        let outcome: String = outcome;
        format!("{}: {outcome}", name_on(&test, &machines))
    };
    violations.into_iter().map(name).collect()
}

/// A comparison as it is made.
struct Comparing {
    comparison: Comparison,
    known: HashSet<KnownViolation>,
    /// New, known and gone violations.
    violations: [Violations; 3],
    /// Outcomes whose rates are compared, each with the probability of the difference to the first record.
    rates: Vec<(ComparedRow, Vec<f64>)>,
}

impl Comparing {
    fn row<'r>(&mut self, row: &[Option<&'r JudgedRecord>]) {
        self.violations(row);
        let Some(some) = row.iter().flatten().next() else { return };
        let hashes: BTreeSet<&str> =
            row.iter().flatten().map(|test| test.program.hash.as_str()).collect();
        let refuse = |reason: String| Skipped {
            run: 0,
            test: some.report.name.clone(),
            file: some.program.file.clone(),
            machine: some.report.machine.clone(),
            model: None,
            reason,
            lacks_model: false,
        };
        if hashes.len() > 1 {
            let reason = "the records have different programs under this name".to_owned();
            self.comparison.refused.push(refuse(reason));
            self.comparison.unanswered += 1;
            return;
        }
        let is_missing =
            |test: &Option<&JudgedRecord>| test.is_none_or(|test| test.report.finished == 0);
        let missing: Vec<usize> = (0..row.len()).filter(|run| is_missing(&row[*run])).collect();
        if missing.is_empty() {
            self.comparison.common += 1;
            return self.test(row);
        }
        let names = |runs: &[usize]| -> String {
            let names: Vec<&str> =
                runs.iter().map(|run| self.comparison.keys[*run].as_str()).collect();
            names.join(", ")
        };
        let present: Vec<usize> = (0..row.len()).filter(|run| !missing.contains(run)).collect();
        let mut reason = format!("not run in {}", names(&missing));
        if present.len() > 1 {
            reason += &format!("; compared between {}", names(&present));
            self.comparison.partly += 1;
            let run =
                |test: &Option<&'r JudgedRecord>| test.filter(|test| test.report.finished > 0);
            self.test(&row.iter().map(run).collect::<Vec<_>>());
        }
        self.comparison.refused.push(refuse(reason));
        // What the first record alone does not have is judged like any other test.
        self.comparison.unanswered += usize::from(missing != [0]);
    }

    /// New, known and gone violations: of any of the other records, compared with the first. What the first
    /// has of another program says nothing of this one.
    fn violations(&mut self, row: &[Option<&JudgedRecord>]) {
        let Some((first, others)) = row.split_first() else { return };
        let known = |hash: &str| first.filter(|first| first.program.hash == hash).map(violations);
        let (mut new, mut still) = (BTreeSet::new(), BTreeSet::new());
        let mut was_run = false;
        for test in others.iter().flatten().filter(|test| test.report.finished > 0) {
            let before = known(&test.program.hash);
            was_run |= before.is_some();
            for outcome in violations(test) {
                if before.as_ref().is_some_and(|before| before.contains(&outcome)) {
                    self.known.insert(identity(test, outcome.clone()));
                    still.insert(outcome);
                } else {
                    new.insert(outcome);
                }
            }
        }
        let Some(some) = row.iter().flatten().next() else { return };
        let gone = match first.filter(|_| was_run) {
            Some(first) => violations(first).difference(&still).cloned().collect(),
            None => BTreeSet::new(),
        };
        for (all, outcomes) in self.violations.iter_mut().zip([new, still, gone]) {
            for outcome in outcomes {
                let key = (some.report.name.clone(), some.program.file.clone(), outcome);
                all.entry(key).or_default().insert(some.report.machine.clone());
            }
        }
    }

    /// Compares the records that have a test with the first of them.
    fn test(&mut self, row: &[Option<&JudgedRecord>]) {
        let Some(some) = row.iter().flatten().next() else { return };
        let all: Vec<Option<BTreeMap<String, Seen>>> =
            row.iter().map(|test| test.map(outcomes)).collect();
        let names: BTreeSet<&String> = all.iter().flatten().flat_map(BTreeMap::keys).collect();
        for outcome in names {
            let cell = |(test, outcomes): (&Option<&JudgedRecord>, &Option<BTreeMap<_, Seen>>)| {
                let seen = outcomes.as_ref()?.get(outcome);
                let (count, finished) =
                    (seen.map_or(0, |seen| seen.count), (*test)?.report.finished);
                let is_violation = seen.is_some_and(|seen| seen.is_violation);
                Some(ComparedCell { count, finished, rate: rate(count, finished), is_violation })
            };
            let cells: Vec<Option<ComparedCell>> = row.iter().zip(&all).map(cell).collect();
            let mut counts = cells.iter().flatten().map(|cell| (cell.count, cell.finished));
            let Some(first) = counts.next() else { continue };
            let probabilities: Vec<f64> = counts.map(|other| differ(first, other)).collect();
            let row = ComparedRow {
                test: some.report.name.clone(),
                machine: some.report.machine.clone(),
                outcome: outcome.clone(),
                change: Change::Rate,
                probability: probabilities.iter().copied().fold(1.0, f64::min),
                cells,
            };
            self.rates.push((row, probabilities));
        }
    }

    /// Keeps the rates that differ beyond chance, and what is a violation somewhere.
    fn finish(self) -> (Comparison, HashSet<KnownViolation>) {
        let Self { mut comparison, known, violations: [new, mut still, mut gone], rates } = self;
        // An outcome of a program counts once, whatever the machines, as in the verdict.
        still.retain(|violation, _| !new.contains_key(violation));
        gone.retain(|violation, _| !new.contains_key(violation) && !still.contains_key(violation));
        comparison.new_violations = named(new);
        comparison.known_violations = named(still);
        comparison.gone_violations = named(gone);
        let all: Vec<f64> =
            rates.iter().flat_map(|(_, probabilities)| probabilities).copied().collect();
        comparison.compared = rates.len();
        let differs = discoveries(&all, FALSE_DISCOVERIES);
        let mut differs = differs.into_iter();
        for (mut row, probabilities) in rates {
            let differs = differs.by_ref().take(probabilities.len()).collect::<Vec<_>>();
            let differs = differs.contains(&true);
            if row.cells.iter().flatten().all(|cell| cell.is_violation) {
                row.change = Change::Violation;
                comparison.same_violations.push(row);
            } else if let Some(change) = change(&row.cells, differs) {
                row.change = change;
                comparison.rows.push(row);
            }
        }
        let is_rate = |row: &ComparedRow| row.change != Change::Violation;
        comparison.rows.sort_by(|a, b| {
            (is_rate(a), a.probability)
                .partial_cmp(&(is_rate(b), b.probability))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        (comparison, known)
    }
}

/// The heaviest thing to say about an outcome whose rates differ, or that only some records show and that is
/// forbidden.
fn change(cells: &[Option<ComparedCell>], differs: bool) -> Option<Change> {
    let mut cells = cells.iter().flatten();
    if cells.clone().any(|cell| cell.is_violation) {
        return Some(Change::Violation);
    }
    let first = cells.next().filter(|_| differs)?;
    if first.count == 0 {
        return Some(Change::New);
    }
    Some(if cells.all(|other| other.count == 0) { Change::Gone } else { Change::Rate })
}

/// What identifies a violation of a test.
pub fn identity(test: &JudgedRecord, outcome: String) -> KnownViolation {
    let program = format!("{}\n{}", test.program.file, test.program.text);
    (test.report.run, program, test.report.machine.clone(), outcome)
}

impl ComparedRow {
    /// The test and its machine, for people.
    pub fn name(&self) -> String {
        name_on(&self.test, &self.machine)
    }
}
