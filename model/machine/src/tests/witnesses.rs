//! Witnesses: executions in words.

use lang::outcome::Outcome;

use super::load::{outcome, test};
use super::random_programs::{Shape, program};
use crate::{Fault, FaultSet, Limits, Variant, Witness, explore, witness};

fn find(test: &lang::Test, variant: Variant, faults: FaultSet, outcome: &Outcome) -> Witness {
    witness(test, variant, faults, outcome, Limits::default()).unwrap()
}

#[test]
fn a_put_that_overtakes_a_poll() {
    let body = "z^2 := x; z^2 := x; Poll(2); x := 1 ||";
    let test = test("x = 0 || z = 0", body, "z");
    let found = find(&test, Variant::RdmaTso, FaultSet::NONE, &outcome(&[1]));
    let Witness::Steps(steps) = found else { panic!("{found:?}") };
    let expected = "\
thread 1: put to node 2 enters the store buffer
store buffer: put z := x goes to the NIC (thread 1 to node 2)
thread 1: put to node 2 enters the store buffer
store buffer: put z := x goes to the NIC (thread 1 to node 2)
rule 2: put z := x reads 0 (thread 1 to node 2)
rule 3: put's remote write z := 0 leaves the pipe (thread 1 to node 2)
rule 4: put's remote write z := 0 reaches memory (thread 1 to node 2)
rule 5: ack becomes a completion notice (thread 1 to node 2)
thread 1: Poll(2)
thread 1: x := 1 enters the store buffer
store buffer: x := 1 reaches memory (thread 1)
rule 2: put z := x reads 1 (thread 1 to node 2)
rule 3: put's remote write z := 1 leaves the pipe (thread 1 to node 2)
rule 4: put's remote write z := 1 reaches memory (thread 1 to node 2)
rule 5: ack becomes a completion notice (thread 1 to node 2)";
    assert_eq!(steps.join("\n"), expected);
    let none = find(&test, Variant::RdmaTso, FaultSet::NONE, &outcome(&[2]));
    assert_eq!(none, Witness::None);
}

#[test]
fn every_outcome_has_a_witness() {
    let shape = Shape {
        nodes: 2,
        threads: 2,
        statements: (1, 3),
        locations_per_node: 1,
        variant: Variant::RdmaTso,
        loops: true,
        shared_polls: false,
        shared_posts: false,
        fences: false,
    };
    for variant in [Variant::RdmaTso, Variant::RdmaWait, Variant::Sc] {
        for seed in 0..30 {
            let test = program(seed, Shape { variant, ..shape });
            let found = explore(&test, variant, Limits::default()).unwrap();
            for outcome in &found.outcomes {
                let found = find(&test, variant, FaultSet::NONE, outcome);
                assert!(matches!(&found, Witness::Steps(_)), "{variant:?} {seed}: {found:?}");
            }
        }
    }
}

#[test]
fn broken_machines_have_witnesses_too() {
    let test = test("|| x, y = 0, 0", "x^2 := 1; y^2 := 1 || a := y; b := x", "a, b");
    let faults = FaultSet::NONE.with(Fault::PutsReordered);
    let Witness::Steps(steps) = find(&test, Variant::RdmaTso, faults, &outcome(&[1, 0])) else {
        panic!("no witness")
    };
    let position = |text: &str| steps.iter().position(|step| step.starts_with(text));
    let (early, late) =
        (position("rule 3: put's remote write y"), position("rule 3: put's remote write x"));
    assert!(early < late && early.is_some(), "{steps:#?}");
}
