//! Simulates random executions of a coreRMA program.

use std::collections::BTreeMap;

use compiler::code::CompileError;
use lang::Test;
use lang::outcome::Outcome;

use super::super::random::Random;
use super::super::rules::Effect;
use super::super::simulate::Run;
use super::{Machine, Rules, Transition};

/// Each weight is a power of two: 2^0 up to 2^(this - 1).
const WEIGHTS: u32 = 11;

/// Runs one program many times.
#[derive(Clone, Debug)]
pub struct Simulator {
    machine: Machine,
    /// Outcomes in the order in which they were first seen. `numbers` maps them back to their index.
    outcomes: Vec<Outcome>,
    numbers: BTreeMap<Outcome, usize>,
    /// By thread: the weight of its own actions, and the weight of the network's actions for it.
    weights: Vec<[u32; 2]>,
}

impl Simulator {
    /// A simulator for a test's program.
    ///
    /// # Errors
    /// Fails for statements that are not part of coreRMA.
    pub fn new(test: &Test, rules: Rules) -> Result<Self, CompileError> {
        let machine = Machine::new(test, rules)?;
        let weights = vec![[1; 2]; machine.code.len()];
        Ok(Self { machine, outcomes: Vec::new(), numbers: BTreeMap::new(), weights })
    }

    /// The outcome with this number, as in `Run::Outcome`.
    pub fn outcome(&self, number: usize) -> Option<Outcome> {
        self.outcomes.get(number).cloned()
    }

    /// Runs the program once. The same generator state gives the same run.
    pub fn run_once(&mut self, random: &mut Random, step_bound: u32) -> Run {
        for weight in self.weights.iter_mut().flatten() {
            *weight = 1 << random.below(WEIGHTS);
        }
        let (mut state, mut effect) = self.machine.start();
        for _ in 0..step_bound {
            match effect {
                Effect::Continue => {}
                Effect::AssumeFailed => return Run::AssumeFailed,
                Effect::QueueFull => return Run::Unfinished,
            }
            let enabled = self.machine.enabled(&state);
            let Some(transition) = self.pick(&enabled, random) else {
                return Run::Outcome(self.number(self.machine.outcome(&state)));
            };
            effect = self.machine.apply(&mut state, transition);
        }
        Run::Unfinished
    }

    fn pick(&self, enabled: &[Transition], random: &mut Random) -> Option<Transition> {
        let weight = |transition: &Transition| match transition {
            Transition::Local(thread) => self.weights[*thread][0],
            Transition::Remote(thread, ..) => self.weights[*thread][1],
        };
        let total: u32 = enabled.iter().map(weight).sum();
        let mut point = random.below(total.max(1));
        enabled.iter().copied().find(|transition| {
            let weight = weight(transition);
            let hit = point < weight;
            point = point.saturating_sub(weight);
            hit
        })
    }

    fn number(&mut self, outcome: Outcome) -> usize {
        if let Some(number) = self.numbers.get(&outcome) {
            return *number;
        }
        let number = self.outcomes.len();
        self.numbers.insert(outcome.clone(), number);
        self.outcomes.push(outcome);
        number
    }
}
