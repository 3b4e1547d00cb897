//! When an exploration gives up.

use lang::limits;

/// When to give up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most states that may be stored.
    pub states: u64,
    /// The most bytes that stored states may take.
    pub memory: usize,
    /// What an exploration has to show to go on.
    pub trial: Option<Trial>,
    /// The limits that all engines share: time, memory, and a request to stop.
    pub until: limits::Limits,
}

/// What an exploration has to show at first: with fewer outcomes, it gives up.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// It ends when more states are stored than this.
    pub states: u64,
    /// It ends when stored states take more bytes than this.
    pub memory: usize,
    /// The least number of outcomes.
    pub outcomes: usize,
}

impl Default for Limits {
    /// 50 million states, 4 GiB, no trial.
    fn default() -> Self {
        let until = limits::Limits::default();
        Self { states: 50_000_000, memory: 4 << 30, trial: None, until }
    }
}

impl Trial {
    /// The reason of an exploration that gives up at its end.
    pub fn why_failed(&self) -> String {
        format!("few outcomes in {} states", self.states)
    }
}

impl Limits {
    /// The trial, once, when it is over.
    pub fn ends_trial(&mut self, states: u64, memory: usize) -> Option<Trial> {
        self.trial.take_if(|trial| states > trial.states || memory > trial.memory)
    }

    /// The limit that stored states exceed, if they do; `bytes` is the size of one.
    pub fn exceeded_by(&self, states: usize, bytes: usize) -> Option<String> {
        if states as u64 > self.states {
            return Some(format!("{} states were stored", self.states));
        }
        (states * bytes > self.memory).then(|| "the states took too much memory".to_owned())
    }
}
