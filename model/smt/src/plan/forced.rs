//! Pairs of the model's orders that its axioms decide, whatever else is chosen: they need no variable.
//!
//! An axiom that excludes cycles, of a relation that has an order `o` and a pair (a, b) whenever both events happen,
//! excludes o(b, a). So in every consistent execution in which both happen, o has (a, b).
//!
//! The formula has a total order of all events of a class, also of those that do not happen. Pairs are fixed there only where this
//! takes no execution away: where those of the class, with what the order extends, are a strict partial order. For, let E be the events
//! that happen, `o` their order, and F the fixed pairs. A cycle of o and F could be taken for one of events in E: a chain of pairs in F
//! from E to E is a pair in F, since F is transitive, and so in o. But o has no cycle; nor has F alone. So some total order of all events
//! has o and F.

use std::collections::BTreeSet;

use lang::cat::model::AxiomKind;

use super::{Choice, NodeIndex, Op, Plan};
use crate::relation::Relation;
use crate::theory::Evaluation;

/// For each order of the model, pairs that it has whenever both events happen, if these axioms hold.
pub fn forced(
    plan: &Plan,
    evaluation: &Evaluation<'_>,
    axioms: &[(AxiomKind, NodeIndex)],
) -> Vec<Relation> {
    let mut forced = vec![Relation::empty(plan.size); plan.choices.len()];
    for (kind, node) in axioms {
        let excludes_cycles = match kind {
            AxiomKind::Acyclic => true,
            AxiomKind::Irreflexive => is_transitive(plan, *node),
            AxiomKind::Empty => false,
        };
        if !excludes_cycles {
            continue;
        }
        let (fixed, orders) = parts(plan, evaluation, *node);
        orders.into_iter().for_each(|order| forced[order].unite(&fixed));
    }
    let orders = plan.choices.iter().zip(forced);
    orders.map(|(order, forced)| without_gaps(order, forced)).collect()
}

fn is_transitive(plan: &Plan, node: NodeIndex) -> bool {
    let is_plus = |node: NodeIndex| matches!(plan.nodes[node].op, Op::Plus(_));
    is_plus(node) || plan.body(node).is_some_and(is_plus)
}

/// What a relation certainly has: pairs, whenever both events happen, and orders.
fn parts(plan: &Plan, evaluation: &Evaluation<'_>, node: NodeIndex) -> (Relation, BTreeSet<usize>) {
    let (mut fixed, mut orders) = (Relation::empty(plan.size), BTreeSet::new());
    let (mut open, mut seen) = (vec![node], BTreeSet::new());
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let Some(pairs) = evaluation.unrestricted(node) {
            fixed.unite(pairs);
            continue;
        }
        match &plan.nodes[node].op {
            Op::Plus(inner) => open.push(*inner),
            Op::Union(all) => open.extend(all),
            Op::Recursive(_) => open.extend(plan.body(node)),
            Op::Choice(order) => drop(orders.insert(*order)),
            _ => {}
        }
    }
    (fixed, orders)
}

/// The pairs of those classes in which they are a strict partial order together with what the order extends.
fn without_gaps(order: &Choice, mut forced: Relation) -> Relation {
    let size = forced.size();
    let mut decided = order.total_on.clone();
    decided.unite(&order.total_on.inverse());
    decided.subtract(&Relation::identity(size));
    forced.intersect(&decided);
    if forced.is_empty() {
        return forced;
    }
    let mut classes = decided.clone();
    classes.unite(&Relation::identity(size));
    if classes.then(&classes) != classes {
        return Relation::empty(size);
    }
    let mut fixed = order.extends.clone();
    fixed.intersect(&decided);
    fixed.unite(&forced);
    let mut gaps = fixed.then(&fixed);
    gaps.subtract(&fixed);
    // A gap of an event with itself is a cycle.
    for (event, _) in gaps.pairs() {
        for other in classes.successors(event) {
            forced.clear_row(other);
        }
    }
    forced
}
