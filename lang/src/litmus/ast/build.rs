//! Parts of trees that are made, and not read from a text.

use super::{
    Access, Argument, Block, Call, Cells, Declaration, DeclarationKind, DeclarationRow, Expr,
    ExprKind, File, Home, Name, Number, PairNumber, Place, Statement, StatementKind, Target,
    Thread, Value, Via,
};
use crate::litmus::methods::Method;
use crate::program::BinaryOp;

impl From<Expr> for Value {
    fn from(expr: Expr) -> Self {
        Self::Expr(expr)
    }
}

impl From<Call> for Value {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl From<Access> for Expr {
    fn from(access: Access) -> Self {
        let place = access.place;
        Self { kind: ExprKind::Access(access), place }
    }
}

/// A word.
pub fn name(text: &str, place: Place) -> Name {
    Name { text: text.to_owned(), place }
}

/// `x`, or with a node `x^2`.
pub fn access(name: &str, node: Option<u64>, place: Place) -> Access {
    let home = node.map_or(Home::Own, |value| Home::Node(Number { value, place }));
    let name = self::name(name, place);
    Access { name, index: None, home, queue_pair: None, atomic: None, place }
}

/// `x^2/1`; the index of a queue pair is that of [`crate::program::Towards`].
pub fn on_queue_pair(access: Access, queue_pair: u64) -> Access {
    let number = PairNumber::of_index(queue_pair, access.place);
    Access { queue_pair: Some(number).filter(|number| !number.is_first()), ..access }
}

/// `Poll(2)`, or with a queue pair `Poll(2/1)`, and likewise other calls.
pub fn towards(method: Method, node: u64, queue_pair: u64, place: Place) -> Call {
    let argument = match queue_pair {
        0 => Argument::Expr(number(node, place)),
        pair => Argument::Towards(Number { value: node, place }, PairNumber::of_index(pair, place)),
    };
    Call { method, word: None, arguments: vec![argument], place }
}

/// A number as an expression.
pub fn number(value: u64, place: Place) -> Expr {
    Expr { kind: ExprKind::Number(value), place }
}

/// A register or location as an expression.
pub fn named(name: &str, place: Place) -> Expr {
    access(name, None, place).into()
}

/// Two operands.
pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    let place = left.place;
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), place }
}

/// A call with values as its arguments.
pub fn call(method: Method, arguments: impl IntoIterator<Item = Expr>, place: Place) -> Call {
    let arguments = arguments.into_iter().map(Argument::Expr).collect();
    Call { method, word: None, arguments, place }
}

/// `target := value`, with what stands after `:=`.
pub fn assign(target: Access, via: Via, value: impl Into<Value>) -> Statement {
    let place = target.place;
    let (target, value) = (Target::Access(target), value.into());
    Statement { kind: StatementKind::Assign { target, via, value }, unsignaled: false, place }
}

/// A call on its own.
pub fn statement(call: Call) -> Statement {
    let place = call.place;
    Statement { kind: StatementKind::Call(call), unsignaled: false, place }
}

/// `x = 0`
pub fn location(name: &str, initial: u64, place: Place) -> Declaration {
    let kind = DeclarationKind::Location(Number { value: initial, place });
    Declaration { name: self::name(name, place), kind, home: None }
}

/// A thread of a program in columns.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its node.
    pub node: u32,
    /// What is declared above it.
    pub declarations: Vec<Declaration>,
    /// Its statements.
    pub statements: Vec<Statement>,
}

/// The line of what is written above the program, such as a comment. Header lines are above it.
pub const ABOVE: usize = 1;
/// The line of what is written below all else.
pub const BELOW: usize = usize::MAX;

/// A file of columns, without a name. Declarations are in one row, and so are the statements of a number.
pub fn columns(columns: Vec<Column>) -> File {
    let at = |line| Place { line, ..Place::default() };
    let (declarations, rule) = (ABOVE + 1, ABOVE + 2);
    let mut cells = Vec::new();
    let mut threads = Vec::new();
    for Column { node, declarations, mut statements } in columns {
        for (row, statement) in statements.iter_mut().enumerate() {
            statement.place.line = rule + 1 + row;
        }
        cells.push(declarations);
        let body = Block { statements, end: Place::default() };
        threads.push(Thread { node, body, place: at(rule) });
    }
    let row = DeclarationRow { cells: Cells::Columns(cells), place: at(declarations) };
    File { declarations: vec![row], rule: at(rule), threads, ..File::default() }
}
