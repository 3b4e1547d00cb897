//! Whether executions end, and where threads wait if they wait forever.

use lang::Test;

use super::load::test;
use super::random_programs::{SMALL, Shape, program};
use crate::progress::{always_ends, ends_with};
use crate::{Effort, Ending, Limits, Place, Variant, explore_to_ends, may_wait, why_nothing};

/// For each way to be stuck, the statements at which threads wait: `1: Poll(2)`; and `1: message Send(2, x)`.
fn ways(test: &Test, text: &str, ending: &Ending) -> Vec<Vec<String>> {
    let Ending::NotAlways(ways) = ending else { panic!("{ending:?}") };
    assert_eq!(ways.iter().next().map(Vec::len), Some(test.program.threads.len()));
    let place = |(thread, place): (usize, &Option<Place>)| {
        let place = (*place)?;
        let what = match place {
            Place::Thread(_) => "",
            Place::Message(_) => "message ",
            Place::SomeMessage(_) => "some message ",
        };
        Some(format!("{}: {what}{}", thread + 1, &text[place.at().range()]))
    };
    ways.iter().map(|way| way.iter().enumerate().filter_map(place).collect()).collect()
}

/// Checks a program (`declared`, `body`) for the expected ways to be stuck.
#[track_caller]
fn check(declared: &str, body: &str, variant: Variant, expected: &[&[&str]]) {
    let test = test(declared, body, "x");
    let text = super::load::text(declared, body, "x");
    let (found, ending) = explore_to_ends(&test, variant, Limits::default()).unwrap();
    assert!(found.complete);
    if expected.is_empty() {
        assert_eq!(ending, Ending::Always, "{body}");
    } else {
        assert_eq!(ways(&test, &text, &ending), expected, "{body}");
    }
}

#[test]
fn where_threads_wait() {
    const TSO: Variant = Variant::RdmaTso;
    // In all of these, some executions end unless a comment says otherwise.
    check(
        "x = 0, z = 0 ||",
        "a := x; if a = 0 { while z = 0 { skip } } || x^1 := 1",
        TSO,
        &[&["1: while z = 0 { skip }"]],
    );
    check("x = 0 || y = 0", "a := x; if a = 1 { Poll(2) } || x^1 := 1", TSO, &[&["1: Poll(2)"]]);
    let posted = "a := x; if a = 1 { y^2 := 1 }; if a = 1 { Poll(2) } || x^1 := 1";
    check("x = 0 || y = 0", posted, TSO, &[]);
    check("x = 0", "while x = 0 { skip } | x := 1", TSO, &[]);
    // One thread waits at one of two places, and the other continues without it.
    let two = "a := x; if a = 0 { while z = 0 { skip } } else { loop { b := z; c := x; if b > c { break } } } \
               || x^1 := 1; x^1 := 1";
    check(
        "x = 0, z = 0 ||",
        two,
        TSO,
        &[&["1: while z = 0 { skip }"], &["1: loop { b := z; c := x; if b > c { break } }"]],
    );
    // Either poll may take the completion that the other one needs.
    let shared = "x^1 := 1; y^2 := 1; Poll({1, 2}); Poll(1) ||";
    check("x = 0 || y = 0", shared, TSO, &[&["1: Poll(1)"]]);
    let enough = "x^1 := 1; y^2 := 1; Poll({1, 2}); Poll({1, 2}) ||";
    check("x = 0 || y = 0", enough, TSO, &[]);
    // No execution ends, and the second thread waits for nothing.
    check("x = 0 || y = 0", "loop { Mfence } || b := y; c := y", TSO, &[&["1: loop { Mfence }"]]);
    // Two locks that the threads take in different orders.
    let lock = |name: &str, by: &str| {
        format!("loop {{ {by} := CAS({name}, 0, 1); if {by} = 0 {{ break }} }}")
    };
    let [first, second] = [lock("x", "d"), lock("y", "c")];
    let body = format!(
        "{}; {second}; y := 0; x := 0 | {}; {first}; x := 0; y := 0",
        lock("x", "a"),
        lock("y", "b")
    );
    let stuck = [format!("1: {second}"), format!("2: {first}")];
    check("x = 0, y = 0", &body, Variant::Tso, &[&[&stuck[0], &stuck[1]]]);
    // No execution ends.
    let both = "while x = 0 { skip } | while y = 0 { skip }";
    let all = ["1: while x = 0 { skip }", "2: while y = 0 { skip }"];
    check("x = 0, y = 0", both, Variant::Sc, &[&all]);
}

