//! Writes that nobody reads before their location is written again.

use super::load::{complete, test};
use crate::{Effort, FaultSet, Limits, Variant, explore, explore_with};

/// The outcomes, states and steps of threads on node 1 that write one location many times, by CPU or by puts,
/// and one that reads it twice.
fn explored(threads: usize, writes: usize, is_put: bool) -> (usize, u64, u64) {
    let (place, variant) = if is_put { ("x^2", Variant::RdmaTso) } else { ("x", Variant::Tso) };
    let reader = if is_put { 2 } else { 1 };
    let mut body = String::new();
    for thread in 0..threads {
        let values = thread * writes + 1..=(thread + 1) * writes;
        let all: Vec<String> = values.map(|value| format!("{place} := {value}")).collect();
        body.push_str(&format!("thread {} @ 1 {{ {} }}\n", thread + 1, all.join("; ")));
    }
    body.push_str(&format!("thread {} @ {reader} {{ a := x; b := x }}\n", threads + 1));
    let test = test(if is_put { "|| x = 0" } else { "x = 0" }, &body, "a, b");
    let found = explore(&test, variant, Limits::default()).unwrap();
    let (states, steps) = (found.states, found.transitions);
    (complete(found).len(), states, steps)
}

/// With four times the writes, of one thread or by more of them, there are about four times the states, and
/// steps grow as outcomes do. States do so too where queues are long, which they are early in tests.
#[test]
fn states_are_in_proportion_to_writes() {
    let cases = [
        (false, (2, 6), (2, 24), 5),
        (false, (3, 1), (12, 1), 5),
        (true, (3, 1), (12, 1), 5),
        (true, (2, 6), (2, 24), 20),
    ];
    for (is_put, few, many, times) in cases {
        let [few, many] = [few, many].map(|(threads, writes)| {
            let found = explored(threads, writes, is_put);
            let all = threads * writes;
            // 0, then 0 or any write; or a write, then one that does not come before it.
            let earlier = threads * writes * (writes - 1) / 2;
            assert_eq!(
                found.0,
                1 + all + all * all - earlier,
                "{threads} threads, {writes} writes"
            );
            found
        });
        assert!(many.1 < times * few.1 && many.2 < 35 * few.2, "{few:?}, then {many:?}");
    }
}

/// Programs in which something keeps a write from coming last, or from being read: each is compared with the
/// machine without reduction.
#[test]
fn what_waits_for_a_write_or_for_its_reader() {
    let programs = [
        // Both last writes come to memory, though a thread that waits forever might read them.
        ("x = 0, y = 0 ||", "x := 1 | x := 2 | a := y; Poll(2); b := x ||", "a"),
        ("x = 0 || y = 0", "x := 1 | x := 2 | Send(2, 1); Poll(2); a := x ||", "y"),
        ("|| x = 0", "x^2 := 1 | x^2 := 2 || Send(1, 1); Poll(1); a := x", "a"),
        ("|| x = 0, y = 0", "x^2 := 1 | x^2 := 2 || a := y; if a = 1 { b := x } | y := 1", "a, b"),
        // Own reads, fences, and what comes to the buffer later.
        ("x = 0 ||", "x := 1; a := x; b := x | x := 2; c := x ||", "a, b, c"),
        ("x = 0, y = 0 ||", "x := 1; Mfence; y := 1 | x := 2 | a := y; b := x ||", "a, b"),
        ("x = 0 || y = 0", "x := 1; y^2 := x | x := 2 | a := x || b := y; c := y", "a, b, c"),
        ("x = 0 || y = 0", "y^2 := 1; x := y^2 | y^2 := 2 || a := y; b := y", "a, b, x"),
        ("x = 0 || y = 0", "y^2 := 1; Poll(2); y^2 := 2 | y^2 := 3 || a := y; b := y", "a, b"),
        ("x = 0 || y = 0", "y^2 := 1 | x := RFAA(y^2, 2) || y := 7; a := y; b := y", "a, b, x"),
        ("x = 0 || y = 0", "y^2 := 1; y^2 := 2 | x := y^2; y^2 := x || y := 3; a := y", "a, x"),
        ("|| x = 0", "x^2 := 1; x^2 := 2 | x^2 := 3 || a := x; b := x", "a, b, x"),
        // The first write of y is overwritten before the thread posts on, or before that leaves its buffer.
        (
            "w, x = 0, 0 || y = 0, z = 0",
            "y^2 := 1; a := w; z^2 := 5 | y^2 := 2; x := y^2; Poll(2); Poll(2); w := 1 \
             || b := z; c := y",
            "a, b, c",
        ),
        (
            "w, x = 0, 0 || y = 0, z = 0",
            "y^2 := 1; w := 1; z^2 := 5 | y^2 := 2; x := y^2; Poll(2); Poll(2); a := w \
             || b := z; c := y",
            "a, b, c",
        ),
        // Completions come with their writes.
        (
            "|| y = 0",
            "Send(2, 1); Send(2, 2) || Recv(1, y); Recv(1, y); PollRecv(1); PollRecv(1); a := y",
            "a",
        ),
    ];
    for (declarations, body, observed) in programs {
        let test = test(declarations, body, observed);
        let with = |effort| {
            let limits = Limits::default();
            explore_with(&test, Variant::RdmaTso, FaultSet::NONE, effort, limits).unwrap()
        };
        let (all, reduced) = (with(Effort::None), with(Effort::Full));
        assert!(all.complete && reduced.complete, "{body}");
        assert_eq!(reduced.outcomes, all.outcomes, "{body}");
        assert_eq!(reduced.blocked, all.blocked, "{body}");
    }
}
