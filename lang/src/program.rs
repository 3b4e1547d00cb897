//! The checked program: what a litmus file means once every name is resolved.
//!
//! This is the interface between the language and everything behind it. Expressions here name
//! registers only: a CPU read that the text hides in an expression (`x := y + 1`, `if y = 1`) stands
//! as a [`StmtKind::Read`] into an unnamed register before the statement that uses it, and `while`
//! has become [`StmtKind::Loop`] with a conditional [`StmtKind::Break`].

mod messages;
mod parts;
mod queue_pairs;
mod values;
mod words;

use crate::source::Span;

pub use messages::{Connection, IMMEDIATES, MessageTarget, PENDING, Peer, Receive};
pub use parts::{Parts, each};
pub use queue_pairs::{Owner, QUEUE_PAIRS, SHARED, Towards};
pub use values::BOTTOM;
pub use words::{Words, array_of};

/// A node's number as programs write it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub usize);
    };
}
index_type!(
    /// Index into [`Program::threads`]; programs write it from 1 (see [`ThreadId::number`]).
    ThreadId
);
index_type!(
    /// Index into [`Program::locations`].
    LocationId
);
index_type!(
    /// Index into [`Program::registers`].
    RegisterId
);
index_type!(
    /// Index into [`Program::work_ids`].
    WorkId
);

impl ThreadId {
    /// The thread's number as programs write it, from 1.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}

/// A whole program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// How many nodes there are; they are numbered 1 to this. A node may have no thread.
    pub nodes: u32,
    /// The threads in the order of their columns.
    pub threads: Vec<Thread>,
    /// Declared, fresh and private locations.
    pub locations: Vec<Location>,
    /// How many of the threads, the last ones, are services of libraries' implementations. Programs as they
    /// are written have none.
    pub services: usize,
    /// Registers of all threads.
    pub registers: Vec<Register>,
    /// Names of work ids.
    pub work_ids: Vec<String>,
    /// Objects of libraries (shared variables, barriers, locks, rings).
    pub objects: Vec<Object>,
    /// Where the header says that all nodes lose power at some moment. Then outcomes show what memory holds
    /// afterwards.
    pub crash: Option<Span>,
}

impl Program {
    /// How many threads there are besides services.
    pub fn own_threads(&self) -> usize {
        self.threads.len() - self.services
    }

    /// How many statements it has, those in blocks included.
    pub fn size(&self) -> usize {
        let mut size = 0;
        self.threads.iter().for_each(|thread| each(&thread.body, &mut |_| size += 1));
        size
    }
}

/// One thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The node it runs on.
    pub node: NodeId,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A word of memory on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The name in the text; private locations have names that no text can spell (`_1`).
    pub name: String,
    /// The node whose memory holds it, n(x).
    pub node: NodeId,
    /// Its value before the program starts.
    pub initial: u64,
    /// How it came to be.
    pub origin: Origin,
    /// Where it is declared, or first named.
    pub span: Span,
}

/// How a location came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Declared above the rule.
    Declared,
    /// The undeclared target of a get or of a remote RMW's result.
    Fresh,
    /// The result of a remote RMW that nobody reads (`_`).
    Unnamed,
}

/// A CPU register of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name in the text, or `None` for one that holds a hidden CPU read.
    pub name: Option<String>,
    /// The thread that owns it.
    pub thread: ThreadId,
}

/// A library object as declared; its meaning is the library's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The name in the text.
    pub name: String,
    /// The class that its declaration names, or [`crate::library::notation::WORDS`] for `x[2] = 0`.
    pub class: String,
    /// Where its declaration names the class; empty if it does not.
    pub class_span: Span,
    /// The node whose column declares it; `None` if it stands above all columns.
    pub node: Option<NodeId>,
    /// Initial values, one per word.
    pub initial: Vec<u64>,
    /// Participating threads (barriers, a ring's readers).
    pub threads: Vec<ThreadId>,
    /// A ring's writer.
    pub writer: Option<ThreadId>,
    /// A ring's size.
    pub size: Option<u64>,
    /// Where it is declared.
    pub span: Span,
}

/// Words of mixed-size locations are below this: several are one value, as its digits.
pub const LARGEST_WORD: u64 = 10_000;

/// A statement and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// A put, get or remote RMW that has no completion of its own (`unsignaled x^n := y`).
    pub unsignaled: bool,
    /// Its place in the text.
    pub span: Span,
}

