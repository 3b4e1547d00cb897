//! The syntax tree of a model file: what the parser reads and the printer writes.
//!
//! Trees compare equal when they print alike: places do not count.

use super::model::AxiomKind;
use crate::source::Span;

/// A model file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// The string at the head.
    pub title: Option<String>,
    /// What follows, in order.
    pub statements: Vec<Statement>,
}

/// A word, or the contents of a string, and its place.
#[derive(Clone, Debug, Eq)]
pub struct Name {
    /// The word; for a string, without its quotes.
    pub text: String,
    /// Its place.
    pub span: Span,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A statement and its place.
#[derive(Clone, Debug, Eq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// From its keyword to its last token.
    pub span: Span,
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// The statements of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// `include "text"`.
    Include(Name),
    /// `let name = body`.
    Let(Binding),
    /// `let rec a = e and b = e`.
    Rec(Vec<Binding>),
    /// `let f(x, y) = body`.
    Function(Function),
    /// `exists name total on R [extends E]`.
    Exists(Exists),
    /// `table name on base [where …]`, rows, `end`.
    Table(Table),
    /// `acyclic|irreflexive|empty body [as name]`.
    Axiom(Axiom),
    /// `calls Write Read …`.
    Calls(Vec<Name>),
    /// `uncall RCAS …`.
    Uncall(Vec<Name>),
    /// `machine rdma-tso`.
    Machine(Name),
    /// `hardware verbs`, `hardware none`.
    Hardware(Name),
    /// `drop axiom`.
    Drop(Name),
    /// `set table[row, column] = cell`.
    Set(SetCell),
    /// `replace let name = body`.
    Replace(Binding),
}

/// `name = body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The name.
    pub name: Name,
    /// Its value.
    pub body: Expr,
}

/// `name(parameters) = body`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name.
    pub name: Name,
    /// At least one.
    pub parameters: Vec<Name>,
    /// What a call stands for.
    pub body: Expr,
}

/// `exists name total on R [extends E]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exists {
    /// The name.
    pub name: Name,
    /// R.
    pub total_on: Expr,
    /// E.
    pub extends: Option<Expr>,
}

/// A table as written: nothing is known yet of its shape and its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name.
    pub name: Name,
    /// The relation that every cell restricts.
    pub on: Expr,
    /// `where Q = …, S = …`.
    pub letters: Vec<Binding>,
    /// The head row, without its empty corner.
    pub columns: Vec<Name>,
    /// The other rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Eq)]
pub struct Row {
    /// Its head.
    pub head: Name,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// The whole line.
    pub span: Span,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.cells == other.cells
    }
}

/// A cell and its place.
#[derive(Clone, Debug, Eq)]
pub struct Cell {
    /// What it says.
    pub kind: CellKind,
    /// Its place.
    pub span: Span,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// What a cell says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// `✓` or `+`.
    Ordered,
    /// `·`, `.` or `-`.
    Unordered,
    /// A letter.
    Letter(String),
}

/// `kind body [as name]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axiom {
    /// Which condition.
    pub kind: AxiomKind,
    /// Of what.
    pub body: Expr,
    /// The name after `as`.
    pub name: Option<Name>,
}

/// `set table[row, column] = cell`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetCell {
    /// The table.
    pub table: Name,
    /// The head of the row.
    pub row: Name,
    /// The head of the column.
    pub column: Name,
    /// The new cell.
    pub cell: Cell,
}

/// An expression and its place.
#[derive(Clone, Debug, Eq)]
pub struct Expr {
    /// Its operator and operands.
    pub kind: ExprKind,
    /// Its place, parentheses around it not included.
    pub span: Span,
    height: usize,
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// Expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprKind {
    /// A name.
    Name(String),
    /// `0`: nothing.
    Zero,
    /// `{}`: nothing.
    Braces,
    /// `_`: all events.
    Universe,
    /// Two operands with an operator between them.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `~e`.
    Complement(Box<Expr>),
    /// `[e]`.
    Identity(Box<Expr>),
    /// An operand with an operator behind it.
    Postfix(PostfixOp, Box<Expr>),
    /// `domain(e)`.
    Domain(Box<Expr>),
    /// `range(e)`.
    Range(Box<Expr>),
    /// `f(e, …)`.
    Call(Name, Vec<Expr>),
}

/// Operators between two operands, loosest first, as in herd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BinaryOp {
    /// `|`.
    Union,
    /// `;`.
    Sequence,
    /// `\`.
    Difference,
    /// `&`.
    Intersection,
    /// `*` between two operands.
    Product,
}

impl BinaryOp {
    /// The operator in text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Union => "|",
            Self::Sequence => ";",
            Self::Difference => "\\",
            Self::Intersection => "&",
            Self::Product => "*",
        }
    }
}

/// Operators behind an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostfixOp {
    /// `^-1`.
    Inverse,
    /// `+`.
    Plus,
    /// `*`.
    Star,
    /// `?`.
    Optional,
}

impl PostfixOp {
    /// The operator in text.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Inverse => "^-1",
            Self::Plus => "+",
            Self::Star => "*",
            Self::Optional => "?",
        }
    }
}

impl Expr {
    /// An expression at a place.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        let mut height = 0;
        kind.each_operand(|operand| height = height.max(operand.height));
        Self { kind, span, height: height + 1 }
    }

    /// How many levels the tree has; 1 for a name.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Calls `visit` on every name in it (of functions too), from left to right.
    pub fn each_name(&self, visit: &mut impl FnMut(&str, Span)) {
        match &self.kind {
            ExprKind::Name(name) => visit(name, self.span),
            ExprKind::Call(name, _) => visit(&name.text, name.span),
            _ => {}
        }
        self.kind.each_operand(|operand| operand.each_name(visit));
    }
}

impl ExprKind {
    fn each_operand(&self, mut visit: impl FnMut(&Expr)) {
        match self {
            Self::Name(_) | Self::Zero | Self::Braces | Self::Universe => {}
            Self::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            Self::Complement(inner)
            | Self::Identity(inner)
            | Self::Postfix(_, inner)
            | Self::Domain(inner)
            | Self::Range(inner) => visit(inner),
            Self::Call(_, arguments) => arguments.iter().for_each(visit),
        }
    }
}
