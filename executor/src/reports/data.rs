//! The report as data. Everything that HTML, Markdown and JUnit show is here, and JSON is this and nothing else.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::compare::Comparison;
use crate::observation::Occurrence;

/// The format of reports that this version writes.
pub const SCHEMA: &str = "litmus-report/1";

/// A conformance report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    /// `litmus-report/1`.
    pub schema: String,
    /// The version of litmus that made the report.
    pub tool: String,
    /// What it all comes to.
    pub verdict: Verdict,
    /// The records, in the order of the command line.
    pub runs: Vec<RunReport>,
    /// The models that judged.
    pub models: Vec<ModelReport>,
    /// What was seen and is forbidden: the smallest programs first.
    pub findings: Vec<Finding>,
    /// For each model with violations, the nearest model that would allow all that was seen.
    pub variants: Vec<Variant>,
    /// Every test that was run.
    pub tests: Vec<TestReport>,
    /// The tables of orders of the models, with the evidence for each cell.
    pub tables: Vec<TableReport>,
    /// What never having seen something is worth.
    pub silence: Silence,
    /// What this run cannot tell.
    pub cannot_tell: Vec<String>,
    /// What was not run, and why.
    pub skipped: Vec<Skipped>,
    /// What broke, and why.
    pub errors: Vec<Broken>,
    /// What is odd about the records.
    pub remarks: Vec<String>,
    /// The records side by side, if there are several.
    pub comparison: Option<Comparison>,
}

/// The verdict in one line, and the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// `violation`, `conforms`, `inconclusive` or `nothing-tested`.
    pub word: String,
    /// `conforms on 214 tests · 0 violations · 31 allowed outcomes never seen`.
    pub line: String,
    /// How much that means.
    pub confidence: String,
    /// Tests with at least one finished run.
    pub tests: usize,
    /// Forbidden outcomes that were seen, each counted once for each test.
    pub violations: usize,
    /// Tests that show one.
    pub violating_tests: usize,
    /// Allowed outcomes that were never seen, each counted once for each test.
    pub unseen: usize,
    /// Tests of which something stays unknown.
    pub inconclusive: usize,
    /// Tests that were not run.
    pub skipped: usize,
    /// Tests that broke.
    pub failed: usize,
    /// Tests of which the record says nothing that can be used.
    pub unusable: usize,
    /// Tests that were stopped early.
    pub interrupted: usize,
    /// Finished runs of all tests.
    pub runs: u64,
}

/// A record: who ran what on what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunReport {
    /// The record's file.
    pub record: String,
    /// Whether it is only there for the others to be compared with: nothing else in the report is of it.
    pub is_baseline: bool,
    /// A short name for the machine: device and host, or the simulator.
    pub subject: String,
    /// When it began.
    pub started: Option<String>,
    /// The command that does the same again.
    pub command: String,
    /// The most important things, for the head of the report.
    pub summary: Vec<Setting>,
    /// Everything that is known, in groups.
    pub configuration: Vec<Group>,
}

/// Settings that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Group {
    /// What they are about.
    pub name: String,
    /// Each with its value.
    pub settings: Vec<Setting>,
}

/// Something with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// What.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A model that judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModelReport {
    /// Its name.
    pub name: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// The hash of its text.
    pub hash: String,
    /// How many tests it judged.
    pub tests: usize,
    /// The hash that it had when a record was made, if that was another.
    pub recorded_hash: Option<String>,
}

