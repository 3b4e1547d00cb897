//! The solver batsat.

use batsat::{Callbacks, Solver as Engine, SolverInterface, SolverOpts, Var, lbool};

use super::cnf::Lit;
use super::solver::{Answer, Limits, Solver};

/// A batsat solver that gives up at its limits.
pub struct Batsat {
    engine: Engine<Stop>,
    variables: Vec<Var>,
    limits: Limits,
}

struct Stop(Limits);

impl Callbacks for Stop {
    fn stop(&self) -> bool {
        self.0.reached()
    }
}

impl Batsat {
    /// A solver without variables or clauses.
    pub fn new(limits: Limits) -> Self {
        let engine = Engine::new(SolverOpts::default(), Stop(limits.clone()));
        Self { engine, variables: Vec::new(), limits }
    }

    fn literal(&self, literal: Lit) -> batsat::Lit {
        batsat::Lit::new(self.variables[literal.variable() as usize], !literal.is_negated())
    }
}

impl Solver for Batsat {
    fn reserve(&mut self, count: u32) {
        while self.variables.len() < count as usize {
            self.variables.push(self.engine.new_var_default());
        }
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        let mut literals: Vec<batsat::Lit> = clause.iter().map(|lit| self.literal(*lit)).collect();
        self.engine.add_clause_reuse(&mut literals);
    }

    fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        if self.limits.reached() {
            return Answer::Unknown;
        }
        let assumptions: Vec<batsat::Lit> =
            assumptions.iter().map(|lit| self.literal(*lit)).collect();
        let answer = self.engine.solve_limited(&assumptions);
        if answer == lbool::TRUE {
            Answer::Satisfiable
        } else if answer == lbool::FALSE {
            Answer::Unsatisfiable
        } else {
            Answer::Unknown
        }
    }

    fn is_true(&self, literal: Lit) -> bool {
        self.engine.value_lit(self.literal(literal)) == lbool::TRUE
    }
}
