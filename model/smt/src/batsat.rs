//! The solver batsat.

use std::cell::Cell;
use std::rc::Rc;

use batsat::{
    Callbacks, Solver as Engine, SolverInterface, SolverOpts, Theory, TheoryArg, Var, lbool,
};

use lang::limits::Limits;

use super::cnf::Lit;
use super::solver::{Answer, Check, Solver};

/// A batsat solver with limits of time and memory.
pub struct Batsat {
    engine: Engine<Stop>,
    variables: Vec<Var>,
    limits: Limits,
    restart: Rc<Cell<bool>>,
}

/// So many clauses end a search to be added.
const KEPT: usize = 4;

struct Stop {
    limits: Limits,
    /// The search is to end and begin again, because clauses wait that it does not take.
    restart: Rc<Cell<bool>>,
}

impl Callbacks for Stop {
    fn stop(&self) -> bool {
        self.restart.get() || self.limits.reached().is_some()
    }
}

impl Batsat {
    /// A solver without variables or clauses.
    pub fn new(limits: Limits) -> Self {
        let restart = Rc::new(Cell::new(false));
        let stop = Stop { limits: limits.clone(), restart: restart.clone() };
        let engine = Engine::new(SolverOpts::default(), stop);
        Self { engine, variables: Vec::new(), limits, restart }
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
        let assumptions = assumptions.iter().map(|lit| translated(&self.variables, *lit));
        let assumptions: Vec<batsat::Lit> = assumptions.collect();
        while self.limits.reached().is_none() {
            let mut checking = Checking::new(&self.variables, check, self.restart.clone());
            let answer = self.engine.solve_limited_th(&mut checking, &assumptions);
            let Checking { mut kept, refuted, .. } = checking;
            for clause in &mut kept {
                self.engine.add_clause_reuse(clause);
            }
            let restart = self.restart.take();
            if refuted {
                self.engine.add_clause_reuse(&mut Vec::new());
                return Answer::Unsatisfiable;
            } else if answer == lbool::TRUE {
                return Answer::Satisfiable;
            } else if answer == lbool::FALSE {
                return Answer::Unsatisfiable;
            } else if !restart {
                break;
            }
        }
        Answer::Unknown
    }
}

/// Connects our check to batsat's theory interface. Clauses that an assignment breaks become a conflict
/// during the search. So the search continues from the conflict instead of from the start.
struct Checking<'a, 'c> {
    variables: &'a [Var],
    check: &'a mut Check<'c>,
    /// Broken clauses from the last check that have not been raised as conflicts yet.
    waiting: Vec<Vec<batsat::Lit>>,
    /// Clauses from `waiting` that were no longer broken when their turn came. They are checked until the
    /// search ends, and then added. If there are many, the search begins again: otherwise each of them costs
    /// a complete assignment that breaks it.
    kept: Vec<Vec<batsat::Lit>>,
    restart: Rc<Cell<bool>>,
    /// A conflict showed that no assignment is left.
    refuted: bool,
    levels: usize,
    /// How many literals of the trail are known to be fixed for good.
    fixed: usize,
}

fn is_broken(clause: &[batsat::Lit], acts: &TheoryArg<'_>) -> bool {
    clause.iter().all(|literal| acts.value(literal.var()) == lbool::new(!literal.sign()))
}

impl<'a, 'c> Checking<'a, 'c> {
    fn new(variables: &'a [Var], check: &'a mut Check<'c>, restart: Rc<Cell<bool>>) -> Self {
        Self {
            variables,
            check,
            waiting: Vec::new(),
            kept: Vec::new(),
            restart,
            refuted: false,
            levels: 0,
            fixed: 0,
        }
    }

    /// Translates a clause and adds one literal that is never true. batsat may forget clauses that it
    /// learned, but it keeps this one. The extra literal also keeps a clause of one literal from being
    /// treated as a decision that may have been made already.
    fn clause(&self, clause: &[Lit]) -> Vec<batsat::Lit> {
        let literals = clause.iter().filter(|literal| **literal != Lit::FALSE);
        literals.chain([&Lit::FALSE]).map(|lit| translated(self.variables, *lit)).collect()
    }

    fn raise(&mut self, clause: &[batsat::Lit], acts: &mut TheoryArg<'_>) {
        debug_assert!(is_broken(clause, acts), "the check gives clauses that are broken");
        // A conflict among fixed literals ends the search. batsat would notice only later.
        let fixed = &acts.model()[..self.fixed.min(acts.model().len())];
        self.refuted = clause.iter().all(|literal| fixed.contains(&!*literal));
        if !self.refuted {
            acts.raise_conflict(clause, true);
        }
    }
}

impl Theory for Checking<'_, '_> {
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
        // The shortest clause comes last, so it is popped first.
        broken.sort_by_key(|clause| std::cmp::Reverse(clause.len()));
        self.waiting = broken.iter().map(|clause| self.clause(clause)).collect();
        if let Some(clause) = self.waiting.pop() {
            self.raise(&clause, acts);
        }
    }

    /// During a search, batsat accepts a new clause only if it is broken. Clauses that are not broken go to
    /// `kept`.
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
            self.restart.set(self.kept.len() >= KEPT);
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
        // This theory propagates nothing.
        &[]
    }
}
