//! Encodes values: what each expression may be, which write each read takes, and what follows from both.
//!
//! Values travel along rf. Around a loop of rf they may grow without end (`x := x + 1` in two threads),
//! though no execution goes around it. So the size of domains is limited. If a domain reaches the limit, a
//! literal `other` stands for the values left out. If a consistent execution needs one of these,
//! [`Values::missing`] says which, and the encoding is made again with it.
//!
//! A read that the model calls undefined gives ⊤, which stands for any value. Whatever is computed from ⊤ is
//! ⊤. A condition on ⊤ may be true or false.

mod circles;
mod missing;
mod possible;

use std::collections::{BTreeMap, BTreeSet};

use lang::outcome::Value as Shown;
use rustc_hash::FxHashMap;
use skeleton::{Condition, EventId, Guard, Skeleton, Value, ValueId};

use super::super::cnf::{Cnf, Lit};
use crate::relation::Relation;
use circles::circular;
use possible::{possible_values, possibly_undefined, unread};

/// The possible values of an expression or observable, each with the literal for "it has this value".
#[derive(Clone, Debug, Default)]
pub struct Domain {
    /// The listed values, in increasing order.
    pub values: Vec<(u64, Lit)>,
    /// True iff the value is a number that is not listed.
    pub other: Option<Lit>,
    /// True iff the value is ⊤.
    pub undefined: Option<Lit>,
}

impl Domain {
    /// The number that an assignment chooses, if it is listed.
    fn number(&self, is_true: impl Fn(Lit) -> bool) -> Option<u64> {
        self.values.iter().find(|(_, literal)| is_true(*literal)).map(|(value, _)| *value)
    }

    /// The value that an assignment chooses, if it is listed or ⊤.
    pub fn chosen(&self, is_true: impl Fn(Lit) -> bool) -> Option<Shown> {
        if self.undefined.is_some_and(&is_true) {
            return Some(Shown::Undefined);
        }
        self.number(is_true).map(Shown::of_word)
    }

    /// The literal for "it has this value", if the value is possible.
    pub fn showing(&self, value: Shown) -> Option<Lit> {
        match value.word() {
            Some(word) => self.listed(word),
            None => self.undefined,
        }
    }

    /// The values that are listed, and ⊤ if that is possible, each with its literal.
    pub fn possible(&self) -> Vec<(Shown, Lit)> {
        let listed = self.values.iter().map(|(word, literal)| (Shown::of_word(*word), *literal));
        listed.chain(self.undefined.map(|literal| (Shown::Undefined, literal))).collect()
    }

    /// The assumptions under which it has this value or ⊤, which stands for any. `None` if it can have
    /// neither.
    pub fn covering(&self, value: Shown) -> Option<Vec<Lit>> {
        match (self.showing(value), self.undefined) {
            (None, None) => None,
            (Some(only), None) | (None, Some(only)) => Some(vec![only]),
            (Some(shown), Some(undefined)) => {
                let others = self.literals().into_iter();
                let others = others.filter(|other| *other != shown && *other != undefined);
                Some(others.map(|other| !other).collect())
            }
        }
    }

    /// All literals of the domain. At most one of them is true.
    pub fn literals(&self) -> Vec<Lit> {
        let values = self.values.iter().map(|(_, literal)| *literal);
        values.chain(self.other).chain(self.undefined).collect()
    }

    /// The literal of a value that is listed.
    fn listed(&self, value: u64) -> Option<Lit> {
        let index = self.values.binary_search_by_key(&value, |(known, _)| *known).ok()?;
        Some(self.values[index].1)
    }

    /// The literal for a value: its own, else `other`, else the literal that is never true.
    fn literal(&self, value: u64) -> Lit {
        self.listed(value).or(self.other).unwrap_or(Lit::FALSE)
    }
}

/// Values that expressions have in some execution and that their domains lacked.
pub type Extra = BTreeMap<ValueId, BTreeSet<u64>>;

/// Domains, conditions and rf.
#[derive(Clone, Debug)]
pub struct Values {
    /// The domain of each expression.
    pub domains: Vec<Domain>,
    /// The literal of each condition.
    conditions: Vec<Lit>,
    /// The literal of each pair of a write and a read.
    pub reads_from: FxHashMap<(usize, usize), Lit>,
    /// True iff some value is not listed.
    pub other: Lit,
    /// By event: true iff the read gives ⊤.
    pub undefined_reads: Vec<Lit>,
    /// By expression: some choice of rf may make it depend on itself.
    may_circle: Vec<bool>,
}

