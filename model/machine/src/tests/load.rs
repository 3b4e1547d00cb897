//! Builds tests from their parts.

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::{Outcome, Value};
use lang::source::Source;

use crate::{Effort, Exploration, Fault, FaultSet, Limits, Variant, explore, explore_with};

/// The litmus file with these declarations, statements and observables.
pub fn text(declarations: &str, statements: &str, observed: &str) -> String {
    let model = match statements {
        _ if statements.contains("Wait(") => "rdma-wait-rmw",
        _ if statements.contains("Persist(") => "rdma-verbs\ncrash",
        _ => "rdma-tso-rmw",
    };
    format!("litmus t\nmodel {model}\n{declarations}\n---\n{statements}\n\nobserve {observed}\n")
}

/// Loads the test of such a text.
pub fn test(declarations: &str, statements: &str, observed: &str) -> Test {
    let source = Source::new("t.litmus", text(declarations, statements, observed));
    let (test, diagnostics) = lang::litmus::load(&source);
    test.unwrap_or_else(|| {
        let text: String =
            diagnostics.iter().map(|diagnostic| diagnostic.render(&source, false)).collect();
        panic!("{text}")
    })
}

/// An outcome that consists of numbers.
pub fn outcome(values: &[u64]) -> Outcome {
    Outcome(values.iter().map(|value| Value::Int(*value)).collect())
}

/// All outcomes. Fails if the exploration is not complete.
pub fn outcomes(test: &Test, variant: Variant) -> BTreeSet<Outcome> {
    complete(explore(test, variant, Limits::default()).unwrap())
}

/// All outcomes of a broken machine.
pub fn faulty(test: &Test, variant: Variant, fault: Fault) -> BTreeSet<Outcome> {
    let faults = FaultSet::NONE.with(fault);
    complete(explore_with(test, variant, faults, Effort::Full, Limits::default()).unwrap())
}

pub fn complete(found: Exploration) -> BTreeSet<Outcome> {
    assert!(found.complete, "{:?}", found.reason);
    found.outcomes
}
