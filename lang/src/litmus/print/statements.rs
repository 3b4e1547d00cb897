//! Statements and expressions.

use crate::Dialect;
use crate::program::BinaryOp;

use super::super::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, Home, Index, Number, PairNumber, Statement,
    StatementKind, Target, Value, Via,
};
use super::declarations::{list, word};

/// The lines of a column, each with the line of the text that it comes from; those never decrease.
pub fn column(block: &Block, dialect: Dialect) -> Vec<(usize, String)> {
    let mut column = Column { lines: Vec::new(), dialect };
    column.block(block, 0);
    let mut latest = 0;
    for (line, _) in &mut column.lines {
        latest = latest.max(*line);
        *line = latest;
    }
    column.lines
}

/// A statement in one line; the bodies of one that has them are left out.
pub fn in_one_line(statement: &Statement, dialect: Dialect) -> String {
    let mut column = Column { lines: Vec::new(), dialect };
    column.statement(statement, 0);
    let first = column.lines.first().map_or("", |(_, text)| text);
    if first.ends_with('{') { format!("{first} … }}") } else { first.to_owned() }
}

struct Column {
    lines: Vec<(usize, String)>,
    dialect: Dialect,
}

impl Column {
    fn push(&mut self, line: usize, depth: usize, text: &str) {
        self.lines.push((line, format!("{}{text}", "  ".repeat(depth))));
    }

    fn block(&mut self, block: &Block, depth: usize) {
        for statement in &block.statements {
            self.statement(statement, depth);
        }
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        let line = statement.place.line;
        match &statement.kind {
            StatementKind::Assign { target, via, value } => {
                let text = self.assignment(target, via, value);
                self.push(line, depth, &signaled(statement, text));
            }
            StatementKind::Call(call) => {
                self.push(line, depth, &signaled(statement, self::call(call)));
            }
            StatementKind::If { branches, otherwise } => {
                let mut opening = line;
                let mut word = "if".to_owned();
                for (condition, block) in branches {
                    let text = format!("{word} {} {{", expression(condition));
                    self.push(opening, depth, &text);
                    self.block(block, depth + 1);
                    opening = block.end.line;
                    "} else if".clone_into(&mut word);
                }
                if let Some(block) = otherwise {
                    self.push(opening, depth, "} else {");
                    self.block(block, depth + 1);
                    opening = block.end.line;
                }
                self.push(opening, depth, "}");
            }
            StatementKind::While(condition, block) => {
                self.push(line, depth, &format!("while {} {{", expression(condition)));
                self.block(block, depth + 1);
                self.push(block.end.line, depth, "}");
            }
            StatementKind::Loop(block) => {
                self.push(line, depth, "loop {");
                self.block(block, depth + 1);
                self.push(block.end.line, depth, "}");
            }
            StatementKind::Break => self.push(line, depth, "break"),
            StatementKind::Skip => self.push(line, depth, "skip"),
            StatementKind::Assume(condition) => {
                self.push(line, depth, &format!("assume({})", expression(condition)));
            }
        }
    }

    fn assignment(&self, target: &Target, via: &Via, value: &Value) -> String {
        let target = match target {
            Target::Access(access) => self::access(access),
            Target::Nobody(_) => "_".to_owned(),
        };
        let sign = match (via, self.dialect) {
            (Via::Plain, Dialect::CoreRma) => "=".to_owned(),
            (Via::Plain, Dialect::Rdma) => ":=".to_owned(),
            (Via::Id(Some(id)), _) => format!(":=^{}", id.text),
            (Via::Id(None), _) => ":=^_".to_owned(),
            (Via::Library(mark), _) => format!(":={mark}"),
        };
        let value = match value {
            Value::Expr(expr) => whole(expr),
            Value::Inline(expr) => format!("inline {}", whole(expr)),
            Value::Call(call) => self::call(call),
        };
        format!("{target} {sign} {value}")
    }
}

fn signaled(statement: &Statement, text: String) -> String {
    if statement.unsignaled { format!("unsignaled {text}") } else { text }
}