impl Values {
    /// Encodes a skeleton's values. `may_be_undefined` has the reads that may give ⊤, as an identity
    /// relation.
    pub fn new(
        skeleton: &Skeleton,
        extra: &Extra,
        may_be_undefined: &Relation,
        cnf: &mut Cnf,
    ) -> Self {
        let (possible, is_cut) = possible_values(skeleton, extra);
        let may_be_undefined = |id: usize| may_be_undefined.contains(id, id);
        let undefined = possibly_undefined(skeleton, may_be_undefined);
        let mut values = Self {
            domains: Vec::new(),
            conditions: Vec::new(),
            reads_from: FxHashMap::default(),
            other: Lit::FALSE,
            undefined_reads: Vec::new(),
            may_circle: circular(skeleton),
        };
        for ((domain, is_cut), may_be_undefined) in possible.into_iter().zip(is_cut).zip(undefined)
        {
            let is_single = domain.len() == 1 && !is_cut && !may_be_undefined;
            let mut literal = || if is_single { Lit::TRUE } else { cnf.variable() };
            let domain = Domain {
                values: domain.into_iter().map(|value| (value, literal())).collect(),
                other: is_cut.then(&mut literal),
                undefined: may_be_undefined.then(&mut literal),
            };
            cnf.at_most_one(&domain.literals());
            values.domains.push(domain);
        }
        let others: Vec<Lit> = values.domains.iter().filter_map(|domain| domain.other).collect();
        values.other = cnf.or_all(&others);
        values.undefined_reads = skeleton
            .event_ids()
            .map(|id| if may_be_undefined(id.0) { cnf.variable() } else { Lit::FALSE })
            .collect();
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
                    let undefined: Vec<Lit> =
                        left.undefined.into_iter().chain(right.undefined).collect();
                    for other in left.other.iter().chain(&right.other) {
                        let then = undefined.iter().copied().chain(result.other);
                        cnf.implies(&[*other], &then.collect::<Vec<_>>());
                    }
                    for undefined in undefined {
                        cnf.implies(&[undefined], &[result.undefined.unwrap_or(Lit::FALSE)]);
                    }
                }
                Value::Select(guard, then, otherwise) => {
                    let guard = self.guard(*guard);
                    for (arm, when_arm) in [(then, guard), (otherwise, !guard)] {
                        self.copy(cnf, &[when_arm], self.domain(*arm), result);
                    }
                }
            }
        }
    }

    /// Encodes: if all of `when` hold, `to` has the value of `from`.
    fn copy(&self, cnf: &mut Cnf, when: &[Lit], from: &Domain, to: &Domain) {
        let mut copy = |from: Lit, to: Lit| cnf.implies(&[when, &[from]].concat(), &[to]);
        for (value, literal) in &from.values {
            copy(*literal, to.literal(*value));
        }
        if let Some(other) = from.other {
            copy(other, to.other.unwrap_or(Lit::FALSE));
        }
        if let Some(undefined) = from.undefined {
            copy(undefined, to.undefined.unwrap_or(Lit::FALSE));
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
                Condition::True
                | Condition::Choice(_)
                | Condition::Switch(_)
                | Condition::And(..) => {}
            }
        }
    }

    /// Encodes: every read that happens takes its value from exactly one write that happens.
    fn link_reads(&mut self, skeleton: &Skeleton, cnf: &mut Cnf) {
        for read in skeleton.event_ids() {
            let event = skeleton.event(read);
            let (Some(value), true) = (event.read, event.location.is_some()) else { continue };
            let happens = self.guard(event.guard);
            let undefined = self.undefined_reads[read.0];
            cnf.implies(&[undefined], &[happens]);
            if undefined != Lit::FALSE {
                cnf.implies(&[undefined], &[self.domain(value).undefined.unwrap_or(Lit::FALSE)]);
            }
            let writers: Vec<EventId> = writers(skeleton, read).collect();
            let mut options = Vec::new();
            for writer in &writers {
                let write = skeleton.event(*writer);
                let Some(written) = write.written else { continue };
                let own_value = (happens == Lit::TRUE && undefined == Lit::FALSE)
                    .then(|| self.own_value(skeleton, *writer, &writers))
                    .flatten()
                    .and_then(|own| self.domain(value).listed(own));
                let taken = match own_value {
                    _ if writers.len() == 1 => happens,
                    Some(shown) => shown,
                    None => cnf.variable(),
                };
                cnf.implies(&[taken], &[self.guard(write.guard)]);
                cnf.implies(&[taken], &[happens]);
                self.copy(cnf, &[taken, !undefined], self.domain(written), self.domain(value));
                self.reads_from.insert((writer.0, read.0), taken);
                options.push(taken);
            }
            cnf.implies(&[happens], &options);
            cnf.at_most_one(&options);
            // A read may depend on itself, and then nothing else gives it a value. This clause does.
            cnf.implies(&[happens], &self.domain(value).literals());
            // A read that does not happen gets some value, so that expressions over it have one too. It is
            // listed: what no domain lists is not looked for if nothing needs it.
            let domain = self.domain(value);
            let some = unread(skeleton, value).and_then(|value| domain.listed(value));
            if let Some(some) = some.or(domain.values.first().map(|(_, first)| *first)) {
                cnf.implies(&[!happens], &[some]);
            }
        }
    }

    /// The only value that a write may write, if none of the others may write it: who reads that value reads
    /// from this write.
    fn own_value(&self, skeleton: &Skeleton, writer: EventId, writers: &[EventId]) -> Option<u64> {
        let domain = |writer: &EventId| Some(self.domain(skeleton.event(*writer).written?));
        let written = domain(&writer)?;
        let own = match (&*written.values, written.other, written.undefined) {
            ([(value, Lit::TRUE)], None, None) => *value,
            _ => return None,
        };
        let writes_it = |other: &&EventId| {
            domain(other).is_some_and(|domain| domain.literal(own) != Lit::FALSE)
        };
        let is_other = |other: &&EventId| **other != writer;
        writers.iter().filter(is_other).find(writes_it).is_none().then_some(own)
    }

    /// The conditions on ⊤ in an assignment, each with the result that the assignment guesses.
    pub fn guesses(
        &self,
        skeleton: &Skeleton,
        is_true: &dyn Fn(Lit) -> bool,
    ) -> Vec<(usize, bool)> {
        let undefined = |id: &ValueId| self.domain(*id).undefined.is_some_and(is_true);
        let hangs = |condition: &Condition| match condition {
            Condition::NonZero(value) => undefined(value),
            Condition::Equal(left, right) => undefined(left) || undefined(right),
            Condition::True | Condition::Choice(_) | Condition::Switch(_) | Condition::And(..) => {
                false
            }
        };
        let conditions = skeleton.conditions.iter().enumerate();
        let guessed = conditions.filter(|(_, condition)| hangs(condition));
        guessed.map(|(index, _)| (index, is_true(self.conditions[index]))).collect()
    }

    /// The literals that distinguish assignments with ⊤: which reads give ⊤, and what is guessed about it.
    pub fn undefined(&self) -> impl Iterator<Item = Lit> + use<'_> {
        let reads = self.undefined_reads.iter().filter(|literal| **literal != Lit::FALSE);
        let conditions = if self.undefined_reads.iter().all(|literal| *literal == Lit::FALSE) {
            &[][..]
        } else {
            &self.conditions[..]
        };
        reads.chain(conditions).copied()
    }

    /// The operands of an expression in an assignment, each with the literal that selects it.
    fn selected(
        &self,
        skeleton: &Skeleton,
        id: ValueId,
        is_true: &dyn Fn(Lit) -> bool,
    ) -> Vec<(ValueId, Lit)> {
        match &skeleton.values[id.0] {
            Value::Constant(_) => Vec::new(),
            Value::Read(read) if is_true(self.undefined_reads[read.0]) => Vec::new(),
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
}

/// The writes that a read may take its value from: all writes of its location except the read's own event.
fn writers(skeleton: &Skeleton, read: EventId) -> impl Iterator<Item = EventId> + use<'_> {
    let location = skeleton.event(read).location;
    skeleton.event_ids().filter(move |write| {
        let event = skeleton.event(*write);
        *write != read && event.writes() && location.is_some() && event.location == location
    })
}