/// What a statement does. Names and events as in the papers; `x^n` is an access through the NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// A register takes a value; no memory is touched.
    Assign {
        /// The register assigned.
        register: RegisterId,
        /// Its new value.
        value: Expr,
    },
    /// CPU read `a := x`.
    Read {
        /// The register that takes the value.
        register: RegisterId,
        /// A location of the thread's own node.
        location: LocationId,
    },
    /// CPU write `x := e`.
    Write {
        /// A location of the thread's own node.
        location: LocationId,
        /// The value written.
        value: Expr,
    },
    /// CPU compare-and-swap `a := CAS(x, expected, desired)`; `a` takes the value read.
    Cas {
        /// The register that takes the old value, if any does.
        register: Option<RegisterId>,
        /// A location of the thread's own node.
        location: LocationId,
        /// The value compared with.
        expected: Expr,
        /// The value written on success.
        desired: Expr,
    },
    /// CPU fetch-and-add `a := FAA(x, addend)`; `a` takes the old value.
    Faa {
        /// The register that takes the old value, if any does.
        register: Option<RegisterId>,
        /// A location of the thread's own node.
        location: LocationId,
        /// The value added, wrapping.
        addend: Expr,
    },
    /// CPU exchange `a := XCHG(x, value)`; `a` takes the old value. To models it is an FAA: an RMW that
    /// always writes.
    Exchange {
        /// The register that takes the old value, if any does.
        register: Option<RegisterId>,
        /// A location of the thread's own node.
        location: LocationId,
        /// The value written.
        value: Expr,
    },
    /// `Mfence`.
    Fence,
    /// Put `x^n := y` (RDMA write).
    Put {
        /// The remote location x.
        target: LocationId,
        /// Where the NIC takes the value from.
        source: PutSource,
        /// The work id of `:=^d`.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
        /// Whether it is posted inline (`x^n := inline y`). Then its source is a value, and the reads of the
        /// CPU that make the value stand before it.
        inline: bool,
    },
    /// Get `y := x^n` (RDMA read).
    Get {
        /// A location of the thread's own node.
        target: LocationId,
        /// The remote location.
        source: LocationId,
        /// The work id of `:=^d`.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
    },
    /// Remote compare-and-swap `RCAS(z, x^n, expected, desired)`.
    Rcas {
        /// z, a location of the thread's own node, which takes the old value.
        result: LocationId,
        /// x, the remote location.
        target: LocationId,
        /// The value compared with.
        expected: Expr,
        /// The value written on success.
        desired: Expr,
        /// The work id, if any.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
    },
    /// Remote fetch-and-add `RFAA(z, x^n, addend)`.
    Rfaa {
        /// z, a location of the thread's own node, which takes the old value.
        result: LocationId,
        /// x, the remote location.
        target: LocationId,
        /// The value added, wrapping.
        addend: Expr,
        /// The work id, if any.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
    },
    /// A put or get of several words by one request: `x^2 := y`, `y[0..2] := x[2..4]^2`.
    Words(Words),
    /// `AtomicWrite(x^n, y)`: a put whose write comes after the flushes before it.
    AtomicWrite {
        /// The remote location x.
        target: LocationId,
        /// The value. The CPU reads what it is made of before it posts the request, as for an inline put.
        value: Expr,
        /// The work id, if any.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
    },
    /// `Flush(n)`: what the queue pair wrote at its node before can be seen there when it completes.
    /// `Persist(n)`: it also survives a crash.
    Flush {
        /// The queue pair.
        towards: Towards,
        /// Whether it is `Persist(n)`.
        is_persistent: bool,
        /// The work id, if any.
        id: Option<WorkId>,
    },
    /// A message that consumes a receive at its target: `Send(n, y)`, `SendImm(n, y, v)`, and the put with
    /// immediate `PutImm(x^n, y, v)`.
    Message {
        /// Where the data goes.
        target: MessageTarget,
        /// Where the NIC takes the data from.
        source: PutSource,
        /// The immediate, if it has one.
        immediate: Option<Expr>,
        /// The work id, if any.
        id: Option<WorkId>,
        /// Which of the thread's queue pairs to the remote node it uses.
        queue_pair: u32,
    },
    /// `Recv(t, x)`: post a receive for a message of thread t.
    Receive {
        /// Which queue pair the message comes from.
        from: Peer,
        /// The receive.
        receive: Receive,
    },
    /// `a := PollRecv(t)`: wait for the oldest receive of a queue pair that is complete and not polled yet.
    PollReceive {
        /// Which queue pair the receive is of.
        from: Peer,
        /// The register that takes the immediate, or `⊥` if the message has none.
        register: Option<RegisterId>,
    },
    /// `Poll(n)`: wait for the oldest operation of a queue pair that is not polled yet. With several queue
    /// pairs, `Poll({2, 2/1})`, of any one of them.
    Poll(Vec<Towards>),
    /// `Wait(d)`: wait for all earlier operations with work id d.
    Wait(WorkId),
    /// `Rfence(n)`, on a queue pair.
    RemoteFence(Towards),
    /// `GFence({n, …})`, of the queue pairs 0.
    GlobalFence(Vec<NodeId>),
    /// A library call.
    Call(Call),
    /// A statement of the coreRMA dialect.
    Rma(RmaStmt),
    /// `if c { … } else { … }`; any value but 0 is true.
    If {
        /// The condition.
        condition: Expr,
        /// Done when it is not 0.
        then: Vec<Stmt>,
        /// Done when it is 0.
        otherwise: Vec<Stmt>,
    },
    /// `loop { … }`, left only by [`StmtKind::Break`].
    Loop(Vec<Stmt>),
    /// Leave the innermost loop.
    Break,
    /// `assume(c)`: executions in which c is 0 do not count.
    Assume(Expr),
    /// The index of `x[i]` is not the number of a word. Executions that come here do not count, and that
    /// there are some is worth a warning.
    OutOfRange {
        /// The array's name.
        array: String,
        /// How many words it has.
        words: u64,
    },
}

