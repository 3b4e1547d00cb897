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
const MOST_OF_A_PART: usize = 500;

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
        let mut found = Vec::new();
        let (most, outcomes, witness) = (self.most, &mut self.outcomes, &mut self.witness);
        let answer = self.session.each(within, &mut |at| {
            witness(at);
            let (outcome, clause) = (at.outcome(), at.candidate.other_outcome());
            outcomes.insert(outcome.clone());
            found.push(outcome);
            clauses.push(clause.clone());
            if found.len() < most { Next::Without(vec![clause]) } else { Next::Stop }
        });
        if answer != Answer::Satisfiable {
            return answer;
        }
        let observables = 0..self.session.encoding.observables.len();
        let values = |observable: &usize| {
            found.iter().map(|outcome| outcome.0[*observable]).collect::<BTreeSet<_>>().len()
        };
        match observables.max_by_key(values) {
            Some(observable) => self.parts(within, observable, &clauses),
            // Without observables there is one outcome.
            None => Answer::Unsatisfiable,
        }
    }

    /// The same, for each value of an observable. The clauses exclude what was found.
    fn parts(&mut self, within: &[Lit], observable: usize, clauses: &[Vec<Lit>]) -> Answer {
        let domain = &self.session.encoding.observables[observable];
        // A session asks about listed values only.
        let mut literals = domain.literals();
        literals.retain(|literal| Some(*literal) != domain.other);
        let none: Vec<Lit> = literals.iter().map(|literal| !*literal).collect();
        let parts = literals.iter().map(|literal| vec![*literal]).chain([none]);
        let mut answer = Answer::Unsatisfiable;
        for part in parts.filter(|part| !part.contains(&Lit::FALSE)) {
            self.session.renew();
            // Another part's outcome need not be excluded here: its clause holds.
            let is_open = |clause: &&Vec<Lit>| part.iter().all(|literal| !clause.contains(literal));
            let of_others = |clause: &&Vec<Lit>| {
                let mut others = literals.iter().filter(|literal| !part.contains(literal));
                others.any(|literal| clause.contains(&!*literal))
            };
            let own = clauses.iter().filter(is_open).filter(|clause| !of_others(clause));
            match self.part(&[within, &part].concat(), own.cloned().collect()) {
                Answer::Unsatisfiable => {}
                Answer::Unknown if self.session.given_up.is_some() => return Answer::Unknown,
                _ => answer = Answer::Unknown,
            }
        }
        answer
    }
}
