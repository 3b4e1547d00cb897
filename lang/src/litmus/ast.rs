//! The syntax tree of a litmus file: what it says, before any name is looked up.

use std::fmt;

use crate::Dialect;
use crate::program::{BinaryOp, QUEUE_PAIRS, SHARED};
use crate::source::Span;

use super::methods::Method;

pub mod build;
mod results;

pub use results::*;

/// Where something stands. Nodes of a tree have places, so they have no `==`: [`without_places`] compares.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// The bytes of the text.
    pub span: Span,
    /// The line it begins on, from 0. The printer keeps what stands in one row in one row.
    pub line: usize,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«{}..{}»", self.span.start, self.span.end)
    }
}

/// A tree as text, without its places: equal for trees that say the same.
pub fn without_places(tree: &impl fmt::Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split('«');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('»').map_or(part, |(_, rest)| rest))
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// The name after `litmus`.
    pub name: Name,
    /// The other header lines, in the order of the text.
    pub header: Vec<HeaderLine>,
    /// The rows above the rule.
    pub declarations: Vec<DeclarationRow>,
    /// The rule.
    pub rule: Place,
    /// How the threads are written.
    pub form: Form,
    /// The threads; in columns, in the order of the columns.
    pub threads: Vec<Thread>,
    /// The lines below the program.
    pub results: Vec<ResultLine>,
    /// Every comment of the file, in the order of the text.
    pub comments: Vec<Comment>,
}

impl File {
    /// The dialect that the header names, or the default one.
    pub fn dialect(&self) -> Dialect {
        let named = self.header.iter().find_map(|line| match line.kind {
            HeaderKind::Dialect(dialect) => Some(dialect),
            _ => None,
        });
        named.unwrap_or_default()
    }
}

/// How threads are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Side by side.
    #[default]
    Columns,
    /// One below the other, `thread 1 @ 1 { … }`. Declaration rows have a column per node.
    Blocks,
}

/// A word and its place.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Its place.
    pub place: Place,
}

/// A number and its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Number {
    /// The number.
    pub value: u64,
    /// Its place.
    pub place: Place,
}

/// The number of a queue pair, and its place.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairNumber {
    /// The number.
    pub value: u64,
    /// Whether it is one that threads of a node share: `s1`.
    pub is_shared: bool,
    /// Its place.
    pub place: Place,
}

impl PairNumber {
    /// The queue pair of this index, which [`crate::program::Towards`] explains.
    pub fn of_index(index: u64, place: Place) -> Self {
        let shared = index.checked_sub(QUEUE_PAIRS.into());
        Self { value: shared.unwrap_or(index), is_shared: shared.is_some(), place }
    }

    /// The index, if there is such a queue pair.
    pub fn index(self) -> Option<u32> {
        let number = u32::try_from(self.value).ok().filter(|number| *number < QUEUE_PAIRS)?;
        Some(if self.is_shared { SHARED + number } else { number })
    }

    /// Whether it is queue pair 0, which need not be written.
    pub fn is_first(self) -> bool {
        self.value == 0 && !self.is_shared
    }
}

impl fmt::Display for PairNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_shared { "s" } else { "" }, self.value)
    }
}

/// A comment, its signs included.
#[derive(Clone, Debug)]
pub struct Comment {
    /// The text from `//` or `#` to the end of the line, or from `(*` to `*)`, or from `/*` to `*/`.
    pub text: String,
    /// True if it belongs to what follows it, false if it stands beside something on a line.
    pub own_line: bool,
    /// Its place.
    pub place: Place,
}

/// A header line below the first.
#[derive(Clone, Debug)]
pub struct HeaderLine {
    /// What it says.
    pub kind: HeaderKind,
    /// Its place.
    pub place: Place,
}

/// The kinds of header lines.
#[derive(Clone, Debug)]
pub enum HeaderKind {
    /// `"…"`
    Title(String),
    /// `source "…"`
    Source(String),
    /// `model NAME…`, `model "FILE.cat"…`
    Models(Vec<Name>),
    /// `tags …`
    Tags(Vec<Name>),
    /// `bound loops = N`
    LoopBound(u32),
    /// `dialect corerma`
    Dialect(Dialect),
    /// `crash`
    Crash,
}

