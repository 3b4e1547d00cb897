//! What memory held a moment ago, for the fault that reads sources too early.
//!
//! A NIC sees a request only after the CPU's earlier writes. So one that reads a source before them has to
//! have read it before it knew of the request, as a cache does that the CPU's writes do not reach.

use std::collections::HashMap;

use crate::keys::Keys;
use crate::request::Sge;

use super::node::Memory;

/// Copies of the small memory regions.
#[derive(Default)]
pub struct Stale {
    copies: HashMap<u32, Vec<u8>>,
    /// The time at which they were made, in nanoseconds.
    made: u64,
}

impl Stale {
    /// How old copies become, at least, in nanoseconds.
    const AGE: u64 = 5_000;
    /// How much is copied, in bytes: the first regions.
    const MOST: u64 = 1 << 20;

    /// Copies the regions again, if that was long ago.
    pub fn renew(&mut self, now: u64, keys: &Keys, memory: &mut dyn Memory) {
        if now < self.made + Self::AGE {
            return;
        }
        self.made = now;
        let mut room = Self::MOST;
        let small = keys.all().filter(|(_, region)| {
            let left = room.checked_sub(region.length);
            room = left.unwrap_or(room);
            left.is_some()
        });
        let copy = |(key, region): (u32, &crate::keys::Region)| {
            let mut bytes = vec![0; region.length as usize];
            memory.read(region.host, &mut bytes);
            (key, bytes)
        };
        self.copies = small.map(copy).collect();
    }

    /// The NIC has written something, and knows that it is there.
    pub fn forget(&mut self) {
        self.copies.clear();
    }

    /// Replaces what was read of these pieces by what they held before. Returns whether that differs.
    pub fn replace(&self, keys: &Keys, sges: &[Sge], bytes: &mut [u8]) -> bool {
        let read = bytes.to_vec();
        let mut rest = &mut *bytes;
        for sge in sges {
            let (piece, after) = rest.split_at_mut(rest.len().min(sge.length as usize));
            let copied =
                self.copies.get(&sge.key).zip(keys.get(sge.key)).and_then(|(copy, region)| {
                    let start = sge.address.checked_sub(region.start)? as usize;
                    copy.get(start..start.checked_add(piece.len())?)
                });
            if let Some(copied) = copied {
                piece.copy_from_slice(copied);
            }
            rest = after;
        }
        read != bytes
    }
}
