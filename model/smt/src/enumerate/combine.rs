//! Combines executions that show some observables with executions that show the others.
//!
//! If no clause of the formula connects two groups of observables, then two assignments can be merged: one
//! says what belongs to the first group, the other the rest. The merged assignment satisfies the formula, and
//! judging it costs much less than a search. The axioms may still exclude it. So it is judged, and where it
//! is not consistent, the solver is asked.

use std::collections::BTreeSet;

use lang::outcome::Outcome;

use super::Enumeration;
use super::groups::{Bits, Group, divide};
use crate::cnf::Lit;
use crate::encode::Candidate;
use crate::solver::Answer;
use crate::{Consistent, Next};

/// So many combinations are tried first. If fewer than `ENOUGH` are consistent, the solver alone is faster.
const TRIED: usize = 64;
const ENOUGH: usize = 48;

/// An assignment that consists of two.
struct Merged {
    bits: Bits,
    /// Which of the two gave what belongs to no group, when a merged one was consistent last. It is tried
    /// first, because finding literals to blame takes longer than judging.
    rest: usize,
}

impl Enumeration<'_, '_> {
    /// Finds all outcomes from the outcomes of two groups of the observables. `None` if no two groups are
    /// worth it, or a limit was reached. Then the solver is as before.
    pub(super) fn combine(&mut self, within: &[Lit]) -> Option<Answer> {
        let judge = &self.session.judge;
        let assumptions = [within, &[!judge.encoding.values.other]].concat();
        let groups = divide(judge, &assumptions, &self.group, |part| self.values(part))?;
        let before = self.session.renew();
        let found = self.halves(within, &groups);
        self.session.renew();
        // The solver checks the limits itself, but here it is asked seldom.
        let limits = self.session.solver_kind.1.clone();
        let answer = limits.within(|| self.combinations(within, &groups, &found?));
        let answer = answer.unwrap_or_else(|reached| {
            self.session.given_up = Some(reached);
            Some(Answer::Unknown)
        });
        if answer.is_none() {
            self.session.solver = before;
        }
        answer
    }

    /// How many different values of some observables the outcomes so far have.
    fn values(&self, part: &[usize]) -> usize {
        let position = |observable: &usize| self.group.binary_search(observable).ok();
        let part: Vec<usize> = part.iter().filter_map(position).collect();
        let values = |outcome: &Outcome| part.iter().map(|at| outcome.0[*at]).collect();
        self.outcomes.iter().map(values).collect::<BTreeSet<Vec<_>>>().len()
    }

    /// The executions of both groups. `None` if a limit was reached, or the first has too few outcomes.
    fn halves(&mut self, within: &[Lit], groups: &[Group; 2]) -> Option<[Vec<Bits>; 2]> {
        let first = self.half(within, &groups[0])?;
        let is_worth_it = first.len() >= self.sizes.least;
        is_worth_it.then(|| Some([first, self.half(within, &groups[1])?]))?
    }

    /// One execution for each outcome of a group. `None` if a limit was reached.
    fn half(&mut self, within: &[Lit], half: &Group) -> Option<Vec<Bits>> {
        self.session.renew();
        let mut found = Vec::new();
        let Self { session, sizes, group, outcomes, witness } = self;
        let mut half = Enumeration {
            session,
            sizes: *sizes,
            group: half.observables.clone(),
            outcomes: BTreeSet::new(),
            witness: &mut |at| {
                found.push(Bits::of(at));
                Self::record(at, group, outcomes, witness);
            },
        };
        let answer = half.all(within);
        (answer == Answer::Unsatisfiable).then_some(found)
    }

    /// Finds the outcomes that consist of an outcome of each group. `None` if too few are allowed.
    fn combinations(
        &mut self,
        within: &[Lit],
        groups: &[Group; 2],
        [left, right]: &[Vec<Bits>; 2],
    ) -> Option<Answer> {
        let mut merged = Merged { bits: left.first()?.clone(), rest: 0 };
        let spread = |index: usize, of: &[Bits]| index % TRIED * of.len() / TRIED;
        let tried = (0..TRIED).filter(|index| {
            let (x, y) = (spread(*index, left), spread(index * 37, right));
            self.merge(&mut merged, groups, [&left[x], &right[y]])
        });
        if tried.count() < ENOUGH {
            return None;
        }
        for x in left {
            for y in right {
                let is_decided = self.merge(&mut merged, groups, [x, y])
                    || self.ask(within, groups, [x, y]) != Answer::Unknown;
                if !is_decided {
                    return Some(Answer::Unknown);
                }
            }
        }
        Some(Answer::Unsatisfiable)
    }

    /// Merges two executions in both ways, and says whether one of them is consistent.
    fn merge(&mut self, merged: &mut Merged, groups: &[Group; 2], shown: [&Bits; 2]) -> bool {
        for rest in [merged.rest, 1 - merged.rest] {
            let part = 1 - rest;
            merged.bits.merge(shown[part], &groups[part].variables, shown[rest]);
            let is_true = |literal| merged.bits.is_true(literal);
            let lemmas = self.session.judge.judge(&is_true);
            if lemmas.is_empty() {
                let at = self.session.judge.consistent(&is_true);
                Self::record(&at, &self.group, &mut self.outcomes, self.witness);
                merged.rest = rest;
                return true;
            }
            lemmas.iter().for_each(|lemma| self.session.solver.add_clause(lemma));
        }
        false
    }

    /// Asks the solver for an execution that shows what each of two executions shows of its group.
    fn ask(&mut self, within: &[Lit], groups: &[Group; 2], shown: [&Bits; 2]) -> Answer {
        let mut assumptions = within.to_vec();
        let encoding = &self.session.judge.encoding;
        for (group, bits) in groups.iter().zip(shown) {
            let candidate = Candidate { encoding, is_true: &|literal| bits.is_true(literal) };
            let domains = group.observables.iter().map(|index| &encoding.observables[*index]);
            assumptions.extend(domains.flat_map(|domain| candidate.shows(domain)));
        }
        let Self { session, group, outcomes, witness, .. } = self;
        session.each(&assumptions, &mut |at: &Consistent<'_>| {
            Self::record(at, group, outcomes, witness);
            Next::Stop
        })
    }
}
