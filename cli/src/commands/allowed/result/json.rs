//! Results as JSON shows them.

use evidence::record::value_to_json;
use lang::outcome::{Observable, Value};
use model::engine::Engine;
use model::smt::Statistics;
use model::verdict::Checked;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use crate::sink::Status;

use super::super::waiting::Waits;
use super::TestResult;

impl TestResult {
    /// As documented for `litmus-allowed/1`.
    pub fn json(&self) -> impl Serialize + '_ {
        let Statistics { solves, lemmas, .. } = self.statistics;
        let is_whole = !self.is_partial;
        let why_nothing = self.shows_nothing().then_some(self.why_nothing);
        Shown {
            test: &self.test,
            file: &self.file,
            model: &self.model,
            engine: self.engine.name(),
            status: match self.status() {
                Status::Good => "ok",
                Status::Yes => "yes",
                Status::No => "no",
                Status::Unchecked => "unchecked",
                Status::Open => "unknown",
                Status::Bad => "fail",
            },
            complete: is_whole.then_some(self.complete),
            reason: self.reason.as_deref().or(self.unsupported.as_deref()).or(why_nothing),
            outcomes: is_whole.then_some(Outcomes { shown: &self.shown, all: &self.outcomes }),
            expectations: self.checked.iter().map(expectation).collect(),
            blocked: (self.is_endless && !self.blocked.is_empty())
                .then(|| self.blocked.iter().map(Waits::json).collect()),
            stuck: self
                .stuck
                .as_ref()
                .map(|ways| ways.iter().map(|way| way.iter().map(Waits::json).collect()).collect()),
            statistics: (self.engine != Engine::Explore && is_whole)
                .then(|| json!({ "solves": solves, "lemmas": lemmas })),
            states: self.explored.map(|(states, _)| states),
            transitions: self.explored.map(|(_, transitions)| transitions),
            disagreement: self.disagreement.as_ref(),
            witnesses: self.witnesses.iter().map(|witness| &witness.json).collect(),
        }
    }
}

/// A result as JSON shows it, without a copy of the outcomes, which may be millions.
#[derive(Serialize)]
struct Shown<'a> {
    test: &'a str,
    file: &'a str,
    model: &'a str,
    engine: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<Outcomes<'a>>,
    expectations: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Vec<Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<Vec<Vec<Json>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transitions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disagreement: Option<&'a Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    witnesses: Vec<&'a Json>,
}

/// An object for each outcome.
struct Outcomes<'a> {
    shown: &'a [Observable],
    all: &'a [Vec<Value>],
}

impl Serialize for Outcomes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.all.iter().map(|values| OutcomeOf { shown: self.shown, values }))
    }
}

struct OutcomeOf<'a> {
    shown: &'a [Observable],
    values: &'a [Value],
}

impl Serialize for OutcomeOf<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let names = self.shown.iter().map(|shown| &shown.name);
        to.collect_map(names.zip(self.values.iter().map(|value| value_to_json(*value))))
    }
}

fn expectation(checked: &Checked) -> Json {
    match checked.seen {
        None => json!({
            "condition": checked.condition,
            "expected": checked.expected.name(),
            "verdict": checked.verdict.name(),
            "holds": checked.holds(),
        }),
        Some(seen) => json!({
            "condition": checked.condition,
            "verdict": checked.verdict.name(),
            "answer": checked.answer(),
            "observation": seen.word(),
            "positive": seen.positive,
            "negative": seen.negative,
        }),
    }
}
