//! Relations between events as bit matrices. A set is kept as the identity on it.
//!
//! In programs of up to 64 events, a row is one word. Composition and closure take half of the time of an
//! evaluation, so they have separate loops for this case.

mod closing;

use std::hash::Hash;

use lang::limits;
use rustc_hash::FxHashMap;

use self::closing::Closing;

/// How many elements a row has at least for which [`Relation::set_sequence`] looks for a row that is done and
/// that it contains, and at how many rows it looks.
const LONG_ROW: u32 = 16;
const LOOKED_AT: usize = 8;

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

    /// The relation of all pairs.
    pub fn full(size: usize) -> Self {
        Self::of_classes(size, |_| Some(()))
    }

    /// The pairs of elements that have the same class, also of an element and itself.
    pub fn of_classes<C: Eq + Hash>(size: usize, class: impl Fn(usize) -> Option<C>) -> Self {
        let mut relation = Self::empty(size);
        let mut firsts = FxHashMap::default();
        let mut first_of = vec![None; size];
        for (element, first) in first_of.iter_mut().enumerate() {
            *first = class(element).map(|class| *firsts.entry(class).or_insert(element));
            first.iter().for_each(|first| relation.insert(*first, element));
        }
        for (element, first) in first_of.into_iter().enumerate() {
            limits::look();
            if let Some(first) = first {
                let row = first * relation.words;
                relation.bits.copy_within(row..row + relation.words, element * relation.words);
            }
        }
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

    /// Removes the pair.
    pub fn remove(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] &= !(1 << (to % 64));
    }

    /// Whether the relation is transitive and has no cycle.
    pub fn is_strict_order(&self) -> bool {
        let closed = self.closure();
        closed == *self && !(0..self.size).any(|element| closed.contains(element, element))
    }

    /// Whether this symmetric relation, with the identity, is an equivalence: whether it is total on classes
    /// of elements.
    pub fn is_total_on_classes(&self) -> bool {
        let with_itself = |element: usize, word: usize| {
            self.row(element)[word] | u64::from(element / 64 == word) << (element % 64)
        };
        (0..self.size).all(|element| {
            limits::look();
            let first = self.successors(element).next().map_or(element, |first| first.min(element));
            (0..self.words).all(|word| with_itself(element, word) == with_itself(first, word))
        })
    }

    /// Keeps the pairs of which at least one element is in a pair of the other relation, which is symmetric.
    pub fn keep_pairs_near(&mut self, other: &Self) {
        let is_near = |element: usize| other.row(element).iter().any(|word| *word != 0);
        let near = self.row_of(is_near);
        for element in 0..self.size {
            if near[element / 64] >> (element % 64) & 1 == 0 {
                self.row_mut(element).iter_mut().zip(&near).for_each(|(word, near)| *word &= near);
            }
        }
    }

    /// Keeps the pairs from elements of one set to those of another.
    pub fn keep_from_to(&mut self, is_from: impl Fn(usize) -> bool, is_to: impl Fn(usize) -> bool) {
        let to = self.row_of(is_to);
        for element in 0..self.size {
            if is_from(element) {
                self.row_mut(element).iter_mut().zip(&to).for_each(|(word, to)| *word &= to);
            } else {
                self.clear_row(element);
            }
        }
    }

    /// Removes the pairs whose second element is not the later one.
    pub fn keep_ascending(&mut self) {
        for element in 0..self.size {
            let row = self.row_mut(element);
            row[..element / 64].fill(0);
            row[element / 64] &= u64::MAX.checked_shl(element as u32 % 64 + 1).unwrap_or(0);
        }
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
        let count = |from: usize| first.row(from).iter().map(|word| word.count_ones()).sum::<u32>();
        let mut rows: Vec<(u32, usize)> = (0..first.size).map(|from| (count(from), from)).collect();
        // From the shortest: most of the long rows have all of one that was done, and little more.
        if rows.iter().any(|(count, _)| *count >= LONG_ROW) {
            rows.sort_unstable();
        }
        for (index, (count, from)) in rows.iter().enumerate() {
            limits::look();
            let done = &rows[index.saturating_sub(LOOKED_AT)..index];
            let is_within = |(_, done): &&(u32, usize)| first.has_row_within(*done, *from);
            let known = if *count >= LONG_ROW { done.iter().rev().find(is_within) } else { None };
            if let Some((_, known)) = known {
                let row = known * self.words;
                self.bits.copy_within(row..row + self.words, from * self.words);
            }
            for (word, middles) in first.row(*from).iter().enumerate() {
                let mut left = middles & !known.map_or(0, |(_, known)| first.row(*known)[word]);
                while left != 0 {
                    let row = second.row(word * 64 + left.trailing_zeros() as usize);
                    self.row_mut(*from)
                        .iter_mut()
                        .zip(row)
                        .for_each(|(word, other)| *word |= other);
                    left &= left - 1;
                }
            }
        }
    }

    /// Whether one row has all elements of another.
    fn has_row_within(&self, inner: usize, outer: usize) -> bool {
        self.row(inner).iter().zip(self.row(outer)).all(|(inner, outer)| inner & !outer == 0)
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
        self.row_of(|element| self.contains(element, element))
    }

    /// The row that has the elements for which `is_in` is true.
    fn row_of(&self, is_in: impl Fn(usize) -> bool) -> Vec<u64> {
        let mut row = vec![0; self.words];
        for element in 0..self.size {
            row[element / 64] |= u64::from(is_in(element)) << (element % 64);
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
        if self.words == 1 {
            other.pairs().for_each(|(from, to)| self.insert(to, from));
            return;
        }
        for block in 0..self.words {
            limits::look();
            let rows = block * 64..other.size.min(block * 64 + 64);
            for word in 0..self.words {
                let mut bits = [0; 64];
                bits.iter_mut()
                    .zip(rows.clone())
                    .for_each(|(bits, from)| *bits = other.row(from)[word]);
                if bits.iter().any(|bits| *bits != 0) {
                    transpose(&mut bits);
                    let rows = (word * 64..self.size).zip(bits);
                    rows.for_each(|(to, bits)| self.row_mut(to)[block] = bits);
                }
            }
        }
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
        *self = Closing::new(self).closed();
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

/// Swaps rows and columns of a square of bits: those of each quarter, an eighth and so on.
fn transpose(rows: &mut [u64; 64]) {
    let (mut width, mut mask) = (32, u64::from(u32::MAX));
    while width > 0 {
        for upper in (0..64).filter(|row| row & width == 0) {
            let swapped = (rows[upper] >> width ^ rows[upper + width]) & mask;
            rows[upper] ^= swapped << width;
            rows[upper + width] ^= swapped;
        }
        width /= 2;
        mask ^= mask << width;
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

    /// Warshall's algorithm.
    fn closed(relation: &Relation) -> Relation {
        let mut closed = relation.clone();
        for middle in 0..relation.size {
            for from in
                (0..relation.size).filter(|from| closed.contains(*from, middle)).collect::<Vec<_>>()
            {
                let through: Vec<usize> = closed.successors(middle).collect();
                through.into_iter().for_each(|to| closed.insert(from, to));
            }
        }
        closed
    }

    /// Relations of more than one word: chains in several numberings, dense ones, and some with cycles.
    #[test]
    fn relations_of_many_words_are_closed() {
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
                    let expected = closed(&relation);
                    cyclic += usize::from((0..size).any(|one| expected.contains(one, one)));
                    assert_eq!(relation.closure(), expected, "{step}, {reach}, {back:?}");
                    let inverse = relation.inverse();
                    assert!(relation.pairs().all(|(from, to)| inverse.contains(to, from)));
                    assert_eq!(relation.pairs().count(), inverse.pairs().count());
                    let order = expected.is_strict_order();
                    assert_eq!(order, !(0..size).any(|one| expected.contains(one, one)));
                }
            }
        }
        assert!(
            (1..27).contains(&cyclic),
            "expected relations of both kinds, {cyclic} have cycles"
        );
    }
}
