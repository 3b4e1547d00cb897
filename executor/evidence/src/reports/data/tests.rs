//! Programs, and what machines showed of them.

use std::collections::BTreeSet;

use lang::outcome::Outcome;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::judge::{Forbids, Judgement};
use crate::record::Status;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramReport {
    /// Its name.
    pub name: String,
    /// What links call it: its name as far as links can have it, and a number if another one has that
    /// already.
    pub anchor: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it is from.
    pub source: Option<String>,
    /// Its file.
    pub file: String,
    /// The folder of its file: the group that it is counted in.
    pub group: String,
    /// The hash of its text.
    pub hash: String,
    /// Its text.
    pub text: String,
    /// Whether it can show a violation, on some machine.
    pub forbids: Forbids,
}

/// The judgement on a program on a machine, the heaviest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TestJudgement {
    /// Something forbidden was observed.
    Violation,
    /// Something stays unknown.
    Inconclusive,
    /// The baseline has all violations too.
    Known,
    /// Nothing forbidden was observed, and not all that is allowed.
    Unseen,
    /// What was observed is what is allowed.
    Conforms,
}

impl TestJudgement {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Violation => Judgement::Violation.name(),
            Self::Inconclusive => Judgement::Inconclusive.name(),
            Self::Known => "known",
            Self::Unseen => Judgement::Unseen.name(),
            Self::Conforms => Judgement::Conforms.name(),
        }
    }
}

impl From<Judgement> for TestJudgement {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Violation => Self::Violation,
            Judgement::Inconclusive => Self::Inconclusive,
            Judgement::Unseen => Self::Unseen,
            Judgement::Conforms => Self::Conforms,
        }
    }
}

/// A program on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestReport {
    /// The number of the record.
    pub run: usize,
    /// The number of the program.
    pub program: usize,
    /// Its name.
    pub name: String,
    /// The machine that was asked for.
    pub machine: String,
    /// Whether it can show a violation.
    pub forbids: Forbids,
    /// How far it got. What was skipped is not here.
    pub status: Status,
    /// The heaviest of its results.
    pub judgement: TestJudgement,
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
    /// How long it was run, if the record says.
    pub seconds: Option<f64>,
    /// What the record says besides.
    pub notes: Vec<String>,
    /// What the models say; models that say the same share one.
    pub results: Vec<ResultReport>,
    /// The test that differs in the one thing that forbids the outcome, if the file names one, and if it was
    /// seen.
    pub twin: Option<Twin>,
}

/// What models say about a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResultReport {
    /// The models.
    pub models: Vec<String>,
    /// The judgement.
    pub judgement: Judgement,
    /// Why not everything is known, if it is not.
    pub reason: Option<String>,
    /// The histogram: what was seen, and what is allowed and was not.
    pub rows: Vec<Row>,
}

/// What kind of outcome it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// A sequentially consistent machine has it too.
    Sc,
    /// It is allowed, and no sequentially consistent machine has it.
    Weak,
    /// It is allowed, and it is not known whether it is weak.
    Allowed,
    /// It is forbidden.
    Forbidden,
    /// It is not known whether it is allowed.
    Unknown,
}

impl OutcomeKind {
    /// That of an allowed outcome, given those of a sequentially consistent machine if they are known.
    pub fn of_allowed(sc: Option<&BTreeSet<Outcome>>, outcome: &Outcome) -> Self {
        match sc {
            Some(sc) if sc.contains(outcome) => Self::Sc,
            Some(_) => Self::Weak,
            None => Self::Allowed,
        }
    }
}

/// An outcome in a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// `a=1, b=0`.
    pub outcome: String,
    /// The same by name.
    pub state: Map<String, Json>,
    /// How often it was seen.
    pub count: u64,
    /// What kind of outcome it is.
    pub kind: OutcomeKind,
    /// The judgement.
    pub judgement: Judgement,
    /// Whether it was seen and the file marks it ✗, though the model is not known to forbid it. If the model
    /// allows it, the verdict of the file is wrong.
    pub against_file: bool,
    /// The length of its bar, in percent, on a logarithmic scale.
    pub bar: u8,
    /// If it was never seen: its rate is below this with 95 % confidence (rule of three, 3/N).
    pub bound: Option<f64>,
}

/// A test's twin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Twin {
    /// Its name.
    pub name: String,
    /// Whether it was run here.
    pub was_run: bool,
    /// Whether it showed what this test must not show.
    pub seen_weak: bool,
}