/// A forbidden outcome that was seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Index into the report's tests.
    pub index: usize,
    /// The test.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The models that forbid it; the first explains why.
    pub models: Vec<String>,
    /// `a=1, b=0`.
    pub outcome: String,
    /// The same by name.
    pub state: Map<String, Json>,
    /// In how many runs it was seen.
    pub count: u64,
    /// Of how many.
    pub finished: u64,
    /// The rate, and where it lies with 95 % confidence (Wilson).
    pub rate: Rate,
    /// Where it was seen first, on machines that no seed repeats.
    pub first: Option<Occurrence>,
    /// The axiom that the nearest execution breaks; none if no execution of the program gives the outcome.
    pub axiom: Option<String>,
    /// Why it is forbidden.
    pub why: String,
    /// The way around the cycle.
    pub steps: Vec<CycleStep>,
    /// The orders of the cycle that the machine does not keep: those without which the model allows the outcome.
    pub lost: Vec<Lost>,
    /// The nearest execution as SVG, for a page with the style of pictures.
    pub picture: Option<String>,
    /// The command that explains.
    pub explain: String,
    /// The command that runs the test again.
    pub reproduce: String,
    /// The smallest test of the report that shows the same loss, if it is another.
    pub smallest: Option<String>,
}

/// A rate and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Rate {
    /// Seen, divided by runs.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A step of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CycleStep {
    /// The event that it starts from.
    pub event: String,
    /// What happens there.
    pub action: String,
    /// The statement.
    pub statement: String,
    /// The relation to the next event.
    pub relation: String,
    /// Why that holds.
    pub because: String,
}

/// An order of a model that a machine does not keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lost {
    /// As the model writes it: `oppo[nrW, nrW]`.
    pub name: String,
    /// In words.
    pub meaning: String,
}

/// A model that allows more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Variant {
    /// The model that it departs from.
    pub model: String,
    /// What it does not order; nothing if no such model was found.
    pub dropped: Vec<Lost>,
    /// Whether it allows everything that was seen.
    pub allows_all: bool,
    /// The sentence.
    pub line: String,
    /// Others that do as well, and how many allowed outcomes more they have that were not seen.
    pub alternatives: Vec<String>,
}

/// A test that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TestReport {
    /// Index into the report's runs.
    pub run: usize,
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it is from.
    pub source: Option<String>,
    /// Its file.
    pub file: String,
    /// The folder of its file: the group that it is counted in.
    pub group: String,
    /// The machine that was asked for.
    pub machine: String,
    /// The hash of its text.
    pub hash: String,
    /// Its text.
    pub program: String,
    /// `complete`, `interrupted` or `failed`.
    pub status: String,
    /// `violation`, `inconclusive`, `unseen` or `conforms`: the heaviest of its results.
    pub judgement: String,
    /// Runs.
    pub iterations: u64,
    /// Runs that ended with an outcome.
    pub finished: u64,
    /// Runs in which a thread waited forever.
    pub blocked: u64,
    /// Runs in which an `assume` failed.
    pub assume_failed: u64,
    /// Runs that were given up.
    pub unfinished: u64,
    /// What the record says besides.
    pub notes: Vec<String>,
    /// What the models say; models that say the same share one.
    pub results: Vec<ResultReport>,
    /// The test that differs in the one thing that forbids the outcome, if the file names one, and if it was seen.
    pub twin: Option<Twin>,
}

/// What models say of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultReport {
    /// The models.
    pub models: Vec<String>,
    /// The judgement.
    pub judgement: String,
    /// Why not everything is known, if it is not.
    pub reason: Option<String>,
    /// The histogram: what was seen, and what is allowed and was not.
    pub rows: Vec<Row>,
}

/// An outcome in a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// `a=1, b=0`.
    pub outcome: String,
    /// The same by name.
    pub state: Map<String, Json>,
    /// How often it was seen.
    pub count: u64,
    /// `sc` (a sequentially consistent machine has it too), `weak` (allowed, and no such machine has it), `forbidden` or `unknown`.
    pub kind: String,
    /// `conforms`, `unseen`, `violation` or `inconclusive`.
    pub judgement: String,
    /// The length of its bar, in percent, on a logarithmic scale.
    pub bar: u8,
    /// If it was never seen: its rate is below this with 95 % confidence (rule of three, 3/N).
    pub bound: Option<f64>,
}

/// A test's twin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Twin {
    /// Its name.
    pub name: String,
    /// Whether it was run here.
    pub was_run: bool,
    /// Whether it showed what this test must not show.
    pub seen_weak: bool,
}

