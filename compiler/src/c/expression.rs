//! Generates C expressions that mean the same as the program's, and that cause no compiler warnings.
//!
//! Compilers warn about expressions that a test may contain: `a = a`, `a >= 0`, `(a = b) = 2`. So constants
//! are evaluated here, and truth values are cast before anything but logic uses them.

use lang::program::{BOTTOM, BinaryOp, Expr};

/// A C expression of type `uint64_t`, or of type `int` if it is a truth value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Term {
    text: String,
    kind: Kind,
    /// Whether the value may be `⊥`, which is a number in C.
    may_be_bottom: bool,
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
        let text = super::constant(&value.to_string());
        Self { text, kind: Kind::Constant(value), may_be_bottom: value == BOTTOM }
    }

    pub fn variable(text: impl Into<String>, may_be_bottom: bool) -> Self {
        Self { text: text.into(), kind: Kind::Leaf, may_be_bottom }
    }

    /// Translates an expression of the program. `registers` has the C names of the registers, which may be
    /// `⊥` or not.
    pub fn new(expression: &Expr, registers: &[String], may_be_bottom: bool) -> Self {
        match expression {
            Expr::Constant(value) => Self::constant(*value),
            // As in `Expr::evaluate`.
            Expr::Bottom => Self::constant(BOTTOM),
            Expr::Register(id) => Self::variable(&registers[id.0], may_be_bottom),
            Expr::Not(inner) => Self::new(inner, registers, may_be_bottom).not(),
            Expr::Binary(op, left, right) => {
                let right = Self::new(right, registers, may_be_bottom);
                Self::new(left, registers, may_be_bottom).binary(*op, right)
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
            Kind::Truth => Self::of_truth(format!("!({})", self.text)),
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
                self.number(&other, text)
            }
            BinaryOp::Equal => self.compare("==", &other),
            BinaryOp::NotEqual => self.compare("!=", &other),
            BinaryOp::Less => self.order("<", &other),
            BinaryOp::LessEqual => self.order("<=", &other),
            BinaryOp::Greater => self.order(">", &other),
            BinaryOp::GreaterEqual => self.order(">=", &other),
            BinaryOp::And => self.logic("&&", other),
            BinaryOp::Or => self.logic("||", other),
        }
    }

    fn compute(&self, sign: &str, other: &Self) -> Self {
        let text = format!("{} {sign} {}", self.operand(), other.operand());
        self.number(other, text)
    }

    /// A number that is computed from two. What is computed from `⊥` is `⊥`.
    fn number(&self, other: &Self, text: String) -> Self {
        let may_be_bottom = self.may_be_bottom || other.may_be_bottom;
        let text = match self.is_bottom(other) {
            Some(is_bottom) => format!("{is_bottom} ? BOTTOM : {text}"),
            None => text,
        };
        Self { text, kind: Kind::Number, may_be_bottom }
    }

    fn compare(&self, sign: &str, other: &Self) -> Self {
        Self::of_truth(format!("{} {sign} {}", self.operand(), other.operand()))
    }

    /// A comparison of which `⊥` fulfills none.
    fn order(&self, sign: &str, other: &Self) -> Self {
        let plain = self.compare(sign, other);
        match self.is_bottom(other) {
            Some(is_bottom) => Self::of_truth(format!("!({is_bottom}) && ({})", plain.text)),
            None => plain,
        }
    }

    /// Whether one of two values is `⊥`, if that may be.
    fn is_bottom(&self, other: &Self) -> Option<String> {
        let both = [self, other].into_iter().filter(|term| term.may_be_bottom);
        let tests: Vec<String> = both.map(|term| format!("{} == BOTTOM", term.operand())).collect();
        (!tests.is_empty()).then(|| tests.join(" || "))
    }

    fn of_truth(text: String) -> Self {
        Self { text, kind: Kind::Truth, may_be_bottom: false }
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
        Self::of_truth(format!("({}) {sign} ({})", self.truth().text, other.truth().text))
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
    let is_equality = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    let may_be_bottom = left.may_be_bottom || right.may_be_bottom;
    if comparison && left == right && (is_equality || !may_be_bottom) {
        return Some(op.apply(0, 0));
    }
    if may_be_bottom {
        return None;
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
