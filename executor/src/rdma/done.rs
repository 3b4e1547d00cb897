//! Which requests of an endpoint have completed.

use std::collections::VecDeque;
use std::ops::Range;

/// Which requests have completed. Most devices complete them in order, others in any order.
#[derive(Default)]
pub struct Done {
    /// How many completed before the first that has not.
    first: u64,
    /// Whether those behind have.
    behind: VecDeque<bool>,
}

impl Done {
    /// How many completed before the first that has not.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Whether the request of this number, from 0, has completed.
    pub fn has(&self, number: u64) -> bool {
        let at = number.checked_sub(self.first);
        at.is_none_or(|at| self.behind.get(at as usize) == Some(&true))
    }

    /// Takes note of requests that have completed. Returns how many of them had not before.
    #[inline]
    pub fn add(&mut self, numbers: Range<u64>) -> u64 {
        if numbers.start != self.first || !self.behind.is_empty() {
            return self.add_behind(numbers);
        }
        self.first = numbers.end;
        numbers.end - numbers.start
    }

    #[cold]
    fn add_behind(&mut self, numbers: Range<u64>) -> u64 {
        let mut new = 0;
        for at in numbers.filter_map(|number| number.checked_sub(self.first)) {
            let at = at as usize;
            if self.behind.len() <= at {
                self.behind.resize(at + 1, false);
            }
            new += u64::from(!std::mem::replace(&mut self.behind[at], true));
        }
        let more = self.behind.iter().take_while(|done| **done).count();
        self.behind.drain(..more);
        self.first += more as u64;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_in_any_order() {
        let mut done = Done::default();
        let mut seen = Vec::new();
        for numbers in [1..2, 0..1, 1..2, 3..4, 3..4, 4..5, 2..3, 5..6] {
            let new = done.add(numbers);
            let known = (0..7).filter(|number| done.has(*number)).count();
            seen.push((new, done.first(), known));
        }
        assert_eq!(
            seen,
            [
                (1, 0, 1),
                (1, 2, 2),
                (0, 2, 2),
                (1, 2, 3),
                (0, 2, 3),
                (1, 2, 4),
                (1, 5, 5),
                (1, 6, 6)
            ]
        );
    }

    #[test]
    fn one_completion_may_stand_for_several_requests() {
        let mut done = Done::default();
        assert_eq!(done.add(3..5), 2);
        let known: Vec<u64> = (0..6).filter(|number| done.has(*number)).collect();
        assert_eq!((known, done.first()), (vec![3, 4], 0));
        assert_eq!((done.add(0..3), done.first()), (3, 5));
    }
}
