//! Thread code: a checked program as flat lists of instructions, for interpreters.
//!
//! Structured statements become jumps. Expressions become [`Operand`]s, which evaluate without recursion.
//! Every RDMA operation names its queue pair. An instruction is one step of its thread in the sense of [RMW
//! §D.1]; the machine decides what happens to it later.

mod flow;
mod lower;
mod operand;

use std::ops::Range;

use lang::diagnostic::{self, Diagnostic};
use lang::program::{LocationId, NodeId, Program, RegisterId, ThreadId, Towards, WorkId};
use lang::source::Span;

pub use flow::{Flow, flatten};
pub use operand::Operand;

/// Index into [`Code::queue_pairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePairId(pub usize);

/// The code of a whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The code of each thread, in the program's order.
    pub threads: Vec<ThreadCode>,
    /// The queue pairs that instructions use, ordered by thread, then node, then number; those that threads
    /// share come after all others.
    pub queue_pairs: Vec<QueuePair>,
}

/// A connection of a thread, or of the threads of a node, to a node. That may be their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePair {
    /// The thread that issues operations; of threads that share it, the first that names it.
    pub thread: ThreadId,
    /// The target node of the operations.
    pub node: NodeId,
    /// The index among the queue pairs to this node, see [`Towards`].
    pub number: u32,
}

impl QueuePair {
    /// Whether threads share it.
    pub fn is_shared(self) -> bool {
        self.towards().is_shared()
    }

    /// How the thread names it.
    pub fn towards(self) -> Towards {
        Towards { node: self.node, queue_pair: self.number }
    }
}

/// The code of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCode {
    /// The node that the thread runs on.
    pub node: NodeId,
    /// The instructions. Execution starts at the first. It ends at the index after the last, which is also
    /// the largest jump target.
    pub instructions: Vec<Instruction>,
    /// For each instruction, the statement that it comes from.
    pub spans: Vec<Span>,
    /// The thread's part of [`Code::queue_pairs`].
    pub queue_pairs: Range<usize>,
    /// The queue pairs that it names and that threads share, by index into [`Code::queue_pairs`].
    pub shared: Vec<usize>,
}

impl ThreadCode {
    /// All queue pairs that the thread may post to or poll.
    pub fn pairs(&self) -> impl Iterator<Item = usize> + '_ {
        self.queue_pairs.clone().chain(self.shared.iter().copied())
    }

    /// Whether there is anything for the thread to run.
    pub fn has_statements(&self) -> bool {
        !self.instructions.is_empty()
    }
}

/// One step of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Instruction {
    /// Assigns a value to a register.
    Assign { register: RegisterId, value: Operand },
    /// CPU read.
    Read { register: RegisterId, location: LocationId },
    /// CPU write.
    Write { location: LocationId, value: Operand },
    /// CPU compare-and-swap.
    Cas { register: Option<RegisterId>, location: LocationId, expected: Operand, desired: Operand },
    /// CPU fetch-and-add.
    Faa { register: Option<RegisterId>, location: LocationId, addend: Operand },
    /// CPU exchange.
    Exchange { register: Option<RegisterId>, location: LocationId, value: Operand },
    /// `Mfence`.
    Fence,
    /// Issues an RDMA operation or remote fence.
    Issue {
        queue_pair: QueuePairId,
        operation: Operation,
        id: Option<WorkId>,
        /// Whether it has no completion of its own.
        unsignaled: bool,
    },
    /// Posts a receive for a message of the queue pair, which is another thread's.
    Receive { queue_pair: QueuePairId, buffer: LocationId },
    /// Waits for the oldest receive of the queue pair that is complete and not polled yet.
    PollReceive { queue_pair: QueuePairId, register: Option<RegisterId> },
    /// Waits for the oldest operation of one of the queue pairs that is not polled yet.
    Poll(Vec<QueuePairId>),
    /// Waits for all earlier operations with this id, on every queue pair of the thread.
    Wait(WorkId),
    /// Continues at this instruction.
    Jump(usize),
    /// Continues at this instruction if the value is 0, else at the next one.
    JumpIfZero { condition: Operand, target: usize },
    /// The execution does not count if the value is 0.
    Assume(Operand),
}

