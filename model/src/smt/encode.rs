//! The skeleton as a formula: which events happen, which write each read takes, what values follow, and
//! the free choices of the model's orders. The axioms are not in it; [`super::theory`] adds what they need.

use std::collections::{BTreeMap, BTreeSet};

use compiler::skeleton::{Condition, EventId, Guard, Skeleton, Stamp, Value, ValueId};
use lang::outcome::{Observable, Observed};
use lang::program::{LocationId, NodeId, ThreadId};
use rustc_hash::FxHashMap;

use super::cnf::{Cnf, Lit};
use super::plan::Plan;
use super::theory::{Facts, Literals};
use crate::relation::Relation;

/// The most values that one expression may take before the encoding gives up.
const DOMAIN_LIMIT: usize = 1_024;

/// The possible values of something, each with the literal that says so.
type Domain = Vec<(u64, Lit)>;

/// The value that an assignment chooses.
pub fn chosen(domain: &[(u64, Lit)], is_true: impl Fn(Lit) -> bool) -> Option<u64> {
    domain.iter().find(|(_, literal)| is_true(*literal)).map(|(value, _)| *value)
}

/// Why a program cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// An expression takes more values than [`DOMAIN_LIMIT`].
    TooManyValues,
    /// Final values of memory are asked for, and the model has no order of writes named `mo` (or `co`).
    NoModificationOrder,
}

/// The formula and what its variables mean.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// The formula.
    pub cnf: Cnf,
    /// For each observable: its possible final values.
    pub observables: Vec<Domain>,
    /// True iff some loop is left by the bound.
    pub exceeded: Lit,
    /// Polls that no operation can answer.
    pub unanswered: Vec<EventId>,
    values: Vec<Domain>,
    executed: Vec<Lit>,
    reads_from: FxHashMap<(usize, usize), Lit>,
    polls_from: FxHashMap<(usize, usize), Lit>,
    choices: Vec<FxHashMap<(usize, usize), Lit>>,
    size: usize,
}

impl Encoding {
    /// Encodes a skeleton with the orders of a model.
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn new(
        skeleton: &Skeleton,
        plan: &Plan,
        observables: &[Observable],
    ) -> Result<Self, EncodeError> {
        let mut encoder = Encoder {
            skeleton,
            cnf: Cnf::default(),
            conditions: Vec::new(),
            values: Vec::new(),
            reads_from: FxHashMap::default(),
            unanswered: Vec::new(),
        };
        encoder.value_domains()?;
        encoder.condition_literals();
        encoder.link_values();
        encoder.link_conditions();
        encoder.reads();
        for requirement in &skeleton.requirements {
            let (when, then) = (encoder.guard(requirement.when), encoder.guard(requirement.then));
            encoder.cnf.implies(&[when], &[then]);
        }
        let polls_from = encoder.polls();
        let choices = encoder.orders(plan);
        let executed: Vec<Lit> =
            skeleton.events.iter().map(|event| encoder.guard(event.guard)).collect();
        let exceeded: Vec<Lit> =
            skeleton.exceeded.iter().map(|guard| encoder.guard(*guard)).collect();
        let exceeded = encoder.cnf.or_all(&exceeded);
        let order = plan.choices.iter().position(|choice| matches!(&*choice.name, "mo" | "co"));
        let order = order.map(|index| &choices[index]);
        let observables = observables
            .iter()
            .map(|observable| encoder.observable(observable.what, order, &executed))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            cnf: encoder.cnf,
            observables,
            exceeded,
            unanswered: encoder.unanswered,
            values: encoder.values,
            executed,
            reads_from: encoder.reads_from,
            polls_from,
            choices,
            size: skeleton.events.len(),
        })
    }

    /// The value of an expression in an assignment.
    pub fn value(&self, value: ValueId, is_true: impl Fn(Lit) -> bool) -> Option<u64> {
        chosen(&self.values[value.0], is_true)
    }

    /// The candidate that an assignment stands for.
    pub fn facts(&self, is_true: impl Fn(Lit) -> bool) -> Facts {
        let happens: Vec<bool> = self.executed.iter().map(|literal| is_true(*literal)).collect();
        let pick = |pairs: &FxHashMap<(usize, usize), Lit>| {
            let mut relation = Relation::empty(self.size);
            for ((from, to), literal) in pairs {
                if happens[*from] && happens[*to] && is_true(*literal) {
                    relation.insert(*from, *to);
                }
            }
            relation
        };
        Facts {
            executed: Relation::from_fn(self.size, |a, b| a == b && happens[a]),
            reads_from: pick(&self.reads_from),
            polls_from: pick(&self.polls_from),
            choices: self.choices.iter().map(pick).collect(),
        }
    }
}

