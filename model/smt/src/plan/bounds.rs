//! Computes upper bounds: what a node of a plan contains at most, for any choice.

use lang::cat::model::Type;
use lang::limits;
use skeleton::Skeleton;

use super::super::theory::{Evaluation, Facts};
use super::{NodeIndex, Op, Plan};
use crate::relation::Relation;

/// A superset of what the node relates in any execution.
pub fn at_most(plan: &Plan, skeleton: &Skeleton, node: NodeIndex) -> Relation {
    let all = || Relation::from_fn(plan.size, |_, _| true);
    up_to(plan, skeleton, node).pop().unwrap_or_else(all)
}

/// Upper bounds of this node and all nodes before it.
pub fn up_to(plan: &Plan, skeleton: &Skeleton, node: NodeIndex) -> Vec<Relation> {
    let values = Evaluation::new(plan, Facts::all_events(plan));
    let size = plan.size;
    let all = Relation::from_fn(size, |_, _| true);
    let mut bounds: Vec<Relation> = Vec::new();
    // Operands come before their users, except for the names of recursive groups.
    for index in 0..=node {
        limits::need(size * size / 8);
        let of = |operand: &NodeIndex| &bounds[*operand];
        let without = |mut whole: Relation, part: &NodeIndex| {
            // A pair of a local operand is present whenever both events happen, so it never remains in the
            // difference.
            if let Some(part) = values.unrestricted(*part) {
                whole.subtract(part);
            }
            whole
        };
        let bound = match &plan.nodes[index].op {
            Op::Static(base) => plan.base(*base).clone(),
            Op::ReadsFrom => reads_from(skeleton),
            Op::Choice(choice) => {
                let mut both = plan.choices[*choice].total_on.clone();
                both.unite(&both.inverse());
                both
            }
            Op::PollsFrom | Op::Recursive(_) => all.clone(),
            Op::Empty => Relation::empty(size),
            Op::Universe => Relation::identity(size),
            Op::Union(operands) => {
                let mut union = Relation::empty(size);
                operands.iter().for_each(|operand| union.unite(of(operand)));
                union
            }
            Op::Intersection(a, b) => {
                let mut both = of(a).clone();
                both.intersect(of(b));
                both
            }
            Op::Difference(a, b) => without(of(a).clone(), b),
            Op::Complement(Type::Set, a) => without(Relation::identity(size), a),
            Op::Complement(Type::Relation, a) => without(all.clone(), a),
            Op::Product(a, b) => {
                let mut product = Relation::default();
                product.set_product(of(a), of(b));
                product
            }
            Op::Sequence(a, b) => of(a).then(of(b)),
            Op::Inverse(a) => of(a).inverse(),
            Op::Plus(a) => of(a).closure(),
            Op::Domain(a) => {
                Relation::from_fn(size, |x, y| x == y && of(a).successors(x).next().is_some())
            }
            Op::Range(a) => {
                let backwards = of(a).inverse();
                Relation::from_fn(size, |x, y| x == y && backwards.successors(x).next().is_some())
            }
        };
        bounds.push(bound);
    }
    bounds
}

/// All pairs of a write and another read of its location.
pub fn reads_from(skeleton: &Skeleton) -> Relation {
    let events = &skeleton.events;
    Relation::from_fn(events.len(), |write, read| {
        let (from, to) = (&events[write], &events[read]);
        let same = from.location.is_some() && from.location == to.location;
        write != read && same && from.stamp.writes() && to.stamp.reads()
    })
}
