//! Conditions on outcomes as literals, so that one question finds an outcome that meets a condition.

use std::collections::BTreeMap;

use lang::outcome::{Condition, Operand, Value, can_compare};

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
                let asks = [left, right].contains(&&Operand::Value(Value::Undefined));
                let left = self.values_of(left, observables)?;
                let right = self.values_of(right, observables)?;
                let is_met = |left, right| can_compare(*op, (left, right), asks, wanted);
                let pairs =
                    self.pairs(&left, &right, |left, right| is_met(left, right).then_some(()));
                let met: Vec<Lit> = pairs?.into_values().flatten().collect();
                Some(self.cnf.or_all(&met))
            }
        }
    }

    /// The values that an operand may have, each with its literal. Different ones exclude each other.
    fn values_of(
        &mut self,
        operand: &Operand,
        observables: &[Domain],
    ) -> Option<Vec<(Value, Lit)>> {
        match operand {
            Operand::Observable(index) => Some(observables[*index].possible()),
            Operand::Value(value) => Some(vec![(*value, Lit::TRUE)]),
            Operand::Computed(op, left, right) => {
                let left = self.values_of(left, observables)?;
                let right = self.values_of(right, observables)?;
                let computed = |left, right| Some(Operand::computed(*op, left, right));
                let pairs = self.pairs(&left, &right, computed)?.into_iter();
                Some(pairs.map(|(value, ways)| (value, self.cnf.or_all(&ways))).collect())
            }
        }
    }

    /// What a function makes of two values, each with the literals of the pairs of which it makes that.
    /// `None` if there are too many pairs.
    fn pairs<T: Ord>(
        &mut self,
        left: &[(Value, Lit)],
        right: &[(Value, Lit)],
        make: impl Fn(Value, Value) -> Option<T>,
    ) -> Option<BTreeMap<T, Vec<Lit>>> {
        if left.len().saturating_mul(right.len()) > MOST_PAIRS {
            return None;
        }
        let mut made: BTreeMap<T, Vec<Lit>> = BTreeMap::new();
        for (one, when_one) in left {
            for (other, when_other) in right {
                if let Some(result) = make(*one, *other) {
                    let both = self.cnf.and(*when_one, *when_other);
                    made.entry(result).or_default().push(both);
                }
            }
        }
        Some(made)
    }
}
