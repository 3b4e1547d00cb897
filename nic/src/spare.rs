//! Memory for the data of long messages, which is used again. Memory that goes back to the system comes with
//! page faults the next time, and they take longer than copying the data.

use std::sync::Mutex;

/// Shorter data is allocated as usual.
const SHORTEST: usize = 1 << 12;
/// The most bytes that are kept.
const MOST: usize = 16 << 20;

/// The most bytes that there is room for before they come.
pub const MOST_ROOM: usize = 1 << 20;

struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

/// After `fork`, it may be locked for ever. So nobody waits for it.
static SPARE: Mutex<Spare> = Mutex::new(Spare { buffers: Vec::new(), bytes: 0 });

/// A buffer of this length. Its bytes are those of earlier data, or 0: all of them are to be overwritten.
pub fn take(length: usize) -> Vec<u8> {
    let mut buffer = room(length);
    buffer.resize(length, 0);
    buffer
}

/// An empty buffer for data of this length, which has yet to come. It has room for a part of it only: memory
/// grows with what comes.
pub fn promised(length: usize) -> Vec<u8> {
    let mut buffer = room(length.min(MOST_ROOM));
    buffer.clear();
    buffer
}

/// A buffer with room for this many bytes, and earlier data in it.
fn room(capacity: usize) -> Vec<u8> {
    if capacity < SHORTEST {
        return Vec::with_capacity(capacity);
    }
    let Ok(mut spare) = SPARE.try_lock() else { return Vec::with_capacity(capacity) };
    // The last one is most likely in the caches. If it is too short, others probably are, too.
    let last = spare.buffers.pop();
    spare.bytes -= last.as_ref().map_or(0, Vec::capacity);
    last.filter(|last| last.capacity() >= capacity).unwrap_or_else(|| Vec::with_capacity(capacity))
}

/// Keeps a buffer for the next one that needs it.
pub fn give(buffer: Vec<u8>) {
    if buffer.capacity() < SHORTEST {
        return;
    }
    let Ok(mut spare) = SPARE.try_lock() else { return };
    if spare.bytes + buffer.capacity() <= MOST {
        spare.bytes += buffer.capacity();
        spare.buffers.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, give, take};

    #[test]
    fn buffers_are_used_again_and_not_all_are_kept() {
        for length in [0, 8, 5000, 100_000, MOST + 1, MOST / 2, MOST, 100_000] {
            let mut buffer = take(length);
            assert!(buffer.capacity() >= length, "{length}");
            buffer.resize(length, 7);
            give(buffer);
        }
    }
}
