//! Expressions whose operands are known are constants.

use lang::program::{BinaryOp, Expr};

/// Two operands.
pub fn fold(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    match (&left, &right) {
        (Expr::Constant(left), Expr::Constant(right)) => Expr::Constant(op.apply(*left, *right)),
        _ => Expr::Binary(op, Box::new(left), Box::new(right)),
    }
}

/// The negation.
pub fn fold_not(inner: Expr) -> Expr {
    match inner {
        Expr::Constant(value) => Expr::Constant(u64::from(value == 0)),
        inner => Expr::Not(Box::new(inner)),
    }
}
