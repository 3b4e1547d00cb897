//! The checked model: what a model file means once names, types and includes are resolved.
//!
//! This is the interface between the model language and the engines. A definition refers to base
//! sets and relations of the event skeleton ([`Base`]) and to earlier definitions only; `let rec`
//! groups refer to themselves too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::words::Words;
use crate::source::Span;

/// A model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The file's stem.
    pub name: String,
    /// The string at the head of the file.
    pub title: Option<String>,
    /// The statements that the model defines (`calls Write Read Put …`), see [`CALLS`].
    pub calls: Vec<&'static str>,
    /// The operational machine that means the same (`machine rdma-tso`), if the file names one.
    /// An included file's machine is not inherited: what is changed is no longer what the machine does.
    pub machine: Option<String>,
    /// What judges hardware in place of this model (`hardware verbs`). Not inherited either.
    pub hardware: Hardware,
    /// Definitions, in an order in which each uses earlier ones only. Models that are made of others by few
    /// changes share the rest.
    pub definitions: Vec<Arc<Definition>>,
    /// The axioms in the order of the text.
    pub axioms: Vec<Axiom>,
    /// What the text says of what it defines, by name.
    pub words: Arc<BTreeMap<String, Words>>,
}

/// By which model RDMA hardware is judged, if a test is for a certain model and no other is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hardware {
    /// By that model.
    #[default]
    Itself,
    /// By the model of another name: what the hardware promises is less.
    By(String),
    /// By none: no hardware promises this (`hardware none`).
    None,
}

/// Names for the `calls` of a model: one per statement of the language that has events, `Unsignaled` for
/// requests without a completion of their own, `Words` for requests of several words, `Immediate` for puts
/// and messages with an immediate, `SharedPoll` for polls of several queue pairs, `SharedPost` for queue
/// pairs that threads share, and `Crash` for tests about what a crash leaves.
pub const CALLS: [&str; 26] = [
    "Write",
    "Read",
    "CAS",
    "FAA",
    "Mfence",
    "Put",
    "Get",
    "RCAS",
    "RFAA",
    "Rfence",
    "Poll",
    "Wait",
    "GFence",
    "AtomicWrite",
    "Flush",
    "Persist",
    "Crash",
    "SharedPoll",
    "SharedPost",
    "Unsignaled",
    "Words",
    "Rma",
    "Send",
    "Recv",
    "PollRecv",
    "Immediate",
];

/// The set of reads that give ⊤, any value at all, if a model defines one of this name.
pub const UNDEFINED_READS: &str = "undefined-reads";

/// The set of writes that, if they come last, leave ⊤ in memory, if a model defines one of this name.
pub const UNDEFINED_WRITES: &str = "undefined-writes";

/// The names of definitions that the engines and libraries look for; all others are the model's own.
pub const READ_BY_NAME: [&str; 7] =
    ["mo", "co", "so", "ppo", "hb", UNDEFINED_READS, UNDEFINED_WRITES];

/// Index into [`Model::definitions`], and for a recursive group into its bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionId {
    /// Which definition.
    pub definition: usize,
    /// Which body of a `let rec … and …`; 0 for all others.
    pub body: usize,
}

/// Something named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// What it means.
    pub kind: DefinitionKind,
    /// Where the name is defined, in the file that defines it.
    pub span: Span,
}

impl Definition {
    /// Its name; a recursive group has several and gives none.
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => Some(name),
            DefinitionKind::Table(table) => Some(&table.name),
            DefinitionKind::Rec(_) => None,
        }
    }
}

/// The kinds of definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// `let name = body`.
    Let {
        /// The name.
        name: String,
        /// Set or relation.
        ty: Type,
        /// The value.
        body: Expr,
    },
    /// `let rec a = … and b = …`: the least fixed point; each body is monotone in the group's names.
    Rec(Vec<RecBody>),
    /// `exists name total on R [extends E]`: for every two different events that R relates in
    /// either direction, one direction is chosen; the choice is acyclic, and never against E.
    Choice {
        /// The name.
        name: String,
        /// R, a relation that no choice occurs in.
        total_on: Expr,
        /// E, likewise.
        extends: Option<Expr>,
    },
    /// A table of orders: the union of its cells.
    Table(Table),
}

impl Model {
    /// The definition of a set or relation by `let name = …`.
    pub fn defined(&self, name: &str) -> Option<DefinitionId> {
        let is_it = |definition: &Arc<Definition>| matches!(&definition.kind, DefinitionKind::Let { name: known, .. } if known == name);
        let definition = self.definitions.iter().rposition(is_it)?;
        Some(DefinitionId { definition, body: 0 })
    }

