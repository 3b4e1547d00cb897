//! The simulator shows only outcomes that the explorer has, and the same ones for the same seed.

use std::collections::BTreeSet;

use super::load::{faulty, outcome, outcomes, test};
use super::random_programs::{SMALL, Shape, program};
use crate::{
    FAULTS, Fault, FaultSet, Histogram, Limits, Random, Simulator, Variant, explore, serial,
};

const SB: &str = "x^2 := 1; Poll(2); a := y || y^1 := 1; Poll(1); b := x";

fn simulate(test: &lang::Test, variant: Variant, faults: FaultSet, iterations: u64) -> Histogram {
    let mut simulator = Simulator::new(test, variant, faults).unwrap();
    simulator.run(&mut Random::new(1), iterations)
}

fn total(histogram: &Histogram) -> u64 {
    let outcomes: u64 = histogram.outcomes.values().sum();
    outcomes + histogram.blocked + histogram.assume_failed + histogram.unfinished
}

#[test]
fn weak_outcomes_are_common() {
    let test = test("y = 0 || x = 0", SB, "a, b");
    let histogram = simulate(&test, Variant::RdmaTso, FaultSet::NONE, 10_000);
    assert_eq!(histogram.outcomes.len(), 4);
    for (outcome, count) in &histogram.outcomes {
        assert!(*count > 100, "{outcome:?}: {histogram:?}");
    }
}

#[test]
fn every_outcome_is_one_of_the_explorer() {
    let shape = Shape { locations_per_node: 2, loops: false, ..SMALL };
    let (mut seen, mut all) = (0, 0);
    for variant in [Variant::RdmaTso, Variant::RdmaWait, Variant::RdmaWaitPolls, Variant::Sc] {
        for seed in 0..50 {
            let test = program(seed, Shape { variant, ..shape });
            let explored = explore(&test, variant, Limits::default()).unwrap();
            let simulated = simulate(&test, variant, FaultSet::NONE, 1000);
            assert_eq!(total(&simulated), 1000);
            for outcome in simulated.outcomes.keys() {
                assert!(explored.outcomes.contains(outcome), "{variant:?} {seed}: {outcome:?}");
            }
            assert!(simulated.blocked == 0 || !explored.blocked.is_empty(), "{variant:?} {seed}");
            seen += simulated.outcomes.len();
            all += explored.outcomes.len();
        }
    }
    for seed in 0..60 {
        let test = program(seed, Shape { threads: 3, shared_posts: true, loops: true, ..shape });
        let explored = explore(&test, Variant::RdmaTso, Limits::default()).unwrap();
        let simulated = simulate(&test, Variant::RdmaTso, FaultSet::NONE, 1000);
        for outcome in simulated.outcomes.keys() {
            assert!(explored.outcomes.contains(outcome), "{seed}: {outcome:?}");
        }
    }
    assert!(10 * seen > 9 * all, "only {seen} of {all} outcomes seen");
}

/// A chart changes nothing but the time: programs with loops, and machines with faults.
#[test]
fn charts_change_no_run() {
    let shape =
        Shape { threads: 3, statements: (1, 5), shared_polls: true, shared_posts: true, ..SMALL };
    let (mut ended, mut unfinished) = (0, 0);
    for seed in 0..20 {
        let test = program(seed, shape);
        let faults = match seed % 4 {
            0 => FaultSet::NONE.with(FAULTS[seed as usize % FAULTS.len()].fault),
            _ => FaultSet::NONE,
        };
        let simulator = Simulator::new(&test, Variant::RdmaTso, faults).unwrap();
        let with = simulator.clone().run(&mut Random::new(seed), 3_000);
        let without = simulator.without_chart().run(&mut Random::new(seed), 3_000);
        assert_eq!(with, without, "{seed}");
        ended += with.outcomes.len();
        unfinished += with.unfinished;
    }
    assert!(ended > 100 && unfinished > 0, "{ended} outcomes, {unfinished} unfinished");
}

