//! What a NIC has done.

use serde::{Deserialize, Serialize};

/// How often each thing was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Writes, with and without immediate data.
    pub writes: u64,
    /// Sends.
    pub sends: u64,
    /// Reads.
    pub reads: u64,
    /// Compare-and-swaps and fetch-and-adds.
    pub atomics: u64,
    /// Rules that were delayed by chance.
    pub delays: u64,
    /// Rule 2: a put's source was read while earlier requests of its queue pair were under way.
    pub early_sources: u64,
    /// Rule 3: a write was done at the remote node before an earlier read of its queue pair.
    pub early_writes: u64,
    /// Rules 6, 9 to 11: a read or atomic was done before an earlier read of its queue pair.
    pub early_reads: u64,
    /// Faults that showed: the broken rule was applied where the sound one could not have been.
    pub faults: u64,
    /// Requests that failed.
    pub failures: u64,
}
