//! Encodes the free choices of the model's orders, and final values of memory, which follow from `mo`.

use std::collections::BTreeMap;

use lang::limits;
use lang::outcome::Observed;
use lang::program::LocationId;
use rustc_hash::{FxBuildHasher, FxHashMap};
use skeleton::EventId;

use super::super::cnf::Lit;
use super::super::plan::{Choice, Plan};
use super::values::Domain;
use super::{EncodeError, Encoder};
use crate::relation::Relation;

/// The approximate size in bytes of a pair in a map.
const PAIR: usize = 40;

/// An order of the model as literals.
#[derive(Clone, Debug)]
pub(super) struct OrderLiterals {
    /// The pairs that it has in every execution in which both events happen.
    pub certain: Relation,
    /// The other pairs that it decides, in both directions.
    pub open: FxHashMap<(usize, usize), Lit>,
}

impl OrderLiterals {
    /// True iff `from` is before `to`. `None` if the order does not decide that.
    pub fn get(&self, from: usize, to: usize) -> Option<Lit> {
        match (self.certain.contains(from, to), self.certain.contains(to, from)) {
            (true, _) => Some(Lit::TRUE),
            (false, true) => Some(Lit::FALSE),
            (false, false) => self.open.get(&(from, to)).copied(),
        }
    }

    /// Joins an order of other events to this one.
    pub fn join(&mut self, other: &Self) {
        self.certain.unite(&other.certain);
        self.open.extend(&other.open);
    }
}

