//! The state of the machine [RMW Fig. 20].

use compiler::code::Operand;
use lang::program::LocationId;

/// Everything that changes while a program runs.
///
/// Queues grow at the end; their heads are the first elements. The buffers keep their capacity when a state is
/// reset or assigned to, so a simulator's steps allocate nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// M, by location.
    pub memory: Vec<u64>,
    /// The registers of all threads.
    pub registers: Vec<u64>,
    /// By thread.
    pub threads: Vec<ThreadState>,
    /// By queue pair of [`compiler::code::Code::queue_pairs`].
    pub pairs: Vec<PairState>,
    /// A(n), by the machine's numbering of nodes that RMWs target: whether it is taken.
    pub locks: Vec<bool>,
    /// By the machine's wait slots (one per id waited for and queue pair): how many operations with that id are
    /// not complete; when Wait polls, how many polls it takes until all of them are polled.
    pub awaited: Vec<u32>,
}

/// A thread and its store buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// The next instruction; their number if the thread is done.
    pub pc: usize,
    /// CPU writes and RDMA operations that have not left the CPU.
    pub buffer: Vec<Entry>,
}

/// A queue pair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairState {
    /// Operations pending or in progress.
    pub pipe: Vec<Entry>,
    /// wbR: writes pending at the remote node.
    pub remote: Vec<RemoteWrite>,
    /// wbL without the completion notices at its head: empty, or a write is first.
    pub local: Vec<LocalEntry>,
    /// The completion notices at the head of wbL.
    pub notices: u32,
    /// Operations issued and not polled yet.
    pub outstanding: u32,
}

/// What stands in a store buffer or pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The queue pair it is for; without meaning for CPU writes.
    pub pair: usize,
    /// The slot of [`State::awaited`] that counts it until it is complete, if some Wait does.
    pub wait: Option<usize>,
    /// What is to be done.
    pub item: Item,
}

/// What an entry of a store buffer or pipe has still to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Item {
    /// A CPU write; in store buffers only.
    Write { target: LocationId, value: u64 },
    /// A put whose source is not read yet.
    Put { target: LocationId, source: Source },
    /// A put's remote write to do.
    RemoteWrite { target: LocationId, value: u64 },
    /// A put's acknowledgement.
    Ack,
    /// A get that has not read yet.
    Get { target: LocationId, source: LocationId },
    /// A local write to do, of a get or remote RMW.
    LocalWrite { target: LocationId, value: u64 },
    /// A remote compare-and-swap that has not read yet.
    Rcas { result: LocationId, target: LocationId, expected: u64, desired: u64 },
    /// A remote fetch-and-add that has not read yet.
    Rfaa { result: LocationId, target: LocationId, addend: u64 },
    /// A remote RMW's write to do.
    AtomicWrite { target: LocationId, value: u64 },
    /// A remote fence.
    Fence,
}

/// Where a put takes its value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Memory, when the NIC reads it.
    Location(LocationId),
    /// A private location that nobody writes.
    Value(u64),
}

/// A write in wbR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteWrite {
    /// Where.
    pub target: LocationId,
    /// What.
    pub value: u64,
    /// Whether it comes from an RMW and frees the node's lock.
    pub atomic: bool,
}

/// What stands in wbL.
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
    Fence,
}

impl Kind {
    pub(super) const COUNT: usize = 9;

    pub(super) const fn bit(self) -> KindSet {
        1 << self as u16
    }
}

/// A set of [`Kind`]s.
pub(super) type KindSet = u16;

impl Item {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Write { .. } => Kind::Write,
            Self::Put { .. } => Kind::Put,
            Self::RemoteWrite { .. } => Kind::RemoteWrite,
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
        }
    }
}
