//! All minimal sets of changes after which a program is as wanted.
//!
//! What is added to a program only takes outcomes away. So a set of additions that does not help is made as
//! large as it can be without helping; a repair has one of the additions that are not in it. The smallest
//! sets that have one of each of these are asked next (as in Reiter's hitting sets). Rewritings may allow
//! more, so each is tried on its own, with all additions.

use std::collections::BTreeSet;

use super::ask::{Asking, Helps};
use super::edits::Edit;

type Set = BTreeSet<usize>;

/// The minimal sets of changes, by their indices. A set has at most one rewriting.
pub fn minimal(edits: &[Edit], size: usize, asking: &mut Asking<'_>) -> Vec<Set> {
    let is_addition = |index: &usize| !edits[*index].is_rewriting();
    let (additions, rewritings): (Vec<usize>, Vec<usize>) = (0..edits.len()).partition(is_addition);
    let bases = rewritings.into_iter().map(|one| Set::from([one]));
    let mut found: Vec<Set> = Vec::new();
    for base in std::iter::once(Set::new()).chain(bases).filter(|base| base.len() <= size) {
        let rewriting = base.first().map(|one| &edits[*one]);
        let goes_with = |one: &usize| edits[*one].goes_with(rewriting);
        let additions: &Vec<usize> = &additions.iter().copied().filter(goes_with).collect();
        let helping =
            Helping { edits, base: &base, additions, asking: &mut *asking, is_weaker: false };
        let (sets, _) = helping.all(size - base.len());
        found.extend(sets.into_iter().filter(|set| asking.keeps_the_rest(edits, set)));
    }
    let all = found.clone();
    found.retain(|set| !all.iter().any(|other| other != set && other.is_subset(set)));
    found
}

/// The largest sets of removals after which all that is to be forbidden still is, and the smallest sets
/// after which it is not. What is removed only adds outcomes, so what has a harmful set in it is harmful.
pub fn maximal(edits: &[Edit], asking: &mut Asking<'_>) -> (Vec<Set>, Vec<Set>) {
    let all: Vec<usize> = (0..edits.len()).collect();
    let base = Set::new();
    let harming = Helping { edits, base: &base, additions: &all, asking, is_weaker: true };
    let (harmful, clauses) = harming.all(edits.len());
    let rest =
        |clause: &Vec<usize>| all.iter().copied().filter(|one| !clause.contains(one)).collect();
    (clauses.iter().map(rest).collect(), harmful)
}

struct Helping<'s, 'a> {
    edits: &'s [Edit],
    base: &'s Set,
    additions: &'s [usize],
    asking: &'s mut Asking<'a>,
    /// The changes remove; to help is to do harm.
    is_weaker: bool,
}

impl Helping<'_, '_> {
    /// The minimal sets of up to `most` additions that forbid what is to be forbidden, with the base. For
    /// each largest set that does not, also what is not in it.
    fn all(mut self, most: usize) -> (Vec<Set>, Vec<Vec<usize>>) {
        let (mut clauses, mut known, mut helping) = (Vec::new(), Vec::new(), Vec::new());
        let mut size = 0;
        while size <= most {
            let Some(set) = hitting(&clauses, &known, &Set::new(), size) else {
                size += 1;
                continue;
            };
            match self.helps(&set) {
                Helps::Yes => {
                    helping.push(set.union(self.base).copied().collect());
                    known.push(set);
                }
                Helps::No => clauses.push(self.missed(set)),
                // It is told; what has more is not looked at.
                Helps::Open => known.push(set),
            }
        }
        (helping, clauses)
    }

    fn helps(&mut self, set: &Set) -> Helps {
        let all: Set = set.union(self.base).copied().collect();
        match self.asking.forbids(self.edits, &all) {
            Helps::Yes if self.is_weaker => Helps::No,
            Helps::No if self.is_weaker => Helps::Yes,
            answer => answer,
        }
    }

    /// The additions that are not in a largest set that does not help.
    fn missed(&mut self, set: Set) -> Vec<usize> {
        let others: Vec<usize> =
            self.additions.iter().copied().filter(|one| !set.contains(one)).collect();
        let large = self.grown(set, &others);
        others.into_iter().filter(|one| !large.contains(one)).collect()
    }

    fn grown(&mut self, set: Set, more: &[usize]) -> Set {
        let all: Set = set.iter().chain(more).copied().collect();
        if more.is_empty() || matches!(self.helps(&all), Helps::No) {
            return all;
        }
        if more.len() == 1 {
            return set;
        }
        let (left, right) = more.split_at(more.len() / 2);
        let set = self.grown(set, left);
        self.grown(set, right)
    }
}

/// A set of at most this many that has one of each clause, and has none of the known sets in it.
fn hitting(clauses: &[Vec<usize>], known: &[Set], chosen: &Set, most: usize) -> Option<Set> {
    if known.iter().any(|known| known.is_subset(chosen)) {
        return None;
    }
    let is_missed = |clause: &&Vec<usize>| !clause.iter().any(|one| chosen.contains(one));
    let Some(clause) = clauses.iter().find(is_missed) else { return Some(chosen.clone()) };
    if most == 0 {
        return None;
    }
    clause.iter().find_map(|one| {
        let mut chosen = chosen.clone();
        chosen.insert(*one);
        hitting(clauses, known, &chosen, most - 1)
    })
}
