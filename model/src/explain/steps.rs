//! A cycle in words, step by step, for reports.

use lang::source::Source;
use serde::Serialize;

use super::words::Words;
use super::{Explanation, Reason, Shape};

/// The way in which the nearest execution with an outcome breaks a model, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// The axiom that it breaks.
    pub axiom: String,
    /// What the text of the model or library says of the axiom: the comment on it.
    pub says: Option<String>,
    /// What the steps are together.
    pub shape: Shape,
    /// The steps; none if an event alone is wrong.
    pub steps: Vec<StepWords>,
    /// The event at which they end, and what is wrong with it.
    pub end: EndWords,
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

/// The event at which the steps end: where they began if they are a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndWords {
    /// The event, as pictures call it.
    pub event: String,
    /// What happens there.
    pub action: String,
    /// The statement that this belongs to, with thread and line.
    pub statement: String,
    /// What is wrong with it: "which is where it began: it would come before itself".
    pub ending: String,
}

impl Explanation<'_> {
    /// The cycle in words, if an axiom forbids the outcome.
    pub fn chain(&self, source: &Source) -> Option<Chain> {
        let Reason::Broken(broken) = &self.reason else { return None };
        let words = Words::new(self.question, source, &broken.execution);
        let last = broken.steps.last()?;
        let shape = broken.shape();
        let steps = broken.steps.iter().filter(|_| shape != Shape::Event);
        let steps = steps.map(|step| StepWords {
            event: words.label(step.from),
            action: words.action(step.from),
            statement: words.statement(step.from),
            relation: step.relation.clone(),
            because: words.because(step),
            to: words.label(step.to),
        });
        Some(Chain {
            axiom: broken.axiom.clone(),
            says: self.comment(broken).map(str::to_owned),
            shape,
            steps: steps.collect(),
            end: EndWords {
                event: words.label(last.to),
                action: words.action(last.to),
                statement: words.statement(last.to),
                ending: self.ending(broken).to_owned(),
            },
            axioms: broken.all_axioms.clone(),
        })
    }
}
