//! Finds pairs of the model's orders that the axioms decide, whatever else is chosen. They need no variable.
//!
//! Take an axiom that excludes cycles of a relation. If the relation contains an order `o`, and the pair (a,
//! b) whenever both events happen, the axiom excludes o(b, a). So in every consistent execution in which both
//! happen, o contains (a, b).
//!
//! The formula orders all events of a class totally, including events that do not happen. A pair is fixed
//! there only if this loses no execution: the fixed pairs of the class, together with what the order extends,
//! must be a strict partial order. Proof: let E be the events that happen, `o` their order, and F the fixed
//! pairs. Assume that o and F together have a cycle. F is transitive, so a chain of pairs of F from E to E is
//! itself a pair of F between events in E, and so is in o. The cycle would therefore be a cycle of o alone,
//! which has none; and F alone has none either. So some total order of all events contains both o and F.

use std::collections::BTreeSet;

use lang::cat::model::AxiomKind;

use super::{Choice, NodeIndex, Op, Plan};
use crate::relation::Relation;

/// For each order of the model, pairs that it has whenever both events happen, if these axioms hold.
pub fn forced(plan: &Plan, axioms: &[(AxiomKind, NodeIndex)]) -> Vec<Relation> {
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
        let (fixed, orders) = parts(plan, *node);
        orders.into_iter().for_each(|order| forced[order].unite(&fixed));
    }
    let orders = plan.choices.iter().zip(forced);
    orders.map(|(order, forced)| without_gaps(order, forced)).collect()
}

fn is_transitive(plan: &Plan, node: NodeIndex) -> bool {
    let is_plus = |node: NodeIndex| matches!(plan.nodes[node].op, Op::Plus(_));
    is_plus(node) || plan.body(node).is_some_and(is_plus)
}

/// What a relation contains in every execution: pairs that are there whenever both events happen, and whole
/// orders.
fn parts(plan: &Plan, node: NodeIndex) -> (Relation, BTreeSet<usize>) {
    let (mut fixed, mut orders) = (Relation::empty(plan.size), BTreeSet::new());
    let (mut open, mut seen) = (vec![node], BTreeSet::new());
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let Some(pairs) = plan.constant(node) {
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

/// Keeps the pairs of those classes in which the pairs, with what the order extends, are a strict partial
/// order.
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
    // A gap from an event to itself is a cycle.
    for (event, _) in gaps.pairs() {
        for other in classes.successors(event) {
            forced.clear_row(other);
        }
    }
    forced
}
