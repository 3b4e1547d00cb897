//! How the threads of a round are set apart in time.
//!
//! All threads leave the barrier at about the same time, but a request takes microseconds to arrive, and a
//! CPU's access takes nanoseconds. A thread that only reads would be done with a round before the first write
//! of another thread has arrived. So each thread starts a round after a random delay. In a quarter of the
//! rounds it also pauses between statements; in another quarter, it pauses once, and for longer. The delays
//! are between a few nanoseconds and the *spread*, and every order of magnitude is equally likely: which one
//! shows an outcome depends on the program.
//!
//! A store stays in a CPU's store buffer for tens of nanoseconds only. Threads that left a barrier some time
//! ago are not that close to each other any more. So in some rounds the threads of a machine are *in step*:
//! they meet before each instance. In a quarter of those rounds they meet later: where a thread goes on with
//! accesses of its own after requests, which may have completed by then.

use std::time::{Duration, Instant};

use model::machine::Random;

/// The shortest delay, in ns, as a power of 2: about the time between two accesses of a CPU.
const SHORTEST: u32 = 5;
/// The longest spread that is chosen without being asked for, in ns.
const MOST: u64 = 1_000_000;
/// Pauses that are shorter than this do not yield the CPU, in ns: yielding takes that long.
const YIELD: u32 = 1_000;

/// The spread for a round trip of this time and a program whose threads wait this often for a completion. It
/// is long enough for a thread to start before the requests of another one, while they are under way, and
/// after they have arrived.
pub(super) fn spread(round_trip: Duration, waits: usize) -> u32 {
    let round_trip = round_trip.as_nanos().min(u128::from(MOST)) as u64;
    round_trip.saturating_mul(waits as u64 + 2).min(MOST) as u32
}

/// The delays of a thread in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    /// The delay before the first instance, in ns.
    pub start: u32,
    /// The longest pause between two statements, in ns; 0 for none.
    pub pause: u32,
    /// The longest pause before one statement of each instance, in ns; 0 for none.
    pub long: u32,
    /// The instruction before which the thread meets the others of its machine, in each instance.
    pub meets: Option<usize>,
    /// Whether some may come to that meeting late: then they meet twice, and wait less eagerly at first.
    pub later: bool,
}

/// One round in this many is in step: then fewer requests are under way at once.
const IN_STEP: u32 = 4;
/// One round in step in this many has later meetings, which take longer.
const LATER: u32 = 4;
/// After a meeting, a thread starts less than two to the power of this later than was agreed, in ns.
const STAGGER: u32 = 9;

/// Whether the next round is in step: more often if a program has no requests, since what CPUs do takes tens
/// of nanoseconds. Threads that draw from the same numbers agree.
pub(super) fn is_in_step(common: &mut Random, has_requests: bool) -> bool {
    common.below(if has_requests { IN_STEP } else { 2 }) == 0
}

/// Whether the threads of a round that is in step meet later than at the start of each instance.
pub(super) fn meet_later(common: &mut Random) -> bool {
    common.below(LATER) == 0
}

/// Spins until that time, or a random time later.
#[inline]
pub(super) fn stagger(time: Instant, random: &mut Random) {
    let most = 1 << random.below(STAGGER + 1);
    let time = time + Duration::from_nanos(u64::from(random.below(most)));
    while Instant::now() < time {
        std::hint::spin_loop();
    }
}

impl Pace {
    /// Draws the delays of a round. `spread` is the longest delay, and `delay` the longest pause of all
    /// rounds, in ns.
    pub fn draw(spread: u32, delay: u32, random: &mut Random) -> Self {
        if spread == 0 {
            return Self { pause: delay, ..Self::default() };
        }
        // A half is spread evenly, so that the longest delays are not rare.
        let start = if random.below(2) == 0 { spread } else { magnitude(spread, random) };
        let start = random.below(start + 1);
        let (pause, long) = match random.below(4) {
            0 => (magnitude(spread / 2, random), 0),
            1 => (0, spread),
            _ => (0, 0),
        };
        Self { start, pause: pause.max(delay), long, ..Self::default() }
    }

    /// Waits between two statements: in half of the cases, for a random time.
    #[inline]
    pub fn pause(self, random: &mut Random, crowded: bool) {
        if self.pause == 0 {
            return;
        }
        let draw = random.below(2 * self.pause);
        if draw < self.pause {
            wait(draw, crowded);
        }
    }
}

/// A power of 2 between the shortest delay and `longest`. Each is equally likely.
fn magnitude(longest: u32, random: &mut Random) -> u32 {
    let powers = longest.max(1).ilog2().saturating_sub(SHORTEST) + 1;
    (1 << (SHORTEST + random.below(powers))).min(longest)
}

/// Waits for this many nanoseconds.
pub(super) fn wait(time: u32, crowded: bool) {
    let end = Duration::from_nanos(u64::from(time));
    let start = Instant::now();
    while start.elapsed() < end {
        if crowded && time >= YIELD {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_all_magnitudes_up_to_the_spread() {
        let mut random = Random::new(1);
        let drawn: Vec<Pace> = (0..10_000).map(|_| Pace::draw(20_000, 0, &mut random)).collect();
        assert!(drawn.iter().all(|pace| pace.start <= 20_000 && pace.pause <= 10_000), "too long");
        let starts = |low: u32, high: u32| {
            drawn.iter().filter(|pace| (low..high).contains(&pace.start)).count()
        };
        for (low, high) in [(0, 64), (64, 512), (512, 4096), (4096, 20_001)] {
            assert!(starts(low, high) > 1000, "{low}..{high}: {}", starts(low, high));
        }
        let none = drawn.iter().filter(|pace| (pace.pause, pace.long) == (0, 0)).count();
        let once = drawn.iter().filter(|pace| (pace.pause, pace.long) == (0, 20_000)).count();
        assert!((4000..6000).contains(&none) && (2000..3000).contains(&once), "{none} {once}");
    }

    #[test]
    fn without_a_spread_there_is_only_the_delay_that_was_asked_for() {
        let mut random = Random::new(1);
        let pace = Pace { pause: 500, ..Pace::default() };
        assert_eq!(Pace::draw(0, 500, &mut random), pace);
        assert_eq!(spread(Duration::from_secs(3), 0), 1_000_000);
        assert_eq!(spread(Duration::from_micros(4), 1), 12_000);
    }
}
