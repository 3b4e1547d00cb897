//! How long rules are delayed.
//!
//! Many outcomes show only if one kind of rule is slow for a while and the others are fast: a write that
//! becomes visible after a whole exchange between other nodes, for example. Delays that are all drawn alike
//! hardly ever come together in that way. So the NIC has a mood: the longest delay of each kind of rule,
//! which is drawn again from time to time. Half of the kinds are not delayed; for the others, every order of
//! magnitude up to the longest delay is equally likely. Half of the moods delay only some of the queue pairs:
//! a request may have to be late while others of its kind are early.

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
    /// Chooses the queue pairs whose rules are not delayed. `None`: those of all can be.
    spares: Option<u64>,
}

impl Mood {
    /// The delay of a rule that becomes possible now for a queue pair, in nanoseconds.
    pub fn delay(&mut self, pair: u32, kind: Delay, knobs: &Knobs, random: &mut Random) -> u64 {
        if self.left == 0 {
            self.left = LASTS;
            self.longest = std::array::from_fn(|_| longest(knobs.most, random));
            self.bursts = random.percent(50);
            self.spares = random.percent(50).then(|| random.next());
        }
        self.left -= 1;
        let longest = self.longest[kind as usize];
        let spared = self.spares.is_some_and(|seed| spares(seed, pair));
        if longest == 0 || spared || !random.percent(knobs.percent) {
            return 0;
        }
        1 + random.below(longest)
    }
}

/// Whether a mood with this seed spares a queue pair: half of them, on average.
fn spares(seed: u64, pair: u32) -> bool {
    Random::new(seed ^ u64::from(pair)).percent(50)
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
                    let delay = mood.delay(1, kind, &knobs, &mut random);
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
    fn some_moods_delay_one_queue_pair_and_not_another() {
        let knobs = Knobs { percent: 100, most: 64_000, ..Knobs::new(Preset::Default) };
        let (mut mood, mut random) = (Mood::default(), Random::new(3));
        let mut apart = 0;
        for _ in 0..200 {
            let mut delays = |pair| mood.delay(pair, Delay::Remote, &knobs, &mut random) > 0;
            let both: Vec<_> = (0..LASTS / 2).map(|_| (delays(1), delays(2))).collect();
            apart += u32::from(both.iter().all(|(one, two)| one != two));
        }
        assert!((20..80).contains(&apart), "{apart}");
    }

    #[test]
    fn without_a_longest_delay_there_is_none() {
        let knobs = Knobs { percent: 100, most: 0, ..Knobs::new(Preset::Default) };
        let (mut mood, mut random) = (Mood::default(), Random::new(3));
        assert!((0..1000).all(|_| mood.delay(1, Delay::Source, &knobs, &mut random) == 0));
    }
}
