//! What the tests are about, and what never having seen something is worth.

use std::collections::BTreeSet;

use serde::Serialize;

use super::OutcomeKind;

/// A model's tables of orders, drawn as one, with the evidence of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableReport {
    /// The number of the record.
    pub run: usize,
    /// The model.
    pub model: String,
    /// The tables' names.
    pub tables: Vec<String>,
    /// The heads of the columns: the later events.
    pub columns: Vec<String>,
    /// The rows: the earlier events.
    pub rows: Vec<TableRow>,
    /// How many of the programs were examined for evidence.
    pub examined: usize,
    /// How many there are.
    pub programs: usize,
    /// Programs for which a limit was reached before all their cells were known.
    pub undecided: usize,
    /// Their numbers.
    #[serde(skip)]
    pub open: BTreeSet<usize>,
}

/// A row of a table of orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableRow {
    /// The earlier event.
    pub name: String,
    /// The cells.
    pub cells: Vec<CellReport>,
}

/// What the tests show about a cell of a table of orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CellEvidence {
    /// The nearest variant of the model leaves it out.
    Broken,
    /// Leaving it out would explain a violation too.
    Explains,
    /// It was tested, and a twin showed what is forbidden here.
    Kept,
    /// It was tested, and no twin showed that.
    Quiet,
    /// No test would show its loss.
    #[default]
    Untested,
    /// No test is known to show its loss, and for some a limit was reached first.
    NotKnown,
    /// The model does not order these events.
    Unordered,
}

/// A cell of a table of orders, and the evidence for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellReport {
    /// `✓`, `·` or a letter, in each table.
    pub text: Vec<String>,
    /// What the tests show about it.
    pub evidence: CellEvidence,
    /// Tests that would show its loss.
    pub tests: usize,
    /// Tests for which a limit was reached before that was known.
    pub undecided: usize,
    /// Their finished runs together.
    pub runs: u64,
    /// If none of them showed it: over these runs, its rate is below this with 95 % confidence (3 divided by
    /// their number).
    pub bound: Option<f64>,
    /// How many of their twins showed what they must not.
    pub twins: usize,
    /// A test that would show its loss, or that did.
    pub example: Option<String>,
}

/// What a record's tests are about: whether they could notice, and not how likely a machine's timing lets
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Cells of the order tables whose loss some test would show.
    pub cells_tested: usize,
    /// Ordered cells.
    pub cells: usize,
    /// Cells that no test is known to be about, where for some tests a limit was reached first.
    pub cells_not_known: usize,
    /// Programs for which a limit was reached before all their cells were known. One that several models
    /// judge counts once.
    pub undecided: usize,
    /// The faults of the simulator that these tests catch there.
    pub mutants: Option<Mutants>,
}

/// An allowed outcome that was never seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unseen {
    /// The number of the test.
    pub index: usize,
    /// The test.
    pub test: String,
    /// Its machine.
    pub machine: String,
    /// The models that allow it.
    pub models: Vec<String>,
    /// The outcome.
    pub outcome: String,
    /// `sc`, `weak`, or `allowed` if it is not known which of the two.
    pub kind: OutcomeKind,
    /// Finished runs.
    pub finished: u64,
    /// Its rate is below this with 95 % confidence.
    pub bound: Option<f64>,
}

/// A mutation score.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mutants {
    /// How often each test was run on each mutant.
    pub iterations: u64,
    /// How many mutants were caught.
    pub caught: usize,
    /// How many no test catches, though all that are about them were tried.
    pub not_caught: usize,
    /// Of how many it is not known whether some test catches them.
    pub not_known: usize,
    /// How many were not caught by those tests for which there was time.
    pub open: usize,
    /// Faults that no test could show, because none has what they are about.
    pub out_of_reach: usize,
    /// How many tests with different programs there are.
    pub tests: usize,
    /// If there was no time for all of them: the fewest that a mutant was tried on without being caught.
    pub cut_after: Option<usize>,
    /// The mutants. For records of real machines, faults of CPUs are left out.
    pub mutants: Vec<Mutant>,
}

/// A broken simulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mutant {
    /// The fault's name.
    pub name: String,
    /// What goes wrong in it.
    pub description: String,
    /// Whether the tests catch it.
    pub state: MutantState,
    /// The test that caught it first, if any did.
    pub caught_by: Option<String>,
    /// How many tests have what the fault is about: a remote RMW, say.
    pub concerned: usize,
    /// How many tests were run on it until it was caught.
    pub tests: usize,
    /// Whether tests were left out, so that not being caught means less.
    pub is_cut: bool,
    /// How many of the tests that were run on it showed what is not known to be allowed, or could not be
    /// run.
    pub undecided: usize,
    /// Why, for the first of these.
    pub reason: Option<String>,
}

/// Whether tests catch a mutant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MutantState {
    /// A test showed a violation.
    Caught,
    /// All tests that are about it were tried, and all that they showed is allowed.
    #[default]
    NotCaught,
    /// No test showed a violation, and of some it is not known.
    NotKnown,
    /// No test that was tried showed a violation, and there was no time for all.
    Open,
    /// No test has what it is about.
    OutOfReach,
}
