//! Finds what carries over from consistent executions to their prefixes ([`Skeleton::prefixes`]).
//!
//! A prefix is an execution without some of its events. It keeps the writes that its reads take, the
//! operations that its polls answer, and, for each thread, everything that the thread does in order up to
//! some point. An axiom that holds in the whole execution holds in the prefix if its relation has no
//! additional edges there. [`Shape::grows`] says for which expressions this is known.
//!
//! Such a prefix, up to the first moment at which something happens, exists only if no event depends on
//! events that happen only because of it. [`Shape::causes`] says whether that is known.

use std::collections::BTreeSet;

use lang::cat::model::{AxiomKind, Model, Type};
use skeleton::{Event, Skeleton, Stamp, Value};

use super::plan::{NodeIndex, Op, Plan, base, bounds};
use crate::relation::Relation;

/// What is known about the nodes of a plan.
pub struct Shape<'a> {
    plan: &'a Plan,
    skeleton: &'a Skeleton,
    /// By node: a superset of what the node relates in any execution.
    at_most: Vec<Relation>,
    /// By node: true if more events never remove a pair of the events that were there before.
    grows: Vec<bool>,
    /// By node: true if the node relates the events of a prefix exactly as it does in the whole execution.
    is_stable: Vec<bool>,
    is_set: Vec<bool>,
    computed: Relation,
}

impl<'a> Shape<'a> {
    /// Analyses the nodes of a plan.
    pub fn new(plan: &'a Plan, skeleton: &'a Skeleton) -> Self {
        let count = plan.nodes.len();
        let mut shape = Self {
            plan,
            skeleton,
            at_most: bounds::at_most(plan, skeleton, |_| true),
            grows: vec![true; count],
            is_stable: vec![false; count],
            is_set: vec![false; count],
            computed: computed(skeleton),
        };
        for node in 0..count {
            shape.is_set[node] = shape.set(node);
        }
        // A recursive name grows if every body of its group grows under the assumption that the name does.
        loop {
            for node in 0..count {
                shape.grows[node] &= shape.growing(node);
                shape.is_stable[node] = shape.stable(node);
            }
            let stuck =
                |(name, body): &&(NodeIndex, NodeIndex)| shape.grows[*name] && !shape.grows[*body];
            let bodies = plan.groups.iter().flat_map(|group| &group.bodies);
            let shrinking: Vec<NodeIndex> = bodies.filter(stuck).map(|(name, _)| *name).collect();
            if shrinking.is_empty() {
                return shape;
            }
            shrinking.into_iter().for_each(|name| shape.grows[name] = false);
        }
    }

    /// Whether the node relates no additional events in a prefix.
    pub fn grows(&self, node: NodeIndex) -> bool {
        self.grows[node]
    }

    fn set(&self, node: NodeIndex) -> bool {
        match &self.plan.nodes[node].op {
            Op::Constant(_) => self.at_most[node].is_within(&Relation::identity(self.plan.size)),
            Op::Empty | Op::Complement(Type::Set, _) => true,
            Op::Domain(_) | Op::Range(_) => true,
            Op::Union(all) => all.iter().all(|operand| self.is_set[*operand]),
            Op::Intersection(a, b) => self.is_set[*a] || self.is_set[*b],
            Op::Difference(a, _) | Op::Inverse(a) | Op::Plus(a) => self.is_set[*a],
            Op::Sequence(a, b) => self.is_set[*a] && self.is_set[*b],
            _ => false,
        }
    }

    fn growing(&self, node: NodeIndex) -> bool {
        let op = &self.plan.nodes[node].op;
        match op {
            Op::Recursive(_) => self.grows[node],
            Op::Difference(a, b) => self.grows[*a] && self.is_stable[*b],
            Op::Complement(_, a) => self.is_stable[*a],
            _ => op.operands().all(|operand| self.grows[operand]),
        }
    }

    fn stable(&self, node: NodeIndex) -> bool {
        let stable = |node: &NodeIndex| self.is_stable[*node];
        let op = &self.plan.nodes[node].op;
        match op {
            Op::Recursive(_) | Op::Plus(_) => false,
            Op::Difference(a, b) => stable(a) && self.grows[*b],
            Op::Complement(_, a) => self.grows[*a],
            Op::Sequence(a, b) => stable(a) && stable(b) && self.stays_between(*a, *b),
            Op::Domain(a) => stable(a) && self.keeps_partners(*a, |from, to| (to, from)),
            Op::Range(a) => {
                let is_choice = matches!(self.plan.nodes[*a].op, Op::ReadsFrom | Op::PollsFrom);
                stable(a) && (is_choice || self.keeps_partners(*a, |from, to| (from, to)))
            }
            _ => op.operands().all(|operand| stable(&operand)),
        }
    }

