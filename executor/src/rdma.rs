//! The part of RDMA that running tests needs, and nothing more: words that a NIC can access, and queue pairs.
//!
//! `verbs` implements it with libibverbs, and `ofi` with libfabric. The modules above do not know which
//! implementation they use, so nodes, agents and rounds are tested without a NIC. Nothing here can make
//! memory unsafe: regions consist of atomic words, and requests outside them are refused.

mod done;
#[cfg(any(feature = "dlopen", feature = "rdma-sys"))]
mod lines;
#[cfg(test)]
pub mod memory;
#[cfg(any(feature = "dlopen", feature = "rdma-sys"))]
pub mod ofi;
#[cfg(any(feature = "dlopen", feature = "rdma-sys"))]
pub mod verbs;
#[cfg(not(any(feature = "dlopen", feature = "rdma-sys")))]
pub mod without;
#[cfg(not(any(feature = "dlopen", feature = "rdma-sys")))]
pub use {without as ofi, without as verbs};

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use compiler::plan::Placements;
use lang::diagnostic::nearest;
use serde::{Deserialize, Serialize};

pub use done::Done;
pub use evidence::device::{
    AtomicCapability, DeviceInfo, FabricInfo, Gid, GidKind, LinkLayer, PciAtomics, PortInfo,
};

/// An opened device and one of its ports.
pub trait Device: Send + Sync {
    /// The description of the device.
    fn info(&self) -> &DeviceInfo;

    /// Registers words that the NIC may read and write, all 0, on whole cache lines.
    ///
    /// # Errors
    /// Returns the device's error; often a limit on locked memory.
    fn register(&self, words: usize, how: Registration) -> Result<Arc<dyn Region>, RdmaError>;

    /// Creates one end of a connection, with a completion queue of its own. Its requests use the region as
    /// their local memory.
    ///
    /// # Errors
    /// Returns the device's error.
    fn endpoint(
        &self,
        region: &Arc<dyn Region>,
        settings: &Settings,
    ) -> Result<Box<dyn Endpoint>, RdmaError>;
}

/// Registered memory. (`Any` lets a device recognize its own regions.)
pub trait Region: Any + Send + Sync {
    /// The words of the region.
    fn words(&self) -> &[AtomicU64];

    /// What a peer needs to access the region.
    fn key(&self) -> RegionKey;

    /// Flushes the cache line of a word from the CPU's caches, if this CPU supports it.
    fn flush(&self, word: usize);
}

/// What to say of a name that no device has.
pub fn unknown(what: &str, name: &str, names: &[String]) -> String {
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("no {what} is named `{name}`; there is {}{hint}", names.join(", "))
}

/// Opens a device.
///
/// # Errors
/// Fails if the library or the device is missing, or if the device cannot do what litmus needs.
pub fn open(selection: &Selection) -> Result<Arc<dyn Device>, RdmaError> {
    match &selection.interface {
        Interface::Verbs => verbs::open(selection),
        Interface::Ofi(_) => ofi::open(selection),
    }
}

/// What devices are reached by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interface {
    /// libibverbs.
    #[default]
    Verbs,
    /// libfabric.
    Ofi(Provider),
}

/// Which provider of libfabric to use, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Its name, as in `fi_info -p`; else the first that can do what is needed.
    pub name: Option<String>,
    /// When a put is complete; else at the weakest level after which a read still says that it is there.
    pub completion: Option<Completion>,
    /// Whether with atomics even if the provider promises less then.
    pub atomics: bool,
}

/// When a put over libfabric is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Completion {
    /// `FI_TRANSMIT_COMPLETE`: its source may be used again, and nothing is known of the peer's memory.
    Transmit,
    /// `FI_DELIVERY_COMPLETE`: it is in the peer's memory.
    Delivery,
}

/// Which device to use, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// What the device is reached by.
    pub interface: Interface,
    /// The device's name (`-d`), in libfabric its domain; else the first device that can be used.
    pub device: Option<String>,
    /// The port, from 1 (`-i`); else the first port that is active.
    pub port: Option<u8>,
    /// The index of the port's GID (`-x`); else, on Ethernet, the GID that is most likely to reach a peer.
    pub gid_index: Option<u32>,
}

/// How memory is allocated and registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Whether with `IBV_ACCESS_RELAXED_ORDERING`.
    pub relaxed_ordering: bool,
    /// Whether with `IBV_ACCESS_ON_DEMAND`: then it is not locked, and the NIC may fault on it.
    pub on_demand: bool,
    /// Its pages.
    pub pages: Pages,
    /// Whether peers may flush it, and for what. It follows from the program, and no coordinator sends it to
    /// its agents.
    #[serde(skip)]
    pub placements: Placements,
}

/// The pages of memory. They decide how often a NIC and its IOMMU must look up addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// Those that the allocator gives.
    #[default]
    Usual,
    /// Huge ones where the kernel makes them by itself (`MADV_HUGEPAGE`).
    Transparent,
    /// Huge ones that were reserved (`MAP_HUGETLB`).
    Huge,
}

