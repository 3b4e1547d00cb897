//! Which words of a region each instance uses.

use std::sync::Arc;

use compiler::plan::Plan;
use lang::program::NodeId;
use model::machine::Random;

use super::Parameters;

/// The layout of a node's words in its region: instance after instance, then words for reads whose result
/// does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// For each word of an instance, its distance from the instance's first, in words: a multiple of the
    /// stride, unless it follows the word before it.
    offsets: Arc<[usize]>,
    /// The distance from one instance to the next.
    size: usize,
    /// The number of instances.
    instances: usize,
    /// How many words are read at the end of a batch, from each node's first word on: all that instances
    /// have, if memory has relaxed ordering. `None`: one word, whichever.
    flushed: Option<usize>,
}

impl Layout {
    /// The layout of a node's words.
    pub fn new(plan: &Plan, node: NodeId, parameters: &Parameters) -> Self {
        let instances = usize::try_from(parameters.batch()).unwrap_or(usize::MAX);
        let stride = (parameters.stride as usize).max(1);
        let (offsets, size) = offsets(plan, node, stride);
        // A read flushes earlier writes of other words, unless memory has relaxed ordering.
        let flushed = parameters.relaxed_ordering.then(|| {
            let sizes = plan.nodes.iter().map(|node| self::offsets(plan, node.node, stride).1);
            instances.saturating_mul(sizes.max().unwrap_or(0)).max(1)
        });
        Self { offsets: offsets.into(), size, instances, flushed }
    }

    /// The index in the region of a word of an instance.
    pub fn word(&self, slot: u32, word: usize) -> usize {
        slot as usize * self.size + self.offsets[word]
    }

    /// The index of the first word for reads whose result does not matter.
    pub fn scratch(&self) -> usize {
        self.instances.saturating_mul(self.size)
    }

    /// The words of this region that a read must be of, so that all earlier writes of its queue pair are in
    /// memory when it completes: the first one, and how many.
    pub fn to_flush(&self) -> (usize, usize) {
        match self.flushed {
            Some(_) if self.scratch() > 0 => (0, self.scratch()),
            _ => (self.scratch(), 1),
        }
    }

    /// The size of the region in words.
    pub fn size(&self) -> usize {
        self.scratch().saturating_add(self.flushed.unwrap_or(0).max(8))
    }
}

/// For each word of an instance, its distance from the first; and the size of an instance.
fn offsets(plan: &Plan, node: NodeId, stride: usize) -> (Vec<usize>, usize) {
    let mut offsets: Vec<usize> = Vec::new();
    let mut size = 0;
    for word in plan.words(node) {
        let behind = offsets.last().filter(|_| word.follows).map(|before| before + 1);
        let offset = behind.unwrap_or(size);
        offsets.push(offset);
        size = (offset + 1).next_multiple_of(stride);
    }
    (offsets, size)
}

/// A batch of rounds. All machines compute the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The seed of its random choices.
    pub seed: u64,
    /// Its number, from 0.
    pub number: u64,
    /// For each instance, the slot whose words it uses.
    pub slots: Vec<u32>,
    /// How many instances each of its rounds has.
    pub rounds: Vec<u32>,
}

impl Batch {
    /// The batch with this number.
    pub fn new(seed: u64, number: u64, parameters: &Parameters) -> Self {
        let count = u32::try_from(parameters.batch()).unwrap_or(u32::MAX);
        let mut slots: Vec<u32> = (0..count).collect();
        if parameters.shuffle {
            let mut random = Random::stream(seed, number);
            for at in (1..count).rev() {
                slots.swap(at as usize, random.below(at + 1) as usize);
            }
        }
        Self { seed, number, slots, rounds: round_sizes(seed, number, parameters) }
    }

    /// The slots of each round.
    pub fn slots_by_round(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.slots.as_slice();
        self.rounds.iter().map(move |size| {
            let (round, after) = rest.split_at((*size as usize).min(rest.len()));
            rest = after;
            round
        })
    }
}

/// The round of each instance of a batch, and its place there.
pub fn places(rounds: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    rounds.iter().zip(0..).flat_map(|(size, round)| (0..*size).map(move |at| (round, at)))
}

/// The sizes of a batch's rounds. Full rounds load the NICs, but only the first instances of their threads
/// run at the same time if one thread waits and another one does not. So rounds have all sizes up to the full
/// one, each power of 2 for about as many instances.
pub fn round_sizes(seed: u64, number: u64, parameters: &Parameters) -> Vec<u32> {
    let most = parameters.instances.max(1);
    let mut left = u32::try_from(parameters.batch()).unwrap_or(u32::MAX);
    let mut random = Random::stream(seed ^ 0x726f_756e_6473, number);
    let mut rounds = Vec::new();
    while left > 0 {
        let size = if parameters.spread == Some(0) {
            most
        } else {
            // Size 2^k has probability 2^-(k+1).
            (1 << random.below(1 << most.ilog2()).trailing_zeros().min(most.ilog2())).min(most)
        };
        rounds.push(size.min(left));
        left -= size.min(left);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_cover_a_batch_and_have_all_sizes() {
        for (instances, spread) in [(1, None), (16, None), (24, None), (16, Some(0))] {
            let parameters = Parameters { instances, rounds: 64, spread, ..Parameters::default() };
            let batch = Batch::new(7, 3, &parameters);
            assert_eq!(batch.slots_by_round().flatten().count() as u64, parameters.batch());
            let expected = batch.slots_by_round().zip(0..);
            let expected = expected
                .flat_map(|(slots, round)| (0..slots.len() as u32).map(move |at| (round, at)));
            assert_eq!(places(&batch.rounds).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            let sizes: std::collections::BTreeSet<u32> = batch.rounds.iter().copied().collect();
            match spread {
                Some(_) => assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [instances]),
                None => assert!(sizes.contains(&1) && sizes.len() as u32 > instances.ilog2()),
            }
        }
    }
}
