//! Finds which accesses of one thread a model orders, whatever the other threads do.
//!
//! The thread is evaluated alone: no read takes its value from a write, and every operation happens. All
//! consistent choices of pf and of the model's orders are tried. What holds in all of them is ordered. This
//! is a heuristic to find the pieces of tests; verdicts come from an engine.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use lang::cat::model::{AxiomKind, Model};
use lang::limits;
use rustc_hash::FxBuildHasher;
use skeleton::{self, Event, Guard, Operation, Skeleton, Stamp};

use super::naming::Naming;
use super::program::{checked, step_span, tree};
use super::shape::{Completion, Shape};
use super::step::{Side, Step};
use crate::relation::Relation;
use crate::smt::plan::Plan;
use crate::smt::theory::{Evaluation, Facts};

/// The most pairs that are tried in both directions.
const MOST_FREE: usize = 6;

/// An access of a thread: the step, and the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// The index of the step.
    pub step: usize,
    /// The side of the step that the access is on.
    pub side: Side,
}

/// An ordered pair of events: the axiom that orders it (the hash of its name), and the stamps. A pair of an
/// event with itself has no axiom.
pub type Edge = (Option<u64>, Stamp, Stamp);

/// What a model orders in one thread.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// For each event: its step, its stamp, and whether it happens.
    events: Vec<(usize, Stamp, bool)>,
    /// For each axiom about an order: the hash of its name, and the ordered pairs.
    orders: Vec<(u64, Relation)>,
}

impl Ordered {
    /// What a model orders in a shape of one thread. `None` if the model has no execution of it, or too many.
    pub fn new(shape: &Shape, completion: Completion, model: &Model) -> Option<Self> {
        limits::look();
        let naming = Naming::new(shape);
        let program = checked(tree(shape, &naming, completion), &[]).program;
        let skeleton = skeleton::build(&program, 1).ok()?;
        let plan = Plan::new(model, &skeleton).ok()?;
        let body = &shape.threads.first()?.body;
        let happens: Vec<bool> = skeleton.events.iter().map(|event| happens(event, body)).collect();
        let size = skeleton.events.len();
        let executed = Relation::set(size, |event| happens[event]);
        let polls = polls_from(&skeleton)?;
        let choices = orientations(&plan, &executed)?;
        let facts = |polls_from: &Relation, choices: &Vec<Relation>| Facts {
            executed: executed.clone(),
            reads_from: Relation::empty(size),
            polls_from: polls_from.clone(),
            choices: choices.clone(),
        };
        let mut evaluation: Option<Evaluation<'_>> = None;
        let mut orders: Option<Vec<(u64, Relation)>> = None;
        let ways = polls.iter().flat_map(|polls| choices.iter().map(move |all| (polls, all)));
        for (polls, choices) in ways {
            let facts = facts(polls, choices);
            let evaluation = match &mut evaluation {
                Some(evaluation) => {
                    evaluation.update(facts);
                    evaluation
                }
                None => evaluation.insert(Evaluation::new(&plan, facts)),
            };
            let Some(found) = consistent_orders(model, &plan, evaluation) else { continue };
            match &mut orders {
                None => orders = Some(found),
                Some(known) => known.iter_mut().zip(&found).for_each(|(a, b)| a.1.intersect(&b.1)),
            }
        }
        let step = |event: &Event| (0..body.len()).find(|at| step_span(0, *at) == event.span);
        let events = skeleton.events.iter().zip(&happens);
        let events = events.map(|(event, happens)| match step(event) {
            Some(step) => (step, event.stamp, *happens && event.thread.is_some()),
            None => (usize::MAX, event.stamp, false),
        });
        Some(Self { events: events.collect(), orders: orders? })
    }

    /// Which events of one access are ordered before which events of the other.
    pub fn between(&self, from: Port, to: Port) -> BTreeSet<Edge> {
        let of = |port: Port| {
            let is_it = move |(_, (step, stamp, happens)): &(usize, &(usize, Stamp, bool))| {
                *happens && *step == port.step && side(*stamp) == Some(port.side)
            };
            self.events.iter().enumerate().filter(is_it).map(|(index, event)| (index, event.1))
        };
        let mut edges = BTreeSet::new();
        for (first, first_stamp) in of(from) {
            for (last, last_stamp) in of(to) {
                if first == last {
                    edges.insert((None, first_stamp, last_stamp));
                }
                let orders = self.orders.iter().filter(|(_, order)| order.contains(first, last));
                edges.extend(orders.map(|(axiom, _)| (Some(*axiom), first_stamp, last_stamp)));
            }
        }
        edges
    }

    /// Whether these edges of another model are all here. An axiom is known by its name; what an axiom orders
    /// that this model does not have, any axiom may order here: names may differ and rules be the same.
    pub fn keeps(&self, edges: &BTreeSet<Edge>, from: Port, to: Port) -> bool {
        let own = self.between(from, to);
        let has = |name: u64| self.orders.iter().any(|(axiom, _)| *axiom == name);
        edges.iter().all(|edge| match *edge {
            (Some(axiom), first, last) if !has(axiom) => {
                own.iter().any(|own| (own.1, own.2) == (first, last))
            }
            _ => own.contains(edge),
        })
    }
}

