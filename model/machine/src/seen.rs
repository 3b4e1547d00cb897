//! The set of states that have been seen.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A set of byte strings, numbered from 0 in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct StateSet {
    bytes: Vec<u8>,
    /// The index in `bytes` at which each string starts. It ends where the next one starts.
    starts: Vec<usize>,
    /// A hash table with open addressing. An entry is a string's number plus 1, or 0 if free. The length is a
    /// power of two.
    table: Vec<u32>,
}

impl StateSet {
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The bytes in use.
    pub fn memory(&self) -> usize {
        self.bytes.len() + 8 * self.starts.len() + 4 * self.table.len()
    }

    pub fn get(&self, number: usize) -> &[u8] {
        let end = self.starts.get(number + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[number]..end]
    }

    /// Adds a string. Returns its number, and whether it is new.
    pub fn insert(&mut self, key: &[u8]) -> (usize, bool) {
        if 4 * (self.starts.len() + 1) > 3 * self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut place = hash(key) as usize & mask;
        while self.table[place] != 0 {
            let known = self.table[place] as usize - 1;
            if self.get(known) == key {
                return (known, false);
            }
            place = (place + 1) & mask;
        }
        let number = self.starts.len();
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(key);
        self.table[place] = number as u32 + 1;
        (number, true)
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(64);
        let mut table = vec![0; size];
        for number in 0..self.starts.len() {
            let mut place = hash(self.get(number)) as usize & (size - 1);
            while table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            table[place] = number as u32 + 1;
        }
        self.table = table;
    }
}

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}
