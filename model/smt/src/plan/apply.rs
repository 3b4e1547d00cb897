//! What an operator makes of its operands.

use lang::cat::model::Type;

use super::{NodeIndex, Op};
use crate::relation::Relation;

/// Sets `result` to what an operator makes of its operands if these events happen, an identity relation.
/// Nothing follows from no operands: constants, what is chosen, and names are empty here.
pub fn apply<'v>(
    op: &Op,
    result: &mut Relation,
    executed: &Relation,
    value: impl Fn(NodeIndex) -> &'v Relation,
) {
    match op {
        Op::Union(all) => {
            result.clear(executed.size());
            all.iter().for_each(|operand| result.unite(value(*operand)));
        }
        Op::Intersection(a, b) => {
            result.clone_from(value(*a));
            result.intersect(value(*b));
        }
        Op::Difference(a, b) => {
            result.clone_from(value(*a));
            result.subtract(value(*b));
        }
        Op::Complement(ty, a) => {
            match ty {
                Type::Set => result.clone_from(executed),
                Type::Relation => result.set_product(executed, executed),
            }
            result.subtract(value(*a));
        }
        Op::Product(a, b) => result.set_product(value(*a), value(*b)),
        Op::Sequence(a, b) => result.set_sequence(value(*a), value(*b)),
        Op::Inverse(a) => result.set_inverse(value(*a)),
        Op::Plus(a) => {
            result.clone_from(value(*a));
            result.close();
        }
        Op::Domain(a) => {
            result.clear(executed.size());
            value(*a).pairs().for_each(|(from, _)| result.insert(from, from));
        }
        Op::Range(a) => {
            result.clear(executed.size());
            value(*a).pairs().for_each(|(_, to)| result.insert(to, to));
        }
        Op::Constant(_)
        | Op::ReadsFrom
        | Op::PollsFrom
        | Op::Choice(_)
        | Op::Recursive(_)
        | Op::Empty => result.clear(executed.size()),
    }
}
