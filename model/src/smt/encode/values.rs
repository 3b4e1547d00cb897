//! Values: what each expression may be, which write each read takes, and what follows from both.
//!
//! Values travel along rf, and round a loop of it they may grow without end (`x := x + 1` in two threads),
//! though no execution goes round. So domains are cut off at a size; where one is, a literal `other` stands
//! for the values left out. If a consistent execution needs one, [`Values::missing`] says which, and the
//! encoding is made again with it.

use std::collections::{BTreeMap, BTreeSet};

use compiler::skeleton::{Condition, EventId, Guard, Skeleton, Value, ValueId};
use rustc_hash::FxHashMap;

use super::super::cnf::{Cnf, Lit};

/// Where domains are cut off.
const DOMAIN_LIMIT: usize = 48;

/// The possible values of something, each with the literal that says so.
#[derive(Clone, Debug, Default)]
pub struct Domain {
    /// The values, in order.
    pub values: Vec<(u64, Lit)>,
    /// It is none of them.
    pub other: Option<Lit>,
}

impl Domain {
    /// The value that an assignment chooses, if it is one of those listed.
    pub fn chosen(&self, is_true: impl Fn(Lit) -> bool) -> Option<u64> {
        self.values.iter().find(|(_, literal)| is_true(*literal)).map(|(value, _)| *value)
    }

    /// The literal for a value: its own, or `other`, or none.
    fn literal(&self, value: u64) -> Lit {
        let index = self.values.binary_search_by_key(&value, |(known, _)| *known);
        index.map_or(self.other.unwrap_or(Lit::FALSE), |index| self.values[index].1)
    }
}

/// Values that expressions have in some execution and that were not in their domains.
pub type Extra = BTreeMap<ValueId, BTreeSet<u64>>;

/// Domains, conditions and rf.
#[derive(Clone, Debug)]
pub struct Values {
    /// By value.
    pub domains: Vec<Domain>,
    /// By condition.
    conditions: Vec<Lit>,
    /// By write and read.
    pub reads_from: FxHashMap<(usize, usize), Lit>,
    /// True if some value is none of those listed.
    pub other: Lit,
}

impl Values {
    /// Adds the clauses of a skeleton's values to a formula.
    pub fn new(skeleton: &Skeleton, extra: &Extra, cnf: &mut Cnf) -> Self {
        let (possible, is_cut) = possible_values(skeleton, extra);
        let mut values = Self {
            domains: Vec::new(),
            conditions: Vec::new(),
            reads_from: FxHashMap::default(),
            other: Lit::FALSE,
        };
        for (domain, is_cut) in possible.into_iter().zip(is_cut) {
            let is_single = domain.len() == 1 && !is_cut;
            let mut literal = || if is_single { Lit::TRUE } else { cnf.variable() };
            let domain = Domain {
                values: domain.into_iter().map(|value| (value, literal())).collect(),
                other: is_cut.then(&mut literal),
            };
            let all: Vec<Lit> = domain.values.iter().map(|(_, literal)| *literal).collect();
            cnf.at_most_one(&all.into_iter().chain(domain.other).collect::<Vec<_>>());
            values.domains.push(domain);
        }
        let others: Vec<Lit> = values.domains.iter().filter_map(|domain| domain.other).collect();
        values.other = cnf.or_all(&others);
        values.make_conditions(skeleton, cnf);
        values.link_expressions(skeleton, cnf);
        values.link_conditions(skeleton, cnf);
        values.link_reads(skeleton, cnf);
        values
    }

    /// The literal of a condition.
    pub fn guard(&self, guard: Guard) -> Lit {
        self.conditions[guard.condition].negate_if(guard.negated)
    }

    fn domain(&self, value: ValueId) -> &Domain {
        &self.domains[value.0]
    }

    fn make_conditions(&mut self, skeleton: &Skeleton, cnf: &mut Cnf) {
        for condition in &skeleton.conditions {
            let literal = match condition {
                Condition::True => Lit::TRUE,
                Condition::And(left, right) => cnf.and(self.guard(*left), self.guard(*right)),
                _ => cnf.variable(),
            };
            self.conditions.push(literal);
        }
    }

    fn link_expressions(&self, skeleton: &Skeleton, cnf: &mut Cnf) {
        for (index, value) in skeleton.values.iter().enumerate() {
            let result = &self.domains[index];
            match value {
                Value::Constant(_) | Value::Read(_) => {}
                Value::Binary(op, left, right) => {
                    let (left, right) = (self.domain(*left), self.domain(*right));
                    for (x, when_x) in &left.values {
                        for (y, when_y) in &right.values {
                            let literal = result.literal(op.apply(*x, *y));
                            cnf.implies(&[*when_x, *when_y], &[literal]);
                        }
                    }
                    for other in left.other.iter().chain(&right.other) {
                        cnf.implies(&[*other], &[result.other.unwrap_or(Lit::FALSE)]);
                    }
                }
                Value::Select(guard, then, otherwise) => {
                    let guard = self.guard(*guard);
                    for (arm, when_arm) in [(then, guard), (otherwise, !guard)] {
                        self.copy(cnf, when_arm, self.domain(*arm), result);
                    }
                }
            }
        }
    }

