//! Work requests and completions, as the engine sees them.

/// What remote accesses a memory region or a queue pair allows: the bits of `ibv_access_flags`.
pub mod access {
    /// The NIC may write on behalf of its own program.
    pub const LOCAL_WRITE: u32 = 1;
    /// Peers may write.
    pub const REMOTE_WRITE: u32 = 1 << 1;
    /// Peers may read.
    pub const REMOTE_READ: u32 = 1 << 2;
    /// Peers may do atomic operations.
    pub const REMOTE_ATOMIC: u32 = 1 << 3;
    /// Remote addresses begin at 0.
    pub const ZERO_BASED: u32 = 1 << 5;
}

/// A piece of local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sge {
    /// Its first byte.
    pub address: u64,
    /// How many bytes it has.
    pub length: u32,
    /// The local key of its region.
    pub key: u32,
}

/// How many bytes the pieces have together.
pub fn total(sges: &[Sge]) -> u64 {
    sges.iter().map(|sge| u64::from(sge.length)).sum()
}

/// Where the bytes of a request are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In registered memory: sources of a write or send, targets of a read or atomic.
    Memory(Vec<Sge>),
    /// Copied when the request was posted (`IBV_SEND_INLINE`).
    Inline(Vec<u8>),
}

/// A piece of remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Remote {
    /// Its first byte, in the peer's terms.
    pub address: u64,
    /// The remote key of its region.
    pub key: u32,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// SEND, perhaps with immediate data.
    Send {
        /// In the bytes' own order.
        immediate: Option<u32>,
    },
    /// RDMA WRITE, perhaps with immediate data.
    Write {
        /// Where to.
        remote: Remote,
        /// In the bytes' own order.
        immediate: Option<u32>,
    },
    /// RDMA READ.
    Read {
        /// Where from.
        remote: Remote,
    },
    /// ATOMIC CMP_AND_SWP.
    CompareAndSwap {
        /// Which word.
        remote: Remote,
        /// What it must hold.
        compare: u64,
        /// What it gets.
        swap: u64,
    },
    /// ATOMIC FETCH_AND_ADD.
    FetchAndAdd {
        /// Which word.
        remote: Remote,
        /// What is added.
        add: u64,
    },
}

impl Operation {
    /// The `ibv_wc_opcode` of its completion.
    pub fn completion_code(&self) -> i32 {
        match self {
            Self::Send { .. } => 0,
            Self::Write { .. } => 1,
            Self::Read { .. } => 2,
            Self::CompareAndSwap { .. } => 3,
            Self::FetchAndAdd { .. } => 4,
        }
    }

    /// Whether its bytes come from the peer.
    pub fn fetches(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. })
    }

    /// Whether it is a remote read-modify-write.
    pub fn is_atomic(&self) -> bool {
        matches!(self, Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. })
    }
}

/// A request on a send queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The program's name for it.
    pub id: u64,
    /// What it does.
    pub operation: Operation,
    /// Its local bytes.
    pub payload: Payload,
    /// `IBV_SEND_FENCE`.
    pub fence: bool,
    /// Whether its completion is shown to the program.
    pub signaled: bool,
    /// `IBV_SEND_SOLICITED`.
    pub solicited: bool,
}

/// A request on a receive queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The program's name for it.
    pub id: u64,
    /// Where a message goes.
    pub sges: Vec<Sge>,
}

/// How a request ended: `ibv_wc_status`, as far as it is used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// It was done.
    Success = 0,
    /// A message is longer than its buffer or than a message may be.
    LocalLength = 1,
    /// The queue pair cannot do this.
    LocalOperation = 2,
    /// A local key, or what it allows, does not fit.
    LocalProtection = 4,
    /// The queue pair was in error before.
    Flushed = 5,
    /// The peer cannot do this.
    RemoteInvalidRequest = 9,
    /// A remote key, or what it allows, does not fit.
    RemoteAccess = 10,
    /// The peer failed while it did this.
    RemoteOperation = 11,
    /// The peer did not answer.
    RetryExceeded = 12,
    /// The peer had no receive request for too long.
    ReceiverNotReadyExceeded = 13,
}

impl Status {
    const ALL: [Self; 10] = [
        Self::Success,
        Self::LocalLength,
        Self::LocalOperation,
        Self::LocalProtection,
        Self::Flushed,
        Self::RemoteInvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperation,
        Self::RetryExceeded,
        Self::ReceiverNotReadyExceeded,
    ];

    /// The status of a number, if there is one.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as u8 == code)
    }
}

/// `IBV_WC_RECV`.
pub const RECEIVED: i32 = 1 << 7;
/// `IBV_WC_RECV_RDMA_WITH_IMM`.
pub const RECEIVED_WITH_WRITE: i32 = RECEIVED + 1;

/// An entry of a completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's name.
    pub id: u64,
    /// How it ended.
    pub status: Status,
    /// `ibv_wc_opcode`.
    pub opcode: i32,
    /// How many bytes were received or fetched.
    pub bytes: u32,
    /// Immediate data that came with it.
    pub immediate: Option<u32>,
    /// The queue pair of the request.
    pub queue_pair: u32,
    /// Whether it wakes those who wait for solicited completions only.
    pub solicited: bool,
}
