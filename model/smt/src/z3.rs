//! The solver Z3, as a solver of finite domains.

use std::time::{Duration, Instant};

use lang::limits::Limits;
use z3::ast::Bool;
use z3::{Model, Params, SatResult, Solver as Engine};

use super::cnf::Lit;
use super::solver::{Answer, Check, Solver};

/// A Z3 solver with limits of time and memory.
pub struct Z3 {
    engine: Engine,
    variables: Vec<Bool>,
    limits: Limits,
}

impl Z3 {
    /// A solver without variables or clauses, in the calling thread's context.
    pub fn new(limits: Limits) -> Self {
        let engine = Engine::new_for_logic("QF_FD").unwrap_or_default();
        Self { engine, variables: Vec::new(), limits }
    }

    fn literal(&self, literal: Lit) -> Bool {
        let variable = &self.variables[literal.variable() as usize];
        if literal.is_negated() { !variable } else { variable.clone() }
    }

    fn is_true(&self, model: Option<&Model>, literal: Lit) -> bool {
        let value = model
            .and_then(|model| model.eval(&self.variables[literal.variable() as usize], false))
            .and_then(|value| value.as_bool());
        // The solver's model may leave a variable open. Then it is false, and its negation true.
        value.unwrap_or(false) != literal.is_negated()
    }

    /// Z3 calls nothing back, so it runs in slices of time. The limits are checked between slices.
    fn check(&self, assumptions: &[Bool]) -> SatResult {
        let Limits { deadline, stop, memory } = &self.limits;
        if deadline.is_none() && stop.is_none() && memory.is_none() {
            return self.engine.check_assumptions(assumptions);
        }
        let mut slice_ms = 100;
        loop {
            let start = Instant::now();
            let mut params = Params::new();
            params.set_u32("timeout", slice_ms);
            self.engine.set_params(&params);
            let result = self.engine.check_assumptions(assumptions);
            let gave_up = start.elapsed() < Duration::from_millis(u64::from(slice_ms / 2));
            let is_reached = self.limits.reached().is_some();
            if result != SatResult::Unknown || is_reached || gave_up {
                return result;
            }
            slice_ms = (slice_ms * 2).min(1_000);
        }
    }
}

impl Solver for Z3 {
    fn reserve(&mut self, is_gate: &[bool]) {
        self.variables = (0..is_gate.len() as u32).map(Bool::new_const).collect();
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        let literals: Vec<Bool> = clause.iter().map(|lit| self.literal(*lit)).collect();
        self.engine.assert(Bool::or(&literals));
    }

    fn solve(&mut self, assumptions: &[Lit], check: &mut Check<'_>) -> Answer {
        let assumptions: Vec<Bool> = assumptions.iter().map(|lit| self.literal(*lit)).collect();
        loop {
            if self.limits.reached().is_some() {
                return Answer::Unknown;
            }
            match self.check(&assumptions) {
                SatResult::Sat => {}
                SatResult::Unsat => return Answer::Unsatisfiable,
                SatResult::Unknown => return Answer::Unknown,
            }
            let model = self.engine.get_model();
            let broken = check(&|literal| self.is_true(model.as_ref(), literal));
            if broken.is_empty() {
                return Answer::Satisfiable;
            }
            broken.iter().for_each(|clause| self.add_clause(clause));
        }
    }
}