#[test]
fn limits_leave_it_open() {
    let test = test("x = 0 || y = 0", "while x < 2 { skip } || x^1 := 1; x^1 := 2", "x");
    let limits = Limits { states: 1, ..Limits::default() };
    let (found, ending) = explore_to_ends(&test, Variant::RdmaTso, limits).unwrap();
    assert!(!found.complete && ending == Ending::Unknown);
}

#[test]
fn reduction_changes_nothing() {
    let shape = Shape { statements: (2, 4), ..SMALL };
    let (mut always, mut not_always) = (0, 0);
    for variant in [Variant::RdmaTso, Variant::RdmaWait] {
        for seed in 0..100 {
            let shared_polls = seed % 4 == 0;
            let test = program(seed, Shape { variant, shared_polls, ..shape });
            let limits = Limits { states: 5_000, ..Limits::default() };
            let none = (Effort::None, Effort::None);
            let (plain, plainly) = ends_with(&test, variant, none, limits.clone()).unwrap();
            let full = (Effort::Full, Effort::Eager);
            let (_, reduced) = ends_with(&test, variant, full, limits).unwrap();
            if !plain.complete {
                continue;
            }
            assert_eq!(plainly, reduced, "{variant:?} {seed}");
            match plainly {
                Ending::Always => always += 1,
                Ending::NotAlways(_) => {
                    assert!(may_wait(&test.program), "{variant:?} {seed}");
                    not_always += 1;
                }
                Ending::Unknown => panic!("{variant:?} {seed}"),
            }
        }
    }
    assert!(always > 100 && not_always > 20, "{always} {not_always}");
}

#[test]
fn why_there_is_no_outcome() {
    let rows = [
        ("a := x", "the model allows no execution"),
        ("a := x; assume(a = 1)", "the model allows no execution that meets its assumptions"),
        (
            "a := x; if a = 0 { assume(a = 1) }",
            "the model allows no execution that meets its assumptions",
        ),
        ("while x = 0 { skip }", "no execution ends"),
        ("Poll(1)", "no execution ends"),
        ("loop { assume(x = 1) }", "no execution ends and meets its assumptions"),
        ("a := z[x + 2]", "the model allows no execution that keeps its indices in range"),
    ];
    for (body, expected) in rows {
        let program = test("x = 0, z[2] = 0", body, "x").program;
        assert_eq!(why_nothing(&program, false), expected, "{body}");
    }
    let known = [
        ("a := x; assume(a = 1)", "every execution fails an `assume`"),
        ("a := z[x + 2]", "in every execution, an index is out of range"),
        (
            "a := z[x + 2]; assume(a = 1)",
            "each execution fails an `assume` or has an index out of range",
        ),
    ];
    for (body, expected) in known {
        let program = test("x = 0, z[2] = 0", body, "x").program;
        assert_eq!(why_nothing(&program, true), expected, "{body}");
    }
}

/// Without branches, counting says exactly whether a program ends.
#[test]
fn counting_says_whether_straight_programs_end() {
    let shape = Shape { statements: (2, 5), loops: false, ..SMALL };
    let (mut always, mut not_always) = (0, 0);
    for seed in 0..300 {
        let mut test = program(seed, shape);
        if seed % 2 == 1 {
            // A poll may then wait for what is never posted.
            let program = &mut test.program;
            let is_request = |stmt: &lang::program::Stmt| stmt.kind.is_request();
            for thread in &mut program.threads {
                let first = thread.body.iter().position(is_request);
                first.map(|first| thread.body.remove(first));
            }
        }
        let limits = Limits { states: 5_000, ..Limits::default() };
        let none = (Effort::None, Effort::None);
        let (found, ending) = ends_with(&test, Variant::RdmaTso, none, limits).unwrap();
        let Some(ends) = always_ends(&test.program).filter(|_| found.complete) else { continue };
        assert_eq!(ends, ending == Ending::Always, "{seed}");
        *(if ends { &mut always } else { &mut not_always }) += 1;
    }
    assert!(always > 50 && not_always > 10, "{always} {not_always}");
}

