//! The solver batsat.

use batsat::{
    Callbacks, Solver as Engine, SolverInterface, SolverOpts, Theory, TheoryArg, Var, lbool,
};

use lang::limits::Limits;

use super::cnf::Lit;
use super::solver::{Answer, Check, Solver};

/// A batsat solver that gives up at its limits.
pub struct Batsat {
    engine: Engine<Stop>,
    variables: Vec<Var>,
    limits: Limits,
}

struct Stop(Limits);

impl Callbacks for Stop {
    fn stop(&self) -> bool {
        self.0.reached().is_some()
    }
}

impl Batsat {
    /// A solver without variables or clauses.
    pub fn new(limits: Limits) -> Self {
        let engine = Engine::new(SolverOpts::default(), Stop(limits.clone()));
        Self { engine, variables: Vec::new(), limits }
    }
}

fn translated(variables: &[Var], literal: Lit) -> batsat::Lit {
    batsat::Lit::new(variables[literal.variable() as usize], !literal.is_negated())
}

impl Solver for Batsat {
    fn reserve(&mut self, is_gate: &[bool]) {
        let variables = is_gate.iter().map(|is_gate| self.engine.new_var(lbool::UNDEF, !is_gate));
        self.variables = variables.collect();
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        let literals = clause.iter().map(|lit| translated(&self.variables, *lit));
        self.engine.add_clause_reuse(&mut literals.collect());
    }

    fn solve(&mut self, assumptions: &[Lit], check: &mut Check<'_>) -> Answer {
        if self.limits.reached().is_some() {
            return Answer::Unknown;
        }
        let variables = &self.variables;
        let assumptions: Vec<batsat::Lit> =
            assumptions.iter().map(|lit| translated(variables, *lit)).collect();
        let mut judge = Judge {
            variables,
            check,
            waiting: Vec::new(),
            kept: Vec::new(),
            refuted: false,
            levels: 0,
            fixed: 0,
        };
        let answer = self.engine.solve_limited_th(&mut judge, &assumptions);
        let Judge { mut kept, refuted, .. } = judge;
        for clause in &mut kept {
            self.engine.add_clause_reuse(clause);
        }
        if refuted {
            self.engine.add_clause_reuse(&mut Vec::new());
            Answer::Unsatisfiable
        } else if answer == lbool::TRUE {
            Answer::Satisfiable
        } else if answer == lbool::FALSE {
            Answer::Unsatisfiable
        } else {
            Answer::Unknown
        }
    }
}

/// The check as a theory of batsat: what an assignment breaks is a conflict in the midst of the search, which goes on from
/// there instead of from its begin.
struct Judge<'a, 'c> {
    variables: &'a [Var],
    check: &'a mut Check<'c>,
    /// Clauses that were broken together with the one of the last conflict.
    waiting: Vec<Vec<batsat::Lit>>,
    /// Those of them that were not broken any more where the search went on: looked at until it is over.
    kept: Vec<Vec<batsat::Lit>>,
    /// No assignment is left.
    refuted: bool,
    levels: usize,
    /// How many literals of the trail are fixed, as far as is known.
    fixed: usize,
}

fn is_broken(clause: &[batsat::Lit], acts: &TheoryArg<'_>) -> bool {
    clause.iter().all(|literal| acts.value(literal.var()) == lbool::new(!literal.sign()))
}

impl Judge<'_, '_> {
    /// batsat's literals, and one more that is never true: with it, batsat keeps the clause besides what it learns from it, which it
    /// may forget, and takes a clause of one literal for no decision of its own, which might be made already.
    fn clause(&self, clause: &[Lit]) -> Vec<batsat::Lit> {
        let literals = clause.iter().filter(|literal| **literal != Lit::FALSE);
        literals.chain([&Lit::FALSE]).map(|lit| translated(self.variables, *lit)).collect()
    }

    fn raise(&mut self, clause: &[batsat::Lit], acts: &mut TheoryArg<'_>) {
        debug_assert!(is_broken(clause, acts), "the check gives clauses that are broken");
        // Conflicts in what is fixed are the end, which batsat would see only later.
        let fixed = &acts.model()[..self.fixed.min(acts.model().len())];
        self.refuted = clause.iter().all(|literal| fixed.contains(&!*literal));
        if !self.refuted {
            acts.raise_conflict(clause, true);
        }
    }
}

impl Theory for Judge<'_, '_> {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        if self.refuted {
            return;
        }
        if let Some(index) = self.kept.iter().position(|clause| is_broken(clause, acts)) {
            let clause = self.kept.swap_remove(index);
            return self.raise(&clause, acts);
        }
        let variables = self.variables;
        let is_true = |literal: Lit| {
            let value = acts.value(variables[literal.variable() as usize]);
            (value == lbool::TRUE) != literal.is_negated()
        };
        let mut broken = (self.check)(&is_true);
        // The shortest is popped first.
        broken.sort_by_key(|clause| std::cmp::Reverse(clause.len()));
        self.waiting = broken.iter().map(|clause| self.clause(clause)).collect();
        if let Some(clause) = self.waiting.pop() {
            self.raise(&clause, acts);
        }
    }

    /// batsat can add clauses in the midst of a search only if they are broken; the others are kept apart.
    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        if self.levels == 0 {
            self.fixed = acts.model().len();
        }
        if self.refuted {
            return;
        }
        while let Some(clause) = self.waiting.pop() {
            if is_broken(&clause, acts) {
                return self.raise(&clause, acts);
            }
            self.kept.push(clause);
        }
    }

    fn create_level(&mut self) {
        self.levels += 1;
    }

    fn pop_levels(&mut self, n: usize) {
        self.levels -= n;
    }

    fn n_levels(&self) -> usize {
        self.levels
    }

    fn explain_propagation(&mut self, _: batsat::Lit) -> &[batsat::Lit] {
        // Nothing is propagated.
        &[]
    }
}
