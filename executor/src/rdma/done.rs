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

    /// Takes note of requests. Returns by how many the first ones have become more.
    pub fn add(&mut self, numbers: Range<u64>) -> u64 {
        let before = self.first;
        if numbers.start <= before && self.behind.is_empty() {
            self.first = before.max(numbers.end);
        } else {
            self.add_behind(numbers);
        }
        self.first - before
    }

    #[cold]
    fn add_behind(&mut self, numbers: Range<u64>) {
        for at in numbers.filter_map(|number| number.checked_sub(self.first)) {
            let at = at as usize;
            if self.behind.len() <= at {
                self.behind.resize(at + 1, false);
            }
            self.behind[at] = true;
        }
        let more = self.behind.iter().take_while(|done| **done).count();
        self.behind.drain(..more);
        self.first += more as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_in_any_order() {
        let mut done = Done::default();
        let mut seen = Vec::new();
        for numbers in [1..2, 0..1, 3..4, 4..5, 2..3, 5..6] {
            let more = done.add(numbers);
            seen.push((done.first(), more, (0..7).filter(|number| done.has(*number)).count()));
        }
        assert_eq!(seen, [(0, 0, 1), (2, 2, 2), (2, 0, 3), (2, 0, 4), (5, 3, 5), (6, 1, 6)]);
    }

    #[test]
    fn one_completion_may_stand_for_several_requests() {
        let mut done = Done::default();
        done.add(3..5);
        assert_eq!(
            (0..6).map(|number| done.has(number)).collect::<Vec<bool>>(),
            [false, false, false, true, true, false]
        );
        assert_eq!((done.add(0..3), done.first()), (5, 5));
    }
}
