//! Computes upper bounds: what a node of a plan contains at most, for any choice.

use lang::cat::model::Type;
use lang::limits;
use skeleton::Skeleton;

use super::{NodeIndex, Op, Plan, base};
use crate::relation::Relation;

/// For each node of a plan that is wanted, a superset of what it relates in any execution; for others, a
/// relation without elements. With a node, its operands must be wanted.
pub fn at_most(
    plan: &Plan,
    skeleton: &Skeleton,
    is_wanted: impl Fn(NodeIndex) -> bool,
) -> Vec<Relation> {
    let mut bounds = vec![Relation::default(); plan.nodes.len()];
    let mut groups = plan.groups.iter().peekable();
    let mut node = 0;
    while node < plan.nodes.len() {
        let Some(group) = groups.next_if(|group| group.first == node) else {
            if is_wanted(node) {
                bounds[node] = bound(plan, skeleton, &bounds, node);
            }
            node += 1;
            continue;
        };
        // The bodies are monotone in the names, so the least fixed point of their bounds bounds theirs.
        let bodies = || group.bodies.iter().filter(|(name, _)| is_wanted(*name));
        bodies().for_each(|(name, _)| bounds[*name] = Relation::empty(plan.size));
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for node in (group.first..group.last).filter(|node| is_wanted(*node)) {
                bounds[node] = bound(plan, skeleton, &bounds, node);
            }
            for (name, body) in bodies() {
                let mut grown = bounds[*body].clone();
                grown.subtract(&bounds[*name]);
                is_changed |= !grown.is_empty();
                bounds[*name].unite(&grown);
            }
        }
        node = group.last;
    }
    bounds
}

/// The bound of a node, from those of its operands.
fn bound(plan: &Plan, skeleton: &Skeleton, bounds: &[Relation], node: NodeIndex) -> Relation {
    let size = plan.size;
    limits::need(size * size / 8);
    let of = |operand: &NodeIndex| &bounds[*operand];
    let without = |mut whole: Relation, part: &NodeIndex| {
        // A pair of a constant is present whenever both events happen, so it never remains in the difference.
        if let Some(part) = plan.constant(*part) {
            whole.subtract(part);
        }
        whole
    };
    match &plan.nodes[node].op {
        Op::Constant(_) => plan.constant(node).cloned().unwrap_or_else(|| Relation::empty(size)),
        Op::ReadsFrom => base::reads_from(skeleton),
        Op::Choice(choice) => {
            let mut both = plan.choices[*choice].total_on.clone();
            both.unite(&both.inverse());
            both
        }
        Op::PollsFrom => Relation::full(size),
        // It grows with the bound of its body.
        Op::Recursive(_) => of(&node).clone(),
        Op::Empty => Relation::empty(size),
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
        Op::Complement(Type::Relation, a) => without(Relation::full(size), a),
        Op::Product(a, b) => {
            let mut product = Relation::default();
            product.set_product(of(a), of(b));
            product
        }
        Op::Sequence(a, b) => of(a).then(of(b)),
        Op::Inverse(a) => of(a).inverse(),
        Op::Plus(a) => of(a).closure(),
        Op::Domain(a) => Relation::set(size, |event| of(a).successors(event).next().is_some()),
        Op::Range(a) => {
            let backwards = of(a).inverse();
            Relation::set(size, |event| backwards.successors(event).next().is_some())
        }
    }
}