/// The operations of a queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Operation {
    /// RDMA write from a location of the thread's node.
    Put { target: LocationId, source: LocationId },
    /// RDMA write of a value that is fixed when the operation is issued. `inline` is for hardware.
    PutValue { target: LocationId, value: Operand, inline: bool },
    /// RDMA read.
    Get { target: LocationId, source: LocationId },
    /// A put or get of several words. Each move reads the first location and writes the second.
    Words { is_put: bool, moves: Vec<(LocationId, LocationId)> },
    /// Remote compare-and-swap.
    Rcas { result: LocationId, target: LocationId, expected: Operand, desired: Operand },
    /// Remote fetch-and-add.
    Rfaa { result: LocationId, target: LocationId, addend: Operand },
    /// A write that comes after earlier flushes of the queue pair.
    AtomicWrite { target: LocationId, value: Operand },
    /// A flush of the queue pair's writes, to persistent memory or only to where they can be seen.
    Flush { is_persistent: bool },
    /// A message that consumes a receive; its data goes to a location, or where the receive says.
    Message { target: Option<LocationId>, source: MessageSource, immediate: Option<Operand> },
    /// Remote fence. It is never polled.
    Fence,
}

/// Where a message takes its data from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageSource {
    /// A location of the thread's node.
    Location(LocationId),
    /// A value that is fixed when the message is issued.
    Value(Operand),
}

/// The reason why a program has no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// There is no instruction for a statement.
    Unsupported {
        /// The place of the statement.
        span: Span,
        /// The statement's name in programs: `GFence`, `Bcast`.
        statement: String,
    },
    /// The test is about a crash of all nodes, which only the simulator can make. The place of its header
    /// line.
    Crash(Span),
    /// Hardware would compute with `⊥`. The place of the statement.
    Bottom(Span),
    /// Statements or expressions are nested deeper than [`MAX_NESTING`].
    TooDeep(Span),
    /// Faults of queues were requested, and the machine has no queues.
    Faults,
    /// The program refers to something that does not exist. The checker accepts no such program.
    Malformed {
        /// The place of the statement.
        span: Span,
        /// What does not exist.
        what: &'static str,
    },
}

/// The deepest nesting of `if` and `loop`.
pub const MAX_NESTING: usize = 256;

impl CompileError {
    /// The diagnostic for users.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Unsupported { span, statement } => Diagnostic::error(
                diagnostic::Code::UnsupportedStatement,
                *span,
                format!("`{statement}` has no operational meaning here"),
            )
            .label("not supported by this engine"),
            Self::Bottom(span) => Diagnostic::error(
                diagnostic::Code::UnsupportedStatement,
                *span,
                "expected a number, found what may be `⊥`",
            )
            .label("not supported here")
            .help(
                "a completion of a message without an immediate leaves `⊥`, which is a number on hardware: what is \
                 computed from it there is not `⊥`",
            ),
            Self::Crash(span) => Diagnostic::error(
                diagnostic::Code::UnsupportedStatement,
                *span,
                "expected a program that runs to its end, found one whose nodes crash",
            )
            .label("not supported here")
            .help("`litmus run` runs it on the simulator; `litmus allowed` says what may survive"),
            Self::Faults => Diagnostic::error(
                diagnostic::Code::UnsupportedStatement,
                Span::default(),
                "this machine has no queues that the faults could break",
            )
            .label("not supported by this engine"),
            Self::TooDeep(span) => Diagnostic::error(
                diagnostic::Code::NestingTooDeep,
                *span,
                format!("statements are nested deeper than {MAX_NESTING}"),
            ),
            Self::Malformed { span, what } => Diagnostic::error(
                diagnostic::Code::MalformedProgram,
                *span,
                format!("expected a program that has this {what}, found none"),
            ),
        }
    }
}

/// Compiles a program.
///
/// # Errors
/// Fails for library calls, `GFence` and coreRMA statements, which have no instructions. Fails for a
/// malformed program, which the checker never produces.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    lower::compile(program)
}

#[cfg(test)]
mod tests;
