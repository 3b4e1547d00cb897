//! What a backend saw.

use std::collections::BTreeMap;

use lang::outcome::Outcome;
use serde::{Deserialize, Serialize};

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
    /// Where outcomes were first seen, up to [`Observations::KEPT`] places each; of backends that no seed
    /// repeats.
    pub places: BTreeMap<Outcome, Vec<Occurrence>>,
    /// What else a reader should know, each said once.
    pub notes: Vec<String>,
}

/// Where in a run an outcome was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Occurrence {
    /// The batch, from 0.
    pub batch: u64,
    /// The round in the batch, from 0.
    pub round: u32,
    /// The instance in the round, from 0.
    pub instance: u32,
    /// The seed of the test's random choices.
    pub seed: u64,
}

impl Observations {
    /// How many places are kept of an outcome.
    pub const KEPT: usize = 16;

    /// One more run with that outcome.
    pub fn add(&mut self, outcome: Outcome, place: Occurrence) {
        let places = self.places.entry(outcome.clone()).or_default();
        if places.len() < Self::KEPT {
            places.push(place);
        }
        *self.outcomes.entry(outcome).or_default() += 1;
    }

    /// How many runs there were.
    pub fn iterations(&self) -> u64 {
        let others = [self.blocked, self.assume_failed, self.unfinished];
        others.into_iter().fold(self.finished(), u64::saturating_add)
    }

    /// How many runs ended with an outcome.
    pub fn finished(&self) -> u64 {
        // Records are read, so counts can be anything.
        self.outcomes.values().copied().fold(0, u64::saturating_add)
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
        for (outcome, places) in other.places {
            let kept = self.places.entry(outcome).or_default();
            kept.extend(places);
            kept.sort_unstable();
            kept.truncate(Self::KEPT);
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self
    }
}
