//! What running tests needs of RDMA, and nothing more: words that a NIC can reach, and queue pairs.
//!
//! `verbs` is the real thing, by libibverbs. What is above this module does not know which one it works on, so
//! nodes, agents and rounds are tested without a NIC. Nothing here can make memory unsafe: regions are made of
//! atomic words, and requests that leave them are refused.

#[cfg(test)]
pub mod memory;
pub mod verbs;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

pub use evidence::device::{
    AtomicCapability, DeviceInfo, Gid, GidKind, LinkLayer, PciAtomics, PortInfo,
};

/// An opened device and one of its ports.
pub trait Device: Send + Sync {
    /// What it is and can do.
    fn info(&self) -> &DeviceInfo;

    /// Makes words that the NIC may read and write, all 0, on whole cache lines.
    ///
    /// # Errors
    /// What the device says; often a limit on locked memory.
    fn register(&self, words: usize, relaxed_ordering: bool) -> Result<Arc<dyn Region>, RdmaError>;

    /// Makes one end of a connection, with a completion queue of its own. Requests read and write the region
    /// locally.
    ///
    /// # Errors
    /// What the device says.
    fn endpoint(
        &self,
        region: &Arc<dyn Region>,
        settings: &Settings,
    ) -> Result<Box<dyn Endpoint>, RdmaError>;
}

/// Registered words. (`Any`, so that a device can tell its own regions from others.)
pub trait Region: Any + Send + Sync {
    /// The words.
    fn words(&self) -> &[AtomicU64];

    /// How a peer names the first word.
    fn key(&self) -> RegionKey;

    /// Drives the cache line of a word out of the CPU's caches, if this CPU can.
    fn flush(&self, word: usize);
}

/// One end of a reliable connection.
pub trait Endpoint: Send {
    /// What the other end must know.
    fn address(&self) -> Address;

    /// Connects to the other end, which may be this end itself. Must happen once, before any request.
    ///
    /// # Errors
    /// What the device says.
    fn connect(&mut self, peer: &Address) -> Result<(), RdmaError>;

    /// Hands a request to the NIC. No more than [`Settings::depth`] may be under way.
    ///
    /// # Errors
    /// What the device says, or that the request leaves the local region.
    fn post(&mut self, request: &Request) -> Result<(), RdmaError>;

    /// How many requests have completed since the last call; they complete in the order in which they were posted.
    /// Does not wait.
    ///
    /// # Errors
    /// A request that failed.
    fn poll(&mut self) -> Result<usize, RdmaError>;
}

/// How a peer names the first word of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionKey {
    /// Its address in the peer's terms.
    pub address: u64,
    /// The remote key.
    pub key: u32,
    /// How many words there are.
    pub words: u64,
}

/// What one end must know of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Queue pair number.
    pub queue_pair: u32,
    /// First packet sequence number.
    pub sequence: u32,
    /// Local identifier of the port, on InfiniBand.
    pub lid: u16,
    /// Global identifier of the port.
    pub gid: [u8; 16],
    /// Active MTU in bytes; both ends use the smaller one.
    pub mtu: u32,
    /// How many reads and atomics of the peer it can serve at once.
    pub responder_reads: u8,
}

/// How an endpoint is set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How many requests may be under way.
    pub depth: u32,
    /// How many reads and atomics may be under way; `None` for as many as both devices can.
    pub outstanding_reads: Option<u8>,
    /// Whether it must be able to take data inline.
    pub inline: bool,
    /// Exponent of the time until an unacknowledged packet is sent again: 4.096 µs · 2^this.
    pub timeout: u8,
    /// How often a packet is sent again.
    pub retries: u8,
    /// How often a request is tried again if the other end is not ready; 7 is forever.
    pub rnr_retries: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: 128,
            outstanding_reads: None,
            inline: false,
            timeout: 17,
            retries: 7,
            rnr_retries: 7,
        }
    }
}

/// A work request on whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub kind: RequestKind,
    /// The first local word, as an index into the endpoint's region.
    pub local: usize,
    /// How many words a write or a read moves; atomics move one.
    pub words: u32,
    /// The remote word's address, and the key of its region.
    pub remote: (u64, u32),
    /// Whether it waits for all earlier reads and atomics of its queue pair (`IBV_SEND_FENCE`).
    pub fence: bool,
    /// Whether the CPU copies the data when the request is posted (`IBV_SEND_INLINE`); writes only.
    pub inline: bool,
}

impl Request {
    /// Whether it is a remote read-modify-write of one word.
    pub fn is_atomic(&self) -> bool {
        match self.kind {
            RequestKind::Write | RequestKind::Read => false,
            RequestKind::CompareAndSwap { .. } | RequestKind::FetchAndAdd { .. } => true,
        }
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum RequestKind {
    /// RDMA WRITE of the local words.
    Write,
    /// RDMA READ into the local words.
    Read,
    /// The old value goes to the local word.
    CompareAndSwap { expected: u64, desired: u64 },
    /// The old value goes to the local word.
    FetchAndAdd { addend: u64 },
}

/// What went wrong, as far as a user can act on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaError {
    /// What kind of trouble it is.
    pub kind: RdmaErrorKind,
    /// The whole story: the call, the device, the object, and what the system said.
    pub message: String,
}

/// What kind of trouble an [`RdmaError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RdmaErrorKind {
    /// libibverbs is not there.
    NoLibrary,
    /// There is no device, or none of that name, or its port is down.
    NoDevice,
    /// The device cannot do what is asked.
    Unsupported,
    /// A call or a request failed.
    Failed,
}

impl RdmaError {
    /// An error of that kind.
    pub fn new(kind: RdmaErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for RdmaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for RdmaError {}
