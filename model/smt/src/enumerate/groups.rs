//! Groups of observables that no clause of the formula connects.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lang::limits;

use crate::Consistent;
use crate::cnf::Lit;
use crate::judge::Judge;

/// An assignment: for each variable a bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    fn none(variables: usize) -> Self {
        Self(vec![0; variables.div_ceil(64)])
    }

    /// The whole assignment of an execution.
    pub fn of(at: &Consistent<'_>) -> Self {
        let encoding = at.candidate.encoding;
        let mut bits = Self::none(encoding.cnf.is_gate.len());
        (0..encoding.cnf.is_gate.len())
            .filter(|variable| (at.candidate.is_true)(Lit::of(*variable)))
            .for_each(|variable| bits.set(variable));
        bits
    }

    fn set(&mut self, variable: usize) {
        self.0[variable / 64] |= 1 << (variable % 64);
    }

    /// Whether a literal is true.
    pub fn is_true(&self, literal: Lit) -> bool {
        let variable = literal.variable() as usize;
        (self.0[variable / 64] >> (variable % 64) & 1 == 1) != literal.is_negated()
    }

    /// Becomes `part` for the variables of `of`, and `rest` for all others.
    pub fn merge(&mut self, part: &Self, of: &Self, rest: &Self) {
        for (word, bits) in self.0.iter_mut().enumerate() {
            *bits = part.0[word] & of.0[word] | rest.0[word] & !of.0[word];
        }
    }
}

/// Some observables.
pub struct Group {
    /// Their indices, ascending.
    pub observables: Vec<usize>,
    /// The variables that clauses connect with them.
    pub variables: Bits,
}

/// Divides observables into two groups that no clause connects, given what holds under the assumptions. What
/// one thread reads stays together, because most axioms are about program order. `values` says how many
/// different values of some observables are known; the groups get about as many each, the first at most as
/// many as the second. `None` if clauses connect all.
pub fn divide(
    judge: &Judge<'_>,
    within: &[Lit],
    observables: &[usize],
    values: impl Fn(&[usize]) -> usize,
) -> Option<[Group; 2]> {
    let connected = Connected::new(judge, within);
    let mut parts: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for observable in observables {
        let literals = judge.encoding.observables[*observable].literals();
        let root = literals.iter().find_map(|literal| connected.root(*literal));
        parts.entry(root).or_default().push(*observable);
    }
    if parts.len() < 2 {
        return None;
    }
    let mut parts: Vec<_> =
        parts.into_iter().map(|(root, part)| (values(&part), root, part)).collect();
    parts.sort_by_key(|(values, ..)| Reverse(*values));
    let mut groups = [(1, Vec::new(), Vec::new()), (1, Vec::new(), Vec::new())];
    for (values, root, part) in parts {
        let [first, second] = &mut groups;
        let smaller = if second.0 < first.0 { second } else { first };
        smaller.0 = values.saturating_mul(smaller.0);
        smaller.1.extend(part);
        smaller.2.extend(root);
    }
    groups.sort_by_key(|(values, ..)| *values);
    Some(groups.map(|(_, mut observables, roots)| {
        observables.sort_unstable();
        Group { observables, variables: connected.with(&roots) }
    }))
}

/// Which variables depend on each other, by union and find.
struct Connected {
    /// By variable: in the end, the one that stands for all that depend on each other.
    parents: Vec<usize>,
    /// The variables whose value is the same in every execution.
    fixed: Vec<Option<bool>>,
}

impl Connected {
    fn new(judge: &Judge<'_>, within: &[Lit]) -> Self {
        let encoding = &judge.encoding;
        let mut fixed = vec![None; encoding.cnf.is_gate.len()];
        within.iter().for_each(|literal| fix(&mut fixed, *literal));
        let mut is_changed = true;
        while is_changed {
            limits::look_now();
            is_changed = false;
            for clause in encoding.cnf.clauses.iter().chain(&judge.lemmas) {
                if let Some(literal) = only_open(&fixed, clause) {
                    fix(&mut fixed, literal);
                    is_changed = true;
                }
            }
        }
        let mut all = Self { parents: (0..fixed.len()).collect(), fixed };
        for clause in &encoding.cnf.clauses {
            if !clause.iter().any(|literal| value(&all.fixed, *literal) == Some(true)) {
                all.connect(clause);
            }
        }
        encoding.observables.iter().for_each(|domain| all.connect(&domain.literals()));
        for thread in encoding.taken_by_thread(judge.skeleton) {
            all.connect(&thread);
        }
        for variable in 0..all.parents.len() {
            all.parents[variable] = all.top(variable);
        }
        all
    }

    fn connect(&mut self, literals: &[Lit]) {
        let mut first = None;
        for variable in literals.iter().map(|literal| literal.variable() as usize) {
            if self.fixed[variable].is_none() {
                let root = self.top(variable);
                self.parents[root] = *first.get_or_insert(root);
            }
        }
    }

    /// The last parent of a variable. Each variable on the way gets its parent's parent, so ways stay short.
    fn top(&mut self, mut variable: usize) -> usize {
        while self.parents[variable] != variable {
            self.parents[variable] = self.parents[self.parents[variable]];
            variable = self.parents[variable];
        }
        variable
    }

    /// The variable that stands for all that depend on this literal's. `None` if its value is fixed.
    fn root(&self, literal: Lit) -> Option<usize> {
        let variable = literal.variable() as usize;
        self.fixed[variable].is_none().then(|| self.parents[variable])
    }

    /// The variables that depend on one of these.
    fn with(&self, roots: &[usize]) -> Bits {
        let mut bits = Bits::none(self.parents.len());
        (0..self.parents.len())
            .filter(|variable| {
                self.root(Lit::of(*variable)).is_some_and(|root| roots.contains(&root))
            })
            .for_each(|variable| bits.set(variable));
        bits
    }
}

fn fix(fixed: &mut [Option<bool>], literal: Lit) {
    fixed[literal.variable() as usize] = Some(!literal.is_negated());
}

fn value(fixed: &[Option<bool>], literal: Lit) -> Option<bool> {
    fixed[literal.variable() as usize].map(|value| value != literal.is_negated())
}

/// The literal that must be true because all others are false.
fn only_open(fixed: &[Option<bool>], clause: &[Lit]) -> Option<Lit> {
    let mut open = clause.iter().filter(|literal| value(fixed, **literal) != Some(false));
    let first = open.next()?;
    let is_open = value(fixed, *first).is_none();
    (is_open && open.next().is_none()).then_some(*first)
}
