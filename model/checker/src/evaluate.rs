//! Evaluates the model language over sets of events and sets of pairs.

use std::collections::{BTreeMap, BTreeSet};

use lang::cat::model::{
    Base, Cell, DefinitionId, DefinitionKind, Expr, Model, RecBody, Table, Type,
};
use lang::limits;
use skeleton::{Event, Skeleton, Stamp};

use skeleton::execution::Execution;

/// A relation as its pairs.
pub type Pairs = BTreeSet<(usize, usize)>;

/// A set or a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A set of events.
    Set(BTreeSet<usize>),
    /// A relation between events.
    Relation(Pairs),
}

/// The values of a model's definitions in one execution.
pub struct Evaluator<'a> {
    skeleton: &'a Skeleton,
    execution: &'a Execution,
    events: BTreeSet<usize>,
    definitions: Vec<Vec<Value>>,
    until_cycles: bool,
}

impl<'a> Evaluator<'a> {
    /// Evaluates all definitions of a model.
    pub fn new(skeleton: &'a Skeleton, model: &Model, execution: &'a Execution) -> Self {
        Self::evaluate(skeleton, model, execution, false)
    }

    /// Like [`Self::new`], but a recursive relation stops growing when one of its group has a cycle. What
    /// follows from a cycle does not help to explain it.
    pub fn until_cycles(skeleton: &'a Skeleton, model: &Model, execution: &'a Execution) -> Self {
        Self::evaluate(skeleton, model, execution, true)
    }

    fn evaluate(
        skeleton: &'a Skeleton,
        model: &Model,
        execution: &'a Execution,
        until_cycles: bool,
    ) -> Self {
        let events = execution.events.iter().map(|happening| happening.event.0).collect();
        let definitions = Vec::new();
        let mut evaluator = Self { skeleton, execution, events, definitions, until_cycles };
        for definition in &model.definitions {
            let values = match &definition.kind {
                DefinitionKind::Let { body, .. } => vec![evaluator.value(body)],
                DefinitionKind::Table(table) => {
                    vec![Value::Relation(evaluator.cells(table).into_keys().collect())]
                }
                DefinitionKind::Choice { name, .. } => vec![Value::Relation(evaluator.order(name))],
                DefinitionKind::Rec(bodies) => evaluator.fixpoint(bodies),
            };
            evaluator.definitions.push(values);
        }
        evaluator
    }

    /// The pairs of a chosen order, as the execution has them.
    fn order(&self, name: &str) -> Pairs {
        let order = self.execution.orders.iter().find(|(known, _)| known == name);
        order.map(|(_, pairs)| pairs.iter().map(|(a, b)| (a.0, b.0)).collect()).unwrap_or_default()
    }

    fn fixpoint(&mut self, bodies: &[RecBody]) -> Vec<Value> {
        let empty = |body: &RecBody| match body.ty {
            Type::Set => Value::Set(BTreeSet::new()),
            Type::Relation => Value::Relation(Pairs::new()),
        };
        self.definitions.push(bodies.iter().map(empty).collect());
        let group = self.definitions.len() - 1;
        loop {
            let next: Vec<Value> = bodies.iter().map(|body| self.value(&body.body)).collect();
            if next == self.definitions[group] {
                break;
            }
            let has_cycle = |value: &Value| match value {
                Value::Relation(pairs) => pairs.iter().any(|(a, b)| a == b),
                Value::Set(_) => false,
            };
            let stops = self.until_cycles && next.iter().any(has_cycle);
            self.definitions[group] = next;
            if stops {
                break;
            }
        }
        self.definitions.pop().unwrap_or_default()
    }

    /// For each pair of events, the table cell that orders it, as row and column.
    pub fn cells(&self, table: &Table) -> BTreeMap<(usize, usize), (usize, usize)> {
        let on = self.pairs(&table.on);
        let letters: Vec<Pairs> =
            table.letters.iter().map(|(_, relation)| self.pairs(relation)).collect();
        let columns: Vec<BTreeSet<usize>> =
            table.columns.iter().map(|(_, set)| self.set(set)).collect();
        let mut ordered = BTreeMap::new();
        for (row, (_, set, cells)) in table.rows.iter().enumerate() {
            let set = self.set(set);
            for pair in on.iter().filter(|(from, _)| set.contains(from)) {
                let column = columns.iter().zip(cells).position(|(column, cell)| {
                    let holds = match cell {
                        Cell::Unordered => false,
                        Cell::Ordered => true,
                        Cell::Where(letter) => letters[*letter].contains(pair),
                    };
                    holds && column.contains(&pair.1)
                });
                if let Some(column) = column {
                    ordered.entry(*pair).or_insert((row, column));
                }
            }
        }
        ordered
    }

