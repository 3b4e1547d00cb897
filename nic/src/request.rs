//! Work requests and completions, as the engine sees them.

/// The access rights of a memory region or a queue pair: the bits of `ibv_access_flags`.
pub mod access {
    /// The NIC may write on behalf of its own program.
    pub const LOCAL_WRITE: u32 = 1;
    /// Peers may write.
    pub const REMOTE_WRITE: u32 = 1 << 1;
    /// Peers may read.
    pub const REMOTE_READ: u32 = 1 << 2;
    /// Peers may do atomic operations.
    pub const REMOTE_ATOMIC: u32 = 1 << 3;
    /// The first remote address of the region is 0.
    pub const ZERO_BASED: u32 = 1 << 5;
    /// Peers may flush for visibility.
    pub const FLUSH_GLOBAL: u32 = 1 << 8;
    /// Peers may flush for persistence.
    pub const FLUSH_PERSISTENT: u32 = 1 << 9;
    /// Writes of the NIC to the region, and reads after them, may pass each other.
    pub const RELAXED_ORDERING: u32 = 1 << 20;
}

/// A piece of local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sge {
    /// The address of the first byte.
    pub address: u64,
    /// The length in bytes.
    pub length: u32,
    /// The local key of the region.
    pub key: u32,
}

/// The total length of the pieces in bytes.
pub fn total(sges: &[Sge]) -> u64 {
    sges.iter().map(|sge| u64::from(sge.length)).sum()
}

/// The local data of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// In registered memory: the source of a write or send, or the target of a read or atomic.
    Memory(Vec<Sge>),
    /// Copied when the request was posted (`IBV_SEND_INLINE`).
    Inline(Vec<u8>),
}

/// A piece of remote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Remote {
    /// The address of the first byte, in the peer's addresses.
    pub address: u64,
    /// The remote key of the region.
    pub key: u32,
}

/// The receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Destination {
    /// The number of its host.
    pub host: u32,
    /// The number of its queue pair.
    pub queue_pair: u32,
    /// The key that its queue pair must have (Q_Key).
    pub key: u32,
    /// The number of its port in the network. `None` if no such port is known.
    pub port: Option<u16>,
    /// Whether the datagram has a global route header.
    pub global: bool,
}

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// SEND, with optional immediate data.
    Send {
        /// The immediate data, in network byte order as the program gave it.
        immediate: Option<u32>,
    },
    /// SEND of a datagram, with optional immediate data.
    Datagram {
        /// The receiver.
        to: Destination,
        /// The immediate data, in network byte order as the program gave it.
        immediate: Option<u32>,
    },
    /// RDMA WRITE, with optional immediate data.
    Write {
        /// The memory to write to.
        remote: Remote,
        /// The immediate data, in network byte order as the program gave it.
        immediate: Option<u32>,
    },
    /// RDMA READ.
    Read {
        /// The memory to read.
        remote: Remote,
    },
    /// ATOMIC CMP_AND_SWP.
    CompareAndSwap {
        /// The word to change.
        remote: Remote,
        /// The value that the word is compared with.
        compare: u64,
        /// The value that replaces it if they are equal.
        swap: u64,
    },
    /// ATOMIC FETCH_AND_ADD.
    FetchAndAdd {
        /// The word to change.
        remote: Remote,
        /// The number to add.
        add: u64,
    },
    /// ATOMIC WRITE of 8 bytes, which are inline.
    AtomicWrite {
        /// The word to write to.
        remote: Remote,
    },
    /// FLUSH.
    Flush {
        /// The memory whose writes are flushed.
        remote: Remote,
        /// Its length in bytes. `None` for all of its region.
        length: Option<u64>,
        /// The access rights that it takes: those of its placement types.
        needs: u32,
    },
}

impl Operation {
    /// The `ibv_wc_opcode` of the completion.
    pub fn completion_code(&self) -> i32 {
        match self {
            Self::Send { .. } | Self::Datagram { .. } => 0,
            Self::Write { .. } => 1,
            Self::Read { .. } => 2,
            Self::CompareAndSwap { .. } => 3,
            Self::FetchAndAdd { .. } => 4,
            Self::Flush { .. } => 8,
            Self::AtomicWrite { .. } => 9,
        }
    }

    /// Whether the peer answers the operation as a read: with the bytes that it asks for. A flush asks for
    /// none.
    pub fn fetches(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Flush { .. }) || self.is_atomic()
    }

    /// Whether the operation is a remote read-modify-write.
    pub fn is_atomic(&self) -> bool {
        matches!(self, Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. })
    }
}

/// A request on a send queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The program's id for the request.
    pub id: u64,
    /// The operation.
    pub operation: Operation,
    /// The local data.
    pub payload: Payload,
    /// Whether it waits for all earlier reads and atomics (`IBV_SEND_FENCE`).
    pub fence: bool,
    /// Whether the program gets its completion.
    pub signaled: bool,
    /// Whether it wakes a receiver that waits for solicited events (`IBV_SEND_SOLICITED`).
    pub solicited: bool,
}

/// A request on a receive queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The program's id for the request.
    pub id: u64,
    /// The pieces of memory for the message.
    pub sges: Vec<Sge>,
}

/// The result of a request: the values of `ibv_wc_status` that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The request succeeded.
    Success = 0,
    /// A message is longer than its buffer, or than the longest message.
    LocalLength = 1,
    /// The queue pair cannot do this operation.
    LocalOperation = 2,
    /// A local key is not valid for this access.
    LocalProtection = 4,
    /// The queue pair was in the error state already.
    Flushed = 5,
    /// The peer cannot do this operation.
    RemoteInvalidRequest = 9,
    /// A remote key is not valid for this access.
    RemoteAccess = 10,
    /// The peer failed during the operation.
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

    /// The status with this number, if there is one.
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
    /// The program's id for the request.
    pub id: u64,
    /// The result of the request.
    pub status: Status,
    /// The operation, as in `ibv_wc_opcode`.
    pub opcode: i32,
    /// The number of bytes received or read.
    pub bytes: u32,
    /// The immediate data that came with it.
    pub immediate: Option<u32>,
    /// The number of the request's queue pair.
    pub queue_pair: u32,
    /// Whether it wakes threads that wait only for solicited completions.
    pub solicited: bool,
    /// The sender, if a datagram was received.
    pub sender: Option<Sender>,
}

/// The sender of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The number of its queue pair.
    pub queue_pair: u32,
    /// The number of its port in the network.
    pub port: u16,
    /// Whether the datagram has a global route header.
    pub global: bool,
}

/// The bytes before a datagram in the memory of a receive request. They are for a global route header.
pub const HEADER: usize = 40;
