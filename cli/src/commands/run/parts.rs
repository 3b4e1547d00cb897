//! What a test has shown so far is written every few seconds, so that a process that is killed loses no more
//! than that.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use evidence::observation::Observations;
use lang::mutex::{self, lock};

/// After how long what was seen is written.
pub const EVERY: Duration = Duration::from_secs(5);

/// What was seen of a test, and is not written yet.
pub struct Parts<'a> {
    every: Duration,
    /// Writes a part that took so long. Returns whether that worked.
    write: &'a (dyn Fn(&Observations, Duration) -> bool + Sync),
    rest: Mutex<Rest>,
}

/// What the last line of a test has to say.
pub struct Rest {
    /// What was seen since the last part.
    pub seen: Observations,
    /// When that was.
    pub since: Instant,
    /// Whether there were parts.
    pub is_after_parts: bool,
}

impl<'a> Parts<'a> {
    /// A test that begins now.
    pub fn new(
        every: Duration,
        write: &'a (dyn Fn(&Observations, Duration) -> bool + Sync),
    ) -> Self {
        let (seen, since) = (Observations::default(), Instant::now());
        Self { every, write, rest: Mutex::new(Rest { seen, since, is_after_parts: false }) }
    }

    /// More was seen. What cannot be written now is kept for later.
    pub fn take(&self, more: &Observations) {
        let mut rest = lock(&self.rest);
        rest.seen = std::mem::take(&mut rest.seen).merge(more.clone());
        let took = rest.since.elapsed();
        if took >= self.every && (self.write)(&rest.seen, took) {
            let (seen, since) = (Observations::default(), Instant::now());
            *rest = Rest { seen, since, is_after_parts: true };
        }
    }

    /// What is left at the end.
    pub fn rest(self) -> Rest {
        mutex::into_inner(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(blocked: u64) -> Observations {
        Observations { blocked, ..Observations::default() }
    }

    #[test]
    fn parts_and_the_rest_are_the_whole() {
        let written = Mutex::new(Vec::new());
        let write = |part: &Observations, _| {
            let mut all = lock(&written);
            all.push(part.blocked);
            // The disk is full at the second time.
            all.len() != 2
        };
        let parts = Parts::new(Duration::ZERO, &write);
        (1..=4).for_each(|blocked| parts.take(&seen(blocked)));
        assert_eq!((parts.rest().seen, &*written.lock().unwrap()), (seen(0), &vec![1, 2, 5, 4]));
        let parts = Parts::new(Duration::MAX, &write);
        parts.take(&seen(3));
        let rest = parts.rest();
        assert_eq!((rest.seen, rest.is_after_parts), (seen(3), false));
    }
}
