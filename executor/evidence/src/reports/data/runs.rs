//! Records: who ran what on what machine, and the verdict.

use serde::Serialize;

use super::super::rejudge::name_on;
use super::{Coverage, Unseen};

/// A record: who ran what on what machine, and the verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunReport {
    /// What tables call it: `A`, `B`, …, or `base` for a baseline.
    pub key: String,
    /// The record's file.
    pub record: String,
    /// Whether it is only there for the others to be compared with: nothing but the comparison is of it.
    pub is_baseline: bool,
    /// A short name for the machine: device and host, or the simulator.
    pub subject: String,
    /// Whether a simulator ran the tests.
    pub is_simulated: bool,
    /// When it began.
    pub started: Option<String>,
    /// The command that does the same again.
    pub command: String,
    /// The verdict.
    pub verdict: Verdict,
    /// What was tested, and what it was able to show.
    pub tested: Tested,
    /// The same for each machine of the record.
    pub machines: Vec<MachineReport>,
    /// What the tests are about.
    pub coverage: Coverage,
    /// Allowed outcomes that were never seen. That is not a defect: a machine may be stronger than the model.
    pub unseen: Vec<Unseen>,
    /// What this run cannot tell.
    pub cannot_tell: Vec<String>,
    /// The most important things about how it was run.
    pub summary: Vec<Setting>,
    /// Everything that is known, in groups.
    pub configuration: Vec<Group>,
}

/// The verdict in a word, the heaviest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VerdictWord {
    /// Something forbidden was seen, which a baseline does not have.
    Violation,
    /// Something stays unknown.
    Inconclusive,
    /// The baseline has all violations too.
    Known,
    /// No run finished.
    #[default]
    NothingTested,
    /// No violation was seen, and it is not known whether there could have been one.
    NotKnown,
    /// Nothing that was run could have been a violation.
    NothingForbidden,
    /// There is no violation, and there could have been some.
    Conforms,
}

/// The verdict in one line, and the numbers behind it. All but `tests` and `runs` count programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The verdict in a word.
    pub word: VerdictWord,
    /// Such as `conforms · 212 programs that forbid something: 0 violations`, and what the others show.
    pub line: String,
    /// How much that means.
    pub confidence: String,
    /// Programs with at least one finished run.
    pub programs: usize,
    /// Those that forbid something that an execution of them would give.
    pub forbidding: usize,
    /// Those that allow all that their executions give: they cannot show a violation.
    pub permissive: usize,
    /// Programs for which a limit was reached before that was known.
    pub undecided: usize,
    /// Forbidden outcomes that were seen, each counted once for each program; with a baseline, those that it
    /// lacks.
    pub violations: usize,
    /// Programs that show one.
    pub violating: usize,
    /// Forbidden outcomes that the baseline has too.
    pub known: usize,
    /// Allowed outcomes that were never seen, each counted once for each program and machine.
    pub unseen: usize,
    /// Programs that show what their files mark ✗ and the models allow: wrong verdicts.
    pub against_file: usize,
    /// Programs of which something stays unknown.
    pub inconclusive: usize,
    /// Programs that were not run.
    pub skipped: usize,
    /// Programs that broke.
    pub failed: usize,
    /// Programs of which the record says nothing that can be used.
    pub unusable: usize,
    /// Programs that were stopped early.
    pub interrupted: usize,
    /// Whether the record is not whole: its run did not come to its end, or part of it was lost.
    pub is_partial: bool,
    /// Which part of the programs this is about, as `part 1 of 3`; none if it is about all.
    pub part: Option<String>,
    /// Programs, counted once for each machine that finished a run.
    pub tests: usize,
    /// Finished runs.
    pub runs: u64,
}

/// A machine of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineReport {
    /// Its name.
    pub machine: String,
    /// What was tested on it.
    pub tested: Tested,
}

/// What was tested, and what it was able to show. A test is a program on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tested {
    /// Programs with at least one finished run.
    pub programs: usize,
    /// Those that forbid something that an execution of them would give.
    pub forbidding: usize,
    /// Those that show a forbidden outcome.
    pub violating: usize,
    /// Forbidden outcomes that were seen, each counted once for each program.
    pub violations: usize,
    /// Tests that allow a weak outcome.
    pub weak: usize,
    /// Those that showed one.
    pub weak_seen: usize,
    /// Tests that forbid something and have a twin that was run.
    pub twins: usize,
    /// Those whose twin showed what they must not.
    pub twins_seen: usize,
    /// Finished runs.
    pub runs: u64,
    /// How rare a forbidden outcome must be to have been missed, if some test could have shown one and did
    /// not.
    pub bounds: Option<Bounds>,
}

/// How rare a forbidden outcome must be to have been missed, with 95 % confidence: over the tests that forbid
/// something and showed nothing of it. `docs/reports.md` has the formulas.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// How many tests these are.
    pub tests: usize,
    /// Their finished runs.
    pub runs: u64,
    /// The median of 3/N over the tests: each by itself.
    pub median: f64,
    /// The largest of 3/N.
    pub worst: f64,
    /// The test that it is of.
    pub worst_test: String,
    /// Its machine.
    pub worst_machine: String,
    /// Its finished runs.
    pub worst_runs: u64,
    /// What holds for all tests at once: 1 - (0.05/tests)^(1/N) for the test with the fewest runs, N.
    pub joint: f64,
    /// The rate over all runs together: 3 divided by their number.
    pub pooled: f64,
}

impl Bounds {
    /// The test with the largest bound, and its machine, for people.
    pub fn worst_name(&self) -> String {
        name_on(&self.worst_test, &self.worst_machine)
    }
}

/// Settings that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// What they are about.
    pub name: String,
    /// Each with its value.
    pub settings: Vec<Setting>,
}

/// Something with a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// What.
    pub name: String,
    /// Its value.
    pub value: String,
}
