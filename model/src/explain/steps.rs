//! A cycle in words, step by step, for reports.

use lang::cat::model::AxiomKind;
use lang::source::Source;
use serde::Serialize;

use super::words::Words;
use super::{Explanation, Reason};

/// The way in which the nearest execution with an outcome breaks a model, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// The axiom that it breaks.
    pub axiom: String,
    /// Whether the steps come back to where they began; if not, they are a chain that must not exist.
    pub is_cycle: bool,
    /// The steps.
    pub steps: Vec<StepWords>,
    /// All axioms that the execution breaks.
    pub axioms: Vec<String>,
}

/// A step of a cycle in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepWords {
    /// The event that it starts from, as pictures call it: `aNRW z=1`.
    pub event: String,
    /// What happens there: "the NIC writes z = 1 on node 2".
    pub action: String,
    /// The statement that this belongs to, with thread and line.
    pub statement: String,
    /// The relation that leads to the next event: `rf`, `oppo[nrW, nrW]`.
    pub relation: String,
    /// Why the relation holds.
    pub because: String,
    /// The event that it leads to.
    pub to: String,
}

impl Explanation<'_> {
    /// The cycle in words, if an axiom forbids the outcome.
    pub fn chain(&self, source: &Source) -> Option<Chain> {
        let Reason::Broken(broken) = &self.reason else { return None };
        let words = Words { question: self.question, source, execution: &broken.execution };
        let steps = broken.steps.iter().map(|step| StepWords {
            event: words.label(step.from),
            action: words.action(step.from),
            statement: words.statement(step.from),
            relation: step.relation.clone(),
            because: words.because(step),
            to: words.label(step.to),
        });
        Some(Chain {
            axiom: broken.axiom.clone(),
            is_cycle: broken.kind != AxiomKind::Empty,
            steps: steps.collect(),
            axioms: broken.all_axioms.clone(),
        })
    }
}
