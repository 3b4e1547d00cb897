//! Random numbers from a seed: splitmix64. The same seed gives the same numbers on every machine.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, or 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// True in `percent` of 100 cases, on average.
    pub fn percent(&mut self, percent: u32) -> bool {
        percent > 0 && self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_fixes_the_stream_and_numbers_spread() {
        let (mut one, mut two) = (Random::new(7), Random::new(7));
        let mut seen = [0; 10];
        for _ in 0..1000 {
            let number = one.below(10);
            assert_eq!(number, two.below(10));
            seen[number as usize] += 1;
        }
        assert!(seen.iter().all(|count| (50..200).contains(count)), "{seen:?}");
        assert_eq!(Random::new(1).below(0), 0);
        assert!(!Random::new(1).percent(0) && Random::new(1).percent(100));
    }
}
