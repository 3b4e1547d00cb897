//! Relations between events as bit matrices. A set is kept as the identity on it.
//!
//! In programs of up to 64 events, a row is one word. Composition and closure take half of the time of an
//! evaluation, so they have separate loops for this case.

use lang::limits;

/// A relation over `0..size`.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Relation {
    size: usize,
    /// The number of 64-bit words in each row.
    words: usize,
    bits: Vec<u64>,
}

impl Clone for Relation {
    fn clone(&self) -> Self {
        announce(self.size, self.words);
        Self { bits: self.bits.clone(), ..*self }
    }

    // The memory is reused: most relations of an evaluation replace a relation of the same size.
    fn clone_from(&mut self, other: &Self) {
        (self.size, self.words) = (other.size, other.words);
        if self.bits.capacity() < other.bits.len() {
            announce(self.size, self.words);
        }
        self.bits.clone_from(&other.bits);
    }
}

impl Relation {
    /// The empty relation.
    pub fn empty(size: usize) -> Self {
        let words = size.div_ceil(64).max(1);
        announce(size, words);
        Self { size, words, bits: vec![0; words * size] }
    }

    /// The identity relation: every element to itself.
    pub fn identity(size: usize) -> Self {
        let mut relation = Self::empty(size);
        (0..size).for_each(|element| relation.insert(element, element));
        relation
    }

    /// The identity on the elements for which `is_in` is true: a set.
    pub fn set(size: usize, is_in: impl Fn(usize) -> bool) -> Self {
        let mut relation = Self::empty(size);
        (0..size)
            .filter(|element| is_in(*element))
            .for_each(|element| relation.insert(element, element));
        relation
    }