/// An assignment of the encoding's variables, as the theory sees it.
pub struct Candidate<'a, F> {
    /// The encoding.
    pub encoding: &'a Encoding,
    /// The assignment.
    pub is_true: F,
}

impl<F: Fn(Lit) -> bool> Literals for Candidate<'_, F> {
    fn executed(&self, event: usize) -> Lit {
        self.encoding.executed[event]
    }

    fn reads_from(&self, write: usize, read: usize) -> Lit {
        self.encoding.reads_from.get(&(write, read)).copied().unwrap_or(Lit::FALSE)
    }

    fn polls_from(&self, completion: usize, poll: usize) -> Lit {
        self.encoding.polls_from.get(&(completion, poll)).copied().unwrap_or(Lit::FALSE)
    }

    fn choice(&self, choice: usize, from: usize, to: usize) -> Lit {
        self.encoding.choices[choice].get(&(from, to)).copied().unwrap_or(Lit::FALSE)
    }

    fn everything(&self) -> Vec<Lit> {
        let encoding = self.encoding;
        let maps = [&encoding.reads_from, &encoding.polls_from];
        let chosen = maps.into_iter().chain(&encoding.choices);
        let chosen = chosen.flat_map(|map| map.values().copied());
        let all = encoding.executed.iter().copied().chain(chosen);
        all.map(|literal| literal.negate_if(!(self.is_true)(literal))).collect()
    }
}

struct Encoder<'a> {
    skeleton: &'a Skeleton,
    cnf: Cnf,
    conditions: Vec<Lit>,
    values: Vec<Domain>,
    reads_from: FxHashMap<(usize, usize), Lit>,
    unanswered: Vec<EventId>,
}

