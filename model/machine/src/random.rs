//! Random numbers that are the same on every platform and for every number of workers.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, fast, and good enough for schedules.
#[derive(Clone, Debug)]
pub struct Random(u64);

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The generator for a seed.
    pub fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GAMMA)))
    }

    /// One of many independent generators for a seed, for example one for each test and chunk of iterations.
    pub fn stream(seed: u64, index: u64) -> Self {
        Self(mix(mix(seed.wrapping_add(GAMMA)) ^ mix(index.wrapping_mul(GAMMA) ^ GAMMA)))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number less than `bound`, which must be at least 1. The bias is less than bound / 2^32.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
