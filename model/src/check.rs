//! The plain evaluator: is an execution one of the program's, and which axioms does it break?
//!
//! It follows the definitions word for word over ordinary sets of pairs, slowly, and shares no code
//! with the engine `smt`. Every witness and every cycle that `litmus` shows has passed here.

mod evaluate;
mod wellformed;

use compiler::skeleton::Skeleton;
use lang::cat::model::{AxiomKind, Model};

use crate::execution::Execution;
pub use evaluate::{Evaluator, Pairs, Value, closure};
pub use wellformed::well_formed;

/// The names of the axioms that an execution breaks.
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
    broken.map(|axiom| axiom.name.clone()).collect()
}
