//! Tests of a rule from random programs, for rules that the candidates of [`super::search`] say nothing
//! about: these are made of the statements of the papers, and some rules are about others.

use super::distinguish::Undecided;
use super::pivot::Pivot;
use super::random::{Posting, Seed, Weights, random};
use super::search::{Bounds, Vocabulary};
use super::shape::Shape;

/// What kinds of programs are drawn in turn, each if the model defines the statement.
const PROFILES: [(&str, &str); 6] = [
    ("Crash", "persist=6,flush=1,atomicwrite=1,wait=6,put=6,mfence=0,wput=1"),
    ("Flush", "flush=6,atomicwrite=4,wait=5"),
    ("Send", "send=5,sendimm=1,putimm=3,wait=5"),
    ("Put", "wput=4,wget=4,index=2,wait=5"),
    (SHARED_POST, "w=6,put=8,get=2,mfence=3,cas=3,wait=3,rfence=0,rfaa=1,rcas=0,send=1"),
    (SHARED_POST, "w=2,r=6,put=4,get=4,wait=8,copy=0,mfence=0,cas=0,faa=0,rfence=0,rfaa=0,rcas=0"),
];
/// What a model defines in which threads may share queue pairs.
const SHARED_POST: &str = "SharedPost";
/// Larger programs are drawn than tests may be: most of their statements are dropped again.
const MORE: usize = 3;

impl Vocabulary {
    /// Whether there are statements of which the candidates of the search have none.
    pub fn has_others(&self) -> bool {
        ["Send", "Flush", "Crash", SHARED_POST].iter().any(|call| self.calls.contains(call))
    }
}

impl Pivot<'_> {
    /// The test that a random program shrinks to, if the rule matters to the program. The same number gives
    /// the same program. The test is minimal ([`Pivot::check`]), and within the bounds.
    ///
    /// # Errors
    /// Fails if the engine has no answer for a program on the way.
    pub fn drawn(&self, number: u64, bounds: Bounds) -> Result<Option<Shape>, Undecided> {
        drawn(number, self.vocabulary, bounds, |shape| self.differ(shape.clone()))
    }
}

/// What a random program shrinks to, if two models differ on it: a program within the bounds, of which no
/// statement can be dropped without losing that. The same number gives the same program.
///
/// # Errors
/// Fails if the engine has no answer for a program on the way.
pub fn drawn(
    number: u64,
    vocabulary: &Vocabulary,
    bounds: Bounds,
    differ: impl Fn(&Shape) -> Result<bool, Undecided>,
) -> Result<Option<Shape>, Undecided> {
    let known = PROFILES.iter().filter(|(call, _)| vocabulary.calls.contains(call));
    let profiles: Vec<&(&str, &str)> = known.collect();
    let Some(count) = std::num::NonZero::new(profiles.len()) else { return Ok(None) };
    let (call, profile) = profiles[(number % count.get() as u64) as usize];
    let turn = number / count.get() as u64;
    // A test checks that all profiles can be read.
    let weights: Weights = profile.parse().unwrap_or_default();
    let posting = Posting {
        queue_pairs: if vocabulary.has_queue_pairs && turn.is_multiple_of(3) { 2 } else { 1 },
        unsignaled: if turn.is_multiple_of(5) { 4 } else { 0 },
        shared: if *call == SHARED_POST { 1 + (turn % 2) as u8 } else { 0 },
    };
    let larger = Bounds { size: bounds.size + MORE, thread: bounds.thread + MORE, ..bounds };
    let seed = Seed { seed: 1, number };
    let Some(mut shape) = random(seed, posting, &weights, vocabulary, &larger) else {
        return Ok(None);
    };
    if !differ(&shape)? {
        return Ok(None);
    }
    'smaller: loop {
        for smaller in shape.smaller(vocabulary.completion) {
            if differ(&smaller)? {
                shape = smaller;
                continue 'smaller;
            }
        }
        break;
    }
    Ok(Some(shape).filter(|shape| bounds.hold(shape)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_can_be_read() {
        for (call, weights) in PROFILES {
            assert!(lang::cat::model::CALLS.contains(&call), "{call}");
            weights.parse::<Weights>().expect(weights);
        }
    }
}
