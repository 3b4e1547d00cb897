//! How long rules are delayed.
//!
//! Many outcomes show only if one kind of rule is slow for a while and the others are fast: a write that
//! becomes visible after a whole exchange between other nodes, for example. Delays that are all drawn alike
//! hardly ever come together in that way. So the NIC has a mood: the longest delay of each kind of rule,
//! which is drawn again from time to time. Half of the kinds are not delayed; for the others, every order of
//! magnitude up to the longest delay is equally likely.

use crate::config::Knobs;
use crate::random::Random;

use super::node::Delay;

/// After this many rules, the mood changes.
const LASTS: u32 = 256;
/// The shortest of the longest delays, in nanoseconds, as a power of 2.
const SHORTEST: u32 = 9;

/// The longest delay of each kind of rule, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Mood {
    longest: [u64; Delay::COUNT],
    left: u32,
    /// Whether writes that can become visible do so one right after the other.
    pub bursts: bool,
}

impl Mood {
    /// The delay of a rule that becomes possible now, in nanoseconds.
    pub fn delay(&mut self, kind: Delay, knobs: &Knobs, random: &mut Random) -> u64 {
        if self.left == 0 {
            self.left = LASTS;
            self.longest = std::array::from_fn(|_| longest(knobs.most, random));
            self.bursts = random.percent(50);
        }
        self.left -= 1;
        let longest = self.longest[kind as usize];
        if longest == 0 || !random.percent(knobs.percent) {
            return 0;
        }
        1 + random.below(longest)
    }
}

/// Draws the longest delay of a kind of rule: 0, or a power of 2 up to `most`.
fn longest(most: u64, random: &mut Random) -> u64 {
    if most == 0 || random.percent(50) {
        return 0;
    }
    let powers = most.ilog2().saturating_sub(SHORTEST) + 1;
    (1 << (u64::from(SHORTEST) + random.below(powers.into()))).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    #[test]
    fn moods_change_and_differ_between_kinds() {
        let knobs = Knobs { percent: 50, most: 64_000, ..Knobs::new(Preset::Default) };
        let (mut mood, mut random) = (Mood::default(), Random::new(3));
        let (mut apart, mut long) = (0, 0);
        for _ in 0..200 {
            let mut sums = [0; 2];
            for _ in 0..LASTS / 2 {
                for (sum, kind) in sums.iter_mut().zip([Delay::Visible, Delay::Landing]) {
                    let delay = mood.delay(kind, &knobs, &mut random);
                    assert!(delay <= 64_000, "{delay}");
                    *sum += delay;
                }
            }
            apart += u32::from(sums.contains(&0) && sums != [0, 0]);
            long += u32::from(sums[0] > 100 * sums[1]);
        }
        assert!(apart > 50 && long > 30, "{apart} {long}");
    }

    #[test]
    fn without_a_longest_delay_there_is_none() {
        let knobs = Knobs { percent: 100, most: 0, ..Knobs::new(Preset::Default) };
        let (mut mood, mut random) = (Mood::default(), Random::new(3));
        assert!((0..1000).all(|_| mood.delay(Delay::Source, &knobs, &mut random) == 0));
    }
}
