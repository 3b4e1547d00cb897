//! Generates C expressions that mean the same as the program's, and that cause no compiler warnings.
//!
//! Compilers warn about expressions that a test may contain: `a = a`, `a >= 0`, `(a = b) = 2`. So constants
//! are evaluated here, and truth values are cast before anything but logic uses them.

use lang::program::{BinaryOp, Expr};

/// A C expression of type `uint64_t`, or of type `int` if it is a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Constant(u64),
    /// A variable.
    Leaf,
    /// A comparison, or several comparisons joined by `&&`, `||` and `!`.
    Truth,
    Number,
}

impl Term {
    pub fn constant(value: u64) -> Self {
        Self { text: super::constant(&value.to_string()), kind: Kind::Constant(value) }
    }

    pub fn variable(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: Kind::Leaf }
    }

    /// Translates an expression of the program. `registers` has the C names of the registers.
    pub fn new(expression: &Expr, registers: &[String]) -> Self {
        match expression {
            Expr::Constant(value) => Self::constant(*value),
            // As in `Expr::evaluate`.
            Expr::Bottom => Self::constant(lang::program::BOTTOM),
            Expr::Register(id) => Self::variable(&registers[id.0]),
            Expr::Not(inner) => Self::new(inner, registers).not(),
            Expr::Binary(op, left, right) => {
                Self::new(left, registers).binary(*op, Self::new(right, registers))
            }
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Logical negation: 1 if the value is 0.
    pub fn not(self) -> Self {
        match self.kind {
            Kind::Constant(value) => Self::constant(u64::from(value == 0)),
            Kind::Truth => Self { text: format!("!({})", self.text), kind: Kind::Truth },
            Kind::Leaf | Kind::Number => self.compare("==", &Self::constant(0)),
        }
    }

    pub fn binary(self, op: BinaryOp, other: Self) -> Self {
        if let (Kind::Constant(left), Kind::Constant(right)) = (self.kind, other.kind) {
            return Self::constant(op.apply(left, right));
        }
        if let Some(value) = known(op, &self, &other) {
            return Self::constant(value);
        }
        match op {
            BinaryOp::Add => self.compute("+", &other),
            BinaryOp::Subtract => self.compute("-", &other),
            BinaryOp::Multiply => self.compute("*", &other),
            BinaryOp::Remainder => {
                let (left, right) = (self.operand(), other.operand());
                let text = format!("({right} == 0 ? 0 : {left} % {right})");
                Self { text, kind: Kind::Number }
            }
            BinaryOp::Equal => self.compare("==", &other),
            BinaryOp::NotEqual => self.compare("!=", &other),
            BinaryOp::Less => self.compare("<", &other),
            BinaryOp::LessEqual => self.compare("<=", &other),
            BinaryOp::Greater => self.compare(">", &other),
            BinaryOp::GreaterEqual => self.compare(">=", &other),
            BinaryOp::And => self.logic("&&", other),
            BinaryOp::Or => self.logic("||", other),
        }
    }

    fn compute(&self, sign: &str, other: &Self) -> Self {
        let text = format!("{} {sign} {}", self.operand(), other.operand());
        Self { text, kind: Kind::Number }
    }

    fn compare(&self, sign: &str, other: &Self) -> Self {
        let text = format!("{} {sign} {}", self.operand(), other.operand());
        Self { text, kind: Kind::Truth }
    }

    /// `&&` and `||`, if at most one side is a constant.
    fn logic(self, sign: &str, other: Self) -> Self {
        for (constant, rest) in [(&self, &other), (&other, &self)] {
            if let Kind::Constant(value) = constant.kind {
                // A constant decides the result, or else the other side does.
                return match (sign, value) {
                    ("&&", 0) => Self::constant(0),
                    ("&&", _) | ("||", 0) => rest.clone().truth(),
                    _ => Self::constant(1),
                };
            }
        }
        let text = format!("({}) {sign} ({})", self.truth().text, other.truth().text);
        Self { text, kind: Kind::Truth }
    }

    /// Converts the value to a truth value: is it not 0?
    pub fn truth(self) -> Self {
        match self.kind {
            Kind::Truth => self,
            Kind::Constant(value) => Self::constant(u64::from(value != 0)),
            Kind::Leaf | Kind::Number => self.compare("!=", &Self::constant(0)),
        }
    }

    /// The text as an operand of an operator other than logic.
    fn operand(&self) -> String {
        match self.kind {
            Kind::Constant(_) | Kind::Leaf => self.text.clone(),
            Kind::Truth => format!("(uint64_t)({})", self.text),
            Kind::Number => format!("({})", self.text),
        }
    }
}

/// The value of a comparison that is known without evaluation.
fn known(op: BinaryOp, left: &Term, right: &Term) -> Option<u64> {
    let comparison = !matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Remainder
            | BinaryOp::And
            | BinaryOp::Or
    );
    if comparison && left == right {
        return Some(op.apply(0, 0));
    }
    const LEAST: Kind = Kind::Constant(0);
    const MOST: Kind = Kind::Constant(u64::MAX);
    match (left.kind, op, right.kind) {
        (_, BinaryOp::Less, LEAST)
        | (LEAST, BinaryOp::Greater, _)
        | (_, BinaryOp::Greater, MOST)
        | (MOST, BinaryOp::Less, _) => Some(0),
        (_, BinaryOp::GreaterEqual, LEAST)
        | (LEAST, BinaryOp::LessEqual, _)
        | (_, BinaryOp::LessEqual, MOST)
        | (MOST, BinaryOp::GreaterEqual, _) => Some(1),
        _ => None,
    }
}