impl Pages {
    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Transparent => "transparent",
            Self::Huge => "huge",
        }
    }
}

/// One end of a reliable connection.
pub trait Endpoint: Send {
    /// What the other end needs to connect.
    fn address(&self) -> Address;

    /// Connects to the other end, which may be this end itself. Call it once, before any request.
    ///
    /// # Errors
    /// Returns the device's error.
    fn connect(&mut self, peer: &Address) -> Result<(), RdmaError>;

    /// Posts a request to the NIC. At most [`Settings::depth`] requests may be in flight.
    ///
    /// # Errors
    /// Returns the device's error, or that the request leaves the local region.
    fn post(&mut self, request: &Request) -> Result<(), RdmaError>;

    /// Posts up to [`LONGEST_LIST`] requests by one call, so that the doorbell rings once for all.
    ///
    /// # Errors
    /// As [`Self::post`]. Then some of them may have been posted.
    fn post_list(&mut self, requests: &[Request]) -> Result<(), RdmaError>;

    /// Posts a receive, whose buffer is a word of the endpoint's region. At most [`Settings::receives`] may
    /// be posted and not complete. An endpoint that posts receives posts no requests.
    ///
    /// # Errors
    /// As [`Self::post`].
    fn post_receive(&mut self, word: usize) -> Result<(), RdmaError>;

    /// Appends the receives that have completed since the last call, in the order in which they completed.
    /// Does not wait.
    ///
    /// # Errors
    /// Fails if a receive failed.
    fn poll_receives(&mut self, arrived: &mut Vec<Arrival>) -> Result<(), RdmaError>;

    /// The number of requests that have completed since the last call. Does not wait.
    ///
    /// # Errors
    /// Fails if a request failed.
    fn poll(&mut self) -> Result<usize, RdmaError>;

    /// The requests whose completions [`Self::poll`] has found. Not all devices complete requests in the
    /// order in which they were posted.
    fn done(&self) -> &Done;
}

/// What the completion of a receive says of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The number of the receive, from 0, in the order in which they were posted.
    pub number: u64,
    /// Its immediate, if it has one.
    pub immediate: Option<u32>,
    /// Whether it is a send without data.
    pub empty: bool,
}

/// The most requests of one list.
pub const LONGEST_LIST: usize = 8;

/// What a peer needs to access a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionKey {
    /// The address of the first word, in the owner's address space.
    pub address: u64,
    /// The remote key. Those of verbs have 32 bits.
    pub key: u64,
    /// The number of words.
    pub words: u64,
}

/// What one end needs to know about the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The queue pair number.
    pub queue_pair: u32,
    /// The first packet sequence number.
    pub sequence: u32,
    /// The local identifier (LID) of the port, on InfiniBand.
    pub lid: u16,
    /// The global identifier (GID) of the port.
    pub gid: [u8; 16],
    /// The active MTU in bytes. Both ends use the smaller one.
    pub mtu: u32,
    /// How many reads and atomics of the peer it can serve at once.
    pub responder_reads: u8,
    /// The address of an endpoint of libfabric, which has nothing of the above.
    pub name: Vec<u8>,
}

/// The settings of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The most requests in flight.
    pub depth: u32,
    /// The most receives that are posted and not complete. They follow from the program, and no coordinator
    /// sends them to its agents.
    #[serde(skip)]
    pub receives: u32,
    /// Whether it must accept flushes and atomic writes. They follow from the program, too.
    #[serde(skip)]
    pub placements: Placements,
    /// The most reads and atomics in flight. `None`: as many as both devices support.
    pub outstanding_reads: Option<u8>,
    /// Whether it must accept inline data.
    pub inline: bool,
    /// The time until an unacknowledged packet is sent again is 4.096 µs · 2^timeout.
    pub timeout: u8,
    /// How often a packet is sent again before the connection fails.
    pub retries: u8,
    /// How often a request is tried again if the other end is not ready. 7 means forever.
    pub rnr_retries: u8,
    /// The service level of its packets, 0 to 15.
    pub service_level: u8,
    /// The traffic class of packets with a global address: on RoCE, the byte that says how to treat them.
    pub traffic_class: u8,
    /// The index of its partition in the port's table.
    pub pkey_index: u16,
}

impl Settings {
    /// Those of an endpoint that the executor itself uses, beside those of a program.
    pub fn of_own_traffic(&self, depth: u32) -> Self {
        Self { depth, inline: false, placements: Placements::default(), ..self.clone() }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            depth: 128,
            receives: 0,
            placements: Placements::default(),
            outstanding_reads: None,
            inline: false,
            timeout: 17,
            retries: 7,
            rnr_retries: 7,
            service_level: 0,
            traffic_class: 0,
            pkey_index: 0,
        }
    }
}

