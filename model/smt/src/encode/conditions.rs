//! Conditions on outcomes as literals, so that one question finds an outcome that meets a condition.

use std::collections::BTreeMap;

use lang::outcome::{Condition, Operand, Value, ask_for_undefined, can_compare};

use super::super::cnf::Lit;
use super::Encoder;
use super::values::Domain;

/// The most pairs of values that an operator or a comparison is about. With more, a condition has no literal.
const MOST_PAIRS: usize = 10_000;

impl Encoder<'_> {
    /// True iff the outcome meets the condition, where ⊤ stands for every value. `None` if too many values
    /// are computed in it.
    pub(super) fn condition(
        &mut self,
        condition: &Condition,
        observables: &[Domain],
    ) -> Option<Lit> {
        self.condition_is(condition, true, observables)
    }

    /// True iff the condition can hold of the outcome, or fail if it is not `wanted`.
    fn condition_is(
        &mut self,
        condition: &Condition,
        wanted: bool,
        observables: &[Domain],
    ) -> Option<Lit> {
        match condition {
            Condition::Constant(value) if *value == wanted => Some(Lit::TRUE),
            Condition::Constant(_) => Some(Lit::FALSE),
            Condition::Not(inner) => self.condition_is(inner, !wanted, observables),
            Condition::And(all) | Condition::Or(all) => {
                let each = all.iter().map(|inner| self.condition_is(inner, wanted, observables));
                let each = each.collect::<Option<Vec<Lit>>>()?;
                Some(match matches!(condition, Condition::And(_)) == wanted {
                    true => each.into_iter().fold(Lit::TRUE, |all, one| self.cnf.and(all, one)),
                    false => self.cnf.or_all(&each),
                })
            }
            Condition::Compare(op, left, right) => {
                let asks = ask_for_undefined(left, right);
                let left = self.values_of(left, observables)?;
                let right = self.values_of(right, observables)?;
                let mut met = Vec::new();
                for ((one, when_one), (other, when_other)) in pairs(&left, &right)? {
                    if can_compare(*op, (one, other), asks, wanted) {
                        met.push(self.cnf.and(when_one, when_other));
                    }
                }
                Some(self.cnf.or_all(&met))
            }
        }
    }

    /// The values that an operand may have, each with its literal. Different ones exclude each other.
    fn values_of(&mut self, operand: &Operand, observables: &[Domain]) -> Option<Vec<Known>> {
        match operand {
            Operand::Observable(index) => Some(observables[*index].possible()),
            Operand::Value(value) => Some(vec![(*value, Lit::TRUE)]),
            Operand::Computed(op, left, right) => {
                let left = self.values_of(left, observables)?;
                let right = self.values_of(right, observables)?;
                let mut ways: BTreeMap<Value, Vec<Lit>> = BTreeMap::new();
                for ((one, when_one), (other, when_other)) in pairs(&left, &right)? {
                    let both = self.cnf.and(when_one, when_other);
                    ways.entry(Operand::computed(*op, one, other)).or_default().push(both);
                }
                let ways = ways.into_iter();
                Some(ways.map(|(value, ways)| (value, self.cnf.or_all(&ways))).collect())
            }
        }
    }
}

/// A value of an operand, and the literal that it has this value.
type Known = (Value, Lit);

/// All pairs of values of two operands. `None` if there are too many.
fn pairs<'v>(
    left: &'v [Known],
    right: &'v [Known],
) -> Option<impl Iterator<Item = (Known, Known)> + use<'v>> {
    let is_few = left.len().saturating_mul(right.len()) <= MOST_PAIRS;
    is_few.then(|| left.iter().flat_map(|one| right.iter().map(|other| (*one, *other))))
}