    /// Whether the middle event of a composition of two relations is always in the prefix too.
    fn stays_between(&self, a: NodeIndex, b: NodeIndex) -> bool {
        let is = |node: NodeIndex, op: Op| self.plan.nodes[node].op == op;
        let is_inverse = |node: NodeIndex| match self.plan.nodes[node].op {
            Op::Inverse(inner) => is(inner, Op::ReadsFrom) || is(inner, Op::PollsFrom),
            _ => false,
        };
        if self.is_set[a]
            || self.is_set[b]
            || is_inverse(a)
            || is(b, Op::ReadsFrom)
            || is(b, Op::PollsFrom)
        {
            return true;
        }
        let (first, second) = (&self.at_most[a], &self.at_most[b]);
        first.pairs().all(|(from, middle)| {
            let mut ends = second.successors(middle);
            self.comes_with(middle, from) || ends.all(|to| self.comes_with(middle, to))
        })
    }

    /// Whether the event that puts another event into a domain or range is always in the prefix too.
    fn keeps_partners(&self, of: NodeIndex, order: fn(usize, usize) -> (usize, usize)) -> bool {
        self.at_most[of].pairs().all(|(from, to)| {
            let (partner, event) = order(from, to);
            self.comes_with(partner, event)
        })
    }

    /// Whether every prefix with `event` also has `partner`, if that event happens.
    fn comes_with(&self, partner: usize, event: usize) -> bool {
        let (one, other) = (&self.skeleton.events[partner], &self.skeleton.events[event]);
        let in_turn = one.stamp.is_in_turn() && one.thread == other.thread && partner <= event;
        let is_source = self.computed.contains(partner, event);
        partner == event || one.thread.is_none() || in_turn || is_source
    }

    /// Looks for an order of the events of every consistent execution in which each event comes after those
    /// that it depends on. An event depends on its thread's earlier reads and polls, on what it is computed
    /// from, and on what it reads or answers for. If there is such an order, returns the pairs for which
    /// every prefix with the second event also has the first, if that one happens.
    pub fn causes(&self, model: &Model) -> Option<Relation> {
        let orders: Vec<Order> = model
            .axioms
            .iter()
            .zip(&self.plan.axioms)
            .filter(|(axiom, node)| match axiom.kind {
                AxiomKind::Acyclic => true,
                AxiomKind::Irreflexive => self.is_transitive(**node),
                AxiomKind::Empty => false,
            })
            .map(|(_, node)| self.order(*node))
            .collect();
        let suffices = |order: &Order, turns| self.suffices(order, &orders, &self.needed(turns));
        // An axiom that orders everything a thread does in order is an order in time: a prefix ends at some
        // point of it.
        if let Some(order) = orders.iter().find(|order| suffices(order, Turns::All)) {
            return Some(order.fixed.clone());
        }
        // Where it orders only what writes depend on, a prefix may have a later event of a thread without an
        // earlier one: there is an order, and no pair of which a prefix with the second has the first.
        let is_causal = orders.iter().any(|order| suffices(order, Turns::ToWrites));
        is_causal.then(|| Relation::empty(self.plan.size))
    }

    fn is_transitive(&self, node: NodeIndex) -> bool {
        let is_plus = |node: NodeIndex| matches!(self.plan.nodes[node].op, Op::Plus(_));
        is_plus(node) || self.plan.body(node).is_some_and(is_plus)
    }

    /// Whether an order has each event after what it depends on: what it reads, what it answers for, and
    /// `needed`. `all` are the orders of all axioms.
    fn suffices(&self, order: &Order, all: &[Order], needed: &Relation) -> bool {
        let holds = |needed: &Relation, order: &Relation| {
            let mut missing = needed.clone();
            missing.subtract(order);
            missing.is_empty()
        };
        let reads = base::reads_from(self.skeleton);
        let reads = reads.pairs().all(|(write, read)| {
            let (w, r) = (&self.skeleton.events[write], &self.skeleton.events[read]);
            let own = w.thread == r.thread && w.stamp.is_in_turn() && r.stamp.is_in_turn();
            let is_initial = w.thread.is_none();
            // Within a thread, program order has an earlier write first.
            let is_earlier = own && write < read;
            // And a later write is never read, if that would be a cycle of some axiom.
            let is_never = || {
                own && all.iter().any(|other| {
                    other.reads_from.contains(write, read) && other.fixed.contains(read, write)
                })
            };
            is_initial || order.reads_from.contains(write, read) || is_earlier || is_never()
        });
        let polls = order.polls_from
            || self.polls().iter().all(|(from, poll)| order.fixed.contains(*from, *poll));
        reads && polls && holds(needed, &order.fixed)
    }

    /// Pairs of a poll and a write that it may answer for. Waits by id are not included: they may answer for
    /// later writes.
    fn polls(&self) -> Vec<(usize, usize)> {
        let events = || self.skeleton.events.iter().enumerate();
        let polls = events().filter(|(_, e)| !e.polls.is_empty());
        let answered = |(poll, entry): (usize, &'a Event)| {
            let is_earlier = move |from: usize, e: &Event| from < poll || e.thread != entry.thread;
            let same = move |e: &Event| e.on().is_some_and(|on| entry.polls.contains(&on));
            let from = events().filter(move |(at, e)| is_earlier(*at, e) && same(e) && e.writes());
            from.map(move |(from, _)| (from, poll))
        };
        polls.flat_map(answered).collect()
    }