/// Where the NIC takes a put's value from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutSource {
    /// A location of the thread's own node, read by the NIC some time after the put is issued.
    Location(LocationId),
    /// A private, never written location that holds this value when the put is issued.
    Value(Expr),
}

/// A library call. What its arguments mean is the library's matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The method as the text calls it: by its name, or by the pattern of an assignment (see
    /// [`crate::library::notation`]), which is a method of the object's library.
    pub method: String,
    /// The library object called, by name; `None` for `WaitSV(d)`. The target of a `Put` or `Get`.
    pub object: Option<String>,
    /// The object that a mixed-size `Put` or `Get` copies, or the second one passed, by name.
    pub source: Option<String>,
    /// The register that takes the result.
    pub register: Option<RegisterId>,
    /// Values passed.
    pub arguments: Vec<Expr>,
    /// Nodes passed (`{2, 3}`).
    pub nodes: Option<Vec<NodeId>>,
    /// Work id passed.
    pub id: Option<WorkId>,
    /// The node in `Acq(l^2)`, and the remote node of a `Put` or `Get`.
    pub at: Option<NodeId>,
}

/// A statement of the coreRMA dialect. All locations are declared; `Reg` results are registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RmaStmt {
    /// What it does.
    pub kind: RmaKind,
    /// Locations accessed, in the order in which the text names them, with atomic (true) or non-atomic
    /// access.
    pub accesses: Vec<(LocationId, bool)>,
    /// The register that takes a local read's value.
    pub register: Option<RegisterId>,
    /// The value of a local write.
    pub value: Option<Expr>,
    /// The process that `flush(p)` or the remote access names.
    pub process: Option<NodeId>,
}

/// The kinds of coreRMA statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmaKind {
    /// `u = X`
    LocalRead,
    /// `X = e`
    LocalWrite,
    /// `X = get(Z^p)`; accesses X, Z.
    Get,
    /// `put(Z^p, X)`; accesses Z, X.
    Put,
    /// `X = rga(Z^p, Y)`; accesses X, Z, Y.
    Rga,
    /// `X = cas(Z^p, Y, W)`; accesses X, Z, Y, W.
    Cas,
    /// `flush(p)`.
    Flush,
}

/// A value computed from constants and registers of one thread. Arithmetic is unsigned, 64 bits, and wraps;
/// comparisons give 1 or 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A constant; `true` is 1, `false` is 0.
    Constant(u64),
    /// The failed result `⊥` of a library call, which is equal to nothing but itself.
    Bottom,
    /// A register's value; 0 before it is assigned.
    Register(RegisterId),
    /// `not e`: 1 if e is 0, else 0.
    Not(Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}
