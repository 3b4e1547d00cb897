//! Finds values that domains lack.

use lang::limits;
use rustc_hash::FxHashMap;
use skeleton::{Skeleton, Value, ValueId};

use super::super::super::cnf::Lit;
use super::{Extra, Values};

impl Values {
    /// The values that an assignment needs and that no domain lists.
    pub fn missing(&self, skeleton: &Skeleton, is_true: &dyn Fn(Lit) -> bool) -> Extra {
        let (mut missing, mut known) = (Extra::new(), FxHashMap::default());
        for (index, domain) in self.domains.iter().enumerate() {
            if domain.other.is_none_or(|other| !is_true(other)) {
                continue;
            }
            let id = ValueId(index);
            let value = self.compute(skeleton, id, is_true, &mut known);
            if let Some(value) =
                value.filter(|value| domain.values.iter().all(|(known, _)| known != value))
            {
                missing.entry(id).or_default().insert(value);
            }
        }
        missing
    }

    /// The value of an expression in an assignment without cycles, computed along rf. Listed values are used
    /// as they are. `None` if the value depends on a read that does not happen. Each value is computed once,
    /// because expressions share parts.
    fn compute(
        &self,
        skeleton: &Skeleton,
        id: ValueId,
        is_true: &dyn Fn(Lit) -> bool,
        known: &mut FxHashMap<ValueId, Option<u64>>,
    ) -> Option<u64> {
        limits::look();
        if let Some(value) = known.get(&id) {
            return *value;
        }
        if let Some(value) = self.domain(id).number(is_true) {
            return Some(value);
        }
        let operands = self.selected(skeleton, id, is_true);
        let parts = operands.iter().map(|(id, _)| self.compute(skeleton, *id, is_true, known));
        let parts: Vec<Option<u64>> = parts.collect();
        let value = match (&skeleton.values[id.0], &parts[..]) {
            (Value::Constant(value), _) => Some(*value),
            (Value::Read(_) | Value::Select(..), [part]) => *part,
            (Value::Binary(op, ..), [Some(left), Some(right)]) => Some(op.apply(*left, *right)),
            _ => None,
        };
        known.insert(id, value);
        value
    }
}
