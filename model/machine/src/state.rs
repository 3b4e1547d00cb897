//! The state of the machine [RMW Fig. 20].

use compiler::code::Operand;
use lang::program::LocationId;

pub use super::crash::Survivor;

/// Everything that changes while a program runs.
///
/// Queues grow at the end; their heads are the first elements. The buffers keep their capacity when a state
/// is reset or assigned to, so a simulator's steps allocate nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// M: the value of each location.
    pub memory: Vec<u64>,
    /// The registers of all threads, by register id.
    pub registers: Vec<u64>,
    /// The threads, by thread id.
    pub threads: Vec<ThreadState>,
    /// The queue pairs, by index into [`compiler::code::Code::queue_pairs`].
    pub pairs: Vec<PairState>,
    /// A(n): whether the lock of a node is taken. The machine numbers the nodes that RMWs target.
    pub locks: Vec<bool>,
    /// By wait slot (one for each awaited id and queue pair): how many operations with that id are not
    /// complete. If Wait is implemented by polls: how many polls it takes until all of them are polled.
    pub awaited: Vec<u32>,
    /// If nodes may crash, for each location that is observed what it may hold afterwards, oldest first.
    pub survivors: Vec<Vec<Survivor>>,
    /// A mask of locations that are read before they are written again. Only explorations have some.
    pub unread: u64,
}

/// A thread and its store buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// The next instruction, or the number of instructions if the thread is done.
    pub pc: usize,
    /// CPU writes and RDMA operations that have not left the CPU, oldest first.
    pub buffer: Vec<Entry>,
}

/// A queue pair: one thread's connection to one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairState {
    /// Operations that are pending or in progress, oldest first.
    pub pipe: Vec<Entry>,
    /// wbR: writes pending at the remote node.
    pub remote: Vec<RemoteWrite>,
    /// wbL without the completion notices at its head. It is empty, or a write comes first.
    pub local: Vec<LocalEntry>,
    /// How many completion notices stand at the head of wbL.
    pub notices: u32,
    /// How many operations are issued and not polled yet.
    pub outstanding: u32,
    /// The buffers of the receives that are posted at the remote node and not consumed yet, oldest first.
    pub receives: Vec<LocationId>,
    /// The immediates of the receives that are complete and not polled yet, oldest first.
    pub arrived: Vec<u64>,
    /// How many persistent flushes were issued, if nodes may crash.
    pub persists: u32,
}

/// An entry of a store buffer or pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The queue pair that the operation goes to. It has no meaning for CPU writes.
    pub pair: usize,
    /// The slot of [`State::awaited`] that counts this operation until it is complete, if some Wait needs it.
    pub wait: Option<usize>,
    /// How many persistent flushes of the queue pair were issued before it.
    pub persists: u32,
    /// Whether the operation leaves no completion notice.
    pub unsignaled: bool,
    /// Whether it is a further word of the request that the entry before it is of. Nothing orders the words
    /// of a request, and there is one notice for all of them.
    pub joined: bool,
    /// What the entry still has to do.
    pub item: Item,
}

/// What an entry of a store buffer or pipe still has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Item {
    /// A CPU write; in store buffers only.
    Write { target: LocationId, value: u64 },
    /// A put that has not read its source.
    Put { target: LocationId, source: Source, atomic: bool },
    /// The remote write of a put. An atomic one waits for flushes.
    RemoteWrite { target: LocationId, value: u64, atomic: bool },
    /// A flush that has not taken effect.
    Flush { is_persistent: bool },
    /// The acknowledgement of a put.
    Ack,
    /// A get that has not read yet.
    Get { target: LocationId, source: LocationId },
    /// The local write of a get or remote RMW.
    LocalWrite { target: LocationId, value: u64 },
    /// A remote compare-and-swap that has not read yet.
    Rcas { result: LocationId, target: LocationId, expected: u64, desired: u64 },
    /// A remote fetch-and-add that has not read yet.
    Rfaa { result: LocationId, target: LocationId, addend: u64 },
    /// The write of a remote RMW.
    AtomicWrite { target: LocationId, value: u64 },
    /// A message that has not read its source. Without a target, its data goes where a receive says.
    Message { target: Option<LocationId>, source: Source, immediate: u64 },
    /// The remote write of a message.
    MessageWrite { target: Option<LocationId>, value: u64, immediate: u64 },
    /// The completion of a receive, which a put with immediate leaves at its target.
    Completion { immediate: u64 },
    /// A receive on its way to the NIC; in store buffers only.
    Receive { buffer: LocationId },
    /// A remote fence.
    #[default]
    Fence,
}