/// A message waits for a receive of another thread, and a poll of receives for a message of another thread.
#[test]
fn messages() {
    let cases = [
        (
            "x = 0 || m = 0",
            "Send(2, x); x := 1; Poll(2) || a := m; Recv(1, m); b := PollRecv(1); c := m",
            "a, b, c",
        ),
        ("|| x = 0, m = 0", "x^2 := 1; SendImm(2, 2, 7) || Recv(1, m); a := m; b := x", "a, b, m"),
        (
            "|| x = 0, m = 0",
            "PutImm(x^2, 1, 7); Send(2, 3) || Recv(1, _); b := x; Recv(1, m); a := PollRecv(1)",
            "a, b, m",
        ),
        (
            "m = 5 || x = 0",
            "Send(2, m); m := 6; Recv(2, m); PollRecv(2) || Recv(1, x); PollRecv(1); Send(1, x); a := x",
            "a, m",
        ),
        ("x = 0, m = 0", "Send(1, x); x := 1 | Recv(1, m); PollRecv(1); a := m", "a, m"),
    ];
    let (mut seen, mut all) = (0, 0);
    for (memory, program, observed) in cases {
        let test = test(memory, program, observed);
        let explored = outcomes(&test, Variant::RdmaTso);
        let simulated = simulate(&test, Variant::RdmaTso, FaultSet::NONE, 5_000);
        assert_eq!(total(&simulated), 5_000);
        for outcome in simulated.outcomes.keys() {
            assert!(explored.contains(outcome), "{program}: {outcome:?}");
        }
        assert_eq!(simulated.blocked + simulated.unfinished, 0, "{program}");
        seen += simulated.outcomes.len();
        all += explored.len();
    }
    assert!(all >= 10 && seen == all, "only {seen} of {all} outcomes seen");
    let lost =
        test("x = 0 || m = 0", "Send(2, 1); Send(2, 2); Poll(2); Poll(2) || Recv(1, m)", "m");
    assert!(outcomes(&lost, Variant::RdmaTso).is_empty());
    let simulated = simulate(&lost, Variant::RdmaTso, FaultSet::NONE, 1_000);
    assert_eq!((simulated.blocked, simulated.outcomes.len()), (1_000, 0));
}

/// Threads that run one after another show what no thread saw in the middle of another one.
#[test]
fn serial_outcomes_are_those_without_overlap() {
    let shown = |memory, program, observed, expected: &[&[u64]]| {
        let found = serial(&test(memory, program, observed)).unwrap();
        let expected: BTreeSet<_> = expected.iter().map(|values| outcome(values)).collect();
        assert_eq!(found, expected, "{program}");
    };
    shown("y = 0 || x = 0", SB, "a, b", &[&[0, 1], &[1, 0]]);
    let mp = "x^2 := 1; y^2 := 1 || a := y; b := x";
    shown("z = 0 || x = 0, y = 0", mp, "a, b", &[&[0, 0], &[1, 1]]);
    // The second thread waits for the first: only one order comes to its end.
    let spin = "x^2 := 1; y^2 := 1 || loop { a := y; if a = 1 { break } }; b := x";
    shown("z = 0 || x = 0, y = 0", spin, "a, b", &[&[1, 1]]);
}

#[test]
fn a_seed_determines_everything() {
    let test = test("y = 0 || x = 0", SB, "a, b");
    let run = |random: &mut Random| {
        let mut simulator = Simulator::new(&test, Variant::RdmaTso, FaultSet::NONE).unwrap();
        simulator.run(random, 1000)
    };
    assert_eq!(run(&mut Random::stream(7, 3)), run(&mut Random::stream(7, 3)));
    assert_ne!(run(&mut Random::stream(7, 3)), run(&mut Random::stream(7, 4)));
    // Outcomes of earlier runs have no influence.
    let mut simulator = Simulator::new(&test, Variant::RdmaTso, FaultSet::NONE).unwrap();
    simulator.run(&mut Random::new(5), 10);
    assert_eq!(simulator.run(&mut Random::stream(7, 3), 1000), run(&mut Random::stream(7, 3)));
    // Records promise that a seed gives the same numbers, so the generator must never change.
    assert_eq!(Random::new(1).bits(), 6_791_897_765_849_424_158);
}

#[test]
fn faults_show() {
    let test = test("|| x, y = 0, 0", "x^2 := 1; y^2 := 1 || a := y; b := x", "a, b");
    let faults = FaultSet::NONE.with(Fault::PutsReordered);
    let broken = simulate(&test, Variant::RdmaTso, faults, 1000);
    assert!(broken.outcomes.contains_key(&outcome(&[1, 0])));
    let explored = faulty(&test, Variant::RdmaTso, Fault::PutsReordered);
    assert!(broken.outcomes.keys().all(|outcome| explored.contains(outcome)));
    let correct = simulate(&test, Variant::RdmaTso, FaultSet::NONE, 1000);
    assert!(!correct.outcomes.contains_key(&outcome(&[1, 0])));
    assert!(correct.outcomes.keys().all(|seen| outcomes(&test, Variant::RdmaTso).contains(seen)));
}

#[test]
fn runs_without_an_outcome_are_counted() {
    let count = |body: &str| {
        let test = test("x = 0 |", body, "x");
        let histogram = simulate(&test, Variant::RdmaTso, FaultSet::NONE, 100);
        (histogram.blocked, histogram.assume_failed, histogram.unfinished)
    };
    assert_eq!(count("Poll(1) |"), (100, 0, 0));
    assert_eq!(count("a := x; assume(a = 1) |"), (0, 100, 0));
    assert_eq!(count("loop { skip } |"), (0, 0, 100));
    assert_eq!(count("loop { a := x } |"), (0, 0, 100));
    assert_eq!(count("loop { x^1 := 1 } |"), (0, 0, 100));
    assert_eq!(count("loop { a := x; if a = 1 { break } } | x := 1"), (0, 0, 0));
}