    /// If `when`, then `to` has the value of `from`.
    fn copy(&self, cnf: &mut Cnf, when: Lit, from: &Domain, to: &Domain) {
        for (value, literal) in &from.values {
            cnf.implies(&[when, *literal], &[to.literal(*value)]);
        }
        if let Some(other) = from.other {
            cnf.implies(&[when, other], &[to.other.unwrap_or(Lit::FALSE)]);
        }
    }

    fn link_conditions(&self, skeleton: &Skeleton, cnf: &mut Cnf) {
        for (index, condition) in skeleton.conditions.iter().enumerate() {
            let holds = self.conditions[index];
            match condition {
                Condition::NonZero(value) => {
                    for (value, when) in &self.domain(*value).values {
                        cnf.implies(&[*when], &[holds.negate_if(*value == 0)]);
                    }
                }
                Condition::Equal(left, right) => {
                    for (x, when_x) in &self.domain(*left).values {
                        for (y, when_y) in &self.domain(*right).values {
                            cnf.implies(&[*when_x, *when_y], &[holds.negate_if(x != y)]);
                        }
                    }
                }
                Condition::True | Condition::Choice(_) | Condition::And(..) => {}
            }
        }
    }

    /// Every read that happens takes its value from one write that happens.
    fn link_reads(&mut self, skeleton: &Skeleton, cnf: &mut Cnf) {
        for read in skeleton.event_ids() {
            let event = skeleton.event(read);
            let (Some(value), true) = (event.read, event.location.is_some()) else { continue };
            let happens = self.guard(event.guard);
            let writers: Vec<EventId> = writers(skeleton, read).collect();
            let mut options = Vec::new();
            for writer in &writers {
                let write = skeleton.event(*writer);
                let Some(written) = write.written else { continue };
                let taken = if writers.len() == 1 { happens } else { cnf.variable() };
                cnf.implies(&[taken], &[self.guard(write.guard)]);
                cnf.implies(&[taken], &[happens]);
                self.copy(cnf, taken, self.domain(written), self.domain(value));
                self.reads_from.insert((writer.0, read.0), taken);
                options.push(taken);
            }
            cnf.implies(&[happens], &options);
            cnf.at_most_one(&options);
            // One that reads what is computed from it has a value too, though nothing else gives it one.
            let domain = self.domain(value);
            let values = domain.values.iter().map(|(_, literal)| *literal);
            let values: Vec<Lit> = values.chain(domain.other).collect();
            cnf.implies(&[happens], &values);
            // A read that does not happen has some value, so that what is computed from it has one too.
            if let Some((_, some)) = self.domain(value).values.first() {
                cnf.implies(&[!happens], &[*some]);
            }
        }
    }

    /// The values that an assignment needs and that no domain lists.
    pub fn missing(&self, skeleton: &Skeleton, is_true: &dyn Fn(Lit) -> bool) -> Extra {
        let mut missing = Extra::new();
        for (index, domain) in self.domains.iter().enumerate() {
            if domain.other.is_none_or(|other| !is_true(other)) {
                continue;
            }
            let id = ValueId(index);
            let value = self.compute(skeleton, id, is_true);
            if let Some(value) =
                value.filter(|value| domain.values.iter().all(|(known, _)| known != value))
            {
                missing.entry(id).or_default().insert(value);
            }
        }
        missing
    }

    /// The value of an expression in an assignment without circles, computed along rf; listed values are
    /// taken as they are. `None` if it hangs on a read that does not happen.
    fn compute(
        &self,
        skeleton: &Skeleton,
        id: ValueId,
        is_true: &dyn Fn(Lit) -> bool,
    ) -> Option<u64> {
        if let Some(value) = self.domain(id).chosen(is_true) {
            return Some(value);
        }
        let operands = self.operands(skeleton, id, is_true);
        let mut values = operands.iter().map(|(id, _)| self.compute(skeleton, *id, is_true));
        match &skeleton.values[id.0] {
            Value::Constant(value) => Some(*value),
            Value::Read(_) | Value::Select(..) => values.next()?,
            Value::Binary(op, ..) => Some(op.apply(values.next()??, values.next()??)),
        }
    }

