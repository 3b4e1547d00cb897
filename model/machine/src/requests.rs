//! What requests still have to do at memory, by what keeps it back in the queues of their queue pair.

use compiler::code::{MessageSource, Operation};
use lang::program::LocationId;

use super::footprint::{Access, bit, locking};
use super::rules::{Agent, Machine};
use super::state::{Item, Kind, Source};

/// A step of a request that touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// A put or message reads its source (rule 2).
    PutRead,
    /// Its write reaches memory (rules 3 and 4).
    RemoteWrite,
    /// A get reads (rule 6).
    GetRead,
    /// An RMW reads and writes (rules 9 to 13).
    Rmw,
    /// The write of a get or RMW reaches memory (rules 7 and 8).
    LocalWrite,
}

impl Stage {
    pub const ALL: [Self; 5] =
        [Self::PutRead, Self::RemoteWrite, Self::GetRead, Self::Rmw, Self::LocalWrite];

    /// The kind of the pipe's entry that takes the step. Other kinds that take it overtake no more.
    pub fn kind(self) -> Kind {
        match self {
            Self::PutRead => Kind::Put,
            Self::RemoteWrite => Kind::RemoteWrite,
            Self::GetRead => Kind::Get,
            Self::Rmw => Kind::Rmw,
            Self::LocalWrite => Kind::LocalWrite,
        }
    }

    /// Whether the step waits until wbR, or wbL, of its queue pair is empty, or passes that buffer.
    pub fn waits_for(self, agent: Agent) -> bool {
        match agent {
            Agent::RemoteBuffer(_) => {
                matches!(self, Self::RemoteWrite | Self::GetRead | Self::Rmw)
            }
            Agent::LocalBuffer(_) => matches!(self, Self::PutRead | Self::LocalWrite),
            _ => false,
        }
    }
}

/// The locations that requests touch in each stage, as masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stages {
    put_reads: u64,
    remote_writes: u64,
    get_reads: u64,
    /// Those that RMWs read and write.
    rmws: u64,
    /// The locks that RMWs take ([`locking`]).
    locks: u64,
    local_writes: u64,
}

impl Stages {
    /// What one stage touches.
    pub fn get(&self, stage: Stage) -> Access {
        let none = Access::default();
        match stage {
            Stage::PutRead => Access { reads: self.put_reads, ..none },
            Stage::RemoteWrite => Access { writes: self.remote_writes, ..none },
            Stage::GetRead => Access { reads: self.get_reads, ..none },
            Stage::Rmw => Access { reads: self.rmws, writes: self.rmws, others: self.locks },
            Stage::LocalWrite => Access { writes: self.local_writes, ..none },
        }
    }

    /// What all stages touch.
    pub fn all(&self) -> Access {
        Access {
            reads: self.put_reads | self.get_reads | self.rmws,
            writes: self.remote_writes | self.rmws | self.local_writes,
            others: self.locks,
        }
    }

    /// What either touches.
    pub fn union(&self, other: &Self) -> Self {
        Self {
            put_reads: self.put_reads | other.put_reads,
            remote_writes: self.remote_writes | other.remote_writes,
            get_reads: self.get_reads | other.get_reads,
            rmws: self.rmws | other.rmws,
            locks: self.locks | other.locks,
            local_writes: self.local_writes | other.local_writes,
        }
    }

    fn put(source: Option<LocationId>, targets: u64) -> Self {
        let put_reads = source.map_or(0, |source| bit(source.0));
        Self { put_reads, remote_writes: targets, ..Self::default() }
    }

    fn get_of(source: u64, target: u64) -> Self {
        Self { get_reads: source, local_writes: target, ..Self::default() }
    }

    fn rmw(lock: usize, target: LocationId, result: LocationId) -> Self {
        let (rmws, local_writes) = (bit(target.0), bit(result.0));
        Self { rmws, local_writes, locks: locking(lock), ..Self::default() }
    }

    /// What an operation touches.
    pub fn of_operation(machine: &Machine, pair: usize, operation: &Operation) -> Self {
        match operation {
            Operation::Put { target, source } => Self::put(Some(*source), bit(target.0)),
            Operation::PutValue { target, .. } | Operation::AtomicWrite { target, .. } => {
                Self::put(None, bit(target.0))
            }
            Operation::Get { target, source } => Self::get_of(bit(source.0), bit(target.0)),
            Operation::Words { is_put, moves } => {
                let (from, to) = moves.iter().fold((0, 0), |(all_from, all_to), (from, to)| {
                    (all_from | bit(from.0), all_to | bit(to.0))
                });
                match is_put {
                    true => Self { put_reads: from, remote_writes: to, ..Self::default() },
                    false => Self::get_of(from, to),
                }
            }
            Operation::Rcas { result, target, .. } | Operation::Rfaa { result, target, .. } => {
                Self::rmw(machine.lock[pair], *target, *result)
            }
            Operation::Message { target, source, .. } => {
                let source = match source {
                    MessageSource::Location(source) => Some(*source),
                    MessageSource::Value(_) => None,
                };
                Self::put(source, received(machine, pair, *target))
            }
            Operation::Flush { .. } | Operation::Fence => Self::default(),
        }
    }

    /// What an entry of a store buffer or pipe still touches; nothing for a CPU write.
    pub fn of_item(machine: &Machine, pair: usize, item: &Item) -> Self {
        let read = |source: &Source| match source {
            Source::Location(source) => Some(*source),
            Source::Value(_) => None,
        };
        match item {
            Item::Put { target, source, .. } => Self::put(read(source), bit(target.0)),
            Item::RemoteWrite { target, .. } | Item::AtomicWrite { target, .. } => {
                Self::put(None, bit(target.0))
            }
            Item::Get { target, source } => Self::get_of(bit(source.0), bit(target.0)),
            Item::LocalWrite { target, .. } => Self::get_of(0, bit(target.0)),
            Item::Rcas { result, target, .. } | Item::Rfaa { result, target, .. } => {
                Self::rmw(machine.lock[pair], *target, *result)
            }
            Item::Message { target, source, .. } => {
                Self::put(read(source), received(machine, pair, *target))
            }
            Item::MessageWrite { target, .. } => Self::put(None, received(machine, pair, *target)),
            Item::Write { .. }
            | Item::Flush { .. }
            | Item::Ack
            | Item::Completion { .. }
            | Item::Receive { .. }
            | Item::Fence => Self::default(),
        }
    }
}

/// Where the data of a message may go.
fn received(machine: &Machine, pair: usize, target: Option<LocationId>) -> u64 {
    target.map_or(machine.buffers[pair], |target| bit(target.0))
}