/// A work request on whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The kind of request.
    pub kind: RequestKind,
    /// The first local word, as an index into the endpoint's region.
    pub local: usize,
    /// The number of words that a write, a send or a read moves. Atomics and atomic writes move one. A flush
    /// moves none, and a send may move none.
    pub words: u32,
    /// The immediate of a write or a send, in the byte order of this machine.
    pub immediate: Option<u32>,
    /// The address of the remote word, and the key of its region. A send has no use for them.
    pub remote: (u64, u64),
    /// Whether the request waits for all earlier reads and atomics of its queue pair (`IBV_SEND_FENCE`).
    pub fence: bool,
    /// Whether the CPU copies the data when the request is posted (`IBV_SEND_INLINE`). Only for writes and
    /// sends; the CPU copies that of an atomic write in any case.
    pub inline: bool,
    /// Whether it has a completion of its own (`IBV_SEND_SIGNALED`). The completion of a later request stands
    /// for one that has none.
    pub signaled: bool,
}

impl Request {
    /// A request that is signaled, and nothing else: neither fenced, nor inline, nor with an immediate.
    pub fn plain(kind: RequestKind, local: usize, words: u32, remote: (u64, u64)) -> Self {
        let (fence, inline, signaled) = (false, false, true);
        Self { kind, local, words, immediate: None, remote, fence, inline, signaled }
    }

    /// Whether it consumes a receive.
    pub fn is_message(&self) -> bool {
        self.kind == RequestKind::Send || self.immediate.is_some()
    }

    /// Whether it carries no data, and so has no local words.
    pub fn is_empty(&self) -> bool {
        self.words == 0 && matches!(self.kind, RequestKind::Send | RequestKind::Flush { .. })
    }

    /// Whether the request is one of the memory placement extensions.
    pub fn is_placement(&self) -> bool {
        matches!(self.kind, RequestKind::AtomicWrite | RequestKind::Flush { .. })
    }

    /// Whether the request is a remote read-modify-write of one word.
    pub fn is_atomic(&self) -> bool {
        match self.kind {
            RequestKind::Write
            | RequestKind::Send
            | RequestKind::Read
            | RequestKind::AtomicWrite
            | RequestKind::Flush { .. } => false,
            RequestKind::CompareAndSwap { .. } | RequestKind::FetchAndAdd { .. } => true,
        }
    }
}

/// `write of 2 words, from word 5 to 0x7f00 by key 0x12`.
impl fmt::Display for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, key) = self.remote;
        let words = match self.words {
            1 => "1 word".to_owned(),
            count => format!("{count} words"),
        };
        let local = self.local;
        let remote = format!("{address:#x} by key {key:#x}");
        let mut text = match self.kind {
            RequestKind::Write => format!("write of {words}, from word {local} to {remote}"),
            RequestKind::Send => format!("send of {words}, from word {local}"),
            RequestKind::Read => format!("read of {words}, from {remote} to word {local}"),
            RequestKind::CompareAndSwap { .. } => {
                format!("compare-and-swap of {remote}, result to word {local}")
            }
            RequestKind::FetchAndAdd { .. } => {
                format!("fetch-and-add to {remote}, result to word {local}")
            }
            RequestKind::AtomicWrite => format!("atomic write from word {local} to {remote}"),
            RequestKind::Flush { is_persistent: false } => format!("flush of {remote}"),
            RequestKind::Flush { is_persistent: true } => {
                format!("flush of {remote} to persistent memory")
            }
        };
        if self.immediate.is_some() {
            text.push_str(", with an immediate");
        }
        if self.fence {
            text.push_str(", fence");
        }
        if self.inline {
            text.push_str(", inline");
        }
        out.write_str(&text)
    }
}

/// The kinds of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum RequestKind {
    /// RDMA WRITE of the local words. With an immediate, it consumes a receive.
    Write,
    /// SEND of the local words, into the buffer of the receive that it consumes.
    Send,
    /// RDMA READ into the local words.
    Read,
    /// Compare-and-swap. The old value goes to the local word.
    CompareAndSwap { expected: u64, desired: u64 },
    /// Fetch-and-add. The old value goes to the local word.
    FetchAndAdd { addend: u64 },
    /// ATOMIC WRITE of the local word.
    AtomicWrite,
    /// FLUSH of the peer's region.
    Flush { is_persistent: bool },
}

/// An error that a user can act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RdmaError {
    /// The kind of error.
    pub kind: RdmaErrorKind,
    /// The full message: the call, the device, the object, and the system's error.
    pub message: String,
}

/// The kinds of [`RdmaError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RdmaErrorKind {
    /// libibverbs or libfabric is missing.
    NoLibrary,
    /// There is no device, or none with this name, or its port is down.
    NoDevice,
    /// The device does not support the request.
    Unsupported,
    /// A call or a request failed.
    Failed,
}

impl RdmaError {
    /// An error of this kind.
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