    /// A definition, to be changed in this model alone.
    pub fn definition_mut(&mut self, index: usize) -> Option<&mut Definition> {
        self.definitions.get_mut(index).map(Arc::make_mut)
    }

    /// Whether values can be ⊤.
    pub fn has_undefined_values(&self) -> bool {
        self.defined(UNDEFINED_READS).is_some() || self.defined(UNDEFINED_WRITES).is_some()
    }
}

/// One equation of a recursive group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecBody {
    /// The name.
    pub name: String,
    /// Set or relation.
    pub ty: Type,
    /// The right-hand side.
    pub body: Expr,
}

/// `table NAME on BASE where Q = R …`: cell (row, column) relates an event of the row's set to a later (in
/// BASE) event of the column's set, if the cell is `✓`, or if it is a letter and the letter's relation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of the relation that the table draws.
    pub name: String,
    /// The relation that every cell restricts (mostly `po`).
    pub on: Expr,
    /// Meaning of the letters in cells.
    pub letters: Vec<(String, Expr)>,
    /// Column heads: a name and its set.
    pub columns: Vec<(String, Expr)>,
    /// Rows: a name, its set, and a cell for each column.
    pub rows: Vec<(String, Expr, Vec<Cell>)>,
}

/// A cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// `✓`: always ordered.
    Ordered,
    /// `·`: not ordered.
    Unordered,
    /// A letter, by index into [`Table::letters`]: ordered where its relation holds.
    Where(usize),
}

/// A named condition that every consistent execution meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axiom {
    /// The name after `as`, or the expression's text if there is none.
    pub name: String,
    /// Which condition.
    pub kind: AxiomKind,
    /// Of what relation (or set, for `empty`).
    pub body: Expr,
    /// What the text says of it: the comment behind it on its line, or directly above it.
    pub comment: Option<String>,
    /// Its place in its file.
    pub span: Span,
}

/// The three conditions of cat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxiomKind {
    /// No event reaches itself.
    Acyclic,
    /// No event is related to itself.
    Irreflexive,
    /// There is nothing in it.
    Empty,
}

/// Sets and relations of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A set of events.
    Set,
    /// A relation between events.
    Relation,
}

/// An expression in which every name is resolved and every operand has the right type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "operators of cat, named as everywhere")]
pub enum Expr {
    /// A set or relation of the skeleton.
    Base(Base),
    /// A definition of this model.
    Defined(DefinitionId),
    /// `0` or `{}`: nothing, as set or relation.
    Empty,
    /// `_`: all events.
    Universe,
    /// `|`, of sets or of relations.
    Union(Box<Expr>, Box<Expr>),
    /// `&`, of sets or of relations.
    Intersection(Box<Expr>, Box<Expr>),
    /// `\`, of sets or of relations.
    Difference(Box<Expr>, Box<Expr>),
    /// `~S` or `~r`.
    Complement(Type, Box<Expr>),
    /// `S * T`: every event of S to every event of T.
    Product(Box<Expr>, Box<Expr>),
    /// `[S]`: every event of S to itself.
    Identity(Box<Expr>),
    /// `r ; s`.
    Sequence(Box<Expr>, Box<Expr>),
    /// `r^-1`.
    Inverse(Box<Expr>),
    /// `r+`.
    Plus(Box<Expr>),
    /// `r*`.
    Star(Box<Expr>),
    /// `r?`.
    Optional(Box<Expr>),
    /// `domain(r)`: a set.
    Domain(Box<Expr>),
    /// `range(r)`: a set.
    Range(Box<Expr>),
}

