//! Solvers for the encoding: batsat (a SAT solver in Rust) and Z3, behind one interface.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::cnf::Lit;

/// What a solver can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is an assignment, which [`Solver::is_true`] shows.
    Satisfiable,
    /// The solver proved that there is none.
    Unsatisfiable,
    /// The limits were reached first.
    Unknown,
}

/// When to give up.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// No later than this.
    pub deadline: Option<Instant>,
    /// As soon as this is set.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Limits {
    /// Whether it is time to give up.
    pub fn reached(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// An incremental solver of propositional clauses.
pub trait Solver {
    /// Makes the variables `0..count` known.
    fn reserve(&mut self, count: u32);

    /// Adds a clause for good.
    fn add_clause(&mut self, clause: &[Lit]);

    /// Looks for an assignment in which the assumptions hold too.
    fn solve(&mut self, assumptions: &[Lit]) -> Answer;

    /// The value of a literal in the assignment found last; a variable that it leaves open is false.
    fn is_true(&self, literal: Lit) -> bool;
}

/// Which solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SolverKind {
    /// batsat; by measurement the faster one on litmus tests.
    #[default]
    Batsat,
    /// Z3, as a solver of finite domains (QF_FD).
    Z3,
}

impl SolverKind {
    /// All of them.
    pub const ALL: [SolverKind; 2] = [SolverKind::Batsat, SolverKind::Z3];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batsat => "batsat",
            Self::Z3 => "z3",
        }
    }

    /// A new solver.
    pub fn start(self, limits: &Limits) -> Box<dyn Solver> {
        match self {
            Self::Batsat => Box::new(super::batsat::Batsat::new(limits.clone())),
            Self::Z3 => Box::new(super::z3::Z3::new(limits.clone())),
        }
    }
}