/// The side of its statement that an event is on.
fn side(stamp: Stamp) -> Option<Side> {
    Some(match stamp {
        Stamp::CpuRead | Stamp::CpuWrite | Stamp::CpuRmw => Side::Local,
        Stamp::NicLocalRead | Stamp::NicLocalWrite => Side::Local,
        Stamp::NicRemoteRead | Stamp::NicRemoteWrite | Stamp::NicAtomicRead => Side::Remote,
        _ => return None,
    })
}

/// Whether an event happens if every compare-and-swap that can succeed does.
fn happens(event: &Event, body: &[Step]) -> bool {
    if event.guard == Guard::TRUE {
        return true;
    }
    let step = body.iter().enumerate().find(|(at, _)| step_span(0, *at) == event.span);
    match (step.map(|(_, step)| step), event.stamp) {
        (Some(Step::Cas { hits, .. }), Stamp::CpuRmw) => *hits,
        (Some(Step::Cas { hits, .. }), _) => !hits,
        (Some(Step::Rcas { hits, .. }), _) => *hits,
        _ => false,
    }
}

/// Every choice of pf if all operations and polls happen. `None` if there are too many.
fn polls_from(skeleton: &Skeleton) -> Option<Vec<Relation>> {
    let mut ways = vec![Relation::empty(skeleton.events.len())];
    for poll in skeleton.event_ids() {
        let Some(earlier) = skeleton.polled_by(poll) else { continue };
        let operations: Vec<_> = earlier.map(|index| &skeleton.operations[index]).collect();
        let longer = |known: Relation| {
            let is_free = |one: &Operation| known.successors(one.completion.0).next().is_none();
            let free = operations.iter().filter(|one| is_free(one));
            let with = |one: &&Operation| {
                let mut way = known.clone();
                one.completions().for_each(|end| way.insert(end.0, poll.0));
                way
            };
            free.map(with).collect::<Vec<_>>()
        };
        ways = ways.into_iter().flat_map(longer).collect();
        if ways.len() > 1 << MOST_FREE {
            return None;
        }
    }
    Some(ways)
}

/// Every choice of the model's orders. `None` if there are too many.
fn orientations(plan: &Plan, executed: &Relation) -> Option<Vec<Vec<Relation>>> {
    let mut all = vec![Vec::new()];
    for choice in &plan.choices {
        let total = choice.total_on.restricted_to(executed);
        let mut forced = Relation::empty(plan.size);
        let mut free = Vec::new();
        let mut is_possible = true;
        for (a, b) in total.pairs().filter(|(a, b)| a < b || *a > *b && !total.contains(*b, *a)) {
            match (a, b) {
                _ if a == b => {}
                _ if choice.extends.contains(a, b) && choice.extends.contains(b, a) => {
                    is_possible = false;
                }
                _ if choice.extends.contains(a, b) => forced.insert(a, b),
                _ if choice.extends.contains(b, a) => forced.insert(b, a),
                _ => free.push((a, b)),
            }
        }
        if free.len() > MOST_FREE {
            return None;
        }
        let mut ways = Vec::new();
        for way in 0..1_usize << free.len() {
            let mut order = forced.clone();
            for (bit, (a, b)) in free.iter().enumerate() {
                if way >> bit & 1 == 0 { order.insert(*a, *b) } else { order.insert(*b, *a) }
            }
            let closure = order.closure();
            if is_possible && (0..plan.size).all(|event| !closure.contains(event, event)) {
                ways.push(order);
            }
        }
        let longer = |known: Vec<Relation>| {
            let with = |way: &Relation| [&known[..], std::slice::from_ref(way)].concat();
            ways.iter().map(with).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(longer).collect();
        if all.len() > 1 << MOST_FREE {
            return None;
        }
    }
    Some(all)
}

/// For each axiom, the relation that it keeps acyclic, if the axioms hold.
fn consistent_orders(
    model: &Model,
    plan: &Plan,
    evaluation: &Evaluation<'_>,
) -> Option<Vec<(u64, Relation)>> {
    let mut orders = Vec::new();
    for (index, axiom) in model.axioms.iter().enumerate() {
        let value = evaluation.value(plan.axioms[index]);
        if axiom.kind == AxiomKind::Empty {
            if !value.is_empty() {
                return None;
            }
            continue;
        }
        let closure = value.closure();
        let order = if axiom.kind == AxiomKind::Acyclic { &closure } else { value };
        if (0..plan.size).any(|event| order.contains(event, event)) {
            return None;
        }
        orders.push((FxBuildHasher.hash_one(&axiom.name), closure));
    }
    Some(orders)
}
