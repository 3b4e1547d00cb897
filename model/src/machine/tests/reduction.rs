//! Reductions lose no outcome and no blocked statement.

use super::random_programs::{Shape, program};
use crate::machine::{Effort, FaultSet, Limits, Variant, explore_with};

const SMALL: Shape = Shape {
    nodes: 2,
    threads: 2,
    statements: (1, 4),
    locations_per_node: 1,
    variant: Variant::RdmaTso,
    loops: true,
};

/// Compares the efforts on the programs of some seeds; states without and with reduction.
fn compare(shape: Shape, seeds: std::ops::Range<u64>) -> [u64; 3] {
    let limits = Limits { states: 300_000, ..Limits::default() };
    let mut states = [0; 3];
    let mut compared = 0;
    for seed in seeds {
        let test = program(seed, shape);
        let found = [Effort::None, Effort::Eager, Effort::Full].map(|effort| {
            explore_with(&test, shape.variant, FaultSet::NONE, effort, limits).unwrap()
        });
        if !found[0].complete {
            continue;
        }
        compared += 1;
        for reduced in &found[1..] {
            assert!(reduced.complete, "seed {seed}: {:?}", reduced.reason);
            assert_eq!(reduced.outcomes, found[0].outcomes, "seed {seed}: {:#?}", test.program);
            assert_eq!(reduced.blocked, found[0].blocked, "seed {seed}");
        }
        for (sum, found) in states.iter_mut().zip(&found) {
            *sum += found.states;
        }
    }
    assert!(compared > 0, "every program was too large");
    println!("{compared} programs, states {states:?}");
    states
}

#[test]
fn two_threads_on_two_nodes() {
    compare(SMALL, 0..300);
    compare(Shape { locations_per_node: 2, ..SMALL }, 0..300);
}

#[test]
fn with_wait() {
    let wait = Shape { variant: Variant::RdmaWait, ..SMALL };
    compare(wait, 0..300);
    compare(Shape { locations_per_node: 2, ..wait }, 1000..1300);
}

#[test]
fn under_sc() {
    compare(Shape { variant: Variant::Sc, threads: 3, ..SMALL }, 0..300);
}

#[test]
fn three_threads() {
    let three = Shape { threads: 3, statements: (1, 3), ..SMALL };
    compare(three, 0..150);
    compare(Shape { nodes: 3, ..three }, 0..150);
    compare(Shape { nodes: 1, locations_per_node: 2, ..three }, 0..150);
}

#[test]
fn one_thread_with_many_operations() {
    let one = Shape { threads: 1, nodes: 1, statements: (4, 7), locations_per_node: 2, ..SMALL };
    compare(one, 0..150);
    compare(Shape { nodes: 2, locations_per_node: 2, ..one }, 0..150);
}
