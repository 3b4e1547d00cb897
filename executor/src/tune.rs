//! Searches for parameters under which weak outcomes show.
//!
//! The search is a hill climb. It begins at the best of some starting points. Each step moves one parameter
//! by one step of its ladder, and keeps the change if the score is better. The search ends when no step is
//! better. Measurements are noisy, so the result is the list of all trials, not only the best one.

use crate::rdma::Pages;
use crate::rounds::{Parameters, Preset};

/// The score of a set of parameters. The number of kinds decides first: speed does not make up for an outcome
/// that was not seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Score {
    /// How many different weak outcomes were seen, over all tests.
    pub kinds: usize,
    /// Weak outcomes per second, over all tests.
    pub per_second: f64,
}

/// A trial: parameters, and their score.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The parameters.
    pub parameters: Parameters,
    /// The score that was measured.
    pub score: Score,
}

/// A parameter that the search moves.
struct Knob {
    ladder: &'static [u32],
    get: fn(&Parameters) -> u32,
    set: fn(&mut Parameters, u32),
}

/// The value of a knob for a spread that is measured.
const MEASURED: u32 = u32::MAX;

const KNOBS: [Knob; 11] = [
    Knob {
        ladder: &[1, 4, 16, 64, 256, 1024],
        get: |parameters| parameters.instances,
        set: |parameters, value| {
            // Keeps about the same number of instances in a batch.
            let batch = parameters.batch();
            parameters.instances = value;
            let rounds = (batch / u64::from(value)).clamp(1, 4096);
            parameters.rounds = u32::try_from(rounds).unwrap_or(1);
        },
    },
    Knob {
        ladder: &[0, 100, 500, 2000, 10_000],
        get: |parameters| parameters.delay,
        set: |parameters, value| parameters.delay = value,
    },
    Knob {
        ladder: &[0, 1000, 10_000, 100_000, MEASURED],
        get: |parameters| parameters.spread.unwrap_or(MEASURED),
        set: |parameters, value| parameters.spread = (value != MEASURED).then_some(value),
    },
    Knob {
        ladder: &[0, 50, 100],
        get: |parameters| parameters.flush,
        set: |parameters, value| parameters.flush = value,
    },
    Knob {
        ladder: &[0, 25, 50, 100],
        get: |parameters| parameters.backlog,
        set: |parameters, value| parameters.backlog = value,
    },
    Knob {
        ladder: &[0, 1, 2, 4],
        get: |parameters| parameters.stress,
        set: |parameters, value| parameters.stress = value,
    },
    Knob {
        ladder: &[0, 1],
        get: |parameters| u32::from(parameters.shuffle),
        set: |parameters, value| parameters.shuffle = value != 0,
    },
    Knob {
        ladder: &[0, 1],
        get: |parameters| u32::from(parameters.pin),
        set: |parameters, value| parameters.pin = value != 0,
    },
    Knob {
        ladder: &[1, 8, 512],
        get: |parameters| parameters.stride,
        set: |parameters, value| parameters.stride = value,
    },
    Knob {
        ladder: &[1, 2, 8],
        get: |parameters| parameters.post_list,
        set: |parameters, value| parameters.post_list = value,
    },
    // Reserved huge pages are for whoever asks for them.
    Knob {
        ladder: &[0, 1],
        get: |parameters| u32::from(parameters.pages != Pages::Usual),
        set: |parameters, value| {
            parameters.pages = if value == 0 { Pages::Usual } else { Pages::Transparent };
        },
    },
];

/// Searches from `start` and from the presets, with at most `most` trials. `measure` returns `None` to end
/// the search. Returns the trials in the order in which they were made.
pub fn search(
    start: &Parameters,
    most: usize,
    measure: &mut dyn FnMut(&Parameters) -> Option<Score>,
) -> Vec<Trial> {
    let mut search = Search { most, measure, trials: Vec::new(), best: 0 };
    let mut starts = vec![start.clone()];
    for preset in [Preset::Default, Preset::Calm, Preset::Storm] {
        let mut parameters = start.clone();
        let preset = preset.parameters();
        for knob in &KNOBS {
            (knob.set)(&mut parameters, (knob.get)(&preset));
        }
        starts.push(parameters);
    }
    if starts.into_iter().all(|parameters| search.try_one(parameters).is_some()) {
        search.climb();
    }
    search.trials
}

