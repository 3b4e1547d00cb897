//! A broken axiom in words: what its condition excludes, and what the model's or library's text says of it.

use lang::cat::model::{AxiomKind, DefinitionKind, Expr, Model, UNDEFINED_READS, UNDEFINED_WRITES};
use serde::Serialize;

use super::{Broken, Explanation};
use crate::execution::Execution;

/// What the steps of a broken axiom are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A way from an event back to itself.
    Cycle,
    /// A way from one event to another, which must not be.
    Chain,
    /// An event that must not happen, or must not show what it shows.
    Event,
}

impl Shape {
    /// How an execution breaks an axiom: "by …".
    pub fn words(self) -> &'static str {
        match self {
            Self::Cycle => "a cycle",
            Self::Chain => "two events that are related as they must not be",
            Self::Event => "an event that must not happen like this",
        }
    }
}

impl Broken {
    /// What the steps are together.
    pub fn shape(&self) -> Shape {
        match (self.kind, &self.steps[..]) {
            (AxiomKind::Acyclic | AxiomKind::Irreflexive, _) => Shape::Cycle,
            (AxiomKind::Empty, [step]) if step.from == step.to => Shape::Event,
            (AxiomKind::Empty, _) => Shape::Chain,
        }
    }

    /// Whether this is about where ⊤ is, and not about an axiom.
    pub fn is_about_undefined(&self) -> bool {
        self.axiom == UNDEFINED_READS || self.axiom == UNDEFINED_WRITES
    }

    /// Whether the event at which the steps end shows ⊤, or leaves it in memory.
    fn shows_undefined(&self) -> bool {
        let Execution { undefined_reads, undefined_writes, .. } = &self.execution;
        let shows = |event| undefined_reads.contains(event) || undefined_writes.contains(event);
        self.steps.last().is_some_and(|step| shows(&step.to))
    }
}

impl Explanation<'_> {
    /// What is wrong with the event at which the steps of a broken axiom end.
    pub fn ending(&self, broken: &Broken) -> &'static str {
        let is_about_undefined = broken.is_about_undefined();
        match broken.shape() {
            Shape::Cycle if self.is_order(broken) => {
                "which is where it began: it would come before itself"
            }
            Shape::Cycle => "which is where it began: the axiom allows no such way back",
            Shape::Event if is_about_undefined && broken.shows_undefined() => {
                "which shows ⊤, and must not"
            }
            _ if is_about_undefined => "which must show ⊤, and does not",
            Shape::Chain => "and the axiom allows no such way from the first event to this one",
            Shape::Event => "which the axiom does not allow",
        }
    }

    /// Whether a broken axiom asks for an order: what leads on from what it leads to is in its relation.
    fn is_order(&self, broken: &Broken) -> bool {
        let model = &self.question.model;
        let axiom = model.axioms.iter().find(|axiom| axiom.name == broken.axiom);
        axiom.is_some_and(|axiom| {
            axiom.kind == AxiomKind::Acyclic || is_transitive(model, &axiom.body)
        })
    }

    /// What the text of the model, or of the library whose axiom it is, says of a broken axiom.
    pub fn comment(&self, broken: &Broken) -> Option<&str> {
        let axioms = &self.question.model.axioms;
        axioms.iter().find(|axiom| axiom.name == broken.axiom)?.comment.as_deref()
    }
}

/// Whether an expression is a closure, by a name or itself.
fn is_transitive(model: &Model, expr: &Expr) -> bool {
    let Expr::Defined(id) = expr else { return matches!(expr, Expr::Plus(_)) };
    match &model.definitions[id.definition].kind {
        DefinitionKind::Let { body, .. } => is_transitive(model, body),
        DefinitionKind::Rec(bodies) => is_transitive(model, &bodies[id.body].body),
        DefinitionKind::Choice { .. } => true,
        DefinitionKind::Table(_) => false,
    }
}
