//! Counts of what a NIC has done.

use serde::{Deserialize, Serialize};

/// Counters of a NIC, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Write requests, with and without immediate data, and atomic writes.
    pub writes: u64,
    /// Send requests.
    pub sends: u64,
    /// Read requests.
    pub reads: u64,
    /// Compare-and-swaps and fetch-and-adds.
    pub atomics: u64,
    /// Flushes.
    pub flushes: u64,
    /// Rules that were delayed at random.
    pub delays: u64,
    /// Rule 2: a put's source was read while earlier requests of its queue pair were in progress.
    pub early_sources: u64,
    /// Rule 3: a write was done at the remote node before an earlier read of its queue pair.
    pub early_writes: u64,
    /// Rules 6, 9 to 11: a read or atomic was done before an earlier read of its queue pair.
    pub early_reads: u64,
    /// Writes that passed earlier ones of their queue pair, in memory registered with relaxed ordering.
    pub relaxed: u64,
    /// Reads and writes of several words that were done in pieces.
    pub torn: u64,
    /// Times that the fault had an effect: the broken rule was applied where the correct rule could not have
    /// been.
    pub faults: u64,
    /// Requests that failed.
    pub failures: u64,
}
