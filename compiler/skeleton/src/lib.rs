//! The event skeleton of a program: every event that some execution may have, the condition under which it
//! happens, and how values follow from each other.
//!
//! Loops are unrolled up to a bound. The choices of an execution are left open: which write a read takes,
//! whether a compare-and-swap succeeds, and the orders of a model. The engine makes them.

mod build;
pub mod execution;
mod library;
mod prefix;
mod spin;
mod values;

use lang::diagnostic::Code;
use lang::program::{Connection, LocationId, NodeId, Owner, ThreadId, Towards, WorkId};
use lang::source::Span;

pub use build::{Unsupported, build, build_prepared, build_with_switches};

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
    /// Whether the condition is negated.
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
    /// Always true. Only node 0 is this.
    True,
    /// A free choice (whether a CPU compare-and-swap succeeds), with a number of its own.
    Choice(usize),
    /// What whoever asks chooses, by the number of the switch ([`build_with_switches`]).
    Switch(usize),
    /// True iff the value is not 0.
    NonZero(ValueId),
    /// True iff the values are equal.
    Equal(ValueId, ValueId),
    /// True iff both conditions hold.
    And(Guard, Guard),
}

/// A node of the graph of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A constant.
    Constant(u64),
    /// The value that an event reads.
    Read(EventId),
    /// An operator applied to two values.
    Binary(lang::program::BinaryOp, ValueId, ValueId),
    /// One value if the condition holds, else another.
    Select(Guard, ValueId, ValueId),
}

/// The kind of an event: the stamps of "Specifying and Verifying RDMA Synchronisation", Fig. 9; initial
/// writes; and the additional stamps of coreRMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stamp {
    /// The initial write of a location.
    Init,
    /// aCR: a CPU read.
    CpuRead,
    /// aCW: a CPU write.
    CpuWrite,
    /// aCAS: a successful CPU read-modify-write.
    CpuRmw,
    /// aMF: a CPU memory fence.
    Fence,
    /// aWT: a poll or wait.
    Wait,
    /// aNLR: a local read by the NIC.
    NicLocalRead,
    /// aNRW: a remote write by the NIC.
    NicRemoteWrite,
    /// aNRC: the completion of a receive, which the NIC writes at the target of a message.
    NicRemoteCompletion,
    /// aNAW: the write of an atomic write by the NIC.
    NicAtomicWrite,
    /// aNFL: a flush at its target.
    NicFlush,
    /// aNFP: a flush to persistent memory at its target.
    NicPersist,
    /// aRC: what a crash leaves of a location, read when it is last written back, by no thread.
    Recovery,
    /// aRV: a receive is posted.
    ReceivePosted,
    /// aPS: a request comes to a queue pair that threads share.
    Posted,
    /// aNAR: the remote read of an RMW by the NIC.
    NicAtomicRead,
    /// aNRR: a remote read by the NIC.
    NicRemoteRead,
    /// aNLW: a local write by the NIC.
    NicLocalWrite,
    /// aRF: a remote fence.
    RemoteFence,
    /// aGF: a global fence.
    GlobalFence,
    /// aGA: the read and write of a coreRMA rga.
    NicFetchOp,
    /// aCS: the read and write of a coreRMA cas.
    NicCompareSwap,
    /// aFL: a coreRMA flush.
    Flush,
}

impl Stamp {
    /// The stamp with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::CpuRead,
            Self::CpuWrite,
            Self::CpuRmw,
            Self::Fence,
            Self::Wait,
            Self::NicLocalRead,
            Self::NicRemoteWrite,
            Self::NicRemoteCompletion,
            Self::NicAtomicWrite,
            Self::NicFlush,
            Self::NicPersist,
            Self::Recovery,
            Self::ReceivePosted,
            Self::Posted,
            Self::NicAtomicRead,
            Self::NicRemoteRead,
            Self::NicLocalWrite,
            Self::RemoteFence,
            Self::GlobalFence,
        ];
        all.into_iter().find(|stamp| stamp.name() == name)
    }

    /// The name in the papers.
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
            Self::NicRemoteCompletion => "aNRC",
            Self::NicAtomicWrite => "aNAW",
            Self::NicFlush => "aNFL",
            Self::NicPersist => "aNFP",
            Self::Recovery => "aRC",
            Self::ReceivePosted => "aRV",
            Self::Posted => "aPS",
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
                | Self::Recovery
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
                | Self::NicRemoteCompletion
                | Self::NicAtomicWrite
                | Self::NicLocalWrite
                | Self::NicFetchOp
                | Self::NicCompareSwap
        )
    }
}

