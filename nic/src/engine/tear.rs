//! How a message of several words is torn: it is accessed in pieces, cut between aligned words, in any order.

use std::ops::Range;

use crate::fault::Fault;
use crate::random::Random;
use crate::request::{Sge, total};
use crate::spare;

use super::node::Node;

/// The most pieces of a message. Up to this many words can be accessed one by one, in any order.
const MOST: usize = 16;

/// What was read of a message's memory, and the pieces that are yet to be read, the last first.
pub type Partial = (Vec<u8>, Vec<Range<usize>>);

impl Node {
    /// Memory of which nothing was read.
    pub fn unread(&mut self, memory: &[Sge]) -> Partial {
        (spare::take(total(memory) as usize), self.pieces(memory))
    }

    /// The pieces of a message to or from this memory, in the order in which they are written.
    pub fn pieces(&mut self, memory: &[Sge]) -> Vec<Range<usize>> {
        let length = total(memory) as usize;
        if !self.knobs.tear || length <= 8 {
            return std::iter::once(0..length).collect();
        }
        let pieces = torn(memory, &mut self.random);
        self.counts.torn += u64::from(pieces.len() > 1);
        pieces
    }

    /// The pieces of a write, in the order in which they become visible.
    pub fn pieces_of_write(&mut self, memory: &[Sge]) -> Vec<Range<usize>> {
        let length = total(memory) as usize;
        if self.knobs.has(Fault::TagBeforeData) && length > 8 {
            self.counts.faults += 1;
            return vec![length - 8..length, 0..length - 8];
        }
        self.pieces(memory)
    }
}

fn torn(memory: &[Sge], random: &mut Random) -> Vec<Range<usize>> {
    let places = memory.iter().map(words).sum::<u64>().saturating_sub(1);
    let mut cuts: Vec<usize> = match places < MOST as u64 {
        true => {
            (1..=places).filter(|_| random.percent(70)).map(|word| start(memory, word)).collect()
        }
        false => (1..MOST).map(|_| start(memory, 1 + random.below(places))).collect(),
    };
    cuts.extend([0, total(memory) as usize]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut pieces: Vec<_> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
    for last in (1..pieces.len()).rev() {
        pieces.swap(last, random.below(last as u64 + 1) as usize);
    }
    pieces
}

/// How many aligned words have bytes of this memory.
fn words(sge: &Sge) -> u64 {
    if sge.length == 0 { 0 } else { (sge.address % 8 + u64::from(sge.length)).div_ceil(8) }
}

/// The offset in the message of the first byte of a word, by its number.
fn start(memory: &[Sge], mut word: u64) -> usize {
    let mut offset = 0;
    for sge in memory {
        if word < words(sge) {
            let before = (8 * word).saturating_sub(sge.address % 8);
            return (offset + before) as usize;
        }
        word -= words(sge);
        offset += u64::from(sge.length);
    }
    offset as usize
}

/// The bytes of each piece.
pub fn cut(bytes: Vec<u8>, pieces: Vec<Range<usize>>) -> Vec<(Range<usize>, Vec<u8>)> {
    match <[_; 1]>::try_from(pieces) {
        Ok([all]) => vec![(all, bytes)],
        Err(pieces) => {
            pieces.into_iter().map(|piece| (piece.clone(), bytes[piece].to_vec())).collect()
        }
    }
}

/// The part of a list of memory pieces that has these bytes.
pub fn part(sges: &[Sge], range: &Range<usize>) -> Vec<Sge> {
    let mut start = 0;
    let mut part = Vec::new();
    for sge in sges {
        let end = start + sge.length as usize;
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            let address = sge.address.wrapping_add((from - start) as u64);
            part.push(Sge { address, length: (to - from) as u32, key: sge.key });
        }
        start = end;
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(address: u64, length: u32) -> Sge {
        Sge { address, length, key: 1 }
    }

    #[test]
    fn pieces_are_the_message_cut_between_words() {
        let mut random = Random::new(1);
        for (address, length) in [(0, 9), (4, 9), (8, 64), (3, 100), (0, 128), (16, 1 << 20)] {
            for _ in 0..100 {
                let mut pieces = torn(&[memory(address, length)], &mut random);
                let length = length as usize;
                assert!(pieces.len() <= MOST, "{address} {length}: {pieces:?}");
                pieces.sort_by_key(|piece| piece.start);
                let ends = pieces.iter().map(|piece| piece.end);
                assert!(
                    pieces.iter().skip(1).map(|piece| piece.start).eq(ends.take(pieces.len() - 1))
                );
                assert_eq!((pieces[0].start, pieces[pieces.len() - 1].end), (0, length));
                let starts = pieces.iter().skip(1).map(|piece| address as usize + piece.start);
                assert!(
                    starts.clone().all(|start| start % 8 == 0),
                    "{address} {length}: {pieces:?}"
                );
            }
        }
    }

    #[test]
    fn words_come_in_every_order() {
        let mut random = Random::new(1);
        let mut orders: Vec<Vec<usize>> = Vec::new();
        for _ in 0..2000 {
            let order: Vec<usize> =
                torn(&[memory(0, 32)], &mut random).iter().map(|piece| piece.start).collect();
            orders.push(order);
        }
        orders.sort_unstable();
        orders.dedup();
        // 24 of four pieces; of three, two and one, 3 * 6, 3 * 2 and 1.
        assert_eq!(orders.iter().filter(|order| order.len() == 4).count(), 24);
        assert_eq!(orders.len(), 24 + 18 + 6 + 1);
    }

    #[test]
    fn no_word_of_a_list_is_cut() {
        let list = [memory(12, 8), memory(40, 0), memory(96, 12), memory(7, 2)];
        // Of the words at 8, 16, 96, 104, 0 and 8.
        let starts: Vec<usize> = (0..6).map(|word| start(&list, word)).collect();
        assert_eq!(starts, [0, 4, 8, 16, 20, 21]);
        let mut random = Random::new(1);
        for _ in 0..100 {
            let pieces = torn(&list, &mut random);
            assert!(pieces.iter().all(|piece| starts.contains(&piece.start)), "{pieces:?}");
        }
    }

    #[test]
    fn a_part_of_a_list_has_its_bytes() {
        let list = [memory(100, 8), memory(200, 0), memory(300, 16)];
        assert_eq!(part(&list, &(4..12)), [memory(104, 4), memory(300, 4)]);
        assert_eq!(part(&list, &(0..8)), [memory(100, 8)]);
        assert_eq!(part(&list, &(16..24)), [memory(308, 8)]);
    }
}
