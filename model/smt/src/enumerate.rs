//! Finds all outcomes of a session, in parts.
//!
//! Each outcome that was found is a clause that excludes it. A solver looks at each clause many times, so its
//! time would grow with the square of the number of outcomes. So after some outcomes, the observables are
//! divided into groups that do not depend on each other, and their outcomes are combined. Where that is not
//! possible, the question is divided by the values of an observable. Each part gets a solver of its own.

mod combine;
mod groups;

use std::collections::BTreeSet;

use lang::outcome::Outcome;

use super::cnf::Lit;
use super::solver::Answer;
use super::{Consistent, Next, Session};

/// When an enumeration goes another way.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The number of outcomes at which a part is divided, at least 2.
    pub part: usize,
    /// The number of outcomes at which it is tried to combine executions.
    pub few: usize,
    /// The number of outcomes that the smaller group of observables needs for executions to be combined.
    pub least: usize,
}

impl Sizes {
    /// The sizes that divide every question, into groups where that is possible and into parts else. For
    /// tests.
    pub const SMALLEST: Self = Self { part: 2, few: 2, least: 1 };

    /// The same, but no executions are combined.
    pub const PARTS: Self = Self { least: usize::MAX, ..Self::SMALLEST };
}

impl Default for Sizes {
    fn default() -> Self {
        Self { part: 40_000, few: 300, least: 8 }
    }
}

/// Finds the outcomes within the bound on loops, and whether the solver proved that there are no others.
/// `witness` gets one execution for each outcome. What was excluded from the session before is found again if
/// there are many outcomes.
pub fn enumerate(
    session: &mut Session<'_>,
    witness: &mut dyn FnMut(&Consistent<'_>),
) -> (BTreeSet<Outcome>, Answer) {
    enumerate_by(session, Sizes::default(), witness)
}

/// The same, with other sizes.
pub fn enumerate_by(
    session: &mut Session<'_>,
    sizes: Sizes,
    witness: &mut dyn FnMut(&Consistent<'_>),
) -> (BTreeSet<Outcome>, Answer) {
    let within = session.counted();
    let group = (0..session.judge.encoding.observables.len()).collect();
    let outcomes = BTreeSet::new();
    let mut all = Enumeration { session, sizes, group, outcomes, witness };
    let answer = all.all(&within);
    (all.outcomes, answer)
}

struct Enumeration<'e, 's> {
    session: &'e mut Session<'s>,
    sizes: Sizes,
    /// The observables that outcomes are about, ascending.
    group: Vec<usize>,
    outcomes: BTreeSet<Outcome>,
    witness: &'e mut dyn FnMut(&Consistent<'_>),
}

impl Enumeration<'_, '_> {
    /// Finds the outcomes under some assumptions.
    fn all(&mut self, within: &[Lit]) -> Answer {
        let mut clauses = Vec::new();
        let answer = self.search(within, &mut clauses, self.sizes.few);
        if answer != Answer::Satisfiable {
            return answer;
        }
        match self.combine(within) {
            Some(answer) => answer,
            None => self.rest(within, clauses),
        }
    }

    /// Finds up to `most` outcomes, and adds the clauses that exclude them.
    fn search(&mut self, within: &[Lit], clauses: &mut Vec<Vec<Lit>>, most: usize) -> Answer {
        let end = clauses.len() + most;
        let Self { session, group, outcomes, witness, .. } = self;
        session.each(within, &mut |at| {
            Self::record(at, group, outcomes, witness);
            let clause = at.candidate.other_outcome_of(group);
            clauses.push(clause.clone());
            if clauses.len() < end { Next::Without(vec![clause]) } else { Next::Stop }
        })
    }

    /// Finds the outcomes under some assumptions, except for those that the clauses exclude. The solver knows
    /// the clauses; it may lack the last one, and then finds that outcome again.
    fn rest(&mut self, within: &[Lit], mut clauses: Vec<Vec<Lit>>) -> Answer {
        let answer = self.search(within, &mut clauses, self.sizes.part);
        if answer != Answer::Satisfiable {
            return answer;
        }
        let is_shown = |literal: &Lit| clauses.iter().any(|clause| clause.contains(&!*literal));
        let shown =
            |observable: &usize| self.literals(*observable).into_iter().filter(is_shown).count();
        match self.group.iter().copied().max_by_key(shown) {
            Some(observable) => self.parts(within, observable, &clauses),
            // Without observables there is one outcome.
            None => Answer::Unsatisfiable,
        }
    }

    /// Notes an outcome of the observables, if it is new.
    fn record(
        at: &Consistent<'_>,
        observables: &[usize],
        outcomes: &mut BTreeSet<Outcome>,
        witness: &mut dyn FnMut(&Consistent<'_>),
    ) {
        if outcomes.insert(at.candidate.outcome_of(observables)) {
            witness(at);
        }
    }

    /// The values of an observable that a session asks about, those that are listed.
    fn literals(&self, observable: usize) -> Vec<Lit> {
        let domain = &self.session.judge.encoding.observables[observable];
        let mut literals = domain.literals();
        literals.retain(|literal| Some(*literal) != domain.other);
        literals
    }

    /// Finds the outcomes for each value of an observable, except for those that the clauses exclude.
    fn parts(&mut self, within: &[Lit], observable: usize, clauses: &[Vec<Lit>]) -> Answer {
        let literals = self.literals(observable);
        let mut answer = Answer::Unsatisfiable;
        for value in literals.iter().map(Some).chain([None]) {
            let is_it = |literal: &Lit| Some(literal) == value;
            let part: Vec<Lit> =
                literals.iter().map(|literal| literal.negate_if(!is_it(literal))).collect();
            if part.contains(&Lit::FALSE) {
                continue;
            }
            self.session.renew();
            // Another part's outcome need not be excluded here: its clause holds.
            let holds = |clause: &&Vec<Lit>| clause.iter().any(|literal| part.contains(literal));
            let own: Vec<_> = clauses.iter().filter(|clause| !holds(clause)).cloned().collect();
            own.iter().for_each(|clause| self.session.solver.add_clause(clause));
            match self.rest(&[within, &part].concat(), own) {
                Answer::Unsatisfiable => {}
                Answer::Unknown if self.session.given_up.is_some() => return Answer::Unknown,
                _ => answer = Answer::Unknown,
            }
        }
        answer
    }
}