    /// The events that an event depends on, except by rf and pf.
    fn needed(&self, turns: Turns) -> Relation {
        let events = &self.skeleton.events;
        let mut needed = Relation::from_fn(events.len(), |a, b| {
            let (one, other) = (&events[a], &events[b]);
            let is_asked = match turns {
                Turns::All => true,
                Turns::ToWrites => (one.reads() || one.stamp == Stamp::Wait) && other.writes(),
            };
            let is_later = a < b && one.thread.is_some() && one.thread == other.thread;
            is_later && one.stamp.is_in_turn() && is_asked
        });
        needed.unite(&self.computed);
        needed
    }

    /// The pairs of a relation whose second event happens whenever the first does.
    fn with_partners(&self, relation: &Relation) -> Relation {
        let guard = |event: usize| self.skeleton.events[event].guard;
        let mut certain = Relation::empty(self.plan.size);
        for (event, partner) in relation.pairs() {
            if self.skeleton.implies(guard(event), guard(partner)) {
                certain.insert(event, event);
            }
        }
        certain
    }

    /// What an axiom's relation contains in every consistent execution.
    fn order(&self, axiom: NodeIndex) -> Order {
        let size = self.plan.size;
        let empty = || Relation::empty(size);
        let mut order = Order { fixed: empty(), reads_from: empty(), polls_from: false };
        let (mut open, mut seen) = (vec![axiom], BTreeSet::new());
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            match &self.plan.nodes[node].op {
                Op::Plus(inner) => open.push(*inner),
                Op::Union(all) => open.extend(all),
                Op::Recursive(_) => open.extend(self.plan.body(node)),
                Op::PollsFrom => order.polls_from = true,
                _ => {
                    order.fixed.unite(&self.kept(node, false));
                    order.reads_from.unite(&self.kept(node, true));
                }
            }
        }
        order
    }

    /// The pairs that a node relates whenever both events happen; with `reads`, whenever also rf relates
    /// them.
    fn kept(&self, node: NodeIndex, reads: bool) -> Relation {
        let kept = |node: &NodeIndex| self.kept(*node, reads);
        if let Some(constant) = self.plan.constant(node) {
            return constant.clone();
        }
        match &self.plan.nodes[node].op {
            Op::ReadsFrom if reads => base::reads_from(self.skeleton),
            Op::Union(all) => {
                let mut union = Relation::empty(self.plan.size);
                all.iter().for_each(|operand| union.unite(&kept(operand)));
                union
            }
            Op::Difference(a, b) => {
                let mut left = kept(a);
                left.subtract(&self.at_most[*b]);
                left
            }
            Op::Intersection(a, b) => {
                let mut both = kept(a);
                both.intersect(&kept(b));
                both
            }
            Op::Complement(ty, inner) => {
                let mut left = match ty {
                    Type::Set => Relation::identity(self.plan.size),
                    Type::Relation => Relation::full(self.plan.size),
                };
                left.subtract(&self.at_most[*inner]);
                left
            }
            Op::Product(a, b) => {
                let mut product = Relation::default();
                product.set_product(&kept(a), &kept(b));
                product
            }
            Op::Domain(inner) => self.with_partners(&self.kept(*inner, false)),
            Op::Range(inner) => self.with_partners(&self.kept(*inner, false).inverse()),
            // With a set on one side, there is no middle event that might be missing.
            Op::Sequence(a, b) if self.is_set[*a] || self.is_set[*b] => kept(a).then(&kept(b)),
            _ => Relation::empty(self.plan.size),
        }
    }
}

/// Pairs of a read by the NIC and a write of the same operation that is computed from it or happens because
/// of it.
fn computed(skeleton: &Skeleton) -> Relation {
    let mut computed = Relation::empty(skeleton.events.len());
    for (event, entry) in skeleton.events.iter().enumerate() {
        let mut open: Vec<_> = entry.written.into_iter().collect();
        open.extend(skeleton.values_behind(entry.guard));
        let mut seen = BTreeSet::new();
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            match &skeleton.values[value.0] {
                Value::Constant(_) => {}
                Value::Read(read) if read.0 != event => computed.insert(read.0, event),
                Value::Read(_) => {}
                Value::Binary(_, left, right) => open.extend([*left, *right]),
                Value::Select(guard, then, otherwise) => {
                    open.extend([*then, *otherwise]);
                    open.extend(skeleton.values_behind(*guard));
                }
            }
        }
    }
    computed
}

/// Which pairs of one thread's events an order must contain.
#[derive(Clone, Copy)]
enum Turns {
    /// Everything that the thread does in order before everything later.
    All,
    /// The thread's reads and waits before its later writes.
    ToWrites,
}

/// What an axiom orders in every execution, independent of choices.
struct Order {
    fixed: Relation,
    /// Pairs that are ordered if the second event reads from the first.
    reads_from: Relation,
    polls_from: bool,
}
