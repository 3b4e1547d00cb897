//! Verdicts that the papers print, for programs that need no library, and related cases.

use super::load::{outcome, outcomes, test};
use lang::limits;

use crate::{Limits, Variant, explore};
use lang::Test;

const TSO: Variant = Variant::RdmaTso;
const WAIT: Variant = Variant::RdmaWait;

fn check(name: &str, test: &Test, variant: Variant, allowed: &[&[u64]], forbidden: &[&[u64]]) {
    let found = outcomes(test, variant);
    for values in allowed {
        assert!(
            found.contains(&outcome(values)),
            "{name}: {values:?} should be allowed: {found:?}"
        );
    }
    for values in forbidden {
        assert!(!found.contains(&outcome(values)), "{name}: {values:?} should be forbidden");
    }
}

#[test]
fn polling_puts() {
    let put = |body: &str| test("x = 0 || z = 0", &format!("{body}; x := 1 ||"), "z");
    check("2a", &put("z^2 := x; Poll(2)"), TSO, &[&[0]], &[&[1]]);
    check("2b", &put("z^2 := x; z^2 := x; Poll(2)"), TSO, &[&[0], &[1]], &[]);
    check("2c", &put("z^2 := x; z^2 := x; Poll(2); Poll(2)"), TSO, &[&[0]], &[&[1]]);
}

#[test]
fn waiting_for_puts() {
    let put = |body: &str| test("x = 0 || z = 0", &format!("{body}; x := 1 ||"), "z");
    for variant in [WAIT, Variant::RdmaWaitPolls] {
        check("3a", &put("z^2 :=^d x; Wait(d)"), variant, &[&[0]], &[&[1]]);
        check("3b", &put("z^2 :=^e x; z^2 :=^d x; Wait(d)"), variant, &[&[0]], &[&[1]]);
        check("3b, other", &put("z^2 :=^e x; z^2 :=^d x; Wait(e)"), variant, &[&[0], &[1]], &[]);
    }
}

#[test]
fn store_buffering_through_the_nic() {
    let declared = "y = 0, w = 0 || x = 0, z = 0";
    let weak = "x^2 :=^d 1; Wait(d); a := y || y^1 :=^e 1; Wait(e); b := x";
    let weak = test(declared, weak, "a, b");
    check("RMW 4", &weak, WAIT, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]], &[]);
    let flushed = "x^2 := 1; c :=^d z^2; Wait(d); a := y || y^1 := 1; e :=^f w^1; Wait(f); b := x";
    let flushed = test(declared, flushed, "a, b");
    check("LOCO 4r", &flushed, WAIT, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
}

