//! Relations between events as bit matrices. A set is kept as the identity on it.

/// A relation over `0..size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    size: usize,
    /// Words of 64 bits in each row.
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The relation that holds nowhere.
    pub fn empty(size: usize) -> Self {
        let words = size.div_ceil(64).max(1);
        Self { size, words, bits: vec![0; words * size] }
    }

    /// Every element to itself.
    pub fn identity(size: usize) -> Self {
        let mut relation = Self::empty(size);
        (0..size).for_each(|element| relation.insert(element, element));
        relation
    }

    /// The relation that holds where `holds` says so.
    pub fn from_fn(size: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::empty(size);
        for from in 0..size {
            for to in 0..size {
                if holds(from, to) {
                    relation.insert(from, to);
                }
            }
        }
        relation
    }

    /// How many elements there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bits of one row.
    pub fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..(from + 1) * self.words]
    }

    fn row_mut(&mut self, from: usize) -> &mut [u64] {
        &mut self.bits[from * self.words..(from + 1) * self.words]
    }

    /// Whether it relates the two.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Makes it relate the two.
    pub fn insert(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    /// True if it holds nowhere.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }

    /// The elements that `from` is related to.
    pub fn successors(&self, from: usize) -> impl Iterator<Item = usize> + use<'_> {
        ones(self.row(from), self.words).map(|(_, to)| to)
    }

    /// All pairs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<'_> {
        ones(&self.bits, self.words)
    }

    /// `self | other`, in place.
    pub fn unite(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word |= other);
    }

    /// `self & other`, in place.
    pub fn intersect(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word &= other);
    }

    /// `self \ other`, in place.
    pub fn subtract(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(word, other)| *word &= !other);
    }

    /// `self ; other`.
    pub fn then(&self, other: &Self) -> Self {
        let mut result = Self::empty(self.size);
        for (from, middle) in self.pairs() {
            let row = other.row(middle);
            result.row_mut(from).iter_mut().zip(row).for_each(|(word, other)| *word |= other);
        }
        result
    }

    /// `self^-1`.
    pub fn inverse(&self) -> Self {
        let mut result = Self::empty(self.size);
        self.pairs().for_each(|(from, to)| result.insert(to, from));
        result
    }

    /// `self+` (Warshall).
    pub fn closure(&self) -> Self {
        let mut result = self.clone();
        let mut through = vec![0; self.words];
        for middle in 0..self.size {
            through.copy_from_slice(result.row(middle));
            for from in 0..self.size {
                if result.contains(from, middle) {
                    let row = result.row_mut(from);
                    row.iter_mut().zip(&through).for_each(|(word, other)| *word |= other);
                }
            }
        }
        result
    }

    /// The restriction to pairs of which both elements are in the set (an identity relation).
    pub fn restricted_to(&self, set: &Self) -> Self {
        let mut mask = vec![0; self.words];
        set.pairs().for_each(|(element, _)| mask[element / 64] |= 1 << (element % 64));
        let mut result = self.clone();
        for from in 0..self.size {
            let kept = set.contains(from, from);
            let row = result.row_mut(from);
            row.iter_mut()
                .zip(&mask)
                .for_each(|(word, mask)| *word &= if kept { *mask } else { 0 });
        }
        result
    }
}

/// The positions of the ones in rows of so many words, as row and column. One loop over all words: relations are small,
/// and adapters over rows took a quarter of the time of an evaluation.
fn ones(bits: &[u64], words: usize) -> impl Iterator<Item = (usize, usize)> + use<'_> {
    let (mut row, mut base, mut rest) = (0, 0, bits);
    let mut word = 0;
    std::iter::from_fn(move || {
        while word == 0 {
            let (next, others) = rest.split_first()?;
            if rest.len() < bits.len() {
                base += 64;
                if base == words * 64 {
                    (row, base) = (row + 1, 0);
                }
            }
            (word, rest) = (*next, others);
        }
        let position = word.trailing_zeros() as usize;
        word &= word - 1;
        Some((row, base + position))
    })
}
