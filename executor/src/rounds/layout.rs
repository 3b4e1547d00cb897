//! Which words of a region an instance uses.

use compiler::plan::Plan;
use lang::program::NodeId;
use model::machine::Random;

use super::Parameters;

/// How a node's words lie in its region: instance after instance, then one line that nobody looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words of one instance.
    words: usize,
    /// From one to the next.
    stride: usize,
    /// How many instances there are.
    instances: usize,
}

impl Layout {
    /// The layout of a node's words.
    pub fn new(plan: &Plan, node: NodeId, parameters: &Parameters) -> Self {
        let instances = usize::try_from(parameters.batch()).unwrap_or(usize::MAX);
        Self { words: plan.words(node).len(), stride: parameters.stride as usize, instances }
    }

    /// Where a word of an instance is.
    pub fn word(&self, slot: u32, word: usize) -> usize {
        (slot as usize * self.words + word) * self.stride
    }

    /// A word for reads whose result does not matter.
    pub fn scratch(&self) -> usize {
        self.instances.saturating_mul(self.words).saturating_mul(self.stride)
    }

    /// How many words the region needs.
    pub fn size(&self) -> usize {
        self.scratch().saturating_add(8)
    }
}

/// A batch, the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What its random choices derive from.
    pub seed: u64,
    /// Its number, from 0.
    pub number: u64,
    /// Per instance, whose words it uses.
    pub slots: Vec<u32>,
}

impl Batch {
    /// The batch of that number.
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