    /// The value of a set expression. Empty if it is a relation.
    pub fn set(&self, expr: &Expr) -> BTreeSet<usize> {
        match self.value(expr) {
            Value::Set(set) => set,
            Value::Relation(_) => BTreeSet::new(),
        }
    }

    /// The value of a relation expression. Empty if it is a set.
    pub fn pairs(&self, expr: &Expr) -> Pairs {
        match self.value(expr) {
            Value::Relation(pairs) => pairs,
            Value::Set(_) => Pairs::new(),
        }
    }

    /// The value of a definition.
    pub fn defined(&self, id: DefinitionId) -> &Value {
        &self.definitions[id.definition][id.body]
    }

    /// The value of any expression.
    pub fn value(&self, expr: &Expr) -> Value {
        limits::look();
        let relation = |pairs: Pairs| Value::Relation(pairs);
        match expr {
            Expr::Base(base) => self.base(*base),
            Expr::Defined(id) => self.defined(*id).clone(),
            Expr::Empty => relation(Pairs::new()),
            Expr::Universe => Value::Set(self.events.clone()),
            Expr::Union(a, b) => self.both(a, b, |x, y| &x | &y, |x, y| &x | &y),
            Expr::Intersection(a, b) => self.both(a, b, |x, y| &x & &y, |x, y| &x & &y),
            Expr::Difference(a, b) => self.both(a, b, |x, y| &x - &y, |x, y| &x - &y),
            Expr::Complement(Type::Set, a) => Value::Set(&self.events - &self.set(a)),
            Expr::Complement(Type::Relation, a) => {
                relation(&self.product(&self.events, &self.events) - &self.pairs(a))
            }
            Expr::Product(a, b) => relation(self.product(&self.set(a), &self.set(b))),
            Expr::Identity(a) => {
                relation(self.set(a).into_iter().map(|event| (event, event)).collect())
            }
            Expr::Sequence(a, b) => relation(sequence(&self.pairs(a), &self.pairs(b))),
            Expr::Inverse(a) => relation(self.pairs(a).into_iter().map(|(a, b)| (b, a)).collect()),
            Expr::Plus(a) => relation(closure(&self.pairs(a))),
            Expr::Star(a) => relation(&closure(&self.pairs(a)) | &self.identity()),
            Expr::Optional(a) => relation(&self.pairs(a) | &self.identity()),
            Expr::Domain(a) => Value::Set(self.pairs(a).into_iter().map(|(a, _)| a).collect()),
            Expr::Range(a) => Value::Set(self.pairs(a).into_iter().map(|(_, b)| b).collect()),
        }
    }

    /// Applies an operator to two sets or two relations. `0` is a value of either type.
    fn both(
        &self,
        a: &Expr,
        b: &Expr,
        sets: impl Fn(BTreeSet<usize>, BTreeSet<usize>) -> BTreeSet<usize>,
        relations: impl Fn(Pairs, Pairs) -> Pairs,
    ) -> Value {
        match (self.value(a), self.value(b)) {
            (Value::Set(a), Value::Set(b)) => Value::Set(sets(a, b)),
            (Value::Relation(a), Value::Relation(b)) => Value::Relation(relations(a, b)),
            (Value::Set(a), Value::Relation(_)) => Value::Set(sets(a, BTreeSet::new())),
            (Value::Relation(_), Value::Set(b)) => Value::Set(sets(BTreeSet::new(), b)),
        }
    }

    fn identity(&self) -> Pairs {
        self.events.iter().map(|event| (*event, *event)).collect()
    }

    fn product(&self, from: &BTreeSet<usize>, to: &BTreeSet<usize>) -> Pairs {
        from.iter().flat_map(|a| to.iter().map(move |b| (*a, *b))).collect()
    }

    fn where_event(&self, holds: impl Fn(&Event) -> bool) -> Value {
        let events = self.events.iter().copied();
        Value::Set(events.filter(|event| holds(&self.skeleton.events[*event])).collect())
    }

    fn where_pair(&self, holds: impl Fn(&Event, &Event) -> bool) -> Value {
        let events = &self.skeleton.events;
        let all = self.product(&self.events, &self.events).into_iter();
        let related = |(a, b): &(usize, usize)| {
            limits::look();
            holds(&events[*a], &events[*b])
        };
        Value::Relation(all.filter(related).collect())
    }

