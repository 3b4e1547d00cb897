//! Judges the candidates that a solver proposes.

use std::collections::BTreeSet;

use lang::cat::model::AxiomKind;
use lang::limits;
use lang::outcome::Outcome;
use rustc_hash::FxHashSet;
use skeleton::Skeleton;

use super::cnf::Lit;
use super::consistent::Consistent;
use super::encode::{Candidate, Encoding};
use super::plan::{NodeIndex, Plan};
use super::solver::Assignment;
use super::theory::Evaluation;

/// Counters of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How many candidates the solver proposed for a check, plus how many times it ended without one.
    pub solves: u64,
    /// How many clauses were learned from candidates that break an axiom or have a circular value.
    pub lemmas: u64,
}

/// The most outcomes of broken executions that are kept.
const MOST_BROKEN: usize = 16;

/// The most lemmas that are kept for another solver. Without the others, it learns them again.
const MOST_LEMMAS: usize = 10_000;

/// What a session knows without its solver.
pub struct Judge<'a> {
    pub skeleton: &'a Skeleton,
    pub plan: &'a Plan,
    pub encoding: Encoding,
    pub evaluation: Evaluation<'a>,
    pub axioms: Vec<(AxiomKind, NodeIndex)>,
    /// How many of the axioms say that orders are orders. They come first.
    pub orders: usize,
    /// The model also decides which reads and writes are undefined (⊤).
    pub judges_undefined: bool,
    /// The session is about executions that reach the bound on loops.
    pub is_beyond: bool,
    /// What was learned of axioms, of ⊤ and of circular values, for a solver that takes another's place. Each
    /// lemma is there once.
    pub lemmas: Vec<Vec<Lit>>,
    /// The same as a set.
    pub known: FxHashSet<Vec<Lit>>,
    /// Outcomes of executions that break some axiom, a few of those that searches came upon. Other executions
    /// may show them too.
    pub broken: BTreeSet<Outcome>,
    pub statistics: Statistics,
}

impl Judge<'_> {
    /// The clauses that an assignment breaks and that every consistent execution satisfies. None if it is a
    /// consistent execution itself.
    pub fn judge(&mut self, is_true: Assignment<'_>) -> Vec<Vec<Lit>> {
        self.statistics.solves += 1;
        limits::look();
        self.evaluation.update(self.encoding.facts(is_true));
        // Explanations are sound only then.
        debug_assert!(self.evaluation.is_bounded(), "expected values within their bounds");
        let reasons = self.reasons(is_true);
        let negated = |reason: Vec<Lit>| reason.into_iter().map(|literal| !literal).collect();
        let lemmas: Vec<Vec<Lit>> = reasons.into_iter().map(negated).collect();
        self.statistics.lemmas += lemmas.len() as u64;
        for lemma in &lemmas {
            if self.lemmas.len() < MOST_LEMMAS && !self.known.contains(lemma) {
                self.known.insert(lemma.clone());
                self.lemmas.push(lemma.clone());
            }
        }
        lemmas
    }

    /// The literals to blame for each reason why the execution that was evaluated is not consistent.
    fn reasons(&mut self, is_true: Assignment<'_>) -> Vec<Vec<Lit>> {
        let (encoding, evaluation) = (&self.encoding, &self.evaluation);
        let values = &encoding.values;
        let candidate = Candidate { encoding, is_true };
        let mut reasons = evaluation.violations(&self.axioms, &candidate);
        if !reasons.is_empty() && self.broken.len() < MOST_BROKEN {
            let is_execution = self.counted().iter().all(|literal| is_true(*literal))
                && evaluation.violations(&self.axioms[..self.orders], &candidate).is_empty()
                && values.circle(self.skeleton, is_true).is_none();
            self.broken.extend(is_execution.then(|| candidate.outcome()));
        }
        if self.judges_undefined {
            let reads = (self.plan.undefined_reads, &values.undefined_reads);
            let writes = (self.plan.undefined_writes, &encoding.undefined_writes);
            for (set, said) in [reads, writes] {
                reasons.extend(evaluation.misjudged(set, said, is_true, &candidate));
            }
        }
        if reasons.is_empty() {
            reasons.extend(values.circle(self.skeleton, is_true));
        }
        reasons
    }

    /// The execution of the assignment that was judged last, if that was consistent.
    pub fn consistent<'j>(&'j self, is_true: Assignment<'j>) -> Consistent<'j> {
        let candidate = Candidate { encoding: &self.encoding, is_true };
        let Self { skeleton, plan, evaluation, .. } = self;
        Consistent { skeleton, plan, candidate, evaluation }
    }

    /// The assumptions that make an execution count: it misuses no library, and no loop is left by the bound.
    /// In a session about the bound, some loop is left by it instead.
    pub fn counted(&self) -> Vec<Lit> {
        vec![self.encoding.exceeded.negate_if(!self.is_beyond), !self.encoding.any_misuse]
    }
}
