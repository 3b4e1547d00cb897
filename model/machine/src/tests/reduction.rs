//! Reductions lose no outcome and no blocked statement.

use super::load::{complete, outcome, outcomes, test};
use super::random_programs::{SMALL, Shape, program};
use crate::{Effort, FaultSet, Limits, Trial, Variant, explore, explore_with};

/// From none to all.
const EFFORTS: [Effort; 5] =
    [Effort::None, Effort::Eager, Effort::Stubborn, Effort::Values, Effort::Full];

/// Compares all efforts on the programs of some seeds. Returns how many states each effort stored.
fn compare(shape: Shape, seeds: std::ops::Range<u64>) -> [u64; EFFORTS.len()] {
    let limits = Limits { states: 100_000, ..Limits::default() };
    let mut states = [0; EFFORTS.len()];
    let mut compared = 0;
    for seed in seeds {
        let test = program(seed, shape);
        let found = EFFORTS.map(|effort| {
            explore_with(&test, shape.variant, FaultSet::NONE, effort, limits.clone()).unwrap()
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
    compare(SMALL, 0..80);
    compare(Shape { locations_per_node: 2, ..SMALL }, 0..80);
}

#[test]
fn with_wait() {
    let wait = Shape { variant: Variant::RdmaWait, ..SMALL };
    compare(wait, 0..80);
    compare(Shape { locations_per_node: 2, ..wait }, 1000..1080);
    compare(Shape { variant: Variant::RdmaWaitPolls, ..wait }, 0..40);
    compare(Shape { threads: 1, statements: (4, 8), ..wait }, 0..80);
    compare(Shape { threads: 3, statements: (1, 3), ..wait }, 0..40);
}

#[test]
fn under_sc() {
    compare(Shape { variant: Variant::Sc, threads: 3, ..SMALL }, 0..80);
}

#[test]
fn three_threads() {
    let three = Shape { threads: 3, statements: (1, 3), ..SMALL };
    compare(three, 0..40);
    compare(Shape { nodes: 3, ..three }, 0..40);
    compare(Shape { nodes: 1, locations_per_node: 2, ..three }, 0..40);
}

#[test]
fn one_thread_with_many_operations() {
    let one = Shape { threads: 1, nodes: 1, statements: (4, 7), locations_per_node: 2, ..SMALL };
    compare(one, 0..40);
    compare(Shape { nodes: 2, locations_per_node: 2, ..one }, 0..40);
}

/// Polls of several queue pairs, which have a choice.
#[test]
fn with_shared_polls() {
    let shared = Shape { shared_polls: true, statements: (2, 5), ..SMALL };
    compare(shared, 0..120);
    compare(Shape { threads: 1, statements: (4, 8), ..shared }, 0..80);
    compare(Shape { threads: 3, statements: (1, 4), nodes: 3, ..shared }, 0..40);
    compare(Shape { variant: Variant::Sc, ..shared }, 0..40);
    let bodies = [
        "c := x^2; y^2/1 := 2; Poll({2, 2/1}); a := c || b := y; x := 3",
        "c := x^2; d := y^2/1; Poll({2, 2/1}); a := c; b := d; Poll({2, 2/1}) || x := 3; y := 3",
        "x^2 := s; y^2/1 := 1; Poll({2, 2/1}); s := 2; Poll(2/1) || a := x; b := y",
    ];
    for body in bodies {
        compare_one(&test("s = 1 || x = 1, y = 0", body, "a, b"), Variant::RdmaTso, body);
    }
}

/// Compares all efforts on a program.
fn compare_one(test: &lang::Test, variant: Variant, body: &str) {
    let found = EFFORTS.map(|effort| {
        explore_with(test, variant, FaultSet::NONE, effort, Limits::default()).unwrap()
    });
    assert!(found[0].complete && found[0].outcomes.len() > 1, "{body}");
    for reduced in &found[1..] {
        assert_eq!(reduced.outcomes, found[0].outcomes, "{body}");
        assert_eq!(reduced.blocked, found[0].blocked, "{body}");
    }
}

/// Queue pairs that threads share: each thread's requests may come first, and each may take a completion.
#[test]
fn with_shared_posts() {
    let shared = Shape { nodes: 2, threads: 3, statements: (1, 3), shared_posts: true, ..SMALL };
    compare(shared, 0..120);
    compare(Shape { nodes: 1, threads: 2, statements: (2, 4), ..shared }, 0..120);
    compare(Shape { shared_polls: true, statements: (1, 4), ..shared }, 0..120);
    compare(Shape { nodes: 1, threads: 2, loops: false, statements: (3, 5), ..shared }, 0..60);
}

/// Requests of several words: the words of one overtake each other, and leave one notice.
#[test]
fn with_words() {
    let bodies = [
        ("x^2 := s; Poll(2); s[0] := 2; s[1] := 2 || a := x[1]; b := x[0]", "a, b"),
        ("s := x^2; Poll(2); c := s[0]; d := s[1] || x[1] := 1; x[0] := 1; a := x[0]", "c, d"),
        (
            "s := x^2; x^2 := s; Rfence(2); f^2 := 1; Poll(2); s[0] := 3 || a := f; b := x[0]; x[1] := 5",
            "a, b, x",
        ),
        (
            "unsignaled x^2 := s; s := x^2; Poll(2); c := s[0]; s[1] := 4 || a := x[1]; x[0] := 7",
            "a, c",
        ),
        (
            "x^2 :=^d s; s :=^e x^2; Wait(d); s[0] := 2; Wait(e); c := s[1] || x[0] := 8; b := x[1]",
            "b, x",
        ),
    ];
    for (body, observed) in bodies {
        let test = test("s[2] = (1, 1) || x[2] = 0, f = 0", body, observed);
        let variants: &[Variant] = match body.contains("Wait") {
            true => &[Variant::RdmaWait, Variant::RdmaWaitPolls, Variant::Sc],
            false => &[Variant::RdmaTso, Variant::Sc],
        };
        variants.iter().for_each(|variant| compare_one(&test, *variant, body));
    }
}

/// Values that are kept beside the states, and programs with too many observables or values for that.
#[test]
fn with_pasts_of_any_size() {
    let writes = (1..=17).map(|value| format!("x := {value}"));
    let writes: String = writes.collect::<Vec<_>>().join("; ");
    for registers in [2, 31, 32] {
        let names: Vec<String> = (2..=registers).map(|index| format!("r{index}")).collect();
        let rest: String = names.iter().map(|name| format!("; {name} := a + 7")).collect();
        let body = format!("{writes} | a := x{rest}; b := x");
        let test = test("x = 0 | ", &body, &format!("a, b, {}", names.join(", ")));
        let found = [Effort::Stubborn, Effort::Full].map(|effort| {
            explore_with(&test, Variant::Tso, FaultSet::NONE, effort, Limits::default()).unwrap()
        });
        assert!(found[0].complete && found[0].outcomes.len() == 171, "{registers}");
        assert_eq!(found[0].outcomes, found[1].outcomes, "{registers}");
        // 18 values need five bits. Else there is a state for each value that is read first, or more.
        let is_kept = found[1].states <= 18;
        assert_eq!(is_kept, (registers + 1) * 5 <= 128, "{registers}: {}", found[1].states);
    }
}

/// Few states may have many outcomes, which limits bound too. What is found within them is right.
#[test]
fn outcomes_are_within_limits() {
    let row = |name: &str, count: usize| -> Vec<String> {
        (0..count).map(|index| format!("{name}{index}")).collect()
    };
    let reads = |names: &[String]| -> String {
        names.iter().map(|name| format!("{name} := x; ")).collect::<String>()
    };
    let (a, b) = (row("a", 5), row("b", 5));
    let body = format!(
        "x := 1; x := 2; x := 3; x := 4; x := 5 | {}y := 1 | {}y := 2",
        reads(&a),
        reads(&b)
    );
    let test = test("x, y = 0, 0 | |", &body, &[a, b].concat().join(", "));
    let all = complete(explore(&test, Variant::Tso, Limits::default()).unwrap());
    assert_eq!(all.len(), 63_504);
    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let found = explore(&test, Variant::Tso, limits).unwrap();
    assert!(!found.complete && found.reason.unwrap().starts_with("outcomes need more than"));
    assert!(found.outcomes.len() > 100 && found.outcomes.is_subset(&all));
    let trial = |outcomes| {
        let trial = Some(Trial { states: 100, memory: usize::MAX, outcomes });
        explore(&test, Variant::Tso, Limits { trial, ..Limits::default() }).unwrap()
    };
    assert!(trial(10).complete && !trial(70_000).complete);
}

/// A thread that waits for what no one will write goes round few times between two states.
#[test]
fn threads_that_wait_take_few_steps() {
    let spin = "loop { a := x; if a = 1 { break } } | y := 1 | b := y";
    let test = test("x, y = 0, 0 | |", spin, "b");
    let found = explore(&test, Variant::Tso, Limits::default()).unwrap();
    assert!(found.complete && found.outcomes.is_empty());
    assert!(found.transitions < 300, "{} steps", found.transitions);
}

/// Writes that nobody else sees do not wait for each other, and others do.
#[test]
fn long_threads() {
    let body = vec!["x := 1; x := 2"; 500].join("; ");
    let found = explore(&test("x = 0", &body, "x"), Variant::Tso, Limits::default()).unwrap();
    assert_eq!(complete(found), [outcome(&[2])].into());
    let seen = format!("{body} | a := x");
    let found = explore(&test("x = 0 |", &seen, "a"), Variant::Tso, Limits::default()).unwrap();
    assert!(!found.complete && found.reason.unwrap().starts_with("a queue holds more than"));
}

/// Orders that a wrong reduction would lose, and that random programs of this size seldom have.
#[test]
fn rare_orders() {
    let check = |variant, declared: &str, body: &str, observed: &str, values: &[u64]| {
        let found = outcomes(&test(declared, body, observed), variant);
        assert!(found.contains(&outcome(values)), "{body}: {found:?}");
    };
    // The first RMW may be done, and the second wait for the lock, while x is still 0.
    let body = "RFAA(_, x^3, 1) || RFAA(_, y^3, 1) || a := y; b := x";
    check(Variant::RdmaTso, "|| || x, y = 0, 0", body, "a, b", &[1, 0]);
    // The rfence leaves before c is written.
    let body = "c := x^2; Rfence(2); RFAA(_, z^2, 1) || a := z; b := c^1";
    check(Variant::RdmaTso, "|| x, z = 1, 0", body, "a, b", &[1, 0]);
    // The Wait gets past the get before the put is written.
    let body =
        "c := w^2; z^2 :=^d 1; Wait(d); a := y || y^1 := 1; e :=^f v^1; Wait(f); b := z; w := 1";
    check(Variant::RdmaWait, "y, v = 0, 0 || w, z = 0, 0", body, "a, b, c", &[0, 0, 1]);
}

/// What nothing else can see leaves the queues before more comes, so long programs do not fill them.
#[test]
fn long_programs() {
    let bodies = [
        ("x := 1; ", Variant::RdmaTso),
        ("y^2 := x; ", Variant::RdmaTso),
        ("x := y^2; ", Variant::RdmaTso),
        ("y^2 := x; Poll(2); ", Variant::RdmaTso),
        ("y^2 :=^d x; Wait(d); ", Variant::RdmaWait),
        ("x := RFAA(y^2, 1); Poll(2); ", Variant::RdmaTso),
        ("x := 1; y^2 := x; Poll(2); ", Variant::RdmaTso),
        ("Rfence(2); ", Variant::RdmaTso),
        ("y^2 := x; ", Variant::Sc),
    ];
    for (statements, variant) in bodies {
        let body = format!("x := 1; {} ||", statements.repeat(300));
        let test = test("x = 0 || y = 0", &body, "x, y");
        let limits = Limits { states: 300, ..Limits::default() };
        let found = explore(&test, variant, limits).unwrap();
        assert!(found.complete && found.outcomes.len() == 1, "{statements}: {:?}", found.reason);
    }
}

/// When all that outcomes show is decided, what is left takes no steps, unless it may not end or not count.
#[test]
fn decided_outcomes_need_no_more_steps() {
    let explored = |body: &str| {
        let test = test("x, y = 0, 0 || z = 0", body, "a");
        let found = explore(&test, Variant::RdmaTso, Limits::default()).unwrap();
        assert!(found.complete, "{body}: {:?}", found.reason);
        (found.transitions, found.outcomes.into_iter().collect::<Vec<_>>())
    };
    let both = [outcome(&[0]), outcome(&[1])];
    let plain = explored("a := x | x := 1 ||");
    assert_eq!(plain.1, both);
    for rest in ["y := 2; b := y", "z^2 := x; Poll(2); b := y"] {
        assert_eq!(explored(&format!("a := x; {rest} | x := 1 ||")), plain, "{rest}");
    }
    assert_eq!(
        explored("a := x; z^2 := x; Poll(2) | x := 1 | z^2 := 1; z^2 := 2; Poll(2) ||").1,
        both
    );
    assert_eq!(explored("a := x; Poll(2) | x := 1 ||").1, []);
    assert_eq!(explored("a := x; assume(a = 1) | x := 1 ||").1, both[1..]);
    assert_eq!(explored("a := x; while a = 0 { y := 1 } | x := 1 ||").1, both[1..]);
}

/// Paths through a loop that counts its turns come together. Else, four times the turns would take sixteen
/// times the steps.
#[test]
fn counted_turns_take_steps_in_proportion() {
    let steps = |turns: u32| {
        let body = format!("i := 0; while i < {turns} {{ i := i + 1; y^2 := 1 }} || a := y");
        let test = test("|| y = 0", &body, "a");
        let found = explore(&test, Variant::RdmaTso, Limits::default()).unwrap();
        assert!(found.complete, "{:?}", found.reason);
        found.transitions
    };
    let (few, many) = (steps(200), steps(800));
    assert!(many < 6 * few, "{few} steps, then {many}");
}

/// A loop that may post without end fills a queue soon. If that came last, all that may happen beside the
/// loop would be explored for each number of requests.
#[test]
fn threads_that_post_on_fill_queues_soon() {
    let spin = "loop { x := y^2; a := x; if a = 1 { break } }";
    let body =
        format!("{spin}; y^2 := 2 | loop {{ z := y^2; b := z; if b = 2 {{ break }} }} || y := 1");
    let test = test("x, z = 0, 0 || y = 0", &body, "a, b");
    let limits = Limits { states: 20_000, ..Limits::default() };
    let found = explore(&test, Variant::RdmaTso, limits).unwrap();
    let reason = found.reason.unwrap();
    assert!(reason.starts_with("a queue holds more than"), "{} states: {reason}", found.states);
}

/// An RMW's remote write comes to wbR alone if the get ahead reads first. The RMW's local write, which the
/// pipe kept behind it, may then be first at memory. And local writes come to wbL alone when nothing else is
/// ahead of a fence any more. What is behind the fence may then be first.
#[test]
fn rules_that_come_apart() {
    let programs = [
        (
            "x = 0, y = 0 || u = 0",
            "thread 1 @ 1 { a := CAS(y, 0, 1); y := y^1; RFAA(x, x^1, 2) }
             thread 2 @ 1 { y^1 := x }
             thread 3 @ 1 { x := 6; y := u^2 }",
            "x, y, a",
        ),
        ("x = 1, y = 0", "thread 1 @ 1 { x := y^1; y := y^1; Rfence(1); y := x^1 }", "x, y"),
        (
            "x = 1, y = 0, c = 0, d = 0, e = 0",
            "thread 1 @ 1 { c := x^1; d := y^1; Rfence(1); e := c^1 }
             thread 2 @ 1 { y := 1 }",
            "c, d, e",
        ),
        (
            "c = 0, d = 0 || x = 1, y = 0, z = 0",
            "thread 1 @ 1 { c := x^2; d := y^2; Rfence(2); RFAA(_, z^2, 1) }
             thread 2 @ 2 { a := z; b := c^1 }
             thread 3 @ 2 { y := 1 }",
            "a, b",
        ),
    ];
    for (declarations, body, observed) in programs {
        let test = test(declarations, body, observed);
        compare_one(&test, Variant::RdmaTso, body);
        compare_one(&test, Variant::RdmaWait, body);
    }
}

/// Gets and fences of a node's threads, where rule 7 comes apart from rule 8.
#[test]
fn with_many_fences() {
    let fences = Shape { nodes: 1, fences: true, loops: false, locations_per_node: 3, ..SMALL };
    compare(Shape { threads: 1, statements: (4, 7), ..fences }, 500..650);
    compare(Shape { threads: 2, statements: (2, 5), ..fences }, 50..120);
    compare(Shape { variant: Variant::RdmaWait, statements: (2, 4), ..fences }, 0..50);
}
