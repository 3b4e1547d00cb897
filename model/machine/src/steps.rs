//! Counts the steps of an exploration, and describes them.

use lang::program::Program;

use super::describe::{describe, is_control};
use super::rules::{Machine, Transition};
use super::state::State;

/// Counts steps, and describes them in words if `words` is set.
pub(super) struct Steps<'a> {
    pub machine: &'a Machine,
    pub program: &'a Program,
    pub count: u64,
    pub words: Option<Vec<String>>,
    /// Leaves out control steps: jumps, and assignments to variables that no program names.
    pub brief: bool,
}

impl Steps<'_> {
    pub fn note(&mut self, state: &State, transition: Transition) {
        self.count += 1;
        if let Some(words) = &mut self.words
            && !(self.brief && is_control(self.program, self.machine, state, transition))
        {
            words.push(describe(self.program, self.machine, state, transition));
        }
    }
}