/// Where a put takes its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A location, read when the NIC reads it.
    Location(LocationId),
    /// The value of a private location that nobody writes.
    Value(u64),
}

/// A write in wbR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteWrite {
    /// The location that is written. A completion alone writes none.
    pub target: Option<LocationId>,
    /// The value that is written.
    pub value: u64,
    /// The immediate of the receive that is complete then, if one is.
    pub completes: Option<u64>,
    /// Whether the write comes from a remote RMW. If so, it frees the node's lock.
    pub atomic: bool,
    /// How many persistent flushes of the queue pair were issued before its operation.
    pub persists: u32,
}

/// An entry of wbL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum LocalEntry {
    /// A pending write, and the slot of [`State::awaited`] that counts it.
    Write { target: LocationId, value: u64, wait: Option<usize> },
    /// A completion notice, `cn`.
    Notice,
}

/// The kinds of [`Item`] that the rules tell apart; one bit each in a [`KindSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Write,
    Put,
    RemoteWrite,
    Ack,
    Get,
    LocalWrite,
    Rmw,
    AtomicWrite,
    Flush,
    /// The write of an atomic write.
    OrderedWrite,
    Fence,
}

impl Kind {
    pub(super) const COUNT: usize = 11;

    pub(super) const fn bit(self) -> KindSet {
        1 << self as u16
    }
}

/// A set of [`Kind`]s.
pub(super) type KindSet = u16;

impl Item {
    /// Whether its next step consumes a receive.
    pub(super) fn needs_receive(&self) -> bool {
        matches!(self, Self::MessageWrite { target: None, .. } | Self::Completion { .. })
    }

    /// Whether it is of a message, on its way to the receive's completion.
    pub(super) fn is_message(&self) -> bool {
        matches!(self, Self::Message { .. } | Self::MessageWrite { .. } | Self::Completion { .. })
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Write { .. } => Kind::Write,
            Self::Put { .. } => Kind::Put,
            Self::Message { .. } => Kind::Put,
            Self::RemoteWrite { atomic: true, .. } => Kind::OrderedWrite,
            Self::RemoteWrite { .. } | Self::MessageWrite { .. } | Self::Completion { .. } => {
                Kind::RemoteWrite
            }
            Self::Flush { .. } => Kind::Flush,
            Self::Receive { .. } => Kind::Write,
            Self::Ack => Kind::Ack,
            Self::Get { .. } => Kind::Get,
            Self::LocalWrite { .. } => Kind::LocalWrite,
            Self::Rcas { .. } | Self::Rfaa { .. } => Kind::Rmw,
            Self::AtomicWrite { .. } => Kind::AtomicWrite,
            Self::Fence => Kind::Fence,
        }
    }
}

impl State {
    /// What a CPU read of the thread sees: its newest buffered write, else memory.
    pub(super) fn cpu_read(&self, thread: usize, location: LocationId) -> u64 {
        let buffered =
            self.threads[thread].buffer.iter().rev().find_map(|entry| match entry.item {
                Item::Write { target, value } if target == location => Some(value),
                _ => None,
            });
        buffered.unwrap_or(self.memory[location.0])
    }

    /// A register's value, or that of an expression over registers.
    pub(super) fn value(&self, operand: &Operand) -> u64 {
        operand.evaluate(&self.registers)
    }

    /// Makes this state a copy of another of the same machine, keeping what is allocated.
    pub(super) fn assign(&mut self, other: &Self) {
        self.memory.clone_from(&other.memory);
        self.registers.clone_from(&other.registers);
        self.locks.clone_from(&other.locks);
        self.awaited.clone_from(&other.awaited);
        self.survivors.clone_from(&other.survivors);
        self.unread = other.unread;
        self.threads.resize_with(other.threads.len(), Default::default);
        for (to, from) in self.threads.iter_mut().zip(&other.threads) {
            to.pc = from.pc;
            to.buffer.clone_from(&from.buffer);
        }
        self.pairs.resize_with(other.pairs.len(), Default::default);
        for (to, from) in self.pairs.iter_mut().zip(&other.pairs) {
            to.pipe.clone_from(&from.pipe);
            to.remote.clone_from(&from.remote);
            to.local.clone_from(&from.local);
            to.notices = from.notices;
            to.outstanding = from.outstanding;
            to.receives.clone_from(&from.receives);
            to.arrived.clone_from(&from.arrived);
            to.persists = from.persists;
        }
    }
}