/// An event that an execution may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind of the event.
    pub stamp: Stamp,
    /// The thread it belongs to; `None` for initial writes.
    pub thread: Option<ThreadId>,
    /// The location that it accesses. The put of a constant reads a private location, which nothing else can
    /// access. Its read has no location here.
    pub location: Option<LocationId>,
    /// The value written, for writes.
    pub written: Option<ValueId>,
    /// The value read, for reads.
    pub read: Option<ValueId>,
    /// The target node of a NIC event, poll, fence or flush.
    pub node: Option<NodeId>,
    /// Which of the queue pairs to `node` it is on.
    pub queue_pair: u32,
    /// Whose that queue pair is; `None` if it is on none.
    pub owner: Option<Owner>,
    /// The queue pairs of one of which a poll takes a completion. A poll of several is on none of them.
    pub polls: Vec<(Owner, Towards)>,
    /// The operation that it is part of: one execution of one statement. Numbers are unique in the skeleton.
    pub operation: usize,
    /// Which of the operation's words it is about. Events of different words of an operation are in no order.
    pub word: usize,
    /// The work id of its operation, or of the `Wait`.
    pub id: Option<WorkId>,
    /// The receive that it posts, consumes or polls: a queue pair, and the receive's number on it.
    pub receive: Option<(Connection, usize)>,
    /// Whether the access is atomic. True for events without access; false for coreRMA's `X.n`.
    pub atomic: bool,
    /// Whether `node` is the thread's own node.
    pub loopback: bool,
    /// The condition under which it happens.
    pub guard: Guard,
    /// The library and call that it belongs to.
    pub origin: Origin,
    /// The statement, or the declaration for initial writes.
    pub span: Span,
}

impl Event {
    /// The queue pair that it is on, as its thread names it.
    pub fn towards(&self) -> Option<Towards> {
        Some(Towards { node: self.node?, queue_pair: self.queue_pair })
    }

    /// The queue pair that it is on, and whose it is.
    pub fn on(&self) -> Option<(Owner, Towards)> {
        self.owner.zip(self.towards())
    }

    /// Whether the event reads memory.
    pub fn reads(&self) -> bool {
        self.read.is_some()
    }

    /// Whether the event writes memory.
    pub fn writes(&self) -> bool {
        self.written.is_some()
    }
}

/// The libraries and the call that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// One bit for each library that the event belongs to: bit 0 is the base, bit k + 1 is library k.
    pub libraries: u32,
    /// The library's number plus 1, and the method's number.
    pub method: Option<(u8, u8)>,
    /// The object that is called, by its index in the program.
    pub object: Option<usize>,
    /// Whether executions without this call have the same outcomes.
    pub is_idle: bool,
}

impl Origin {
    /// An event of the base and of no library.
    pub const BASE: Self = Self { libraries: 1, method: None, object: None, is_idle: false };
}

/// A use of a library that breaks the library's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// The condition under which it happens.
    pub guard: Guard,
    /// The point at which it happens.
    pub point: Point,
    /// The diagnostic's code, a stable name for the rule.
    pub code: Code,
    /// The message for users.
    pub message: String,
    /// The place of the call.
    pub span: Span,
    /// A related place, with its label.
    pub related: Option<(Span, &'static str)>,
}

/// An operation that a poll can answer for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The thread that issued it.
    pub thread: ThreadId,
    /// The queue pair that it is on.
    pub towards: Towards,
    /// Whose that is.
    pub owner: Owner,
    /// The event that a poll of it reads from: the nlW of a get or RMW, the nrW of a put, the
    /// write of the receive's completion of a message, the flush itself.
    pub completion: EventId,
    /// Those of its other words.
    pub further: Vec<EventId>,
    /// Whether it has no completion of its own: the poll of a later one on its queue pair answers for it too.
    /// On a queue pair that threads share, which one is later is for the model to say.
    pub unsignaled: bool,
    /// The condition under which it happens.
    pub guard: Guard,
}

/// A point between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The thread; `None` for the end of all threads.
    pub thread: Option<ThreadId>,
    /// How many events of the skeleton come before the point.
    pub events: usize,
}

/// A condition on every execution that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// If this holds …
    pub when: Guard,
    /// … this must.
    pub then: Guard,
    /// The point at which it must hold.
    pub point: Point,
}

/// A loop that is left because of the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The condition under which this happens.
    pub guard: Guard,
    /// The point at which this happens.
    pub point: Point,
}

