//! The solver batsat.

use batsat::{
    Callbacks, Solver as Engine, SolverInterface, SolverOpts, Theory, TheoryArg, Var, lbool,
};

use super::cnf::Lit;
use super::solver::{Answer, Check, Limits, Solver};

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
        if self.limits.reached() {
            return Answer::Unknown;
        }
        let variables = &self.variables;
        let assumptions: Vec<batsat::Lit> =
            assumptions.iter().map(|lit| translated(variables, *lit)).collect();
        let mut checked = Checked {
            variables,
            check,
            waiting: Vec::new(),
            kept: Vec::new(),
            refuted: false,
            levels: 0,
        };
        let answer = self.engine.solve_limited_th(&mut checked, &assumptions);
        let Checked { mut kept, refuted, .. } = checked;
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
struct Checked<'a, 'c> {
    variables: &'a [Var],
    check: &'a mut Check<'c>,
    /// Clauses that were broken together with the one of the last conflict.
    waiting: Vec<Vec<batsat::Lit>>,
    /// Those of them that were not broken any more where the search went on.
    kept: Vec<Vec<batsat::Lit>>,
    /// No assignment is left.
    refuted: bool,
    levels: usize,
}

fn is_broken(clause: &[batsat::Lit], acts: &TheoryArg<'_>) -> bool {
    clause.iter().all(|literal| acts.value(literal.var()) == lbool::new(!literal.sign()))
}

impl Theory for Checked<'_, '_> {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        if let Some(index) = self.kept.iter().position(|clause| is_broken(clause, acts)) {
            return acts.raise_conflict(&self.kept.swap_remove(index), true);
        }
        let variables = self.variables;
        let is_true = |literal: Lit| {
            let value = acts.value(variables[literal.variable() as usize]);
            (value == lbool::TRUE) != literal.is_negated()
        };
        let broken = (self.check)(&is_true);
        self.refuted = false;
        self.waiting.clear();
        for mut clause in broken {
            clause.retain(|literal| *literal != Lit::FALSE);
            clause.sort_unstable();
            clause.dedup();
            // batsat cannot learn from a conflict without literals, and from one with a single literal only if it is not fixed.
            match *clause {
                [] => self.refuted = true,
                [_] => clause.push(Lit::FALSE),
                _ => {}
            }
            self.waiting.push(clause.iter().map(|lit| translated(variables, *lit)).collect());
        }
        if self.refuted {
            return self.waiting.clear();
        }
        // The shortest is first.
        self.waiting.sort_by_key(|clause| std::cmp::Reverse(clause.len()));
        if let Some(clause) = self.waiting.pop() {
            acts.raise_conflict(&clause, true);
        }
    }

    /// batsat can add clauses in the midst of a search only if they are broken; the others are kept apart.
    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        while let Some(clause) = self.waiting.pop() {
            if is_broken(&clause, acts) {
                return acts.raise_conflict(&clause, true);
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