    /// What an expression is computed from in an assignment, each with the choice that makes it so.
    fn operands(
        &self,
        skeleton: &Skeleton,
        id: ValueId,
        is_true: &dyn Fn(Lit) -> bool,
    ) -> Vec<(ValueId, Lit)> {
        match &skeleton.values[id.0] {
            Value::Constant(_) => Vec::new(),
            Value::Read(read) => {
                let source = writers(skeleton, *read).find_map(|writer| {
                    let taken = *self.reads_from.get(&(writer.0, read.0))?;
                    let written = skeleton.event(writer).written?;
                    is_true(taken).then_some((written, taken))
                });
                source.into_iter().collect()
            }
            Value::Binary(_, left, right) => vec![(*left, Lit::TRUE), (*right, Lit::TRUE)],
            Value::Select(guard, then, otherwise) => {
                let guard = self.guard(*guard);
                vec![if is_true(guard) { (*then, guard) } else { (*otherwise, !guard) }]
            }
        }
    }

    /// A circle of rf and computation in which an assignment makes a value out of thin air, as the choices that
    /// together make it; no execution has one, whatever the model.
    pub fn circle(&self, skeleton: &Skeleton, is_true: &dyn Fn(Lit) -> bool) -> Option<Vec<Lit>> {
        let mut finished = vec![false; skeleton.values.len()];
        let mut on_path = vec![false; skeleton.values.len()];
        for start in 0..skeleton.values.len() {
            // Each entry: an expression, the choice that led to it, and its operands still to follow.
            let mut path = vec![(ValueId(start), Lit::TRUE, None)];
            while let Some((id, _, rest)) = path.last_mut() {
                let id = *id;
                if rest.is_none() {
                    if finished[id.0] {
                        path.pop();
                        continue;
                    }
                    on_path[id.0] = true;
                }
                let rest = rest.get_or_insert_with(|| self.operands(skeleton, id, is_true));
                match rest.pop() {
                    Some((operand, choice)) if on_path[operand.0] => {
                        let from = path.iter().position(|(known, ..)| *known == operand)?;
                        let choices = path[from + 1..].iter().map(|(_, choice, _)| *choice);
                        let mut circle: Vec<Lit> = choices.chain([choice]).collect();
                        circle.retain(|literal| *literal != Lit::TRUE);
                        return Some(circle);
                    }
                    Some((operand, choice)) => path.push((operand, choice, None)),
                    None => {
                        (finished[id.0], on_path[id.0]) = (true, false);
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

/// The writes that a read may take its value from: all of its location but itself.
fn writers(skeleton: &Skeleton, read: EventId) -> impl Iterator<Item = EventId> + use<'_> {
    let location = skeleton.event(read).location;
    skeleton.event_ids().filter(move |write| {
        let event = skeleton.event(*write);
        *write != read && event.writes() && location.is_some() && event.location == location
    })
}

/// Which values each expression may take, as far as the limit allows, and where it was cut off.
fn possible_values(skeleton: &Skeleton, extra: &Extra) -> (Vec<BTreeSet<u64>>, Vec<bool>) {
    let count = skeleton.values.len();
    let mut domains: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); count];
    for (id, values) in extra {
        domains[id.0].extend(values);
    }
    let limits: Vec<usize> = domains.iter().map(|extra| DOMAIN_LIMIT + extra.len()).collect();
    let mut is_cut = vec![false; count];
    loop {
        let mut changed = false;
        for (index, value) in skeleton.values.iter().enumerate() {
            let mut possible = BTreeSet::new();
            let mut depends_on_cut = false;
            let mut add = |id: &ValueId| {
                possible.extend(&domains[id.0]);
                depends_on_cut |= is_cut[id.0];
            };
            match value {
                Value::Constant(constant) => {
                    possible.insert(*constant);
                }
                Value::Read(event) => {
                    let written = writers(skeleton, *event);
                    written
                        .filter_map(|writer| skeleton.event(writer).written.as_ref())
                        .for_each(&mut add);
                }
                Value::Select(_, then, otherwise) => {
                    [then, otherwise].into_iter().for_each(&mut add)
                }
                Value::Binary(op, left, right) => {
                    depends_on_cut = is_cut[left.0] || is_cut[right.0];
                    let is_same = left == right;
                    let (left, right) = (&domains[left.0], &domains[right.0]);
                    let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (*l, *r)));
                    let pairs = pairs.filter(|(left, right)| !is_same || left == right);
                    possible.extend(pairs.map(|(left, right)| op.apply(left, right)));
                }
            }
            let before = (domains[index].len(), is_cut[index]);
            for value in possible {
                if domains[index].len() < limits[index] || domains[index].contains(&value) {
                    domains[index].insert(value);
                } else {
                    depends_on_cut = true;
                }
            }
            is_cut[index] |= depends_on_cut;
            changed |= before != (domains[index].len(), is_cut[index]);
        }
        if !changed {
            return (domains, is_cut);
        }
    }
}