    /// The relation of all pairs for which `holds` is true.
    pub fn from_fn(size: usize, holds: impl Fn(usize, usize) -> bool) -> Self {
        let mut relation = Self::empty(size);
        for from in 0..size {
            limits::look();
            for to in 0..size {
                if holds(from, to) {
                    relation.insert(from, to);
                }
            }
        }
        relation
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The words of one row, bit `to % 64` of word `to / 64` for each pair.
    pub fn row(&self, from: usize) -> &[u64] {
        &self.bits[from * self.words..(from + 1) * self.words]
    }

    fn row_mut(&mut self, from: usize) -> &mut [u64] {
        &mut self.bits[from * self.words..(from + 1) * self.words]
    }

    /// Whether the relation has the pair.
    pub fn contains(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds the pair.
    pub fn insert(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
    }

    /// Removes all pairs that begin with this element.
    pub fn clear_row(&mut self, from: usize) {
        self.row_mut(from).fill(0);
    }

    /// Whether the relation has no pairs.
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

    /// Whether the other relation has all pairs of this one.
    pub fn is_within(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).all(|(word, other)| word & !other == 0)
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

    /// Removes all pairs, and sets the size.
    pub fn clear(&mut self, size: usize) {
        (self.size, self.words) = (size, size.div_ceil(64).max(1));
        self.bits.clear();
        self.bits.resize(self.words * size, 0);
    }

    /// `self ; other`.
    pub fn then(&self, other: &Self) -> Self {
        let mut result = Self::default();
        result.set_sequence(self, other);
        result
    }

    /// Sets this relation to `first ; second`.
    pub fn set_sequence(&mut self, first: &Self, second: &Self) {
        self.clear(first.size);
        if self.words == 1 {
            for (row, from) in self.bits.iter_mut().zip(&first.bits) {
                let mut middles = *from;
                while middles != 0 {
                    *row |= second.bits[middles.trailing_zeros() as usize];
                    middles &= middles - 1;
                }
            }
            return;
        }
        for (from, middle) in first.pairs() {
            limits::look();
            let row = second.row(middle);
            self.row_mut(from).iter_mut().zip(row).for_each(|(word, other)| *word |= other);
        }
    }

    /// Sets this relation to the product of two sets.
    pub fn set_product(&mut self, from: &Self, to: &Self) {
        self.clear(from.size);
        let all = to.members();
        for element in (0..from.size).filter(|element| from.contains(*element, *element)) {
            self.row_mut(element).copy_from_slice(&all);
        }
    }

    /// The row that has the elements of this set.
    pub fn members(&self) -> Vec<u64> {
        let mut row = vec![0; self.words];
        for element in 0..self.size {
            row[element / 64] |= self.row(element)[element / 64] & 1 << (element % 64);
        }
        row
    }

    /// `self^-1`.
    pub fn inverse(&self) -> Self {
        let mut result = Self::default();
        result.set_inverse(self);
        result
    }

    /// Sets this relation to `other^-1`.
    pub fn set_inverse(&mut self, other: &Self) {
        self.clear(other.size);
        other.pairs().for_each(|(from, to)| self.insert(to, from));
    }

    /// `self+`.
    pub fn closure(&self) -> Self {
        let mut result = self.clone();
        result.close();
        result
    }

    /// Sets this relation to `self+`.
    pub fn close(&mut self) {
        if self.words == 1 {
            for middle in 0..self.size {
                let through = self.bits[middle];
                if through != 0 {
                    let reaching = self.bits.iter_mut().filter(|row| **row >> middle & 1 == 1);
                    reaching.for_each(|row| *row |= through);
                }
            }
            return;
        }
        match self.closed_without_cycles() {
            Some(closed) => *self = closed,
            None => self.close_with_cycles(),
        }
    }

    /// `self+`, or `None` if it has a cycle. Each element is closed after those that it relates to, the
    /// lowest number first, which in program order is the nearest: what they reach need not be visited.
    /// That is most of a relation that is nearly transitive.
    fn closed_without_cycles(&self) -> Option<Self> {
        let mut closed = Self::empty(self.size);
        let (mut is_closed, mut is_open) = (vec![false; self.size], vec![false; self.size]);
        let mut open = Vec::new();
        for start in 0..self.size {
            open.push(start);
            while let Some(from) = open.last().copied() {
                limits::look();
                is_open[from] = true;
                match self.first_without(from, &closed) {
                    None => {
                        is_closed[from] = true;
                        open.pop();
                    }
                    Some(to) if is_closed[to] => closed.reach(from, to),
                    Some(to) if is_open[to] => return None,
                    Some(to) => open.push(to),
                }
            }
        }
        Some(closed)
    }

    /// The first element that `from` is related to here, and not in the other relation.
    fn first_without(&self, from: usize, other: &Self) -> Option<usize> {
        let rows = self.row(from).iter().zip(other.row(from));
        let mut words = rows.map(|(word, other)| word & !other).enumerate();
        let (index, word) = words.find(|(_, word)| *word != 0)?;
        Some(index * 64 + word.trailing_zeros() as usize)
    }

    /// Relates `from` to `to` and to all that `to` is related to.
    fn reach(&mut self, from: usize, to: usize) {
        for index in 0..self.words {
            self.bits[from * self.words + index] |= self.bits[to * self.words + index];
        }
        self.insert(from, to);
    }

    /// Sets this relation to `self+` (Warshall's algorithm).
    fn close_with_cycles(&mut self) {
        let mut through = vec![0; self.words];
        for middle in 0..self.size {
            limits::look();
            through.copy_from_slice(self.row(middle));
            for from in 0..self.size {
                if self.contains(from, middle) {
                    let row = self.row_mut(from);
                    row.iter_mut().zip(&through).for_each(|(word, other)| *word |= other);
                }
            }
        }
    }

    /// The pairs whose elements are both in the set (an identity relation).
    pub fn restricted_to(&self, set: &Self) -> Self {
        let mut result = Self::default();
        result.set_restricted(self, &set.members());
        result
    }

    /// Sets this relation to the pairs of `other` that are in a set, both ends. The set is given by
    /// [`Relation::members`].
    pub fn set_restricted(&mut self, other: &Self, members: &[u64]) {
        self.clone_from(other);
        for from in 0..self.size {
            let kept = members[from / 64] >> (from % 64) & 1 == 1;
            let row = self.row_mut(from).iter_mut().zip(members);
            row.for_each(|(word, mask)| *word &= if kept { *mask } else { 0 });
        }
    }
}

/// Checks the memory limit before a relation of this size is allocated. For rows of one word, this check
/// would take longer than filling the relation, so it is skipped.
fn announce(size: usize, words: usize) {
    if words > 1 {
        limits::need(words * size * 8);
    }
}

/// The pairs in rows of `words` words. One loop goes over all words: relations are small, and iterators over
/// rows took a quarter of the time of an evaluation.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Relations of more than one word: chains in several numberings, dense ones, and some with cycles.
    #[test]
    fn both_ways_to_close_agree() {
        let size = 150;
        let mut cyclic = 0;
        for step in [1, 7, 49] {
            for reach in [1, 2, 70] {
                for back in [None, Some((140, 9)), Some((5, 5))] {
                    let place = |index: usize| index * step % size;
                    let related = |a: usize, b: usize| a < b && b - a <= reach && a % 40 != 39;
                    let mut relation = Relation::empty(size);
                    let pairs = (0..size).flat_map(|a| (0..size).map(move |b| (a, b)));
                    pairs
                        .filter(|(a, b)| related(*a, *b) || back == Some((*a, *b)))
                        .for_each(|(a, b)| relation.insert(place(a), place(b)));
                    let mut expected = relation.clone();
                    expected.close_with_cycles();
                    cyclic += usize::from(relation.closed_without_cycles().is_none());
                    assert_eq!(relation.closure(), expected, "{step}, {reach}, {back:?}");
                }
            }
        }
        assert!(
            (1..27).contains(&cyclic),
            "expected relations of both kinds, {cyclic} have cycles"
        );
    }
}
