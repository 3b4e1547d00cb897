//! Fills the store buffer of a CPU, so that the next write stays in it for longer.
//!
//! A write leaves the store buffer within tens of nanoseconds, if nothing is before it. Two steps of a NIC,
//! or of two other threads, hardly ever happen in that time. But writes leave in order, and one to a line
//! that is in no cache near takes a hundred nanoseconds: after sixteen of those, a write becomes visible half
//! a microsecond late (measured on a server's CPU, where it is 50 ns otherwise).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use model::machine::Random;

/// The words that are written: more than a core's own caches have, so that most are in none of them.
const WORDS: usize = 16 << 17;
/// The distance between two writes, in words: a page and a line. So each is to another page and to another
/// set of the cache, and all lines come once before the first comes again.
const STEP: usize = (4096 + 64) / 8;
/// The fewest writes and the most. Store buffers have 40 to 80 entries; if they are full, the thread waits.
/// What a thread does after its write, such as a poll, needs entries too.
const LEAST: u32 = 4;
const MOST: u32 = 32;

/// All threads write to the same words: what one has written is far from the others.
static LINES: OnceLock<Box<[AtomicU64]>> = OnceLock::new();

/// What fills a thread's store buffer.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The word that is written next.
    at: usize,
    /// How many are written, at most.
    most: u32,
}

impl Backlog {
    /// One that starts anywhere.
    pub(super) fn new(random: &mut Random) -> Self {
        LINES.get_or_init(|| (0..WORDS).map(|_| AtomicU64::new(0)).collect());
        Self { at: random.below(WORDS as u32) as usize, most: MOST }
    }

    /// Draws how many writes there are at most: all magnitudes are equally likely.
    pub(super) fn draw(&mut self, random: &mut Random) {
        self.most = LEAST << random.below((MOST / LEAST).ilog2() + 1);
    }

    /// Fills the store buffer.
    #[inline]
    pub(super) fn fill(&mut self, random: &mut Random) {
        let Some(lines) = LINES.get() else { return };
        for _ in 0..LEAST + random.below(self.most + 1 - LEAST) {
            lines[self.at].store(1, Ordering::Release);
            self.at = (self.at + STEP) % WORDS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_written_before_one_is_written_again() {
        let mut random = Random::new(1);
        let mut backlog = Backlog::new(&mut random);
        let lines = WORDS / 8;
        let mut seen = vec![false; lines];
        for _ in 0..lines {
            let line = backlog.at / 8;
            assert!(!std::mem::replace(&mut seen[line], true), "{line}");
            backlog.at = (backlog.at + STEP) % WORDS;
        }
        let before = backlog.at;
        backlog.fill(&mut random);
        assert_ne!(before, backlog.at);
    }
}