/// The event skeleton: everything that the executions of a program have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeleton {
    /// All events. Initial writes come first, then the events of each thread in program order.
    pub events: Vec<Event>,
    /// The graph of values.
    pub values: Vec<Value>,
    /// The graph of conditions.
    pub conditions: Vec<Condition>,
    /// NIC operations, per thread in program order.
    pub operations: Vec<Operation>,
    /// The requirements on every execution that counts.
    pub requirements: Vec<Requirement>,
    /// The final value of each register, by register index.
    pub registers: Vec<ValueId>,
    /// Loops that are left because of the bound. An execution that does this does not count.
    pub exceeded: Vec<Cut>,
    /// For each free choice, the event that happens iff the choice is true (and control reaches it).
    pub choices: Vec<EventId>,
    /// Uses of libraries that break their rules. An execution with one does not count.
    pub misuses: Vec<Misuse>,
    /// The bound up to which loops were unrolled.
    pub loop_bound: u32,
    /// If the program is about a crash, for each location the event that says what the crash leaves of it.
    /// Threads may then stop wherever they would have to wait.
    pub recovered: Vec<EventId>,
}

impl Operation {
    /// The events that a poll of it reads from, one for each word.
    pub fn completions(&self) -> impl Iterator<Item = EventId> + '_ {
        std::iter::once(self.completion).chain(self.further.iter().copied())
    }

    /// The queue pair that it is on, and whose it is.
    pub fn on(&self) -> (Owner, Towards) {
        (self.owner, self.towards)
    }
}

impl Skeleton {
    /// Whether the first of two events comes before the second in program order: in their thread, and not in
    /// different words of one operation.
    pub fn in_program_order(&self, first: EventId, second: EventId) -> bool {
        let (left, right) = (self.event(first), self.event(second));
        let apart = left.operation == right.operation && left.word != right.word;
        left.thread.is_some() && left.thread == right.thread && first < second && !apart
    }

    /// The event with this id.
    pub fn event(&self, id: EventId) -> &Event {
        &self.events[id.0]
    }

    /// The operations whose completion a poll may take, by index: signaled ones that it may answer for.
    /// `None` if the event is not a poll of queue pairs.
    pub fn polled_by(&self, poll: EventId) -> Option<impl Iterator<Item = usize>> {
        if self.event(poll).polls.is_empty() {
            return None;
        }
        let operations = self.operations.iter().enumerate();
        let earlier =
            operations.filter(move |(_, one)| !one.unsignaled && self.may_answer(poll, one));
        Some(earlier.map(|(index, _)| index))
    }

    /// Whether an event is a poll that may answer for an operation: one of its queue pairs, of another thread
    /// or earlier in its own.
    pub fn may_answer(&self, poll: EventId, operation: &Operation) -> bool {
        let event = self.event(poll);
        let is_own = Some(operation.thread) == event.thread;
        event.polls.contains(&operation.on()) && (!is_own || operation.completion < poll)
    }

    /// The unsignaled operations that the completion of an operation answers for too: those before it on its
    /// queue pair, all of them, whether or not an earlier completion did so already. Which are before it on a
    /// queue pair that threads share is not known here: none of those.
    pub fn completed_with(&self, operation: usize) -> impl Iterator<Item = &Operation> {
        let on = self.operations[operation].on();
        let earlier = self.operations[..operation].iter();
        earlier.filter(move |earlier| {
            earlier.unsignaled && earlier.on() == on && !earlier.towards.is_shared()
        })
    }

    /// The condition that a switch is on, if something depends on it.
    pub fn switch(&self, number: usize) -> Option<Guard> {
        let is_it = |condition: &Condition| *condition == Condition::Switch(number);
        let condition = self.conditions.iter().position(is_it)?;
        Some(Guard { condition, negated: false })
    }

    /// The values that a condition depends on.
    pub fn values_behind(&self, guard: Guard) -> Vec<ValueId> {
        let (mut values, mut open, mut seen) = (Vec::new(), vec![guard.condition], vec![]);
        while let Some(condition) = open.pop() {
            if seen.contains(&condition) {
                continue;
            }
            seen.push(condition);
            match self.conditions[condition] {
                Condition::True | Condition::Choice(_) | Condition::Switch(_) => {}
                Condition::NonZero(value) => values.push(value),
                Condition::Equal(left, right) => values.extend([left, right]),
                Condition::And(left, right) => open.extend([left.condition, right.condition]),
            }
        }
        values
    }

    /// The ids of all events, in order.
    pub fn event_ids(&self) -> impl DoubleEndedIterator<Item = EventId> + use<> {
        (0..self.events.len()).map(EventId)
    }
}
