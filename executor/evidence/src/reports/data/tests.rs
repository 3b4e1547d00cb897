//! Programs, and what machines showed of them.

use serde::Serialize;
use serde_json::{Map, Value as Json};

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

/// Whether a program can show a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Forbids {
    /// A model allows all outcomes that executions of the program give.
    Nothing,
    /// That is not known.
    #[default]
    Unknown,
    /// A model forbids an outcome that some execution of the program gives.
    Something,
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
    /// `complete`, `interrupted` or `failed`.
    pub status: String,
    /// `violation`, `known` (violations that the baseline has too), `inconclusive`, `unseen` or `conforms`:
    /// the heaviest of its results.
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

/// What models say of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// `a=1, b=0`.
    pub outcome: String,
    /// The same by name.
    pub state: Map<String, Json>,
    /// How often it was seen.
    pub count: u64,
    /// `sc` (a sequentially consistent machine has it too), `weak` (allowed, and no such machine has it),
    /// `allowed` (allowed, and it is not known which of the two), `forbidden` or `unknown`.
    pub kind: String,
    /// `conforms`, `unseen`, `violation` or `inconclusive`.
    pub judgement: String,
    /// Whether it was seen and the file marks it ✗, though the model does not forbid it: a verdict of the
    /// file is wrong.
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