/// The best of some trials.
pub fn best(trials: &[Trial]) -> Option<&Trial> {
    // Of equal trials, the first wins: starting points are simpler than parameters derived from them.
    let better = |best: &&Trial, trial: &&Trial| trial.score > best.score;
    trials.iter().reduce(|best, trial| if better(&best, &trial) { trial } else { best })
}

struct Search<'a> {
    most: usize,
    measure: &'a mut dyn FnMut(&Parameters) -> Option<Score>,
    trials: Vec<Trial>,
    /// The index of the best trial in `trials`.
    best: usize,
}

impl Search<'_> {
    /// Measures parameters. Returns whether they are better than all before, or `None` if the search is over.
    fn try_one(&mut self, parameters: Parameters) -> Option<bool> {
        if self.trials.iter().any(|trial| trial.parameters == parameters) {
            return Some(false);
        }
        if self.trials.len() >= self.most {
            return None;
        }
        let score = (self.measure)(&parameters)?;
        let is_better = self.trials.get(self.best).is_none_or(|best| score > best.score);
        self.trials.push(Trial { parameters, score });
        if is_better {
            self.best = self.trials.len() - 1;
        }
        Some(is_better)
    }

    fn climb(&mut self) {
        loop {
            let before = self.best;
            for knob in &KNOBS {
                for upwards in [true, false] {
                    let best = self.trials[self.best].parameters.clone();
                    let Some(value) = step(knob, &best, upwards) else { continue };
                    let mut parameters = best;
                    (knob.set)(&mut parameters, value);
                    if parameters.check().is_err() {
                        continue;
                    }
                    match self.try_one(parameters) {
                        None => return,
                        Some(true) => break,
                        Some(false) => {}
                    }
                }
            }
            if self.best == before {
                return;
            }
        }
    }
}

/// The next value of a parameter, up or down its ladder.
fn step(knob: &Knob, parameters: &Parameters, upwards: bool) -> Option<u32> {
    let now = (knob.get)(parameters);
    if upwards {
        knob.ladder.iter().find(|value| **value > now).copied()
    } else {
        knob.ladder.iter().rev().find(|value| **value < now).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_top_of_a_hill() {
        let hill = |parameters: &Parameters| {
            let off = |value: u32, best: u32| f64::from(value.abs_diff(best));
            let per_second = 1e6
                - off(parameters.instances, 64)
                - off(parameters.delay, 2000)
                - off(parameters.flush, 100)
                - 10.0 * off(parameters.stress, 2);
            Some(Score { kinds: 1, per_second })
        };
        let mut measure = hill;
        let trials = search(&Parameters::default(), 1000, &mut measure);
        let found = &best(&trials).unwrap().parameters;
        assert_eq!((found.instances, found.delay, found.flush, found.stress), (64, 2000, 100, 2));
        assert_eq!(found.batch(), Parameters::default().batch());
        assert!(trials.len() < 100, "{}", trials.len());
        for (at, trial) in trials.iter().enumerate() {
            assert!(trials[..at].iter().all(|other| other.parameters != trial.parameters));
            assert!(trial.parameters.check().is_ok());
        }
    }

    #[test]
    fn ends_when_told_to_and_at_its_bound() {
        let mut left = 3;
        let mut measure = |_: &Parameters| {
            left -= 1;
            (left > 0).then(Score::default)
        };
        assert_eq!(search(&Parameters::default(), 100, &mut measure).len(), 2);
        let mut count = 0.0;
        let mut always_better = |_: &Parameters| {
            count += 1.0;
            Some(Score { kinds: 0, per_second: count })
        };
        let trials = search(&Parameters::default(), 7, &mut always_better);
        assert_eq!((trials.len(), best(&trials)), (7, trials.last()));
    }

    #[test]
    fn a_new_outcome_is_worth_more_than_a_rate() {
        let rare = Score { kinds: 2, per_second: 0.1 };
        let common = Score { kinds: 1, per_second: 1e6 };
        assert!(rare > common);
    }
}
