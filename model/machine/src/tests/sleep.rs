//! Steps that are asleep.

use super::random_programs::{SMALL, Shape, program};
use crate::{Effort, FaultSet, Limits, Variant, explore_with};

/// Compares exploring with and without sleep, and returns how many steps were taken with it. Fails if there
/// are more states than that without it.
fn compare(seed: u64, shape: Shape, states: u64) -> Result<u64, String> {
    let test = program(seed, shape);
    let [without, with] = [Effort::Values, Effort::Full].map(|effort| {
        let limits = Limits { states, ..Limits::default() };
        explore_with(&test, shape.variant, FaultSet::NONE, effort, limits).unwrap()
    });
    if !without.complete {
        return Err(format!("seed {seed}: {:?}", without.reason));
    }
    assert!(with.complete, "seed {seed}: {:?}", with.reason);
    assert_eq!(with.outcomes, without.outcomes, "seed {seed}: {:#?}", test.program);
    assert_eq!(with.blocked, without.blocked, "seed {seed}");
    Ok(with.transitions)
}

/// For programs that are explored to their ends.
const NO_LIMIT: u64 = u64::MAX;

const LARGE: Shape = Shape { nodes: 3, threads: 4, loops: false, ..SMALL };

/// Where threads access each other's locations in many ways, many steps of a stubborn set do not depend on
/// each other. If they were taken in all orders, these programs would take half as many steps again.
#[test]
fn steps_that_do_not_depend_on_each_other_are_taken_in_one_order() {
    let shape = Shape { statements: (2, 3), ..LARGE };
    let steps: u64 = (0..40).map(|seed| compare(seed, shape, NO_LIMIT).unwrap()).sum();
    assert!(steps < 1_200_000, "{steps} steps");
}

/// What sleeps may be in no stubborn set of the states on the way. If it were only taken where it is in one,
/// this program would lose outcomes.
#[test]
fn what_wakes_is_taken_where_it_is_in_no_stubborn_set() {
    let shape = Shape { variant: Variant::RdmaWait, statements: (2, 5), ..LARGE };
    compare(43, shape, NO_LIMIT).unwrap();
}

/// Small programs do not tell a wrong rule for what sleeps from a right one, so these are as large as can be
/// explored without it.
#[test]
fn nothing_is_lost_in_large_programs() {
    let shapes = [
        Shape { statements: (2, 5), ..LARGE },
        Shape { statements: (3, 5), locations_per_node: 2, ..LARGE },
        Shape { variant: Variant::RdmaWait, statements: (2, 5), ..LARGE },
        Shape { threads: 3, statements: (3, 7), ..LARGE },
        Shape { threads: 5, statements: (2, 3), locations_per_node: 2, ..LARGE },
        Shape { threads: 3, statements: (2, 4), loops: true, ..LARGE },
        Shape { nodes: 2, threads: 3, statements: (3, 6), shared_posts: true, ..LARGE },
        Shape {
            threads: 3,
            statements: (3, 6),
            locations_per_node: 2,
            shared_polls: true,
            ..LARGE
        },
    ];
    for (number, shape) in shapes.into_iter().enumerate() {
        let compared = (0..20).filter(|seed| compare(*seed, shape, 60_000).is_ok()).count();
        assert!(compared > 15, "shape {number}: {compared} programs");
    }
}
