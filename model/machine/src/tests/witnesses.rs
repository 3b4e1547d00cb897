//! Witnesses: executions in words.

use std::ops::ControlFlow;

use lang::outcome::Outcome;

use super::load::{outcome, test};
use super::random_programs::{SMALL, Shape, program};
use crate::describe::{describe, is_control};
use crate::footprint::indices;
use crate::rules::{Machine, Transition, in_requests};
use crate::state::State;
use crate::{Effort, Fault, FaultSet, Limits, Variant, Witness, explore, progress, witness};

/// The states in which an execution may be that takes these steps. Control steps may be left out.
fn replay(test: &lang::Test, variant: Variant, steps: &[String]) -> (Machine, Vec<State>) {
    let test = &*in_requests(test).unwrap();
    let machine = Machine::new(test, variant, FaultSet::NONE).unwrap();
    let mut states = vec![machine.initial().clone()];
    for number in 0..=steps.len() {
        let mut next = Vec::new();
        let mut index = 0;
        while let Some(state) = states.get(index).cloned() {
            index += 1;
            for transition in transitions(&machine, &state) {
                let mut after = state.clone();
                machine.apply(&mut after, transition);
                if is_control(&test.program, &machine, &state, transition)
                    && !states.contains(&after)
                {
                    states.push(after.clone());
                }
                let step = describe(&test.program, &machine, &state, transition);
                if steps.get(number) == Some(&step) && !next.contains(&after) {
                    next.push(after);
                }
            }
        }
        if number < steps.len() {
            let steps = steps[..=number].join("\n");
            assert!(
                !next.is_empty(),
                "the last step is not enabled:\n{steps}\n{:#?}",
                test.program
            );
            states = next;
        }
    }
    (machine, states)
}

/// All enabled transitions.
fn transitions(machine: &Machine, state: &State) -> Vec<Transition> {
    let slots = machine.agents().map(|agent| (agent, machine.slots(state, agent)));
    let each = |(agent, slots)| indices(slots).map(move |slot| Transition { agent, slot });
    slots.flat_map(each).collect()
}

fn find(test: &lang::Test, variant: Variant, faults: FaultSet, outcome: &Outcome) -> Witness {
    witness(test, variant, faults, outcome, Limits::default()).unwrap()
}

/// Each outcome has a witness, whose steps lead to an end with it.
fn every_outcome_is_shown(test: &lang::Test, variant: Variant, which: &str) {
    for outcome in &explore(test, variant, Limits::default()).unwrap().outcomes {
        let found = find(test, variant, FaultSet::NONE, outcome);
        let Witness::Steps(steps) = found else { panic!("{which}: {found:?}") };
        let (machine, states) = replay(test, variant, &steps);
        let shows = |state: &State| machine.is_final(state) && machine.outcome(state) == *outcome;
        assert!(states.iter().any(shows), "{which}: {steps:#?}");
    }
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
    let shape = Shape { statements: (1, 3), ..SMALL };
    for variant in [Variant::RdmaTso, Variant::RdmaWait, Variant::Sc] {
        for seed in 0..30 {
            let test = program(seed, Shape { variant, ..shape });
            every_outcome_is_shown(&test, variant, &format!("{variant:?} {seed}"));
        }
    }
}

/// Large values and loops: states are stored on some ways to a state and passed on others.
#[test]
fn witnesses_pass_states_that_are_stored_later() {
    let programs = [
        (
            "x, y = 0, 0 || z = 0",
            "a := x; b := y; c := x | x := 100; y := 200; x := 300 ||",
            "a, b, c",
        ),
        (
            "x, y = 0, 0 || z, w = 0, 0",
            "a := z^2; z^2 := 100; b := x; c := y || z := 100; d := z; y^1 := z; x^1 := 300",
            "b, c, d",
        ),
        (
            "x = 0 || z = 0",
            "loop { b := CAS(x, 0, 100); if b = 0 { break } }; x := 0 \
             | loop { c := CAS(x, 0, 200); if c = 0 { break } }; d := x; x := 0 ||",
            "d",
        ),
        (
            "x, u = 0, 0 || z = 0",
            "loop { u := RCAS(z^2, 0, 100); Poll(2); a := u; if a = 0 { break } }; z^2 := 0 \
             || loop { b := CAS(z, 0, 200); if b = 0 { break } }; d := z; z := 0",
            "d",
        ),
    ];
    for (declared, body, observed) in programs {
        every_outcome_is_shown(&test(declared, body, observed), Variant::RdmaTso, body);
    }
}

/// Reports all ways to be stuck, whose steps must lead there. Returns how many there are.
fn ways_to_be_stuck(test: &lang::Test, variant: Variant) -> usize {
    let limits = Limits { states: 20_000, ..Limits::default() };
    let mut ways = 0;
    progress(test, variant, Effort::Full, limits, |_, stuck| {
        ways += 1;
        let (_, states) = replay(test, variant, &stuck.steps);
        let is_it = |state: &State| state.registers == stuck.registers;
        assert!(states.iter().any(is_it), "{:#?} {:#?}", stuck.steps, test.program);
        ControlFlow::Continue(())
    })
    .unwrap();
    ways
}

#[test]
fn every_way_to_be_stuck_has_its_steps() {
    let take = "loop { u := RCAS(z^2, 0, 1); Poll(2); a := u; if a = 0 { break } }";
    let other = "loop { b := CAS(z, 0, 1); if b = 0 { break } }";
    for body in [
        format!("{take}; {take} ||"),
        format!("{take}; z^2 := 0; {take}; {take} || {other}"),
        format!("{take}; y := 100 || {other}; c := y^1; {other}"),
        format!("y := 100; {take}; y := 200; {take} || v := y^1; {other}; c := v; d := v"),
    ] {
        let test = test("y, u = 0, 0 || z, v = 0, 0", &body, "a");
        assert!(ways_to_be_stuck(&test, Variant::RdmaTso) > 0, "{body}");
    }
    let shape = SMALL;
    let ways: usize =
        (0..200).map(|seed| ways_to_be_stuck(&program(seed, shape), shape.variant)).sum();
    assert!(ways > 20, "{ways} ways");
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
