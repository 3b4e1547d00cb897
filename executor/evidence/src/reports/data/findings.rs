//! Violations, and what would explain them.

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::observation::Occurrence;

/// A forbidden outcome that was seen: of one program on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The number of the test.
    pub index: usize,
    /// The number of the record.
    pub run: usize,
    /// The number of the program.
    pub program: usize,
    /// The test.
    pub test: String,
    /// Its machine.
    pub machine: String,
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
    /// Whether the baseline shows it too, on this program and machine.
    pub is_known: bool,
    /// What kind of violation it is.
    pub nature: Nature,
    /// The number of what it has in common with others.
    pub cause: usize,
    /// The axiom that the nearest execution breaks; none if no execution of the program gives the outcome.
    pub axiom: Option<String>,
    /// The comment on the axiom in the text of the model or library.
    pub says: Option<String>,
    /// Why it is forbidden.
    pub why: String,
    /// The way to the contradiction, each step from one event to the next.
    pub steps: Vec<CycleStep>,
    /// The event that the last step leads to, and what is wrong with that.
    pub end: Option<CycleEnd>,
    /// The orders of the model that the machine does not keep: those without which the model allows the
    /// outcome.
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

/// What kind of violation it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Nature {
    /// Another model would allow it: the machine is weaker than this one.
    #[default]
    Weaker,
    /// The model allows it of the implementation of a library that the program calls, and the library's
    /// specification does not.
    Library,
    /// No execution of the program gives these values, whatever the model: a sign of a faulty harness.
    Impossible,
}

/// A rate and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The event at which the steps end: where they began, if they are a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CycleEnd {
    /// The event.
    pub event: String,
    /// What happens there.
    pub action: String,
    /// The statement.
    pub statement: String,
    /// What is wrong with it: "which is where it began: it would come before itself".
    pub words: String,
}

/// An order of a model that a machine does not keep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// As the model writes it: `oppo[nrW, nrW]`.
    pub name: String,
    /// In words, the same for all models that have this order.
    pub meaning: String,
}

/// The nearest models that would allow what a record shows. Models that lose the same orders share one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The number of the record.
    pub run: usize,
    /// The models that it departs from, each with what is left out.
    pub models: Vec<Without>,
    /// What is left out, in words; nothing if no such model was found.
    pub dropped: Vec<String>,
    /// How many of the forbidden outcomes it allows.
    pub explains: usize,
    /// Of how many.
    pub of: usize,
    /// Those that it does not allow: test and outcome, the first ones.
    pub not: Vec<String>,
    /// The sentence.
    pub line: String,
    /// Others that do as well: models that allow as few outcomes more that were not seen.
    pub alternatives: Vec<String>,
}

/// A model, and what is left out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Without {
    /// The model.
    pub model: String,
    /// What it does not order.
    pub dropped: Vec<Lost>,
    /// How many of the forbidden outcomes it allows then.
    pub explains: usize,
    /// Of how many.
    pub of: usize,
}

/// What violations of a record have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// The number of the record.
    pub run: usize,
    /// As models name it: `oppo[nrW, nrW]`, `ppo[aNRW, aNRW]`; nothing if it is not an order of a model.
    pub names: Vec<String>,
    /// In words.
    pub words: String,
    /// What kind of violations these are.
    pub nature: Nature,
    /// Whether an order of the model is known that explains them.
    pub is_explained: bool,
    /// The numbers of the programs, the smallest first.
    pub programs: Vec<usize>,
    /// Forbidden outcomes, each counted once for each program.
    pub outcomes: usize,
    /// Those of them that the baseline shows too.
    pub known: usize,
    /// The smallest rate among them.
    pub lowest: f64,
    /// The largest.
    pub highest: f64,
}
