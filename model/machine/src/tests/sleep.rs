//! Steps that are asleep.

use super::random_programs::{SMALL, Shape, program};
use crate::{Effort, FaultSet, Limits, explore_with};

/// Where threads access each other's locations in many ways, many steps of a stubborn set do not depend on
/// each other. If they were taken in all orders, these programs would take half as many steps again.
#[test]
fn steps_that_do_not_depend_on_each_other_are_taken_in_one_order() {
    let shape = Shape { nodes: 3, threads: 4, statements: (2, 3), loops: false, ..SMALL };
    let mut steps = 0;
    for seed in 0..40 {
        let test = program(seed, shape);
        let [all, found] = [Effort::Stubborn, Effort::Full].map(|effort| {
            let limits = Limits::default();
            explore_with(&test, shape.variant, FaultSet::NONE, effort, limits).unwrap()
        });
        assert!(all.complete && found.complete, "seed {seed}");
        assert_eq!(found.outcomes, all.outcomes, "seed {seed}: {:#?}", test.program);
        assert_eq!(found.blocked, all.blocked, "seed {seed}");
        steps += found.transitions;
    }
    assert!(steps < 1_200_000, "{steps} steps");
}
