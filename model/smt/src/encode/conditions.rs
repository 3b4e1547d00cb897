//! Conditions on outcomes as literals, so that one question finds an outcome that meets a condition.

use lang::limits;
use lang::outcome::{Condition, Outcome, Value};

use super::super::cnf::Lit;
use super::Encoder;
use super::values::Domain;

impl Encoder<'_> {
    /// True iff the outcome meets the condition, where ⊤ stands for every value.
    pub(super) fn condition(&mut self, condition: &Condition, observables: &[Domain]) -> Lit {
        self.condition_is(condition, true, observables)
    }

    /// True iff the condition can hold of the outcome, or fail if it is not `wanted`.
    fn condition_is(&mut self, condition: &Condition, wanted: bool, observables: &[Domain]) -> Lit {
        match condition {
            Condition::Constant(value) if *value == wanted => Lit::TRUE,
            Condition::Constant(_) => Lit::FALSE,
            Condition::Not(inner) => self.condition_is(inner, !wanted, observables),
            Condition::And(all) | Condition::Or(all) => {
                let each = all.iter().map(|inner| self.condition_is(inner, wanted, observables));
                let each: Vec<Lit> = each.collect();
                match matches!(condition, Condition::And(_)) == wanted {
                    true => self.all(&each),
                    false => self.cnf.or_all(&each),
                }
            }
            Condition::Compare(..) => self.comparison(condition, wanted, observables),
        }
    }

    /// The same for a comparison: one of the combinations of values of which it holds, or fails.
    fn comparison(&mut self, condition: &Condition, wanted: bool, observables: &[Domain]) -> Lit {
        let named: Vec<usize> = condition.named().into_iter().collect();
        let size = named.last().map_or(0, |last| last + 1);
        let mut outcome = Outcome(vec![Value::Int(0); size]);
        let possible: Vec<_> = named.iter().map(|index| observables[*index].possible()).collect();
        let mut meeting = Vec::new();
        let all: usize = possible.iter().map(Vec::len).fold(1, usize::saturating_mul);
        for number in 0..all {
            limits::look();
            let (mut rest, mut literals) = (number, Vec::new());
            for (index, values) in named.iter().zip(&possible) {
                let (value, literal) = values[rest % values.len()];
                rest /= values.len();
                outcome.0[*index] = value;
                literals.push(literal);
            }
            if if wanted { condition.holds(&outcome) } else { condition.fails(&outcome) } {
                meeting.push(self.all(&literals));
            }
        }
        self.cnf.or_all(&meeting)
    }

    fn all(&mut self, literals: &[Lit]) -> Lit {
        literals.iter().fold(Lit::TRUE, |all, literal| self.cnf.and(all, *literal))
    }
}
