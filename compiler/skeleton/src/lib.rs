//! The event skeleton of a program: every event that some execution may have, under which condition it
//! happens, and how values follow from one another.
//!
//! Loops are unrolled to a bound. What is chosen in an execution (which write a read takes, whether a
//! compare-and-swap succeeds, the orders of a model) is left open; a model's engine chooses.

mod build;
pub mod execution;
mod library;
mod prefix;
mod spin;
mod values;

use lang::program::{LocationId, NodeId, ThreadId, WorkId};
use lang::source::Span;

pub use build::{Unsupported, build, build_prepared};

/// Index into [`Skeleton::events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub usize);

/// Index into [`Skeleton::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub usize);

/// A condition: a node of [`Skeleton::conditions`], perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guard {
    /// Index into [`Skeleton::conditions`].
    pub condition: usize,
    /// Whether the condition's negation is meant.
    pub negated: bool,
}

impl Guard {
    /// The condition that always holds.
    pub const TRUE: Guard = Guard { condition: 0, negated: false };
    /// The condition that never holds.
    pub const FALSE: Guard = Guard { condition: 0, negated: true };
}

impl std::ops::Not for Guard {
    type Output = Guard;

    fn not(self) -> Guard {
        Guard { negated: !self.negated, ..self }
    }
}

/// A node of the graph of conditions. Operands come earlier in [`Skeleton::conditions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Always; node 0 and no other.
    True,
    /// Chosen freely (whether a CPU compare-and-swap succeeds); each has a number of its own.
    Choice(usize),
    /// The value is not 0.
    NonZero(ValueId),
    /// The two values are equal.
    Equal(ValueId, ValueId),
    /// Both hold.
    And(Guard, Guard),
}

/// A node of the graph of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A constant.
    Constant(u64),
    /// What an event reads.
    Read(EventId),
    /// An operator applied to two values.
    Binary(lang::program::BinaryOp, ValueId, ValueId),
    /// One value if the condition holds, else another.
    Select(Guard, ValueId, ValueId),
}

/// The kind of an event: the stamps of "Specifying and Verifying RDMA Synchronisation", Fig. 9, initial writes, and
/// what coreRMA has besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stamp {
    /// The initial write of a location.
    Init,
    /// aCR
    CpuRead,
    /// aCW
    CpuWrite,
    /// aCAS
    CpuRmw,
    /// aMF
    Fence,
    /// aWT
    Wait,
    /// aNLR
    NicLocalRead,
    /// aNRW
    NicRemoteWrite,
    /// aNAR
    NicAtomicRead,
    /// aNRR
    NicRemoteRead,
    /// aNLW
    NicLocalWrite,
    /// aRF
    RemoteFence,
    /// aGF
    GlobalFence,
    /// aGA
    NicFetchOp,
    /// aCS
    NicCompareSwap,
    /// aFL
    Flush,
}

impl Stamp {
    /// The stamp of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::CpuRead,
            Self::CpuWrite,
            Self::CpuRmw,
            Self::Fence,
            Self::Wait,
            Self::NicLocalRead,
            Self::NicRemoteWrite,
            Self::NicAtomicRead,
            Self::NicRemoteRead,
            Self::NicLocalWrite,
            Self::RemoteFence,
            Self::GlobalFence,
        ];
        all.into_iter().find(|stamp| stamp.name() == name)
    }

    /// The name as the papers print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::CpuRead => "aCR",
            Self::CpuWrite => "aCW",
            Self::CpuRmw => "aCAS",
            Self::Fence => "aMF",
            Self::Wait => "aWT",
            Self::NicLocalRead => "aNLR",
            Self::NicRemoteWrite => "aNRW",
            Self::NicAtomicRead => "aNAR",
            Self::NicRemoteRead => "aNRR",
            Self::NicLocalWrite => "aNLW",
            Self::RemoteFence => "aRF",
            Self::GlobalFence => "aGF",
            Self::NicFetchOp => "aGA",
            Self::NicCompareSwap => "aCS",
            Self::Flush => "aFL",
        }
    }

    /// Whether events of this kind read memory.
    pub fn reads(self) -> bool {
        matches!(
            self,
            Self::CpuRead
                | Self::CpuRmw
                | Self::NicLocalRead
                | Self::NicAtomicRead
                | Self::NicRemoteRead
                | Self::NicFetchOp
                | Self::NicCompareSwap
        )
    }

    /// Whether events of this kind write memory.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Init
                | Self::CpuWrite
                | Self::CpuRmw
                | Self::NicRemoteWrite
                | Self::NicLocalWrite
                | Self::NicFetchOp
                | Self::NicCompareSwap
        )
    }
}