macro_rules! base {
    ($($(#[doc = $doc:literal])* $variant:ident $text:literal $ty:ident,)*) => {
        /// The sets and relations that every execution comes with. Stamps are those of
        /// "Specifying and Verifying RDMA Synchronisation", Fig. 9.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Base {
            $($(#[doc = $doc])* $variant,)*
            /// Events of a library, by its number among a program's libraries; 0 is the base. No text names
            /// it.
            Library(u8),
            /// Events of calls of a method, by the library's number and its own. A library's text names it.
            Method(u8, u8),
        }

        impl Base {
            /// All of them.
            pub const ALL: &'static [Base] = &[$(Base::$variant),*];

            /// The name in model text.
            pub fn name(self) -> &'static str {
                match self {
                    $(Base::$variant => $text,)*
                    Base::Library(_) => "library",
                    Base::Method(..) => "method",
                }
            }

            /// What it is, in words.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Base::$variant => concat!($($doc),*).trim_ascii(),)*
                    Base::Library(_) => "Events of a library.",
                    Base::Method(..) => "Events of calls of a method.",
                }
            }

            /// Set or relation.
            pub fn ty(self) -> Type {
                match self {
                    $(Base::$variant => Type::$ty,)*
                    Base::Library(_) | Base::Method(..) => Type::Set,
                }
            }
        }
    };
}
base! {
    /// Events that read memory.
    Reads "R" Set,
    /// Events that write memory, initial writes included.
    Writes "W" Set,
    /// Events that access memory.
    Memory "M" Set,
    /// Initial writes, one per location; in no stamp's set, and not in po.
    InitialWrites "IW" Set,
    /// CPU reads.
    CpuRead "aCR" Set,
    /// CPU writes.
    CpuWrite "aCW" Set,
    /// CPU RMWs that succeed; each is one event, in R and in W.
    CpuRmw "aCAS" Set,
    /// CPU fences, that of a failed CPU compare-and-swap included.
    Fence "aMF" Set,
    /// Polls and waits.
    Wait "aWT" Set,
    /// NIC local reads: a put's read of its source.
    NicLocalRead "aNLR" Set,
    /// NIC remote writes: of a put or of a remote RMW that succeeds.
    NicRemoteWrite "aNRW" Set,
    /// Completions of receives, which the NIC writes at the target of a message.
    NicRemoteCompletion "aNRC" Set,
    /// NIC atomic writes, of atomic writes (not of remote RMWs).
    NicAtomicWrite "aNAW" Set,
    /// NIC flushes: a flush at its target.
    NicFlush "aNFL" Set,
    /// NIC flushes whose data survives a crash: such a flush at its target.
    NicPersist "aNFP" Set,
    /// What a crash leaves of a location: it is read when it is last written back, by no thread.
    Recovery "aRC" Set,
    /// Receives are posted.
    ReceivePosted "aRV" Set,
    /// Requests that come to a queue pair that threads share.
    Posted "aPS" Set,
    /// NIC atomic remote reads, of remote RMWs.
    NicAtomicRead "aNAR" Set,
    /// NIC remote reads, of gets.
    NicRemoteRead "aNRR" Set,
    /// NIC local writes, of gets and of remote RMWs.
    NicLocalWrite "aNLW" Set,
    /// Remote fences.
    RemoteFence "aRF" Set,
    /// Global fences.
    GlobalFence "aGF" Set,
    /// The read and write, in one action, of a coreRMA `rga`; in R and in W.
    NicFetchOp "aGA" Set,
    /// The read and write, in one action, of a coreRMA `cas`, be it with or without success; in R and in W.
    NicCompareSwap "aCS" Set,
    /// Flushes of coreRMA.
    Flush "aFL" Set,
    /// Accesses that are atomic: all but those that coreRMA writes `X.n`.
    Atomic "Atomic" Set,
    /// NIC events of operations towards the thread's own node.
    Loopback "Loopback" Set,
    /// Every event to itself.
    Identity "id" Relation,
    /// Program order: total on the events of a thread, those of one operation included.
    ProgramOrder "po" Relation,
    /// Accesses of one location.
    SameLocation "loc" Relation,
    /// Events of one thread; initial writes are of none.
    SameThread "int" Relation,
    /// Events not of one thread.
    OtherThread "ext" Relation,
    /// A write to every read that takes its value; chosen, one write for every read.
    ReadsFrom "rf" Relation,
    /// The read of a remote RMW to its write.
    Rmw "rmw" Relation,
    /// Events of one operation (of one statement, done once); reflexive.
    SameOperation "same-op" Relation,
    /// Calls of library methods on one object.
    SameObject "same-object" Relation,
    /// NIC events (and polls, remote and global fences, and flushes) towards one node, of whatever threads.
    SameNode "same-node" Relation,
    /// NIC events, polls and remote and global fences of one queue pair: of one thread, towards one node, and
    /// with one number.
    SameQueuePair "same-queue-pair" Relation,
    /// The post of a receive, the NIC's writes that need it (of a `Send`'s data, and of the completion), and
    /// the poll's read of the completion, of whatever threads; reflexive on these.
    SameReceive "same-receive" Relation,
    /// NIC events of operations with a work id to each `Wait` for that id, of one thread, earlier or later.
    SameId "same-id" Relation,
    /// The last event of an operation (nlW of a get or RMW, nrW of a put, aNRC of a message, aNFL of a flush)
    /// to a later poll of its queue pair; chosen, one operation for every poll and at most one poll for every
    /// operation.
    PollsFrom "pf" Relation,
}
