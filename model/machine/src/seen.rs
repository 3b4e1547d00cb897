//! The set of states that have been seen.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A set of byte strings, numbered from 0 in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct StateSet {
    /// The strings, one after the other in blocks: a single block would be copied whenever it has to grow.
    blocks: Vec<Vec<u8>>,
    /// The block of each string, and where it starts there. It ends where the next one starts.
    starts: Vec<(u32, u32)>,
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
        let full = self.blocks.len().saturating_sub(1) * BLOCK;
        full + self.blocks.last().map_or(0, Vec::len) + 8 * self.starts.len() + 4 * self.table.len()
    }

    pub fn get(&self, number: usize) -> &[u8] {
        let (block, start) = self.starts[number];
        let bytes = &self.blocks[block as usize];
        match self.starts.get(number + 1) {
            Some((next, end)) if *next == block => &bytes[start as usize..*end as usize],
            _ => &bytes[start as usize..],
        }
    }

    /// The number of a string, or where the table has room for it.
    pub fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let mask = self.table.len().wrapping_sub(1);
        let mut place = hash(key) as usize & mask;
        while self.table.get(place).is_some_and(|number| *number != 0) {
            let known = self.table[place] as usize - 1;
            if self.get(known) == key {
                return Ok(known);
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }

    /// Adds a string. Returns its number, and whether it is new.
    pub fn insert(&mut self, key: &[u8]) -> (usize, bool) {
        if 4 * (self.starts.len() + 1) > 3 * self.table.len() {
            self.grow();
        }
        let place = match self.find(key) {
            Ok(known) => return (known, false),
            Err(place) => place,
        };
        let number = self.starts.len();
        match self.blocks.last() {
            Some(last) if last.len() + key.len() <= BLOCK => {}
            None => self.blocks.push(Vec::new()),
            Some(_) => self.blocks.push(Vec::with_capacity(BLOCK.max(key.len()))),
        }
        let (block, bytes) = (self.blocks.len() - 1, self.blocks.last_mut().expect("one is there"));
        self.starts.push((block as u32, bytes.len() as u32));
        bytes.extend_from_slice(key);
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

/// The bytes of a block, unless a string is longer.
const BLOCK: usize = 1 << 20;

fn hash(key: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(key);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_any_length_are_numbered() {
        let strings = [0, 1, BLOCK - 2, 1, 3, BLOCK, BLOCK + 1, 2, 5].into_iter().enumerate();
        let strings: Vec<Vec<u8>> = strings.map(|(at, size)| vec![at as u8; size]).collect();
        let mut set = StateSet::default();
        for (number, string) in strings.iter().enumerate() {
            assert_eq!(set.insert(string), (number, true));
        }
        for (number, string) in strings.iter().enumerate() {
            assert_eq!((set.get(number), set.find(string)), (string.as_slice(), Ok(number)));
            assert_eq!(set.insert(string), (number, false));
        }
        assert_eq!(set.len(), strings.len());
    }
}