fn call(call: &Call) -> String {
    let spelling = call.word.as_deref().unwrap_or(call.method.spelling());
    if call.arguments.is_empty() {
        return spelling.to_owned();
    }
    let argument = |argument: &Argument| match argument {
        Argument::Expr(expr) => whole(expr),
        Argument::Nodes(nodes, _) => format!("{{{}}}", list(nodes)),
        Argument::QueuePairs(pairs, _) => {
            let pairs: Vec<String> = pairs.iter().map(member).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Argument::Towards(node, number) => format!("{}/{number}", node.value),
        Argument::Nobody(_) => "_".to_owned(),
    };
    let arguments: Vec<String> = call.arguments.iter().map(argument).collect();
    format!("{spelling}({})", arguments.join(", "))
}

/// `2/1`, and `2` for queue pair 0.
fn member((node, number): &(Number, PairNumber)) -> String {
    match number.is_first() {
        true => node.value.to_string(),
        false => format!("{}/{number}", node.value),
    }
}

fn access(access: &Access) -> String {
    let (before, after) = match access.home {
        Home::Own => ("", String::new()),
        Home::Inferred => ("~", String::new()),
        Home::Node(node) => ("", format!("^{}", node.value)),
    };
    let mark = match access.atomic {
        Some(true) => ".a",
        Some(false) => ".n",
        None => "",
    };
    let index = index(access);
    format!("{before}{}{index}{mark}{after}{}", access.name.text, queue_pair(access))
}

fn index(access: &Access) -> String {
    match access.index.as_deref() {
        Some(Index::Value(index)) => format!("[{}]", expression(index)),
        Some(Index::Part(first, last)) => format!("[{}..{}]", first.value, last.value),
        None => String::new(),
    }
}

fn queue_pair(access: &Access) -> String {
    access.queue_pair.map_or(String::new(), |number| format!("/{number}"))
}

/// How tight an operator binds.
pub fn tightness(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Or => 1,
        BinaryOp::And => 2,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => 4,
        BinaryOp::Add | BinaryOp::Subtract => 5,
        BinaryOp::Multiply | BinaryOp::Remainder => 6,
    }
}

/// `not` binds tighter than `and` and looser than comparisons.
const NOT: u8 = 3;

/// The sign of an operator, as it is printed.
pub fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Remainder => "%",
        BinaryOp::Equal => "=",
        BinaryOp::NotEqual => "≠",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "≤",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => "≥",
        BinaryOp::And => "∧",
        BinaryOp::Or => "∨",
    }
}

/// An expression that is a whole value or argument, where `~x` is an access.
fn whole(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Access(access) => self::access(access),
        _ => expression(expr),
    }
}

fn expression(expr: &Expr) -> String {
    operand(expr, 0)
}

/// An expression where an operator that binds looser than `least` needs parentheses.
fn operand(expr: &Expr, least: u8) -> String {
    match &expr.kind {
        ExprKind::Number(value) => word(*value),
        ExprKind::Truth(value) => value.to_string(),
        ExprKind::Bottom => "⊥".to_owned(),
        // Inside an expression `~` would be a negation.
        ExprKind::Access(access) if matches!(access.home, Home::Inferred) => {
            format!("{}{}\u{304}{}", access.name.text, index(access), queue_pair(access))
        }
        ExprKind::Access(access) => self::access(access),
        ExprKind::Not(inner) => {
            let plain = !matches!(inner.kind, ExprKind::Binary(..));
            let text = expression(inner);
            let text = if plain { format!("¬{text}") } else { format!("¬({text})") };
            if NOT < least { format!("({text})") } else { text }
        }
        ExprKind::Binary(op, left, right) => {
            let own = tightness(*op);
            // Comparisons do not chain, and the others group to the left.
            let left = operand(left, own + u8::from(own == tightness(BinaryOp::Equal)));
            let text = format!("{left} {} {}", sign(*op), operand(right, own + 1));
            if own < least { format!("({text})") } else { text }
        }
        ExprKind::Tuple(all) => {
            format!("({})", all.iter().map(expression).collect::<Vec<_>>().join(", "))
        }
    }
}
