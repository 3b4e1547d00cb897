//! Thread code: a checked program as flat lists of instructions, for interpreters.
//!
//! Structured statements have become jumps, expressions are [`Operand`]s that evaluate without recursion,
//! and every RDMA operation names its queue pair. An instruction is one step of its thread in the
//! sense of [RMW §D.1]; what hardware makes of it later is the machine's matter.

mod lower;
mod operand;

use std::ops::Range;

use lang::diagnostic::Diagnostic;
use lang::program::{LocationId, NodeId, Program, RegisterId, ThreadId, WorkId};
use lang::source::Span;

pub use operand::Operand;

/// Index into [`Code::queue_pairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePairId(pub usize);

/// The code of a whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// One per thread of the program, in its order.
    pub threads: Vec<ThreadCode>,
    /// The queue pairs that some instruction names, ordered by thread, then node.
    pub queue_pairs: Vec<QueuePair>,
}

/// The connection of a thread to a node, which may be the thread's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuePair {
    /// The thread that issues operations.
    pub thread: ThreadId,
    /// The node that they go to.
    pub node: NodeId,
}

/// The code of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCode {
    /// The node it runs on.
    pub node: NodeId,
    /// It starts at the first and ends by reaching the length of this list, the greatest jump target.
    pub instructions: Vec<Instruction>,
    /// Per instruction, the statement that it comes from.
    pub spans: Vec<Span>,
    /// The thread's part of [`Code::queue_pairs`].
    pub queue_pairs: Range<usize>,
}

/// One step of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Instruction {
    /// A register takes a value.
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
    /// An RDMA operation or remote fence is issued.
    Issue { queue_pair: QueuePairId, operation: Operation, id: Option<WorkId> },
    /// Wait for the oldest operation of the queue pair that is not polled yet.
    Poll(QueuePairId),
    /// Wait for all earlier operations with that id, on any queue pair of the thread.
    Wait(WorkId),
    /// Go on at that instruction.
    Jump(usize),
    /// Go on at that instruction if the value is 0, else at the next.
    JumpIfZero { condition: Operand, target: usize },
    /// Executions in which the value is 0 do not count.
    Assume(Operand),
}

/// What a queue pair is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum Operation {
    /// RDMA write from a location of the thread's node.
    Put { target: LocationId, source: LocationId },
    /// RDMA write of a value that is fixed when the operation is issued.
    PutValue { target: LocationId, value: Operand },
    /// RDMA read.
    Get { target: LocationId, source: LocationId },
    /// Remote compare-and-swap.
    Rcas { result: LocationId, target: LocationId, expected: Operand, desired: Operand },
    /// Remote fetch-and-add.
    Rfaa { result: LocationId, target: LocationId, addend: Operand },
    /// Remote fence; it is never polled.
    Fence,
}

/// Why a program has no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// A statement that thread code has no instruction for.
    Unsupported {
        /// The statement.
        span: Span,
        /// What it is, as programs write it: `GFence`, `Bcast`.
        statement: String,
    },
    /// Statements or expressions are nested deeper than [`MAX_NESTING`].
    TooDeep(Span),
    /// Faults of queues were asked for, and the machine has none.
    Faults,
    /// The program refers to something that it does not have; the checker lets no such program pass.
    Malformed {
        /// The statement.
        span: Span,
        /// What it refers to.
        what: &'static str,
    },
}

/// How deep `if` and `loop` may be nested.
pub const MAX_NESTING: usize = 256;

impl CompileError {
    /// The error as it is shown to users.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Unsupported { span, statement } => Diagnostic::error(
                "unsupported-statement",
                *span,
                format!("`{statement}` has no operational meaning here"),
            )
            .label("not supported by this engine"),
            Self::Faults => Diagnostic::error(
                "unsupported-statement",
                Span::default(),
                "this machine has no queues that the faults could break",
            )
            .label("not supported by this engine"),
            Self::TooDeep(span) => Diagnostic::error(
                "nesting-too-deep",
                *span,
                format!("statements are nested deeper than {MAX_NESTING}"),
            ),
            Self::Malformed { span, what } => Diagnostic::error(
                "malformed-program",
                *span,
                format!("expected a program that has this {what}, found none"),
            ),
        }
    }
}

/// Translates a program.
///
/// # Errors
/// Library calls, `GFence` and statements of the coreRMA dialect have no instructions; a program that
/// the checker did not make may be malformed.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    lower::compile(program)
}

#[cfg(test)]
mod tests;
