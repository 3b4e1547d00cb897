//! The free choices of the model's orders, and final values of memory, which follow from `mo`.

use std::collections::BTreeMap;

use lang::limits;
use lang::outcome::Observed;
use lang::program::LocationId;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::super::cnf::Lit;
use super::super::plan::Plan;
use super::values::Domain;
use super::{EncodeError, Encoder};

/// About how many bytes a pair takes in a map.
const PAIR: usize = 40;

impl Encoder<'_> {
    /// One literal for every two events that an order of the model must decide.
    pub(super) fn orders(&mut self, plan: &Plan) -> Vec<FxHashMap<(usize, usize), Lit>> {
        let size = plan.size;
        let mut orders = Vec::new();
        for choice in &plan.choices {
            let mut both = choice.total_on.clone();
            both.unite(&both.inverse());
            let pairs = both.pairs().count();
            limits::need(pairs * PAIR);
            let mut order: FxHashMap<(usize, usize), Lit> =
                FxHashMap::with_capacity_and_hasher(pairs, FxBuildHasher);
            for a in 0..size {
                limits::look();
                for b in a + 1..size {
                    if !choice.total_on.contains(a, b) && !choice.total_on.contains(b, a) {
                        continue;
                    }
                    let forward =
                        match (choice.extends.contains(a, b), choice.extends.contains(b, a)) {
                            (true, false) => Lit::TRUE,
                            (false, true) => Lit::FALSE,
                            (false, false) => self.cnf.variable(),
                            // Either direction is against the relation, so no choice remains.
                            (true, true) => {
                                let happens = |event: usize| {
                                    !self.values.guard(self.skeleton.events[event].guard)
                                };
                                let not_both = [happens(a), happens(b)];
                                self.cnf.clause(not_both);
                                Lit::TRUE
                            }
                        };
                    order.insert((a, b), forward);
                    order.insert((b, a), !forward);
                }
            }
            self.transitivity(size, &order);
            orders.push(order);
        }
        orders
    }

    /// No cycles of three; longer ones are excluded by them where the order is total, else by the theory.
    fn transitivity(&mut self, size: usize, order: &FxHashMap<(usize, usize), Lit>) {
        for a in 0..size {
            limits::look();
            for b in a + 1..size {
                let Some(ab) = order.get(&(a, b)) else { continue };
                for c in b + 1..size {
                    let (Some(bc), Some(ca)) = (order.get(&(b, c)), order.get(&(c, a))) else {
                        continue;
                    };
                    self.cnf.clause([!*ab, !*bc, !*ca]);
                    self.cnf.clause([*ab, *bc, *ca]);
                }
            }
        }
    }

    pub(super) fn observable(
        &mut self,
        what: Observed,
        order: Option<&FxHashMap<(usize, usize), Lit>>,
        executed: &[Lit],
    ) -> Result<Domain, EncodeError> {
        match what {
            Observed::Register(register) => {
                Ok(self.values.domains[self.skeleton.registers[register.0].0].clone())
            }
            Observed::Location(location) => self.final_value(location, order, executed),
            // Only libraries have copies, and their calls have no skeleton.
            Observed::Copy(..) => Ok(Domain { values: vec![(0, Lit::TRUE)], ..Domain::default() }),
        }
    }

    /// The value of the last write of a location.
    fn final_value(
        &mut self,
        location: LocationId,
        order: Option<&FxHashMap<(usize, usize), Lit>>,
        executed: &[Lit],
    ) -> Result<Domain, EncodeError> {
        let writes: Vec<usize> = self
            .skeleton
            .event_ids()
            .map(|id| id.0)
            .filter(|id| {
                let event = &self.skeleton.events[*id];
                event.writes() && event.location == Some(location)
            })
            .collect();
        let mut by_value: BTreeMap<u64, Vec<Lit>> = BTreeMap::new();
        let mut undefined = Vec::new();
        for write in &writes {
            let mut last = executed[*write];
            for other in writes.iter().filter(|other| *other != write) {
                let order = order.ok_or(EncodeError::NoModificationOrder)?;
                let before = order.get(&(*other, *write)).copied();
                let before = before.ok_or(EncodeError::NoModificationOrder)?;
                let earlier = self.cnf.or_all(&[!executed[*other], before]);
                last = self.cnf.and(last, earlier);
            }
            let Some(written) = self.skeleton.events[*write].written else { continue };
            let damaged = self.undefined_writes[*write];
            let domain = self.values.domains[written.0].clone();
            let lost = self.cnf.or_all(&[damaged, domain.undefined.unwrap_or(Lit::FALSE)]);
            undefined.push(self.cnf.and(last, lost));
            let last = self.cnf.and(last, !damaged);
            for (value, when) in domain.values {
                let literal = self.cnf.and(last, when);
                by_value.entry(value).or_default().push(literal);
            }
        }
        let values = by_value
            .into_iter()
            .map(|(value, literals)| (value, self.cnf.or_all(&literals)))
            .filter(|(_, literal)| *literal != Lit::FALSE)
            .collect();
        // A value that is not listed is excluded by [`super::values::Values::other`].
        let undefined = self.cnf.or_all(&undefined);
        let undefined = (undefined != Lit::FALSE).then_some(undefined);
        Ok(Domain { values, other: None, undefined })
    }
}
