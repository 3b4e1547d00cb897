//! Clocks tell which calls came before others, and change nothing else.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use lang::Test;
use lang::outcome::{Outcome, Value};
use lang::source::Source;

use crate::progress::progress_of;
use crate::{Effort, Histories, Limits, Variant, explore};

fn test(text: &str) -> Test {
    let (test, errors) = lang::litmus::load(&Source::new("x", text));
    test.unwrap_or_else(|| panic!("{text}\n{errors:?}"))
}

fn histories(test: &Test) -> BTreeSet<Outcome> {
    let histories = Histories::of(test, Variant::RdmaWait).expect("it has a meaning");
    let found = histories.explore(Limits::default(), |_, _| ControlFlow::Continue(()));
    assert!(found.complete);
    found.outcomes
}

const PROGRAMS: [&str; 4] = [
    "litmus x\n x = 0 || y = 0\n ---\n thread 1 @ 1 { x := 1; a := x }\n thread 2 @ 1 { b := x; c := x }\n",
    "litmus x\n x = 0, y = 0 ||\n ---\n thread 1 @ 1 { x := 1; a := y }\n thread 2 @ 1 { y := 1; b := x }\n",
    "litmus x\n z = 0 || x = 0, y = 0\n ---\n\
     thread 1 @ 1 { x^2 := 1; y^2 := 1 }\n\
     thread 2 @ 2 { a := y; b := x }\n",
    "litmus x\n z = 0 || x = 0\n ---\n\
     thread 1 @ 1 { z :=^d x^2; Wait(d); a := z }\n\
     thread 2 @ 2 { x := 1; Mfence; x := 2 }\n",
];

#[test]
fn clocks_change_no_outcome() {
    for text in PROGRAMS {
        let test = test(text);
        let plain = explore(&test, Variant::RdmaWait, Limits::default()).expect("it has a meaning");
        let shown = test.observables.len();
        let cut = |outcome: Outcome| Outcome(outcome.0[..shown].to_vec());
        let all = histories(&test);
        assert!(all.len() > plain.outcomes.len(), "{text}: no history more than outcomes");
        let projected: BTreeSet<Outcome> = all.into_iter().map(cut).collect();
        assert_eq!(projected, plain.outcomes, "{text}");
    }
}

/// Reductions leave out no history.
#[test]
fn reductions_keep_histories() {
    for text in PROGRAMS {
        let test = test(text);
        let Histories { test: timed, machine, .. } =
            Histories::of(&test, Variant::RdmaWait).expect("it has a meaning");
        let plain = progress_of(&timed, &machine, Effort::None, Limits::default(), |_, _| {
            ControlFlow::Continue(())
        });
        assert!(plain.complete);
        assert_eq!(histories(&test), plain.outcomes, "{text}");
    }
}

/// A write of a CPU is there when others may know that it is done; a put may not be.
#[test]
fn what_is_told_is_done() {
    let last = |text: &str| {
        let test = test(text);
        let a = test.observables.iter().position(|one| one.name == "a").expect("it is shown");
        // Last is how many calls of thread 1 that of thread 2 knows.
        let is_late = |outcome: &Outcome| {
            outcome.0[a] == Value::Int(0) && outcome.0.last() == Some(&Value::Int(1))
        };
        histories(&test).iter().any(is_late)
    };
    let program = |write: &str| {
        format!(
            "litmus x\n z = 0 || x = 0\n ---\n thread 1 @ {write} }}\n thread 2 @ 2 {{ a := x }}\n"
        )
    };
    assert!(!last(&program("2 { x := 1")));
    assert!(last(&program("1 { x^2 := 1")));
}
