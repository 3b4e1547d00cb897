//! A consistent execution that the solver has found, before the search continues.

use lang::cat::model::AxiomKind;
use lang::outcome::Outcome;
use skeleton::{EventId, Skeleton, ValueId};

use super::cnf::Lit;
use super::encode::Candidate;
use super::plan::Plan;
use super::theory::Evaluation;
use crate::relation::Relation;
use skeleton::execution::{Execution, Happening};

/// A candidate that breaks no axiom.
pub struct Consistent<'a> {
    pub(super) skeleton: &'a Skeleton,
    pub(super) plan: &'a Plan,
    pub(super) candidate: Candidate<'a>,
    pub(super) evaluation: &'a Evaluation<'a>,
}

impl Consistent<'_> {
    /// The values of all observables.
    pub fn outcome(&self) -> Outcome {
        self.candidate.outcome()
    }

    /// For an axiom that does not hold in the session, by its index: each event at which the execution breaks
    /// the axiom, with a clause that excludes executions that break it in the same way.
    pub fn apart_from_ways(&self, kind: AxiomKind, axiom: usize) -> Vec<(EventId, Vec<Lit>)> {
        let Some(node) = self.plan.axioms.get(axiom) else { return Vec::new() };
        let ways = self.evaluation.ways_to_break(kind, *node, &self.candidate).into_iter();
        let clause = |reason: Vec<Lit>| reason.into_iter().map(|literal| !literal).collect();
        ways.map(|(event, reason)| (EventId(event), clause(reason))).collect()
    }

    /// Whether a literal of the session holds in it.
    pub fn holds(&self, literal: Lit) -> bool {
        (self.candidate.is_true)(literal)
    }

    /// The whole execution.
    pub fn execution(&self) -> Execution {
        let Candidate { encoding, is_true } = self.candidate;
        let facts = self.evaluation.facts();
        let values = &encoding.values;
        let value = |id: ValueId| values.domains[id.0].chosen(is_true);
        let those = |said: &[Lit]| -> Vec<EventId> {
            let true_ones = said.iter().enumerate().filter(|(_, literal)| is_true(**literal));
            true_ones.map(|(event, _)| EventId(event)).collect()
        };
        let events = self
            .skeleton
            .event_ids()
            .filter(|id| facts.executed.contains(id.0, id.0))
            .map(|id| {
                let event = self.skeleton.event(id);
                Happening {
                    event: id,
                    read: event.read.and_then(value),
                    written: event.written.and_then(value),
                }
            })
            .collect();
        let pairs = |relation: &Relation| {
            relation.pairs().map(|(a, b)| (EventId(a), EventId(b))).collect::<Vec<_>>()
        };
        let names = self.plan.choices.iter().map(|choice| choice.name.clone());
        Execution {
            events,
            reads_from: pairs(&facts.reads_from),
            polls_from: pairs(&facts.polls_from),
            orders: names.zip(facts.choices.iter().map(pairs)).collect(),
            undefined_reads: those(&values.undefined_reads),
            undefined_writes: those(&encoding.undefined_writes),
            guesses: values.guesses(self.skeleton, is_true),
            outcome: self.outcome(),
        }
    }
}
