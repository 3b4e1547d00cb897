//! What expressions are worth.

use super::{BinaryOp, Expr, RegisterId};

/// The word that stands for `⊥` wherever values are words. Programs that use this number cannot tell it from
/// `⊥`.
pub const BOTTOM: u64 = 0xB077_0B07_70B0_770B;

impl BinaryOp {
    /// The operator applied to two words. `⊥` is equal to itself only and not ordered; what is computed from
    /// it is `⊥`. A number's remainder by 0 is 0.
    pub fn apply(self, left: u64, right: u64) -> u64 {
        if left == BOTTOM || right == BOTTOM {
            return match self {
                Self::Equal => u64::from(left == right),
                Self::NotEqual => u64::from(left != right),
                Self::And | Self::Or => self.apply(u64::from(left != 0), u64::from(right != 0)),
                Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 0,
                Self::Add | Self::Subtract | Self::Multiply | Self::Remainder => BOTTOM,
            };
        }
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Remainder => left.checked_rem(right).unwrap_or(0),
            Self::Equal => u64::from(left == right),
            Self::NotEqual => u64::from(left != right),
            Self::Less => u64::from(left < right),
            Self::LessEqual => u64::from(left <= right),
            Self::Greater => u64::from(left > right),
            Self::GreaterEqual => u64::from(left >= right),
            Self::And => u64::from(left != 0 && right != 0),
            Self::Or => u64::from(left != 0 || right != 0),
        }
    }
}

impl Expr {
    /// The value for given registers, as a word: `⊥` is [`BOTTOM`].
    pub fn evaluate(&self, register: &impl Fn(RegisterId) -> u64) -> u64 {
        match self {
            Self::Constant(value) => *value,
            Self::Bottom => BOTTOM,
            Self::Register(id) => register(*id),
            Self::Not(inner) => u64::from(inner.evaluate(register) == 0),
            Self::Binary(op, left, right) => {
                op.apply(left.evaluate(register), right.evaluate(register))
            }
        }
    }

    /// Every register that the value depends on, in the order of the text, repeated if it is.
    pub fn registers(&self) -> Vec<RegisterId> {
        match self {
            Self::Constant(_) | Self::Bottom => Vec::new(),
            Self::Register(id) => vec![*id],
            Self::Not(inner) => inner.registers(),
            Self::Binary(_, left, right) => {
                let mut all = left.registers();
                all.extend(right.registers());
                all
            }
        }
    }
}
