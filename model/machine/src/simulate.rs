//! Simulates random executions: the machine under a seeded scheduler.
//!
//! Every execution is one of the machine's, so every outcome is allowed (unless faults are set). The
//! scheduler gives each agent a weight and draws new weights for every run. So one run starves an agent for a
//! long time, and the next runs it eagerly. Long delays cause weak outcomes.

mod chart;
mod queues;

use std::collections::BTreeMap;

use compiler::code::CompileError;
use lang::Test;
use lang::limits;
use lang::outcome::Outcome;

use super::fault::FaultSet;
use super::random::Random;
use super::rma;
use super::rules::Variant;
use queues::Queues;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// The run ended with this outcome. The number is the order in which the simulator first saw the outcome.
    Outcome(usize),
    /// Some thread waits forever.
    Blocked,
    /// An `assume` failed.
    AssumeFailed,
    /// The run reached the bound on steps, or a queue was full.
    Unfinished,
}

/// How many runs ended in which way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of runs for each outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Runs in which some thread waited forever.
    pub blocked: u64,
    /// Runs in which an `assume` failed.
    pub assume_failed: u64,
    /// Runs that reached the bound on steps, or in which a queue was full.
    pub unfinished: u64,
}

/// Runs a test's program many times.
#[derive(Clone, Debug)]
pub struct Simulator {
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Queues(Box<Queues>),
    Rma(Box<rma::Simulator>),
}

impl Simulator {
    /// The most steps of a run.
    pub const STEP_BOUND: u32 = 10_000;

    /// A simulator of a test's program.
    ///
    /// # Errors
    /// Fails if a statement has no operational meaning in this variant.
    pub fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let inner = match variant {
            Variant::CoreRma(rules) => {
                rma::check_faults(faults)?;
                Inner::Rma(Box::new(rma::Simulator::new(test, rules)?))
            }
            _ => Inner::Queues(Box::new(Queues::new(test, variant, faults)?)),
        };
        Ok(Self { inner })
    }

    /// The same simulator, which takes every step instead of looking some up.
    #[cfg(test)]
    pub(crate) fn without_chart(mut self) -> Self {
        if let Inner::Queues(queues) = &mut self.inner {
            queues.chart.disable();
        }
        self
    }

    /// Runs the program once. The same generator state gives the same run.
    pub fn run_once(&mut self, random: &mut Random) -> Run {
        match &mut self.inner {
            Inner::Queues(queues) => queues.run_once(random, Self::STEP_BOUND),
            Inner::Rma(machine) => machine.run_once(random, Self::STEP_BOUND),
        }
    }

    /// Runs the program many times.
    pub fn run(&mut self, random: &mut Random, iterations: u64) -> Histogram {
        let mut histogram = Histogram::default();
        let mut counts: Vec<u64> = Vec::new();
        for _ in 0..iterations {
            limits::look();
            match self.run_once(random) {
                Run::Outcome(number) => {
                    if number >= counts.len() {
                        counts.resize(number + 1, 0);
                    }
                    counts[number] += 1;
                }
                Run::Blocked => histogram.blocked += 1,
                Run::AssumeFailed => histogram.assume_failed += 1,
                Run::Unfinished => histogram.unfinished += 1,
            }
        }
        for (number, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(outcome) = self.outcome(number) {
                histogram.outcomes.insert(outcome, *count);
            }
        }
        histogram
    }

    /// The outcome with this number, as in [`Run::Outcome`].
    pub fn outcome(&self, number: usize) -> Option<Outcome> {
        match &self.inner {
            Inner::Queues(queues) => queues.outcome(number),
            Inner::Rma(machine) => machine.outcome(number),
        }
    }
}
