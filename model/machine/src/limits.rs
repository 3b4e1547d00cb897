//! When an exploration gives up.

use lang::limits;

/// When to give up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most states that may be stored.
    pub states: u64,
    /// The most bytes that stored states may take.
    pub memory: usize,
    /// The limits that all engines share: time, memory, and a request to stop.
    pub until: limits::Limits,
}

impl Default for Limits {
    /// 50 million states, 4 GiB.
    fn default() -> Self {
        Self { states: 50_000_000, memory: 4 << 30, until: limits::Limits::default() }
    }
}

impl Limits {
    /// The limit that stored states exceed, if they do; `bytes` is the size of one.
    pub fn exceeded_by(&self, states: usize, bytes: usize) -> Option<String> {
        if states as u64 > self.states {
            return Some(format!("{} states were stored", self.states));
        }
        (states * bytes > self.memory).then(|| "the states took too much memory".to_owned())
    }
}
