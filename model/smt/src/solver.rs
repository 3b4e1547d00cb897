//! The interface to solvers: batsat (a SAT solver in Rust) and Z3.

use lang::limits::Limits;

use super::cnf::{Cnf, Lit};

/// The result of a solver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is an assignment, and the check accepted it.
    Satisfiable,
    /// The solver proved that there is none.
    Unsatisfiable,
    /// The limits were reached first.
    Unknown,
}

/// An incremental solver of propositional clauses.
pub trait Solver {
    /// Declares a formula's variables and adds its clauses.
    fn add(&mut self, formula: &Cnf) {
        self.reserve(&formula.is_gate);
        formula.clauses.iter().for_each(|clause| self.add_clause(clause));
    }

    /// Declares one variable for each entry, in order. An entry is true for the variable of a gate (see
    /// [`Cnf::is_gate`]).
    fn reserve(&mut self, is_gate: &[bool]);

    /// Adds a clause permanently.
    fn add_clause(&mut self, clause: &[Lit]);

    /// Looks for an assignment that satisfies the assumptions and that `check` accepts.
    fn solve(&mut self, assumptions: &[Lit], check: &mut Check<'_>) -> Answer;
}

/// The check of each assignment that a solver proposes. It returns clauses that the assignment breaks; they
/// hold from then on. It accepts the assignment by returning no clauses.
pub type Check<'c> = dyn FnMut(Assignment<'_>) -> Vec<Vec<Lit>> + 'c;

/// Says which literals are true. An unassigned variable is false.
pub type Assignment<'a> = &'a dyn Fn(Lit) -> bool;

/// The solvers to choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SolverKind {
    /// batsat: faster on litmus tests, by measurement.
    #[default]
    Batsat,
    /// Z3, as a solver of finite domains (QF_FD).
    #[cfg(feature = "z3")]
    Z3,
}

impl SolverKind {
    /// All solvers.
    pub const ALL: &[SolverKind] = &[
        SolverKind::Batsat,
        #[cfg(feature = "z3")]
        SolverKind::Z3,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batsat => "batsat",
            #[cfg(feature = "z3")]
            Self::Z3 => "z3",
        }
    }

    /// Starts a new solver without variables or clauses.
    pub fn start(self, limits: &Limits) -> Box<dyn Solver> {
        match self {
            Self::Batsat => Box::new(super::batsat::Batsat::new(limits.clone())),
            #[cfg(feature = "z3")]
            Self::Z3 => Box::new(super::z3::Z3::new(limits.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the assignments in which at least one of some variables is true, by excluding each that is
    /// found. `also` are clauses that the check returns when they are broken.
    fn count(
        kind: SolverKind,
        variables: usize,
        assumptions: &[usize],
        also: &dyn Fn(&[Lit]) -> Vec<Vec<Lit>>,
    ) -> usize {
        let mut formula = Cnf::default();
        let variables: Vec<Lit> = (0..variables).map(|_| formula.variable()).collect();
        let any = formula.or_all(&variables);
        formula.clause([any]);
        let mut solver = kind.start(&Limits::default());
        solver.add(&formula);
        let mut found = 0;
        let assumptions: Vec<Lit> = assumptions.iter().map(|index| variables[*index]).collect();
        let apart = |is_true: Assignment<'_>| {
            variables.iter().map(|literal| literal.negate_if(is_true(*literal))).collect()
        };
        let answer = solver.solve(&assumptions, &mut |is_true| {
            let is_broken = |clause: &Vec<Lit>| clause.iter().all(|literal| !is_true(*literal));
            let broken: Vec<Vec<Lit>> = also(&variables).into_iter().filter(is_broken).collect();
            if !broken.is_empty() {
                return broken;
            }
            found += 1;
            vec![apart(is_true)]
        });
        assert_eq!(answer, Answer::Unsatisfiable);
        // Assignments that were excluded under assumptions stay excluded without them.
        let mut rest = 0;
        let answer = solver.solve(&[], &mut |is_true| {
            rest += 1;
            vec![apart(is_true)]
        });
        assert_eq!(answer, Answer::Unsatisfiable);
        assert!(found + rest < 1 << variables.len(), "an assignment was found twice");
        found
    }

    #[test]
    fn every_assignment_is_found_once() {
        let none = |_: &[Lit]| Vec::new();
        for &kind in SolverKind::ALL {
            assert_eq!(count(kind, 3, &[], &none), 7);
            assert_eq!(count(kind, 3, &[1], &none), 4);
            assert_eq!(count(kind, 3, &[0, 2], &none), 2);
        }
        // More clauses than a solver keeps of those that it learns by itself.
        assert_eq!(count(SolverKind::Batsat, 13, &[], &none), (1 << 13) - 1);
        assert_eq!(count(SolverKind::Batsat, 13, &[5], &none), 1 << 12);
    }

    #[test]
    fn clauses_of_any_length_are_kept() {
        for &kind in SolverKind::ALL {
            let name = kind.name();
            let count = |assumptions: &[usize], also: &dyn Fn(&[Lit]) -> Vec<Vec<Lit>>| {
                count(kind, 3, assumptions, also)
            };
            assert_eq!(count(&[], &|_| vec![vec![]]), 0, "{name}: the empty one");
            assert_eq!(count(&[], &|all| vec![vec![all[0]]]), 4, "{name}: one literal");
            assert_eq!(count(&[], &|all| vec![vec![all[0]], vec![!all[0]]]), 0, "{name}");
            assert_eq!(count(&[], &|_| vec![vec![Lit::FALSE]]), 0, "{name}: a fixed one");
            let fixed = |all: &[Lit]| vec![vec![!all[1], Lit::FALSE], vec![all[0], all[1], all[2]]];
            assert_eq!(count(&[], &fixed), 3, "{name}: with a fixed one");
            assert_eq!(count(&[1], &fixed), 0, "{name}: against an assumption");
            let pairs =
                |all: &[Lit]| vec![vec![all[0], all[1]], vec![all[1], all[2]], vec![!all[1]]];
            assert_eq!(count(&[], &pairs), 1, "{name}: several at once");
        }
    }

    #[test]
    fn many_clauses_of_one_check_are_kept() {
        let no_two = |all: &[Lit]| -> Vec<Vec<Lit>> {
            let pairs = all.iter().enumerate();
            pairs.flat_map(|(i, a)| all[..i].iter().map(|b| vec![!*a, !*b])).collect()
        };
        let no_odd = |all: &[Lit]| -> Vec<Vec<Lit>> {
            all.iter().skip(1).step_by(2).map(|literal| vec![!*literal]).collect()
        };
        for &kind in SolverKind::ALL {
            let name = kind.name();
            assert_eq!(count(kind, 12, &[], &no_two), 12, "{name}");
            assert_eq!(count(kind, 12, &[7], &no_two), 1, "{name}");
            assert_eq!(count(kind, 8, &[], &no_odd), (1 << 4) - 1, "{name}");
            assert_eq!(count(kind, 8, &[3], &no_odd), 0, "{name}");
        }
    }
}
