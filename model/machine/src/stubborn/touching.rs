//! Which of a state's parts conflict with an access, by what they touch: to ask each part takes longer.

use super::super::footprint::{Access, indices};

/// By bit of an [`Access`], the mask of those of up to 64 accesses that have it.
#[derive(Clone, Copy, Debug)]
pub struct Touching {
    all: Access,
    reads: [u64; 64],
    writes: [u64; 64],
    others: [u64; 64],
}

impl Default for Touching {
    fn default() -> Self {
        Self { all: Access::default(), reads: [0; 64], writes: [0; 64], others: [0; 64] }
    }
}

impl Touching {
    /// Replaces the accesses. Returns the union of the new ones.
    pub fn set(&mut self, accesses: impl Iterator<Item = Access> + Clone) -> Access {
        let all = accesses.clone().fold(Access::default(), Access::union);
        self.all = all;
        indices(all.reads | all.writes).for_each(|at| (self.reads[at], self.writes[at]) = (0, 0));
        indices(all.others).for_each(|at| self.others[at] = 0);
        for (index, access) in accesses.enumerate() {
            indices(access.reads).for_each(|at| self.reads[at] |= 1 << index);
            indices(access.writes).for_each(|at| self.writes[at] |= 1 << index);
            indices(access.others).for_each(|at| self.others[at] |= 1 << index);
        }
        all
    }

    /// Which of the accesses conflict with one (see [`Access::conflicts`]).
    pub fn in_conflict(&self, access: Access, relevant: u64) -> u64 {
        let relevant = relevant & (self.all.reads | self.all.writes);
        let writes = indices(access.writes & relevant).map(|at| self.reads[at] | self.writes[at]);
        let reads = indices(access.reads & relevant).map(|at| self.writes[at]);
        let others = indices(access.others & self.all.others).map(|at| self.others[at]);
        writes.chain(reads).chain(others).fold(0, |all, mask| all | mask)
    }
}