/// A row above the rule.
#[derive(Clone, Debug)]
pub struct DeclarationRow {
    /// What it declares.
    pub cells: Cells,
    /// Its place.
    pub place: Place,
}

/// The cells of a declaration row.
#[derive(Clone, Debug)]
pub enum Cells {
    /// The row stands above all columns.
    Shared(Vec<Declaration>),
    /// One cell per column.
    Columns(Vec<Vec<Declaration>>),
}

impl Cells {
    /// The same, to change it.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Declaration> {
        let (shared, columns) = match self {
            Self::Shared(all) => (all.as_mut_slice(), [].as_mut_slice()),
            Self::Columns(columns) => ([].as_mut_slice(), columns.as_mut_slice()),
        };
        shared.iter_mut().chain(columns.iter_mut().flatten())
    }

    /// What they declare, from left to right.
    pub fn all(&self) -> impl Iterator<Item = &Declaration> {
        let (shared, columns) = match self {
            Self::Shared(all) => (all.as_slice(), [].as_slice()),
            Self::Columns(columns) => ([].as_slice(), columns.as_slice()),
        };
        shared.iter().chain(columns.iter().flatten())
    }
}

/// One declared name.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// The name.
    pub name: Name,
    /// What it is.
    pub kind: DeclarationKind,
    /// The node of `x@2`.
    pub home: Option<Number>,
}

/// What a declaration declares.
#[derive(Clone, Debug)]
pub enum DeclarationKind {
    /// `x = 0`
    Location(Number),
    /// `x[4] = 0`, or `x[2] = (1, 2)`.
    Mixed {
        /// How many words it has.
        size: Number,
        /// One value for every word, or one for all.
        initial: Vec<Number>,
    },
    /// `SVar x = 0`, `WLock l@2`, `Gate g {1, 2} size 3 = 0`, `Ring x 1 -> {2} size 4`: of a library's class.
    Object {
        /// The class, as its library calls it; its place is that of the text, if it is written there.
        class: Name,
        /// Who writes, if one thread does and the others read.
        writer: Option<Number>,
        /// Threads that take part, by number.
        threads: Option<Vec<Number>>,
        /// How much it holds.
        size: Option<Number>,
        /// Its initial value.
        initial: Option<Number>,
    },
}

impl DeclarationKind {
    /// An object of a class, of which nothing more is said.
    pub fn object(class: Name, initial: Option<Number>) -> Self {
        Self::Object { class, writer: None, threads: None, size: None, initial }
    }

    /// An object of a class that the text does not name.
    pub fn implied(class: &str, initial: Option<Number>) -> Self {
        let class = Name { text: class.to_owned(), place: Place::default() };
        Self::object(class, initial)
    }

    /// The class of the object.
    pub fn class(&self) -> Option<&str> {
        match self {
            Self::Object { class, .. } => Some(&class.text),
            Self::Location(_) | Self::Mixed { .. } => None,
        }
    }
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// The node it runs on.
    pub node: u32,
    /// Its statements.
    pub body: Block,
    /// Where `thread 1 @ 1` stands, or the column's first cell.
    pub place: Place,
}

/// Statements, and where they end.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements.
    pub statements: Vec<Statement>,
    /// The closing brace, if there is one.
    pub end: Place,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Whether `unsignaled` stands before it.
    pub unsignaled: bool,
    /// Its place.
    pub place: Place,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StatementKind {
    /// `x := 1`, `a :=^d x^2`, `a :=SV x`, `a := CAS(x, 0, 1)`
    Assign {
        /// What is assigned.
        target: Target,
        /// What stands after `:=`.
        via: Via,
        /// The value.
        value: Value,
    },
    /// `Mfence`, `Wait(d)`, …
    Call(Call),
    /// `if … { … } else if … { … } else { … }`
    If {
        /// Conditions and what is done under each.
        branches: Vec<(Expr, Block)>,
        /// The last `else`.
        otherwise: Option<Block>,
    },
    /// `while … { … }`
    While(Expr, Block),
    /// `loop { … }`
    Loop(Block),
    /// `break`
    Break,
    /// `assume(…)`
    Assume(Expr),
    /// `skip`
    Skip,
}