/// An event that an execution may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its kind.
    pub stamp: Stamp,
    /// The thread it belongs to; `None` for initial writes.
    pub thread: Option<ThreadId>,
    /// The location it accesses. A put's read of a private location (the put of a constant) has none:
    /// nothing else can touch what it reads.
    pub location: Option<LocationId>,
    /// The value written, for writes.
    pub written: Option<ValueId>,
    /// The value read, for reads.
    pub read: Option<ValueId>,
    /// The node towards which a NIC event, poll, fence or flush goes.
    pub node: Option<NodeId>,
    /// The operation (a statement done once) it is part of; numbers are unique in the skeleton.
    pub operation: usize,
    /// The work id of its operation, or of the `Wait`.
    pub id: Option<WorkId>,
    /// It accesses memory atomically, or not at all; false for what coreRMA writes `X.n`.
    pub atomic: bool,
    /// `node` is the thread's own.
    pub loopback: bool,
    /// When it happens.
    pub guard: Guard,
    /// Whose event it is.
    pub origin: Origin,
    /// The statement, or the declaration for initial writes.
    pub span: Span,
}

impl Event {
    /// Whether it reads memory.
    pub fn reads(&self) -> bool {
        self.read.is_some()
    }

    /// Whether it writes memory.
    pub fn writes(&self) -> bool {
        self.written.is_some()
    }
}

/// The library that an event belongs to, and the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A bit for each library that the event is one of: bit 0 is the base's, bit k + 1 that of number k.
    pub libraries: u32,
    /// The library's number and 1, and the method's number.
    pub method: Option<(u8, u8)>,
    /// The object called, by its index in the program.
    pub object: Option<usize>,
    /// Executions without the call show the same.
    pub is_idle: bool,
}

impl Origin {
    /// Of the base, and of no other library.
    pub const BASE: Self = Self { libraries: 1, method: None, object: None, is_idle: false };
}

/// A use of a library that its rules exclude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// When it happens.
    pub guard: Guard,
    /// Where it happens.
    pub point: Point,
    /// A stable name of the rule.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The call.
    pub span: Span,
    /// Another place that belongs to the matter.
    pub related: Option<(Span, &'static str)>,
}

/// An operation that a poll can answer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its thread.
    pub thread: ThreadId,
    /// The node towards which it goes.
    pub node: NodeId,
    /// The event that a poll of it reads from: nlW of a get or RMW, nrW of a put.
    pub completion: EventId,
    /// When it happens.
    pub guard: Guard,
}

/// A point between statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The thread; `None` for the end of all threads.
    pub thread: Option<ThreadId>,
    /// How many events of the skeleton stand before it.
    pub events: usize,
}

/// What must hold in every execution that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// If this holds …
    pub when: Guard,
    /// … this must.
    pub then: Guard,
    /// Where it is asked.
    pub point: Point,
}

/// A loop that is left by the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When that happens.
    pub guard: Guard,
    /// Where.
    pub point: Point,
}

/// All that executions of a program have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeleton {
    /// Events; first the initial writes, then those of each thread in program order.
    pub events: Vec<Event>,
    /// The graph of values.
    pub values: Vec<Value>,
    /// The graph of conditions.
    pub conditions: Vec<Condition>,
    /// NIC operations, per thread in program order.
    pub operations: Vec<Operation>,
    /// What every execution that counts must meet.
    pub requirements: Vec<Requirement>,
    /// The last value of each register, by register index.
    pub registers: Vec<ValueId>,
    /// Loops that are left by the bound. Executions in which one is do not count.
    pub exceeded: Vec<Cut>,
    /// For each free choice, the event that happens iff it is chosen (and control is there).
    pub choices: Vec<EventId>,
    /// Uses of libraries that their rules exclude; executions in which one happens do not count.
    pub misuses: Vec<Misuse>,
    /// The bound to which loops were unrolled.
    pub loop_bound: u32,
}

impl Skeleton {
    /// An event by id.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.0]
    }

    /// The operations that a poll may answer for, by their indices: earlier ones of its thread towards its node. `None` for
    /// what is not a poll of a node.
    pub fn polled_by(&self, poll: EventId) -> Option<impl Iterator<Item = usize>> {
        let event = self.event(poll);
        let (Stamp::Wait, Some(thread), Some(node)) = (event.stamp, event.thread, event.node)
        else {
            return None;
        };
        let operations = self.operations.iter().enumerate();
        let earlier = operations.filter(move |(_, operation)| {
            (operation.thread, operation.node) == (thread, node) && operation.completion < poll
        });
        Some(earlier.map(|(index, _)| index))
    }

    /// The values that a condition is made of.
    pub fn values_behind(&self, guard: Guard) -> Vec<ValueId> {
        let (mut values, mut open, mut seen) = (Vec::new(), vec![guard.condition], vec![]);
        while let Some(condition) = open.pop() {
            if seen.contains(&condition) {
                continue;
            }
            seen.push(condition);
            match self.conditions[condition] {
                Condition::True | Condition::Choice(_) => {}
                Condition::NonZero(value) => values.push(value),
                Condition::Equal(left, right) => values.extend([left, right]),
                Condition::And(left, right) => open.extend([left.condition, right.condition]),
            }
        }
        values
    }

    /// All ids in order.
    pub fn event_ids(&self) -> impl DoubleEndedIterator<Item = EventId> + use<> {
        (0..self.events.len()).map(EventId)
    }
}
