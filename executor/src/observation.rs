//! What a backend saw.

use std::collections::BTreeMap;

use lang::outcome::Outcome;

/// How often a test's program ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Runs per outcome, over all observables of the test.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Runs in which some thread waited forever.
    pub blocked: u64,
    /// Runs in which an `assume` failed, which do not count.
    pub assume_failed: u64,
    /// Runs that were given up.
    pub unfinished: u64,
}

impl Observations {
    /// How many runs there were.
    pub fn iterations(&self) -> u64 {
        self.finished() + self.blocked + self.assume_failed + self.unfinished
    }

    /// How many runs ended with an outcome.
    pub fn finished(&self) -> u64 {
        self.outcomes.values().sum()
    }

    /// These runs and those.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.blocked += other.blocked;
        self.assume_failed += other.assume_failed;
        self.unfinished += other.unfinished;
        self
    }
}
