//! Steps that are asleep.

use super::random_programs::{SMALL, Shape, program};
use crate::{Effort, FaultSet, Limits, Variant, explore_with};

fn compare(seed: u64, shape: Shape) -> u64 {
    let test = program(seed, shape);
    let [all, found] = [Effort::Stubborn, Effort::Full].map(|effort| {
        let limits = Limits::default();
        explore_with(&test, shape.variant, FaultSet::NONE, effort, limits).unwrap()
    });
    assert!(all.complete && found.complete, "seed {seed}");
    assert_eq!(found.outcomes, all.outcomes, "seed {seed}: {:#?}", test.program);
    assert_eq!(found.blocked, all.blocked, "seed {seed}");
    found.transitions
}

const LARGE: Shape = Shape { nodes: 3, threads: 4, loops: false, ..SMALL };

/// Where threads access each other's locations in many ways, many steps of a stubborn set do not depend on
/// each other. If they were taken in all orders, these programs would take half as many steps again.
#[test]
fn steps_that_do_not_depend_on_each_other_are_taken_in_one_order() {
    let shape = Shape { statements: (2, 3), ..LARGE };
    let steps: u64 = (0..40).map(|seed| compare(seed, shape)).sum();
    assert!(steps < 1_200_000, "{steps} steps");
}

/// What sleeps may be in no stubborn set of the states on the way. If it were only taken where it is in one,
/// this program would lose outcomes.
#[test]
fn what_wakes_is_taken_where_it_is_in_no_stubborn_set() {
    compare(43, Shape { variant: Variant::RdmaWait, statements: (2, 5), ..LARGE });
}
