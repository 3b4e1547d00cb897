//! The plain evaluator: is an execution one of the program's, and which axioms does it break?
//!
//! It follows the definitions word for word over ordinary sets of pairs. It is slow, and shares no code with
//! the engine `smt`. Every witness and every cycle that `litmus` shows was checked here.

mod evaluate;
mod wellformed;

use std::collections::BTreeSet;

use lang::cat::model::{
    AxiomKind, DefinitionId, DefinitionKind, Model, UNDEFINED_READS, UNDEFINED_WRITES,
};
use skeleton::Skeleton;

pub use evaluate::{Evaluator, Pairs, Value, closure};
use skeleton::execution::Execution;
pub use wellformed::well_formed;

/// The names of chosen orders that are wrong: they leave two events undecided, order them both ways, or
/// contradict what they extend.
fn wrong_orders<'a>(
    model: &'a Model,
    evaluator: &'a Evaluator<'_>,
) -> impl Iterator<Item = String> + 'a {
    model.definitions.iter().enumerate().filter_map(|(definition, defined)| {
        let DefinitionKind::Choice { name, total_on, extends } = &defined.kind else {
            return None;
        };
        let Value::Relation(order) = evaluator.defined(DefinitionId { definition, body: 0 }) else {
            return None;
        };
        let against = extends.as_ref().map(|extends| evaluator.pairs(extends)).unwrap_or_default();
        let is_wrong = |(a, b): &(usize, usize)| {
            let directions = [(*a, *b), (*b, *a)].map(|pair| order.contains(&pair));
            let is_against = order.contains(&(*a, *b)) && against.contains(&(*b, *a))
                || order.contains(&(*b, *a)) && against.contains(&(*a, *b));
            a != b && (directions[0] == directions[1] || is_against)
        };
        evaluator.pairs(total_on).iter().any(is_wrong).then(|| name.clone())
    })
}

/// The names of everything that an execution breaks: axioms, orders that are not as the model requires, and
/// the sets by which the model declares ⊤, if the execution has ⊤ elsewhere.
pub fn broken_axioms(skeleton: &Skeleton, model: &Model, execution: &Execution) -> Vec<String> {
    let evaluator = Evaluator::new(skeleton, model, execution);
    let broken = model.axioms.iter().filter(|axiom| match axiom.kind {
        AxiomKind::Empty => match evaluator.value(&axiom.body) {
            Value::Set(set) => !set.is_empty(),
            Value::Relation(pairs) => !pairs.is_empty(),
        },
        AxiomKind::Irreflexive => evaluator.pairs(&axiom.body).iter().any(|(a, b)| a == b),
        AxiomKind::Acyclic => closure(&evaluator.pairs(&axiom.body)).iter().any(|(a, b)| a == b),
    });
    let mut names: Vec<String> = broken.map(|axiom| axiom.name.clone()).collect();
    names.extend(wrong_orders(model, &evaluator));
    for (name, claimed) in [
        (UNDEFINED_READS, &execution.undefined_reads),
        (UNDEFINED_WRITES, &execution.undefined_writes),
    ] {
        let Some(id) = model.defined(name) else { continue };
        let expected = match evaluator.defined(id) {
            Value::Set(set) => set.clone(),
            Value::Relation(_) => BTreeSet::new(),
        };
        if expected != claimed.iter().map(|event| event.0).collect() {
            names.push(name.to_owned());
        }
    }
    names
}