impl Encoder<'_> {
    fn guard(&self, guard: Guard) -> Lit {
        self.conditions[guard.condition].negate_if(guard.negated)
    }

    fn domain(&self, value: ValueId) -> &Domain {
        &self.values[value.0]
    }

    /// The writes that a read may take its value from: all of its location but itself.
    fn writers(&self, read: EventId) -> impl Iterator<Item = EventId> + use<'_> {
        let location = self.skeleton.event(read).location;
        self.skeleton.event_ids().filter(move |write| {
            let event = self.skeleton.event(*write);
            *write != read
                && event.stamp.writes()
                && location.is_some()
                && event.location == location
        })
    }

    /// Which values each expression may take. Values travel along rf, and no value comes out of thin
    /// air, so as many rounds suffice as there are reads.
    fn value_domains(&mut self) -> Result<(), EncodeError> {
        let skeleton = self.skeleton;
        let mut domains: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); skeleton.values.len()];
        let rounds = skeleton.events.iter().filter(|event| event.stamp.reads()).count() + 2;
        for _ in 0..rounds {
            let mut changed = false;
            for (index, value) in skeleton.values.iter().enumerate() {
                let mut possible = BTreeSet::new();
                match value {
                    Value::Constant(constant) => {
                        possible.insert(*constant);
                    }
                    Value::Read(event) => {
                        for writer in self.writers(*event) {
                            if let Some(written) = skeleton.event(writer).written {
                                possible.extend(domains[written.0].iter().copied());
                            }
                        }
                    }
                    Value::Binary(op, left, right) => {
                        let (left, right) = (&domains[left.0], &domains[right.0]);
                        if left.len() * right.len() > DOMAIN_LIMIT * DOMAIN_LIMIT {
                            return Err(EncodeError::TooManyValues);
                        }
                        let pairs = left.iter().flat_map(|l| right.iter().map(move |r| (*l, *r)));
                        possible.extend(pairs.map(|(left, right)| op.apply(left, right)));
                    }
                    Value::Select(_, then, otherwise) => {
                        possible.extend(&domains[then.0]);
                        possible.extend(&domains[otherwise.0]);
                    }
                }
                if possible.len() > DOMAIN_LIMIT {
                    return Err(EncodeError::TooManyValues);
                }
                changed |= possible.len() > domains[index].len();
                domains[index] = possible;
            }
            if !changed {
                break;
            }
        }
        for domain in domains {
            let single = domain.len() == 1;
            let literals: Domain = domain
                .into_iter()
                .map(|value| (value, if single { Lit::TRUE } else { self.cnf.variable() }))
                .collect();
            let only: Vec<Lit> = literals.iter().map(|(_, literal)| *literal).collect();
            self.cnf.at_most_one(&only);
            self.values.push(literals);
        }
        Ok(())
    }

    fn condition_literals(&mut self) {
        for condition in &self.skeleton.conditions {
            let literal = match condition {
                Condition::True => Lit::TRUE,
                Condition::And(left, right) => {
                    let (left, right) = (self.guard(*left), self.guard(*right));
                    self.cnf.and(left, right)
                }
                _ => self.cnf.variable(),
            };
            self.conditions.push(literal);
        }
    }

    fn link_values(&mut self) {
        for (index, value) in self.skeleton.values.iter().enumerate() {
            let result: FxHashMap<u64, Lit> = self.values[index].iter().copied().collect();
            let literal = |value: u64| result.get(&value).copied().unwrap_or(Lit::FALSE);
            match value {
                Value::Constant(_) | Value::Read(_) => {}
                Value::Binary(op, left, right) => {
                    for (x, when_x) in &self.values[left.0] {
                        for (y, when_y) in &self.values[right.0] {
                            self.cnf.implies(&[*when_x, *when_y], &[literal(op.apply(*x, *y))]);
                        }
                    }
                }
                Value::Select(guard, then, otherwise) => {
                    let guard = self.guard(*guard);
                    for (arm, when_arm) in [(then, guard), (otherwise, !guard)] {
                        for (value, when) in &self.values[arm.0] {
                            self.cnf.implies(&[when_arm, *when], &[literal(*value)]);
                        }
                    }
                }
            }
        }
    }

    fn link_conditions(&mut self) {
        for (index, condition) in self.skeleton.conditions.iter().enumerate() {
            let holds = self.conditions[index];
            match condition {
                Condition::NonZero(value) => {
                    for (value, when) in &self.values[value.0] {
                        self.cnf.implies(&[*when], &[holds.negate_if(*value == 0)]);
                    }
                }
                Condition::Equal(left, right) => {
                    for (x, when_x) in &self.values[left.0] {
                        for (y, when_y) in &self.values[right.0] {
                            self.cnf.implies(&[*when_x, *when_y], &[holds.negate_if(x != y)]);
                        }
                    }
                }
                Condition::True | Condition::Choice(_) | Condition::And(..) => {}
            }
        }
    }

    /// Every read that happens takes its value from one write that happens.
    fn reads(&mut self) {
        for read in self.skeleton.event_ids() {
            let event = self.skeleton.event(read);
            let (Some(value), true) = (event.read, event.location.is_some()) else { continue };
            let happens = self.guard(event.guard);
            let writers: Vec<EventId> = self.writers(read).collect();
            let mut options = Vec::new();
            for writer in &writers {
                let write = self.skeleton.event(*writer);
                let Some(written) = write.written else { continue };
                let taken = if writers.len() == 1 { happens } else { self.cnf.variable() };
                let write_happens = self.guard(write.guard);
                self.cnf.implies(&[taken], &[write_happens]);
                self.cnf.implies(&[taken], &[happens]);
                let result: BTreeMap<u64, Lit> = self.domain(value).iter().copied().collect();
                for (value, when) in self.domain(written).clone() {
                    let read = result.get(&value).copied().unwrap_or(Lit::FALSE);
                    self.cnf.implies(&[taken, when], &[read]);
                }
                self.reads_from.insert((writer.0, read.0), taken);
                options.push(taken);
            }
            self.cnf.implies(&[happens], &options);
            self.cnf.at_most_one(&options);
        }
    }

    /// The k-th poll of a node answers for the k-th operation towards it; a poll without one waits for ever.
    fn polls(&mut self) -> FxHashMap<(usize, usize), Lit> {
        let mut polls: BTreeMap<(ThreadId, NodeId), Vec<EventId>> = BTreeMap::new();
        for id in self.skeleton.event_ids() {
            let event = self.skeleton.event(id);
            if let (Stamp::Wait, Some(thread), Some(node)) = (event.stamp, event.thread, event.node)
            {
                polls.entry((thread, node)).or_default().push(id);
            }
        }
        let mut polls_from = FxHashMap::default();
        for ((thread, node), polls) in polls {
            let operations: Vec<_> = self
                .skeleton
                .operations
                .iter()
                .filter(|operation| (operation.thread, operation.node) == (thread, node))
                .collect();
            let operation_guards: Vec<Lit> =
                operations.iter().map(|operation| self.guard(operation.guard)).collect();
            let poll_guards: Vec<Lit> =
                polls.iter().map(|poll| self.guard(self.skeleton.event(*poll).guard)).collect();
            let operation_ranks = self.ranks(&operation_guards);
            let poll_ranks = self.ranks(&poll_guards);
            for (poll, poll_rank) in polls.iter().zip(&poll_ranks) {
                let mut answers = Vec::new();
                for (operation, rank) in operations.iter().zip(&operation_ranks) {
                    let same: Vec<Lit> =
                        rank.iter().zip(poll_rank).map(|(a, b)| self.cnf.and(*a, *b)).collect();
                    let literal = self.cnf.or_all(&same);
                    if literal != Lit::FALSE {
                        polls_from.insert((operation.completion.0, poll.0), literal);
                        answers.push(literal);
                    }
                }
                let happens = self.guard(self.skeleton.event(*poll).guard);
                self.cnf.implies(&[happens], &answers);
                if answers.is_empty() {
                    self.unanswered.push(*poll);
                }
            }
        }
        polls_from
    }

    /// For each of a sequence of things that may happen, literals for "it happens, and k before it do".
    fn ranks(&mut self, happens: &[Lit]) -> Vec<Vec<Lit>> {
        let mut ranks = Vec::new();
        let mut before = vec![Lit::TRUE];
        for literal in happens {
            ranks.push(before.iter().map(|count| self.cnf.and(*count, *literal)).collect());
            let mut after = vec![Lit::FALSE; before.len() + 1];
            for (count, known) in before.iter().enumerate() {
                let same = self.cnf.and(*known, !*literal);
                let more = self.cnf.and(*known, *literal);
                after[count] = self.cnf.or_all(&[after[count], same]);
                after[count + 1] = more;
            }
            before = after;
        }
        ranks
    }

    /// One literal for every two events that an order of the model must decide.
    fn orders(&mut self, plan: &Plan) -> Vec<FxHashMap<(usize, usize), Lit>> {
        let size = plan.size;
        let mut orders = Vec::new();
        for choice in &plan.choices {
            let mut order: FxHashMap<(usize, usize), Lit> = FxHashMap::default();
            for a in 0..size {
                for b in a + 1..size {
                    if !choice.total_on.contains(a, b) && !choice.total_on.contains(b, a) {
                        continue;
                    }
                    let forward =
                        match (choice.extends.contains(a, b), choice.extends.contains(b, a)) {
                            (true, false) => Lit::TRUE,
                            (false, true) => Lit::FALSE,
                            _ => self.cnf.variable(),
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

    fn observable(
        &mut self,
        what: Observed,
        order: Option<&FxHashMap<(usize, usize), Lit>>,
        executed: &[Lit],
    ) -> Result<Domain, EncodeError> {
        match what {
            Observed::Register(register) => {
                Ok(self.domain(self.skeleton.registers[register.0]).clone())
            }
            Observed::Location(location) => self.final_value(location, order, executed),
            // Only libraries have copies, and their calls have no skeleton.
            Observed::Copy(..) => Ok(vec![(0, Lit::TRUE)]),
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
                event.stamp.writes() && event.location == Some(location)
            })
            .collect();
        let mut by_value: BTreeMap<u64, Vec<Lit>> = BTreeMap::new();
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
            for (value, when) in self.domain(written).clone() {
                let literal = self.cnf.and(last, when);
                by_value.entry(value).or_default().push(literal);
            }
        }
        Ok(by_value
            .into_iter()
            .map(|(value, literals)| (value, self.cnf.or_all(&literals)))
            .filter(|(_, literal)| *literal != Lit::FALSE)
            .collect())
    }
}