/// The left side of an assignment.
#[derive(Clone, Debug)]
pub enum Target {
    /// A name.
    Access(Access),
    /// `_`
    Nobody(Place),
}

/// What stands after `:=`.
#[derive(Clone, Debug)]
pub enum Via {
    /// Nothing.
    Plain,
    /// `^d`; `None` for `^_`.
    Id(Option<Name>),
    /// `SV`, `SC`: a library's mark.
    Library(String),
}

/// The right side of an assignment.
#[derive(Clone, Debug)]
pub enum Value {
    /// An expression.
    Expr(Expr),
    /// `inline y`, of a put
    Inline(Expr),
    /// `CAS(x, 0, 1)`
    Call(Call),
}

/// A call with its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub method: Method,
    /// The word, for a method that the language does not know.
    pub word: Option<String>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// Its place.
    pub place: Place,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A value or a name.
    Expr(Expr),
    /// `{2, 3}`
    Nodes(Vec<Number>, Place),
    /// `{2, 2/1}`: nodes, each with the number of a queue pair to it.
    QueuePairs(Vec<(Number, PairNumber)>, Place),
    /// `2/1`: a node, and the number of a queue pair to it.
    Towards(Number, PairNumber),
    /// `_`
    Nobody(Place),
}

impl Argument {
    /// Its place.
    pub fn place(&self) -> Place {
        match self {
            Self::Expr(expr) => expr.place,
            Self::Nodes(_, place) | Self::QueuePairs(_, place) | Self::Nobody(place) => *place,
            Self::Towards(node, queue_pair) => {
                Place { span: node.place.span.to(queue_pair.place.span), ..node.place }
            }
        }
    }
}

/// A name in a statement, and how it is accessed.
#[derive(Clone, Debug)]
pub struct Access {
    /// The name. A word of an array that a number names is a name of its own, `x[1]`.
    pub name: Name,
    /// The index of `x[i]` or `x[0..2]`.
    pub index: Option<Box<Index>>,
    /// By the CPU or through the NIC.
    pub home: Home,
    /// The number after `/`; `None` for `/0`.
    pub queue_pair: Option<PairNumber>,
    /// `.a` is true, `.n` is false (coreRMA).
    pub atomic: Option<bool>,
    /// Its place.
    pub place: Place,
}

impl Access {
    /// The same access, through the NIC if it names no node.
    #[must_use]
    pub fn through_nic(self) -> Self {
        let home = if self.home.is_own() { Home::Inferred } else { self.home };
        let queue_pair = self.queue_pair.filter(|number| !number.is_first());
        Self { home, queue_pair, ..self }
    }
}

/// Which words of an array an access is to.
#[derive(Clone, Debug)]
pub enum Index {
    /// `x[i + 1]`: the word of this number, from 0.
    Value(Box<Expr>),
    /// `x[0..2]`: from the first number on, up to and without the second.
    Part(Number, Number),
}

/// By the CPU or through the NIC.
#[derive(Clone, Copy, Debug)]
pub enum Home {
    /// `x`
    Own,
    /// `~x`
    Inferred,
    /// `x^2`
    Node(Number),
}

impl Home {
    /// Whether the access is the CPU's.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its place.
    pub place: Place,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Number(u64),
    /// `true`, `false`
    Truth(bool),
    /// `⊥`
    Bottom,
    /// A name.
    Access(Access),
    /// `¬ e`
    Not(Box<Expr>),
    /// `e + e`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `(e, e)`, the words of a mixed-size value.
    Tuple(Vec<Expr>),
}
