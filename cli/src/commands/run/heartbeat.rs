//! How far a run is, as lines on stderr: for logs, where no progress bar can be.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lang::mutex::lock;

use crate::terminal::Look;

/// How long nothing is said.
const EVERY: Duration = Duration::from_secs(30);

/// Says now and then how far a run is.
pub struct Heartbeat {
    every: Duration,
    last: Mutex<Instant>,
    /// How many tests there are, and how many of them are done.
    tests: usize,
    done: AtomicUsize,
}

impl Heartbeat {
    /// Of a run of that many tests. It says nothing on a terminal, which has a progress bar, and with `-q`.
    pub fn new(look: Look, tests: usize) -> Self {
        let is_silent = look.quiet || io::stderr().is_terminal();
        Self::every(if is_silent { Duration::MAX } else { EVERY }, tests)
    }

    fn every(every: Duration, tests: usize) -> Self {
        Self { every, last: Mutex::new(Instant::now()), tests, done: AtomicUsize::new(0) }
    }

    /// A test is done.
    pub fn is_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// That many runs of a test are done, of those that are wanted.
    pub fn tell(&self, test: &str, runs: u64, wanted: u64) {
        if let Some(line) = self.line(test, runs, wanted) {
            // Nobody can be told that stderr does not work.
            drop(io::stderr().write_all(line.as_bytes()));
        }
    }

    /// What to say, if it is time to say something.
    fn line(&self, test: &str, runs: u64, wanted: u64) -> Option<String> {
        let mut last = lock(&self.last);
        if last.elapsed() < self.every {
            return None;
        }
        *last = Instant::now();
        let (done, tests) = (self.done.load(Ordering::Relaxed), self.tests);
        Some(format!("litmus: {test}: {runs} of {wanted} runs; {done} of {tests} tests are done\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_now_and_then() {
        let always = Heartbeat::every(Duration::ZERO, 7);
        always.is_done();
        let line = always.line("MP", 512, 1000);
        assert_eq!(line.as_deref(), Some("litmus: MP: 512 of 1000 runs; 1 of 7 tests are done\n"));
        assert_eq!(Heartbeat::every(Duration::MAX, 7).line("MP", 1, 2), None);
        let slow = Heartbeat::every(Duration::from_secs(3600), 7);
        assert_eq!(slow.line("MP", 1, 2), None);
    }
}
