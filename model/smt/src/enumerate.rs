//! Finds all outcomes of a session, in parts.
//!
//! Each outcome that was found is a clause that excludes it. A solver looks at each clause many times, so its
//! time would grow with the square of the number of outcomes. So after some outcomes, the question is divided
//! by the values of an observable, and each part gets a solver of its own.

use std::collections::BTreeSet;

use lang::outcome::Outcome;

use super::cnf::Lit;
use super::solver::Answer;
use super::{Consistent, Next, Session};

/// So many outcomes of one part divide it.
const MOST_OF_A_PART: usize = 40_000;

/// Finds the outcomes within the bound on loops, and whether the solver proved that there are no others.
/// `witness` gets one execution for each outcome. What was excluded from the session before is found again if
/// there are many outcomes.
pub fn enumerate(
    session: &mut Session<'_>,
    witness: &mut dyn FnMut(&Consistent<'_>),
) -> (BTreeSet<Outcome>, Answer) {
    enumerate_in_parts(session, MOST_OF_A_PART, witness)
}

/// The same, where a part is divided after `most` outcomes, at least 2.
pub fn enumerate_in_parts(
    session: &mut Session<'_>,
    most: usize,
    witness: &mut dyn FnMut(&Consistent<'_>),
) -> (BTreeSet<Outcome>, Answer) {
    let within = session.counted();
    let mut all = Enumeration { session, most: most.max(2), outcomes: BTreeSet::new(), witness };
    let answer = all.part(&within, Vec::new());
    (all.outcomes, answer)
}

struct Enumeration<'e, 's> {
    session: &'e mut Session<'s>,
    most: usize,
    outcomes: BTreeSet<Outcome>,
    witness: &'e mut dyn FnMut(&Consistent<'_>),
}

impl Enumeration<'_, '_> {
    /// Finds the outcomes under some assumptions, except for those that the clauses exclude.
    fn part(&mut self, within: &[Lit], mut clauses: Vec<Vec<Lit>>) -> Answer {
        clauses.iter().for_each(|clause| self.session.solver.add_clause(clause));
        let end = clauses.len() + self.most;
        let (outcomes, witness) = (&mut self.outcomes, &mut self.witness);
        let answer = self.session.each(within, &mut |at| {
            outcomes.insert(at.outcome());
            witness(at);
            clauses.push(at.candidate.other_outcome());
            if clauses.len() < end { Next::OtherOutcome } else { Next::Stop }
        });
        if answer != Answer::Satisfiable {
            return answer;
        }
        let observables = 0..self.session.encoding.observables.len();
        let is_shown = |literal: &Lit| clauses.iter().any(|clause| clause.contains(&!*literal));
        let shown =
            |observable: &usize| self.literals(*observable).into_iter().filter(is_shown).count();
        match observables.max_by_key(shown) {
            Some(observable) => self.parts(within, observable, &clauses),
            // Without observables there is one outcome.
            None => Answer::Unsatisfiable,
        }
    }

    /// The values of an observable that a session asks about, those that are listed.
    fn literals(&self, observable: usize) -> Vec<Lit> {
        let domain = &self.session.encoding.observables[observable];
        let mut literals = domain.literals();
        literals.retain(|literal| Some(*literal) != domain.other);
        literals
    }

    /// The same, for each value of an observable. The clauses exclude what was found.
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
            let own = clauses.iter().filter(|clause| !holds(clause)).cloned().collect();
            match self.part(&[within, &part].concat(), own) {
                Answer::Unsatisfiable => {}
                Answer::Unknown if self.session.given_up.is_some() => return Answer::Unknown,
                _ => answer = Answer::Unknown,
            }
        }
        answer
    }
}
