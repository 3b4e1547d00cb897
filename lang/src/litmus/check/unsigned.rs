//! Comparisons that are not what they seem, since values are unsigned.

use crate::diagnostic::{Code, Diagnostic};
use crate::program::BinaryOp;
use crate::source::Span;

/// From here on, numbers are written as negative ones: -2^31.
const NEGATIVE: u64 = (1_u64 << 31).wrapping_neg();

/// Warns of a comparison with a number on one side, the other being anything: `None` stands for it.
pub fn comparison(
    op: BinaryOp,
    left: Option<u64>,
    right: Option<u64>,
    span: Span,
) -> Option<Diagnostic> {
    let (op, number) = match (left, right) {
        (None, Some(number)) => (op, number),
        (Some(number), None) => (turned(op), number),
        _ => return None,
    };
    let signed = || format!("-{}", number.wrapping_neg());
    let message = match (op, number) {
        (BinaryOp::Less, 0) => "no value is below 0, so this never holds".to_owned(),
        (BinaryOp::GreaterEqual, 0) => {
            "every number is 0 or above, so this always holds".to_owned()
        }
        (BinaryOp::Greater, u64::MAX) => "no value is above -1, so this never holds".to_owned(),
        (BinaryOp::LessEqual, u64::MAX) => {
            "every number is -1 or below, so this always holds".to_owned()
        }
        (
            BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual,
            NEGATIVE..,
        ) => {
            format!("{} is a large number here, above 0 and all small ones", signed())
        }
        _ => return None,
    };
    let warning = Diagnostic::warning(Code::UnsignedComparison, span, message);
    Some(warning.help("values are unsigned, 64 bits, and -1 is 2^64 - 1; `=` and `≠` take negative numbers as they look"))
}

/// The same comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessEqual => BinaryOp::GreaterEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterEqual => BinaryOp::LessEqual,
        other => other,
    }
}
