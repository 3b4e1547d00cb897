//! Literals, clauses, and the gates that encodings use.

use lang::limits;

/// A boolean variable or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lit(u32);

impl Lit {
    /// The literal that is always true: variable 0, fixed by a clause of its own.
    pub const TRUE: Lit = Lit(0);
    /// The literal that is never true.
    pub const FALSE: Lit = Lit(1);

    /// The literal that is true iff the variable with this number is.
    pub fn of(variable: usize) -> Lit {
        Lit((variable as u32) << 1)
    }

    /// The variable's number.
    pub fn variable(self) -> u32 {
        self.0 >> 1
    }

    /// Whether it is a negation.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// This literal, or its negation.
    pub fn negate_if(self, negate: bool) -> Lit {
        Lit(self.0 ^ u32::from(negate))
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        self.negate_if(true)
    }
}

/// The limits are checked once for this many clauses.
const AT_ONCE: usize = 1024;

/// The approximate size in bytes of a clause. A solver takes about as much again.
const CLAUSE: usize = 100;

/// Up to this many literals, "at most one" gets a clause for each pair.
const FEW: usize = 8;

/// A formula in conjunctive normal form under construction.
#[derive(Clone, Debug)]
pub struct Cnf {
    /// By variable: true for the output of a gate. Propagation sets it after the gate's inputs, so the solver
    /// need not guess it.
    pub is_gate: Vec<bool>,
    /// The clauses; none is trivially true.
    pub clauses: Vec<Vec<Lit>>,
}

impl Default for Cnf {
    fn default() -> Self {
        Self { is_gate: vec![false], clauses: vec![vec![Lit::TRUE]] }
    }
}

impl Cnf {
    /// A new variable.
    pub fn variable(&mut self) -> Lit {
        self.is_gate.push(false);
        Lit((self.is_gate.len() as u32 - 1) << 1)
    }

    fn gate(&mut self) -> Lit {
        self.is_gate.push(true);
        Lit((self.is_gate.len() as u32 - 1) << 1)
    }

    /// Adds a clause, without literals that are never true.
    pub fn clause(&mut self, literals: impl IntoIterator<Item = Lit>) {
        if self.clauses.len().is_multiple_of(AT_ONCE) {
            limits::need(AT_ONCE * CLAUSE);
            limits::look();
        }
        let mut clause: Vec<Lit> =
            literals.into_iter().filter(|literal| *literal != Lit::FALSE).collect();
        clause.sort_unstable();
        clause.dedup();
        let trivial = clause.contains(&Lit::TRUE)
            || clause.windows(2).any(|pair| pair[0].variable() == pair[1].variable());
        if !trivial {
            self.clauses.push(clause);
        }
    }

    /// Adds the clause: if all of `when` are true, so is one of `then`.
    pub fn implies(&mut self, when: &[Lit], then: &[Lit]) {
        self.clause(when.iter().map(|literal| !*literal).chain(then.iter().copied()));
    }

    /// A literal that is true iff both inputs are.
    pub fn and(&mut self, left: Lit, right: Lit) -> Lit {
        match (left, right) {
            (Lit::TRUE, other) | (other, Lit::TRUE) => other,
            _ if left == right => left,
            _ if left == Lit::FALSE || right == Lit::FALSE || left == !right => Lit::FALSE,
            _ => {
                let both = self.gate();
                self.implies(&[both], &[left]);
                self.implies(&[both], &[right]);
                self.implies(&[left, right], &[both]);
                both
            }
        }
    }

    /// A literal that is true iff at least one input is.
    pub fn or_all(&mut self, literals: &[Lit]) -> Lit {
        let possible: Vec<Lit> =
            literals.iter().copied().filter(|literal| *literal != Lit::FALSE).collect();
        match *possible {
            [] => Lit::FALSE,
            [one] => one,
            _ if possible.contains(&Lit::TRUE) => Lit::TRUE,
            _ => {
                let any = self.gate();
                possible.iter().for_each(|literal| self.implies(&[*literal], &[any]));
                self.implies(&[any], &possible);
                any
            }
        }
    }

    /// Adds clauses so that at most one literal is true.
    pub fn at_most_one(&mut self, literals: &[Lit]) {
        if literals.len() <= FEW {
            for (index, left) in literals.iter().enumerate() {
                for right in &literals[index + 1..] {
                    self.clause([!*left, !*right]);
                }
            }
            return;
        }
        // A clause for each pair would be too many. Instead, a gate says for each literal whether one before
        // it is true.
        let mut before = Lit::FALSE;
        for literal in literals {
            self.clause([!*literal, !before]);
            before = self.or_all(&[before, *literal]);
        }
    }
}