/// Tables of orders of a model, of one shape and drawn as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableReport {
    /// The model.
    pub model: String,
    /// The tables' names.
    pub tables: Vec<String>,
    /// The heads of the columns: the later events.
    pub columns: Vec<String>,
    /// The rows: the earlier events.
    pub rows: Vec<TableRow>,
    /// How many of the pairs of program and model were examined for evidence.
    pub examined: usize,
    /// How many there are.
    pub programs: usize,
}

/// A row of a table of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableRow {
    /// The earlier event.
    pub name: String,
    /// The cells.
    pub cells: Vec<CellReport>,
}

/// A cell of a table of orders, and the evidence for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CellReport {
    /// `✓`, `·` or a letter, in each table.
    pub text: Vec<String>,
    /// `broken` (the nearest variant leaves it out), `explains` (leaving it out would explain a violation too), `kept`
    /// (tested, twin seen), `quiet` (tested, and no twin was seen), `untested`, or `unordered`.
    pub evidence: String,
    /// Tests that would show its loss.
    pub tests: usize,
    /// Their finished runs.
    pub runs: u64,
    /// How many of their twins showed what they must not.
    pub twins: usize,
    /// A test that would show its loss, or that did.
    pub example: Option<String>,
}

/// What silence is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Silence {
    /// Allowed outcomes that were never seen.
    pub unseen: Vec<Unseen>,
    /// Tests that forbid something and have a twin in the record.
    pub twins: usize,
    /// Those whose twin showed what they must not.
    pub twins_seen: usize,
    /// Tests that allow a weak outcome.
    pub weak_tests: usize,
    /// Those that showed one.
    pub weak_seen: usize,
    /// The largest of the bounds that the tests' numbers of runs give for forbidden outcomes (3/N).
    pub worst_bound: Option<f64>,
    /// Cells of the order tables whose loss some test would show.
    pub cells_tested: usize,
    /// Ordered cells.
    pub cells: usize,
    /// The faults of the simulator that this suite catches there.
    pub mutants: Option<Mutants>,
}

/// An allowed outcome that was never seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unseen {
    /// The test.
    pub test: String,
    /// The models that allow it.
    pub models: Vec<String>,
    /// The outcome.
    pub outcome: String,
    /// `sc` or `weak`.
    pub kind: String,
    /// Finished runs.
    pub finished: u64,
    /// Its rate is below this with 95 % confidence.
    pub bound: Option<f64>,
}

/// A mutation score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mutants {
    /// How often each test was run on each mutant.
    pub iterations: u64,
    /// How many mutants were caught.
    pub caught: usize,
    /// How many tests with different programs there are.
    pub tests: usize,
    /// If there was no time for all of them: the fewest that a mutant was tried on without being caught.
    pub cut_after: Option<usize>,
    /// The mutants.
    pub mutants: Vec<Mutant>,
}

/// A broken simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Mutant {
    /// The fault's name.
    pub name: String,
    /// What goes wrong in it.
    pub description: String,
    /// The test that caught it first, if any did.
    pub caught_by: Option<String>,
    /// How many tests were run on it until then.
    pub tests: usize,
    /// Whether tests were left out, so that not being caught means less.
    pub is_cut: bool,
}

/// A test that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The test.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The model, if only that did not judge it.
    pub model: Option<String>,
    /// Why.
    pub reason: String,
}

/// A test that broke, or a line of a record that is of no use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Broken {
    /// The test.
    pub test: String,
    /// Its file.
    pub file: String,
    /// A code for what went wrong.
    pub code: String,
    /// What went wrong.
    pub message: String,
}

/// Groups of tests with the number of judgements of each kind, for tables.
pub fn groups(report: &Report) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut groups: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for test in &report.tests {
        let group = groups.entry(test.group.clone()).or_default();
        *group.entry(test.judgement.clone()).or_default() += 1;
    }
    groups
}