    fn base(&self, base: Base) -> Value {
        let stamp = |stamp: Stamp| self.where_event(|event| event.stamp == stamp);
        let given = |pairs: &[(skeleton::EventId, skeleton::EventId)]| {
            Value::Relation(pairs.iter().map(|(a, b)| (a.0, b.0)).collect())
        };
        let of_thread = |a: &Event, b: &Event| a.thread.is_some() && a.thread == b.thread;
        match base {
            Base::Reads => self.where_event(Event::reads),
            Base::Writes => self.where_event(Event::writes),
            Base::Memory => self.where_event(|event| event.reads() || event.writes()),
            Base::InitialWrites => stamp(Stamp::Init),
            Base::CpuRead => stamp(Stamp::CpuRead),
            Base::CpuWrite => stamp(Stamp::CpuWrite),
            Base::CpuRmw => stamp(Stamp::CpuRmw),
            Base::Fence => stamp(Stamp::Fence),
            Base::Wait => stamp(Stamp::Wait),
            Base::NicLocalRead => stamp(Stamp::NicLocalRead),
            Base::NicRemoteWrite => stamp(Stamp::NicRemoteWrite),
            Base::NicRemoteCompletion => stamp(Stamp::NicRemoteCompletion),
            Base::NicAtomicWrite => stamp(Stamp::NicAtomicWrite),
            Base::NicFlush => stamp(Stamp::NicFlush),
            Base::NicPersist => stamp(Stamp::NicPersist),
            Base::Recovery => stamp(Stamp::Recovery),
            Base::ReceivePosted => stamp(Stamp::ReceivePosted),
            Base::Posted => stamp(Stamp::Posted),
            Base::NicAtomicRead => stamp(Stamp::NicAtomicRead),
            Base::NicRemoteRead => stamp(Stamp::NicRemoteRead),
            Base::NicLocalWrite => stamp(Stamp::NicLocalWrite),
            Base::RemoteFence => stamp(Stamp::RemoteFence),
            Base::GlobalFence => stamp(Stamp::GlobalFence),
            Base::NicFetchOp => stamp(Stamp::NicFetchOp),
            Base::NicCompareSwap => stamp(Stamp::NicCompareSwap),
            Base::Flush => stamp(Stamp::Flush),
            Base::Atomic => self
                .where_event(|event| event.atomic && (event.stamp.reads() || event.stamp.writes())),
            Base::Loopback => self.where_event(|event| event.loopback),
            Base::Identity => Value::Relation(self.identity()),
            Base::ProgramOrder => {
                let all = self.product(&self.events, &self.events).into_iter();
                let events = &self.skeleton.events;
                let is_ordered = |a: &Event, b: &Event| {
                    of_thread(a, b) && (a.operation != b.operation || a.word == b.word)
                };
                let ordered = all.filter(|(a, b)| a < b && is_ordered(&events[*a], &events[*b]));
                Value::Relation(ordered.collect())
            }
            Base::SameLocation => {
                self.where_pair(|a, b| a.location.is_some() && a.location == b.location)
            }
            Base::SameThread => self.where_pair(of_thread),
            Base::OtherThread => self.where_pair(|a, b| !of_thread(a, b)),
            Base::ReadsFrom => given(&self.execution.reads_from),
            Base::PollsFrom => given(&self.execution.polls_from),
            Base::Rmw => self.where_pair(|a, b| {
                a.operation == b.operation
                    && a.stamp == Stamp::NicAtomicRead
                    && b.stamp == Stamp::NicRemoteWrite
            }),
            Base::SameOperation => self.where_pair(|a, b| a.operation == b.operation),
            Base::Library(number) => {
                self.where_event(|event| event.origin.libraries & (1 << number) != 0)
            }
            Base::Method(library, number) => {
                self.where_event(|event| event.origin.method == Some((library, number)))
            }
            Base::SameObject => self.where_pair(|a, b| {
                a.origin.object.is_some()
                    && a.origin.object == b.origin.object
                    && a.origin.libraries == b.origin.libraries
            }),
            Base::SameReceive => {
                self.where_pair(|a, b| a.receive.is_some() && a.receive == b.receive)
            }
            Base::SameNode => self.where_pair(|a, b| a.node.is_some() && a.node == b.node),
            Base::SameQueuePair => self.where_pair(|a, b| {
                let is_same = (a.node, a.queue_pair) == (b.node, b.queue_pair);
                a.owner.is_some() && a.node.is_some() && a.owner == b.owner && is_same
            }),
            Base::SameId => self.where_pair(|a, b| {
                let is_wait = |event: &Event| event.stamp == Stamp::Wait;
                of_thread(a, b) && a.id.is_some() && a.id == b.id && !is_wait(a) && is_wait(b)
            }),
        }
    }
}

/// `r ; s`.
fn sequence(left: &Pairs, right: &Pairs) -> Pairs {
    let after = |middle: usize| {
        limits::look();
        right.range((middle, 0)..=(middle, usize::MAX))
    };
    left.iter().flat_map(|(a, m)| after(*m).map(move |(_, b)| (*a, *b))).collect()
}

/// `r+`.
pub fn closure(pairs: &Pairs) -> Pairs {
    let mut result = pairs.clone();
    loop {
        let grown: Pairs = &result | &sequence(&result, pairs);
        if grown == result {
            return result;
        }
        result = grown;
    }
}
