//! What random programs have that those of the papers do not.

use super::Program;
use super::generate::program;

/// The program of a seed: 2 or 3 nodes, 2 to 4 threads, 2 to 4 statements each, but no more than eight
/// statements that stand outside of blocks.
pub fn generate(seed: u64) -> Program {
    program(seed, Features { queue_pairs: 1, ..Features::default() })
}

/// The same with up to three queue pairs from a thread to a node.
pub fn queue_pairs(seed: u64) -> Program {
    program(seed, Features { queue_pairs: 2 + (seed % 2) as u32, ..Features::default() })
}

/// The same with inline puts, and sometimes two queue pairs.
pub fn inline_puts(seed: u64) -> Program {
    let queue_pairs = 1 + (seed % 2) as u32;
    program(seed, Features { queue_pairs, inline: true, ..Features::default() })
}

/// The same with requests that have no completion of their own, and sometimes two queue pairs.
pub fn unsignaled(seed: u64) -> Program {
    let queue_pairs = 1 + (seed % 2) as u32;
    let inline = seed.is_multiple_of(3);
    program(seed, Features { queue_pairs, inline, unsignaled: true, ..Features::default() })
}

/// The same with arrays: requests of several words, and indices that are values.
pub fn words(seed: u64) -> Program {
    let queue_pairs = 1 + (seed % 2) as u32;
    let unsignaled = seed.is_multiple_of(3);
    program(seed, Features { queue_pairs, unsignaled, words: true, ..Features::default() })
}

/// The same with messages and receives, sometimes two queue pairs, and sometimes unsignaled requests.
pub fn messages(seed: u64) -> Program {
    let queue_pairs = 1 + (seed % 2) as u32;
    let unsignaled = seed.is_multiple_of(3);
    program(seed, Features { queue_pairs, unsignaled, messages: true, ..Features::default() })
}

/// The same with polls of several queue pairs, and sometimes unsignaled requests or messages.
pub fn shared_polls(seed: u64) -> Program {
    let (unsignaled, messages) = (seed.is_multiple_of(3), seed.is_multiple_of(5));
    let plain = Features { queue_pairs: 2, shared_polls: true, ..Features::default() };
    program(seed, Features { unsignaled, messages, ..plain })
}

/// The same with flushes and atomic writes, and sometimes unsignaled requests or two queue pairs.
pub fn flushes(seed: u64) -> Program {
    let queue_pairs = 1 + u32::from(seed.is_multiple_of(4));
    let unsignaled = seed.is_multiple_of(3);
    program(seed, Features { queue_pairs, unsignaled, flushes: true, ..Features::default() })
}

/// The same about what a crash leaves, with flushes to persistent memory; fewer statements, and no loops.
pub fn crashes(seed: u64) -> Program {
    let queue_pairs = 1 + u32::from(seed.is_multiple_of(4));
    let (unsignaled, flushes) = (seed.is_multiple_of(3), !seed.is_multiple_of(7));
    let plain = Features { queue_pairs, unsignaled, crash: true, ..Features::default() };
    program(seed, Features { flushes, ..plain })
}

/// The same with queue pairs that threads share, and sometimes unsignaled requests, flushes, several words or
/// polls of several queue pairs.
pub fn shared_posts(seed: u64) -> Program {
    let plain = Features { queue_pairs: 1, shared_posts: true, ..Features::default() };
    let (unsignaled, shared_polls) = (seed.is_multiple_of(3), seed.is_multiple_of(4));
    let (flushes, words) = (seed.is_multiple_of(5), seed.is_multiple_of(7));
    program(seed, Features { unsignaled, shared_polls, flushes, words, ..plain })
}

/// What programs have that the papers' do not.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Features {
    /// How many queue pairs a thread has to a node.
    pub queue_pairs: u32,
    /// Whether there are inline puts.
    pub inline: bool,
    /// Whether there are unsignaled requests.
    pub unsignaled: bool,
    /// Whether the locations of a node are the words of an array.
    pub words: bool,
    /// Whether there are messages and receives.
    pub messages: bool,
    /// Whether there are flushes and atomic writes.
    pub flushes: bool,
    /// Whether all nodes crash at some moment.
    pub crash: bool,
    /// Whether polls may be of several queue pairs.
    pub shared_polls: bool,
    /// Whether threads share queue pairs.
    pub shared_posts: bool,
}