/// Checks that counting says whether a program always ends, and that the graph of its states says the same.
#[track_caller]
fn counts(declared: &str, body: &str, expected: bool) {
    let test = test(declared, body, "x");
    assert_eq!(always_ends(&test.program), Some(expected), "{body}");
    let efforts = (Effort::Full, Effort::Eager);
    let (found, ending) = ends_with(&test, Variant::RdmaTso, efforts, Limits::default()).unwrap();
    assert!(found.complete);
    assert_eq!(ending == Ending::Always, expected, "{body}");
}

#[test]
fn counting_knows_messages() {
    let rows = [
        ("Send(2, 1) || Recv(1, y)", true),
        ("Send(2, 1); Poll(2) || Recv(1, y); PollRecv(1)", true),
        ("Send(2, 1); Send(2, 2); Poll(2) || Recv(1, y)", false),
        ("Send(2, 1); Send(2, 2); Poll(2); Poll(2) || Recv(1, y)", false),
        ("Send(2, 1) || Recv(1, y); PollRecv(1); PollRecv(1)", false),
        ("unsignaled Send(2, 1); Poll(2) || Recv(1, y)", false),
        // What is behind a message that waits for a receive waits too.
        ("Send(2, 1); y^2 := 1; Poll(2) || a := y", false),
        ("Send(2, 1); y^2/1 := 1; Poll(2/1) || a := y", false),
        // No receive is left, though nothing polls.
        ("Send(2, 1); Send(2, 2) || Recv(1, y)", false),
        // Each waits for the other's message before it sends its own.
        ("Recv(2, x); PollRecv(2); Send(2, 1) || Recv(1, y); PollRecv(1); Send(1, 1)", false),
        ("Recv(2, x); Send(2, 1); PollRecv(2) || Recv(1, y); PollRecv(1); Send(1, 1)", true),
    ];
    rows.iter().for_each(|(body, expected)| counts("x = 0 || y = 0", body, *expected));
}

/// Executions that fail an assumption do not count, and those may be the ones that wait.
#[test]
fn counting_leaves_assumptions_to_others() {
    let of = |body| always_ends(&test("x = 0 || y = 0", body, "x").program);
    assert_eq!(of("assume(x = 1); Poll(2) || a := y"), None);
    assert_eq!(of("y^2 := 1; assume(x = 1); Poll(2) || a := y"), Some(true));
}

/// Polls that may take what another poll waits for: all ways are looked at.
#[test]
fn counting_knows_polls_that_compete() {
    let rows = [
        ("y^2/s0 := 1 | Poll(2/s0) || a := y", true),
        ("y^2/s0 := 1; Poll(2/s0) | Poll(2/s0) || a := y", false),
        // The other thread's poll may take the first completion, and the second is never sent.
        ("y^2/s0 := 1; Poll(2/s0); y^2/s0 := 2 | Poll(2/s0) || a := y", false),
        ("y^2/s0 := 1; y^2/s0 := 2; Poll(2/s0) | Poll(2/s0) || a := y", true),
        ("y^2/s0 := 1; unsignaled y^2/s0 := 2; Poll(2/s0) | Poll(2/s0) || a := y", false),
        ("y^2/1 := 1; y^2/2 := 2; Poll({2/1, 2/2}); Poll({2/1, 2/2}) | || a := y", true),
        ("y^2/1 := 1; y^2/2 := 2; Poll({2/1, 2/2}); Poll(2/2) | || a := y", false),
        ("y^2/1 := 1; Poll({2/1, 2/2}); y^2/2 := 2; Poll(2/2) | || a := y", true),
    ];
    rows.iter().for_each(|(body, expected)| counts("x = 0 | || y = 0", body, *expected));
}

/// A thread may be done while its message waits for a receive.
#[test]
fn messages_without_receives_are_shown() {
    let x = "x = 0 || y = 0";
    let ways: &[&[&str]] = &[&["1: message Send(2, 2)"]];
    check(x, "Send(2, 1); Send(2, 2); Send(2, 3) || Recv(1, y)", Variant::RdmaTso, ways);
    check(x, "Send(2, 1); Poll(2) || a := y", Variant::RdmaTso, &[&["1: Poll(2)"]]);
    let branch = "a := x; Send(2, 1); if a = 1 { Send(2, 2) } || Recv(1, y); x^1 := 1";
    check(x, branch, Variant::RdmaTso, &[&["1: some message Send(2, 2)"]]);
}
