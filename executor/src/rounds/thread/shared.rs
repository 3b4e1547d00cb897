//! The requesting end of a queue pair that threads share.
//!
//! The threads run the instances of a round at their own pace, so requests of several instances are on the
//! queue pair at once. Each instance has its own completions, which its threads take in the order of the
//! posts.

use std::collections::{HashMap, VecDeque};

use super::{Connection, RdmaError};

/// The requesting end of a queue pair that threads share.
pub struct SharedConnection {
    pub(super) connection: Connection,
    /// By the slot of an instance of this batch: for each signaled request that is not polled, how many were
    /// posted up to it.
    unpolled: HashMap<u32, VecDeque<u64>>,
}

impl SharedConnection {
    /// A connection that several threads use.
    pub fn new(connection: Connection) -> Self {
        Self { connection, unpolled: HashMap::new() }
    }

    /// Begins a batch, in which slots are used again.
    pub(super) fn begin(&mut self) {
        self.unpolled.clear();
    }

    /// Notes that the last request has a completion, which an instance may poll.
    pub(super) fn is_signaled(&mut self, slot: u32) {
        self.unpolled.entry(slot).or_default().push_back(self.connection.posted);
    }

    /// Takes the oldest completion of an instance, if it is there.
    pub(super) fn take(&mut self, slot: u32) -> Result<bool, RdmaError> {
        let Some(queue) = self.unpolled.get_mut(&slot) else { return Ok(false) };
        let Some(count) = queue.front() else { return Ok(false) };
        let is_there = self.connection.has_completed(*count)?;
        if is_there {
            queue.pop_front();
        }
        Ok(is_there)
    }
}