impl Encoder<'_> {
    /// One literal for every two events that an order of the model must decide. The literals of `forced`
    /// pairs are constant.
    pub(super) fn orders(&mut self, plan: &Plan, forced: &[Relation]) -> Vec<OrderLiterals> {
        let orders = plan.choices.iter().zip(forced);
        orders.map(|(choice, forced)| self.order(choice, forced)).collect()
    }

    fn order(&mut self, choice: &Choice, forced: &Relation) -> OrderLiterals {
        let mut decided = choice.total_on.clone();
        decided.unite(&decided.inverse());
        decided.subtract(&Relation::identity(decided.size()));
        let mut certain = choice.extends.clone();
        certain.unite(forced);
        certain.intersect(&decided);
        let backward = certain.inverse();
        // The relation excludes both directions, so the order cannot relate these events.
        let mut excluded = certain.clone();
        excluded.intersect(&backward);
        for (a, b) in excluded.pairs().filter(|(a, b)| a < b) {
            let happens = |event: usize| !self.values.guard(self.skeleton.events[event].guard);
            let not_both = [happens(a), happens(b)];
            self.cnf.clause(not_both);
        }
        let mut open = decided.clone();
        open.subtract(&certain);
        open.subtract(&backward);
        let are_ordered = certain.is_strict_order();
        excluded.pairs().filter(|(a, b)| a > b).for_each(|(a, b)| certain.remove(a, b));
        let order = OrderLiterals { certain, open: self.variables(&open) };
        self.transitivity(&order, &decided, are_ordered.then_some(&open));
        order
    }

    /// A variable for each of these pairs, which are there in both directions.
    fn variables(&mut self, open: &Relation) -> FxHashMap<(usize, usize), Lit> {
        let pairs = open.pairs().count();
        limits::need(pairs * PAIR);
        let mut literals = FxHashMap::with_capacity_and_hasher(pairs, FxBuildHasher);
        for (a, b) in open.pairs().filter(|(a, b)| a < b) {
            let forward = self.cnf.variable();
            literals.insert((a, b), forward);
            literals.insert((b, a), !forward);
        }
        literals
    }

    /// Excludes cycles of three events. If the order is total, this excludes longer cycles too; otherwise the
    /// theory does. `open` has the pairs that are not fixed, if the fixed pairs are a strict partial order.
    /// In that case, events that do not happen fit into any order of the events that do, and three events
    /// without an open pair need no clause.
    fn transitivity(&mut self, order: &OrderLiterals, decided: &Relation, open: Option<&Relation>) {
        let guards = self.skeleton.events.iter().map(|event| !self.values.guard(event.guard));
        let absent: Vec<Lit> = guards.collect();
        let absent = |event: usize| absent[event];
        let literal = |from: usize, to: usize| order.get(from, to).unwrap_or(Lit::FALSE);
        let mut pairs = decided.clone();
        if let Some(open) = open {
            pairs.keep_pairs_near(open);
        }
        for (a, b) in pairs.pairs().filter(|(a, b)| a < b) {
            limits::look();
            let ab = literal(a, b);
            let is_open = open.is_none_or(|open| open.contains(a, b));
            let words = decided.row(a).iter().zip(decided.row(b)).enumerate();
            for (word, (with_a, with_b)) in words.skip(b / 64) {
                let mut others = with_a & with_b;
                if let Some(open) = open.filter(|_| !is_open) {
                    others &= open.row(a)[word] | open.row(b)[word];
                }
                while others != 0 {
                    let c = word * 64 + others.trailing_zeros() as usize;
                    others &= others - 1;
                    if c > b {
                        let (bc, ca) = (literal(b, c), literal(c, a));
                        let missing =
                            if open.is_some() { [Lit::FALSE; 3] } else { [a, b, c].map(absent) };
                        self.cnf.clause([!ab, !bc, !ca].into_iter().chain(missing));
                        self.cnf.clause([ab, bc, ca].into_iter().chain(missing));
                    }
                }
            }
        }
    }

    pub(super) fn observable(
        &mut self,
        what: Observed,
        order: Option<&OrderLiterals>,
        executed: &[Lit],
    ) -> Result<Domain, EncodeError> {
        match what {
            Observed::Register(register) => {
                Ok(self.values.domains[self.skeleton.registers[register.0].0].clone())
            }
            Observed::Location(location) => match self.skeleton.recovered.get(location.0) {
                Some(read) => Ok(self.read_value(*read)),
                None => self.final_value(location, order, executed),
            },
            // Only libraries have copies, and library calls have no skeleton.
            Observed::Copy(..) => Ok(Domain { values: vec![(0, Lit::TRUE)], ..Domain::default() }),
        }
    }

    /// The value that an event reads.
    fn read_value(&self, read: EventId) -> Domain {
        let value = self.skeleton.event(read).read;
        value.map(|value| self.values.domains[value.0].clone()).unwrap_or_default()
    }

    /// Encodes the value of the last write to a location.
    fn final_value(
        &mut self,
        location: LocationId,
        order: Option<&OrderLiterals>,
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
        let (mut undefined, mut any) = (Vec::new(), Vec::new());
        for write in &writes {
            let overwrites = |other: &usize| {
                executed[*other] == Lit::TRUE
                    && order.is_some_and(|order| order.certain.contains(*write, *other))
            };
            // From the end: there, program order has the writes that overwrite most others.
            if writes.iter().rev().any(overwrites) {
                continue;
            }
            let mut last = executed[*write];
            for other in writes.iter().filter(|other| *other != write) {
                let order = order.ok_or(EncodeError::NoModificationOrder)?;
                let before = order.get(*other, *write);
                let before = before.ok_or(EncodeError::NoModificationOrder)?;
                let earlier = self.cnf.or_all(&[!executed[*other], before]);
                last = self.cnf.and(last, earlier);
            }
            any.push(last);
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
        // Some write is the last. That follows from the order, but a solver would have to try orders.
        if writes.iter().any(|write| executed[*write] == Lit::TRUE) {
            self.cnf.clause(any);
        }
        let values = by_value
            .into_iter()
            .map(|(value, literals)| (value, self.cnf.or_all(&literals)))
            .filter(|(_, literal)| *literal != Lit::FALSE)
            .collect();
        // [`super::values::Values::other`] excludes values that are not listed.
        let undefined = self.cnf.or_all(&undefined);
        let undefined = (undefined != Lit::FALSE).then_some(undefined);
        Ok(Domain { values, other: None, undefined })
    }
}