#[test]
fn one_node() {
    let declared = "x = 0, y = 0 | || w = 1";
    let sb = test(declared, "x := 1; a := y | y := 1; b := x ||", "a, b");
    check("LOCO 8a", &sb, WAIT, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]], &[]);
    check("8a under tso", &sb, Variant::Tso, &[&[0, 0]], &[]);
    check("8a under sc", &sb, Variant::Sc, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
    let fenced = test(declared, "x := 1; Mfence; a := y | y := 1; Mfence; b := x ||", "a, b");
    check("8a fenced", &fenced, TSO, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
    let mp = test(declared, "x := 1; y := 1 | a := y; b := x ||", "a, b");
    check("LOCO 8b", &mp, TSO, &[&[0, 0], &[0, 1], &[1, 1]], &[&[1, 0]]);
    let get = test(declared, "x := w^2; y := 1 | a := y; b := x ||", "a, b");
    check("LOCO 8c", &get, TSO, &[&[1, 0]], &[]);
    let cas = test(declared, "a := CAS(x, 0, 2) | x := 1 ||", "a, x");
    check("RMW §2.3", &cas, TSO, &[&[0, 1], &[1, 1]], &[&[0, 2]]);
}

#[test]
fn remote_rmws_against_writes() {
    let cpu = test("|| x = 0", "RCAS(a, x^2, 0, 2) || x := 1", "x");
    check("6a", &cpu, TSO, &[&[1], &[2]], &[&[0]]);
    let put = test("|| || x = 0", "RCAS(a, x^3, 0, 2) || x^3 := 1 ||", "x");
    check("6b", &put, TSO, &[&[1], &[2]], &[&[0]]);
    let rmw = test("|| || x = 0", "RCAS(a, x^3, 0, 2) || RFAA(b, x^3, 1) ||", "x");
    check("6c", &rmw, TSO, &[&[1], &[3]], &[&[0], &[2]]);
}

#[test]
fn remote_rmws_and_order() {
    let get = test("|| x, y = 0, 0", "a := x^2; y^2 := 1 || b := y; x := 1", "a, b");
    check("7a", &get, TSO, &[&[1, 1], &[0, 0], &[0, 1]], &[]);
    let rcas = test("|| x, y = 0, 0", "RCAS(a, x^2, 8, 9); y^2 := 1 || b := y; x := 1", "a, b");
    check("7b", &rcas, TSO, &[&[0, 0], &[0, 1]], &[&[1, 1]]);
    let polled = "RFAA(_, x^2, 1); Poll(2); a := y || RFAA(_, y^1, 1); Poll(1); b := x";
    let polled = test("y = 0 || x = 0", polled, "a, b");
    check("7c", &polled, TSO, &[&[0, 0]], &[]);
    check("7c under sc", &polled, Variant::Sc, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
}

/// By the axioms, waiting for a put does not order the get before it. Polls come in order, so polling does.
#[test]
fn waiting_is_weaker_than_polling() {
    let body = "x := w^2; z^2 :=^d 1; Wait(d); a := x ||";
    let test = test("x = 0 || w = 1, z = 0", body, "a");
    check("by the axioms", &test, WAIT, &[&[0], &[1]], &[]);
    check("by polls", &test, Variant::RdmaWaitPolls, &[&[1]], &[&[0]]);
}

#[test]
fn a_poll_of_nothing_blocks() {
    let test = test("x = 0 | || y = 0", "Poll(2); x := 1 | x := 2 ||", "x");
    for variant in [TSO, Variant::Sc] {
        let found = explore(&test, variant, Limits::default()).unwrap();
        assert!(found.complete && found.outcomes.is_empty());
        let blocked: Vec<_> =
            found.blocked.iter().map(|blocked| (blocked.thread.number(), blocked.span)).collect();
        assert_eq!(blocked, [(1, test.program.threads[0].body[0].span)]);
    }
}

#[test]
fn failed_assumptions_do_not_count() {
    let test = test("x = 0 |", "a := x; assume(a = 1) | x := 1", "a");
    assert_eq!(outcomes(&test, TSO), [outcome(&[1])].into());
}

#[test]
fn spinning_is_finite() {
    let body = "x^2 := 1; y^2 := 1 || loop { a := y; if a = 1 { break } }; b := x";
    let test = test("|| x, y = 0, 0", body, "a, b");
    assert_eq!(outcomes(&test, TSO), [outcome(&[1, 1])].into());
}

/// Loops whose states never repeat, and a loop that does nothing at all.
#[test]
fn endless_loops_hit_a_limit_or_have_no_outcome() {
    let limits = Limits { states: 1000, ..Limits::default() };
    for body in ["loop { a := FAA(x, 1) }", "loop { RFAA(_, x^1, 1); Poll(1) }"] {
        let found = explore(&test("x = 0", body, "x"), TSO, limits.clone()).unwrap();
        assert!(!found.complete && found.reason.is_some(), "{body}");
    }
    for body in
        ["loop { skip }", "loop { a := x }", "loop { y := x^1; Poll(1) }", "loop { x^1 := 1 }"]
    {
        let found = explore(&test("x = 0", body, "x"), TSO, limits.clone()).unwrap();
        assert!(found.complete && found.outcomes.is_empty(), "{body}: {:?}", found.reason);
    }
}

#[test]
fn limits_are_reported() {
    let body = "x := 1; y^2 := x; y^2 := 2; a := x || y := 3; b := y; x^1 := y; c := y";
    let test = test("x = 0 || y = 0", body, "a, b, c");
    let found = explore(&test, TSO, Limits { states: 5, ..Limits::default() }).unwrap();
    assert!(!found.complete);
    assert_eq!(found.reason.as_deref(), Some("more than 5 states"));
    let stop = Some(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let until = limits::Limits { stop, ..limits::Limits::default() };
    let found = explore(&test, TSO, Limits { until, ..Limits::default() }).unwrap();
    assert_eq!(found.reason.as_deref(), Some("it was stopped"));
    let until = limits::Limits::of_time(std::time::Duration::ZERO);
    let found = explore(&test, TSO, Limits { until, ..Limits::default() }).unwrap();
    assert_eq!(found.reason.as_deref(), Some("the time limit was reached"));
}

#[test]
fn variants_refuse_what_they_do_not_have() {
    let poll = test("|| x = 0", "x^2 := 1; Poll(2) ||", "x");
    assert!(explore(&poll, WAIT, Limits::default()).is_err());
    assert!(explore(&poll, Variant::Tso, Limits::default()).is_err());
    let wait = test("|| x = 0", "x^2 :=^d 1; Wait(d) ||", "x");
    assert!(explore(&wait, TSO, Limits::default()).is_err());
}
