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

/// The number of combinations that are tried first. If fewer than `ENOUGH` of them are consistent, the solver
/// alone is faster.
const TRIED: usize = 64;
const ENOUGH: usize = 48;
/// The number of questions about combinations after which the solver alone is faster, if most combinations
/// had to be asked about.
const ASKED: usize = 500;

/// An assignment that consists of two, one for each group.
struct Merged<'g> {
    groups: &'g [Group; 2],
    bits: Bits,
    /// How many lemmas the solver knows.
    lemmas: usize,
    /// Which of the two gave what belongs to no group, when a merged one was consistent last. It is tried
    /// first, because finding literals to blame takes longer than judging.
    rest: usize,
}

impl Enumeration<'_, '_> {
    /// Finds all outcomes from the outcomes of two groups of the observables. `None` if no two groups are
    /// worth it, or a limit was reached. Then the solver is as before.
    pub(super) fn combine(&mut self, within: &[Lit]) -> Option<Answer> {
        let limits = self.session.limits.clone();
        let judge = &self.session.judge;
        let assumptions = [within, &[!judge.encoding.values.other]].concat();
        let groups =
            limits.within(|| divide(judge, &assumptions, &self.group, |part| self.values(part)));
        let groups = groups.ok()??;
        let before = self.session.renew();
        let found = self.halves(within, &groups);
        // The solver checks the limits itself, but here it is asked seldom.
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
        if first.len() < self.sizes.least {
            return None;
        }
        Some([first, self.half(within, &groups[1])?])
    }

    /// One execution for each outcome of a group. `None` if a limit was reached. The solver is a new one
    /// then, from which nothing is excluded.
    fn half(&mut self, within: &[Lit], of: &Group) -> Option<Vec<Bits>> {
        let mut found = Vec::new();
        let Self { session, sizes, group, outcomes, witness } = self;
        let mut half = Enumeration {
            session,
            sizes: *sizes,
            group: of.observables.clone(),
            outcomes: BTreeSet::new(),
            witness: &mut |at| {
                debug_assert!(at.candidate.shows_values(&of.observables), "values are listed");
                found.push(Bits::of(at));
                Self::record(at, group, outcomes, witness);
            },
        };
        let answer = half.all(within);
        self.session.renew();
        (answer == Answer::Unsatisfiable).then_some(found)
    }

    /// Finds the outcomes that consist of an outcome of each group. `None` if too few are allowed.
    fn combinations(
        &mut self,
        within: &[Lit],
        groups: &[Group; 2],
        [left, right]: &[Vec<Bits>; 2],
    ) -> Option<Answer> {
        let lemmas = self.session.judge.lemmas.len();
        let mut merged = Merged { groups, bits: left.first()?.clone(), lemmas, rest: 0 };
        let spread = |index: usize, of: &[Bits]| index % TRIED * of.len() / TRIED;
        let tried = (0..TRIED).filter(|index| {
            // An odd factor visits all places, in another order.
            let (x, y) = (spread(*index, left), spread(index * 37, right));
            self.merge(&mut merged, [&left[x], &right[y]])
        });
        if tried.count() < ENOUGH {
            return None;
        }
        let (mut all, mut asked) = (0, 0);
        for shown in left.iter().flat_map(|x| right.iter().map(move |y| [x, y])) {
            all += 1;
            if self.merge(&mut merged, shown) {
                continue;
            }
            asked += 1;
            if asked >= ASKED && asked * 2 > all {
                return None;
            }
            if self.ask(&mut merged, within, shown) == Answer::Unknown {
                return Some(Answer::Unknown);
            }
        }
        Some(Answer::Unsatisfiable)
    }

    /// Merges two executions in both ways, and says whether one of them is consistent.
    fn merge(&mut self, merged: &mut Merged<'_>, shown: [&Bits; 2]) -> bool {
        for rest in [merged.rest, 1 - merged.rest] {
            let part = 1 - rest;
            merged.bits.merge(shown[part], &merged.groups[part].variables, shown[rest]);
            let is_true = |literal| merged.bits.is_true(literal);
            if self.session.judge.judge(&is_true).is_empty() {
                let at = self.session.judge.consistent(&is_true);
                Self::record(&at, &self.group, &mut self.outcomes, self.witness);
                merged.rest = rest;
                return true;
            }
        }
        false
    }

    /// Asks the solver for an execution that shows what each of two executions shows of its group.
    fn ask(&mut self, merged: &mut Merged<'_>, within: &[Lit], shown: [&Bits; 2]) -> Answer {
        let Self { session, group, outcomes, witness, .. } = self;
        let mut assumptions = within.to_vec();
        let encoding = &session.judge.encoding;
        for (group, bits) in merged.groups.iter().zip(shown) {
            let candidate = Candidate { encoding, is_true: &|literal| bits.is_true(literal) };
            assumptions.extend(candidate.shows(&group.observables));
        }
        let new = &session.judge.lemmas[merged.lemmas..];
        new.iter().for_each(|lemma| session.solver.add_clause(lemma));
        let answer = session.each(&assumptions, &mut |at: &Consistent<'_>| {
            Self::record(at, group, outcomes, witness);
            Next::Stop
        });
        merged.lemmas = session.judge.lemmas.len();
        answer
    }
}
