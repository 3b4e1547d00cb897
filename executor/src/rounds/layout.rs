//! Which words of a region each instance uses.

use compiler::plan::Plan;
use lang::program::NodeId;
use model::machine::Random;

use super::Parameters;

/// The layout of a node's words in its region: instance after instance, then one unused cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of words of one instance.
    words: usize,
    /// The distance from one word to the next, in words.
    stride: usize,
    /// The number of instances.
    instances: usize,
}

impl Layout {
    /// The layout of a node's words.
    pub fn new(plan: &Plan, node: NodeId, parameters: &Parameters) -> Self {
        let instances = usize::try_from(parameters.batch()).unwrap_or(usize::MAX);
        Self { words: plan.words(node).len(), stride: parameters.stride as usize, instances }
    }

    /// The index in the region of a word of an instance.
    pub fn word(&self, slot: u32, word: usize) -> usize {
        (slot as usize * self.words + word) * self.stride
    }

    /// The index of a word for reads whose result does not matter.
    pub fn scratch(&self) -> usize {
        self.instances.saturating_mul(self.words).saturating_mul(self.stride)
    }

    /// The size of the region in words.
    pub fn size(&self) -> usize {
        self.scratch().saturating_add(8)
    }
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
        Self { seed, number, slots }
    }
}
