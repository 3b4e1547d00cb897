//! What the nodes of a plan hold at most, whatever is chosen.

use lang::cat::model::Type;
use lang::limits;
use skeleton::Skeleton;

use super::super::theory::{Evaluation, Facts};
use super::{NodeIndex, Op, Plan};
use crate::relation::Relation;

/// A relation that holds all that a node relates in any execution.
pub fn at_most(plan: &Plan, skeleton: &Skeleton, node: NodeIndex) -> Relation {
    let all = || Relation::from_fn(plan.size, |_, _| true);
    up_to(plan, skeleton, node).pop().unwrap_or_else(all)
}

/// The same for this node and all before it.
pub fn up_to(plan: &Plan, skeleton: &Skeleton, node: NodeIndex) -> Vec<Relation> {
    let values = Evaluation::new(plan, Facts::all_events(plan));
    let size = plan.size;
    let all = Relation::from_fn(size, |_, _| true);
    let mut bounds: Vec<Relation> = Vec::new();
    // Operands come first, but for the names of recursive groups.
    for index in 0..=node {
        limits::need(size * size / 8);
        let of = |operand: &NodeIndex| &bounds[*operand];
        let without = |mut whole: Relation, part: &NodeIndex| {
            // Of what holds of events whenever they happen, nothing is left.
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

/// Each write to each other read of its location.
pub fn reads_from(skeleton: &Skeleton) -> Relation {
    let events = &skeleton.events;
    Relation::from_fn(events.len(), |write, read| {
        let (from, to) = (&events[write], &events[read]);
        let same = from.location.is_some() && from.location == to.location;
        write != read && same && from.stamp.writes() && to.stamp.reads()
    })
}
