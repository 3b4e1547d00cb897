//! Verdicts printed in the papers, for the programs that need no library.

use super::build::{Build, outcome, outcomes};
use crate::machine::{Limits, Variant, explore};
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
    let one = Build::new("x@1 z@2").thread(1, "put z x; poll 2; x = 1").observe("z");
    check("2a", &one, TSO, &[&[0]], &[&[1]]);
    let two = Build::new("x@1 z@2").thread(1, "put z x; put z x; poll 2; x = 1").observe("z");
    check("2b", &two, TSO, &[&[0], &[1]], &[]);
    let both =
        Build::new("x@1 z@2").thread(1, "put z x; put z x; poll 2; poll 2; x = 1").observe("z");
    check("2c", &both, TSO, &[&[0]], &[&[1]]);
}

#[test]
fn waiting_for_puts() {
    let one = Build::new("x@1 z@2").thread(1, "put z x d; wait d; x = 1").observe("z");
    check("3a", &one, WAIT, &[&[0]], &[&[1]]);
    let two = Build::new("x@1 z@2").thread(1, "put z x e; put z x d; wait d; x = 1").observe("z");
    check("3b", &two, WAIT, &[&[0]], &[&[1]]);
    let first = Build::new("x@1 z@2").thread(1, "put z x e; put z x d; wait e; x = 1").observe("z");
    check("3b, first only", &first, WAIT, &[&[0], &[1]], &[]);
}

#[test]
fn store_buffering_through_the_nic() {
    let weak = Build::new("y@1 x@2")
        .thread(1, "put x 1 d; wait d; a = y")
        .thread(2, "put y 1 e; wait e; b = x")
        .observe("a b");
    check("4", &weak, WAIT, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]], &[]);
    let flushed = Build::new("y@1 w@1 x@2 z@2 c@1 e@2")
        .thread(1, "put x 1; get c z d; wait d; a = y")
        .thread(2, "put y 1; get e w f; wait f; b = x")
        .observe("a b");
    check("LOCO 4r", &flushed, WAIT, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
}

#[test]
fn one_node() {
    let sb = Build::new("x@1 y@1").thread(1, "x = 1; a = y").thread(1, "y = 1; b = x");
    let sb = sb.observe("a b");
    check("LOCO 8a", &sb, WAIT, &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]], &[]);
    check("8a under tso", &sb, Variant::Tso, &[&[0, 0]], &[]);
    check("8a under sc", &sb, Variant::Sc, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
    let fenced = Build::new("x@1 y@1")
        .thread(1, "x = 1; mfence; a = y")
        .thread(1, "y = 1; mfence; b = x")
        .observe("a b");
    check("8a fenced", &fenced, TSO, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
    let mp = Build::new("x@1 y@1").thread(1, "x = 1; y = 1").thread(1, "a = y; b = x");
    check("LOCO 8b", &mp.observe("a b"), TSO, &[&[0, 0], &[0, 1], &[1, 1]], &[&[1, 0]]);
    let get = Build::new("x@1 y@1 w@2=1").thread(1, "get x w; y = 1").thread(1, "a = y; b = x");
    check("LOCO 8c", &get.observe("a b"), TSO, &[&[1, 0]], &[]);
    let cas = Build::new("x@1").thread(1, "cas a x 0 2").thread(1, "x = 1").observe("a x");
    check("RMW §2.3", &cas, TSO, &[&[0, 1], &[1, 1]], &[&[0, 2]]);
}

#[test]
fn remote_rmws_against_writes() {
    let cpu = Build::new("x@2 a@1").thread(1, "rcas a x 0 2").thread(2, "x = 1").observe("x");
    check("6a", &cpu, TSO, &[&[1], &[2]], &[&[0]]);
    let put = Build::new("x@3 a@1").thread(1, "rcas a x 0 2").thread(2, "put x 1").observe("x");
    check("6b", &put, TSO, &[&[1], &[2]], &[&[0]]);
    let rmw = Build::new("x@3 a@1 b@2").thread(1, "rcas a x 0 2").thread(2, "rfaa b x 1");
    check("6c", &rmw.observe("x"), TSO, &[&[1], &[3]], &[&[0], &[2]]);
}

#[test]
fn remote_rmws_and_order() {
    let get = Build::new("x@2 y@2 a@1").thread(1, "get a x; put y 1").thread(2, "b = y; x = 1");
    check("7a", &get.observe("a b"), TSO, &[&[1, 1], &[0, 0], &[0, 1]], &[]);
    let rcas =
        Build::new("x@2 y@2 a@1").thread(1, "rcas a x 8 9; put y 1").thread(2, "b = y; x = 1");
    check("7b", &rcas.observe("a b"), TSO, &[&[0, 0], &[0, 1]], &[&[1, 1]]);
    let polled = Build::new("y@1 x@2 u@1 v@2")
        .thread(1, "rfaa u x 1; poll 2; a = y")
        .thread(2, "rfaa v y 1; poll 1; b = x")
        .observe("a b");
    check("7c", &polled, TSO, &[&[0, 0]], &[]);
    check("7c under sc", &polled, Variant::Sc, &[&[0, 1], &[1, 0], &[1, 1]], &[&[0, 0]]);
}

#[test]
fn a_poll_of_nothing_blocks() {
    let test = Build::new("x@1").thread(1, "poll 2; x = 1").thread(1, "x = 2").observe("x");
    for variant in [TSO, Variant::Sc] {
        let found = explore(&test, variant, Limits::default()).unwrap();
        assert!(found.complete && found.outcomes.is_empty());
        let blocked: Vec<_> = found
            .blocked
            .iter()
            .map(|blocked| (blocked.thread.number(), blocked.span.start))
            .collect();
        assert_eq!(blocked, [(1, 1)]);
    }
}

#[test]
fn failed_assumptions_do_not_count() {
    let test = Build::new("x@1").thread(1, "a = x; assume a 1").thread(1, "x = 1").observe("a");
    assert_eq!(outcomes(&test, TSO), [outcome(&[1])].into());
}

#[test]
fn spinning_is_finite() {
    let test = Build::new("x@2 y@2")
        .thread(1, "put x 1; put y 1")
        .thread(2, "until a y 1; b = x")
        .observe("a b");
    assert_eq!(outcomes(&test, TSO), [outcome(&[1, 1])].into());
}

#[test]
fn limits_are_reported() {
    let test = Build::new("x@1 y@2")
        .thread(1, "x = 1; put y x; put y 2; a = x")
        .thread(2, "y = 3; b = y; put x y; c = y")
        .observe("a b c");
    let limits = Limits { states: 5, ..Limits::default() };
    let found = explore(&test, TSO, limits).unwrap();
    assert!(!found.complete);
    assert_eq!(found.reason.as_deref(), Some("more than 5 states"));
    let stop = std::sync::atomic::AtomicBool::new(true);
    let found = explore(&test, TSO, Limits { stop: Some(&stop), ..Limits::default() }).unwrap();
    assert_eq!(found.reason.as_deref(), Some("stopped"));
}

#[test]
fn variants_refuse_what_they_do_not_have() {
    let poll = Build::new("x@2").thread(1, "put x 1; poll 2").observe("x");
    assert!(explore(&poll, WAIT, Limits::default()).is_err());
    assert!(explore(&poll, Variant::Tso, Limits::default()).is_err());
    let wait = Build::new("x@2").thread(1, "put x 1 d; wait d").observe("x");
    assert!(explore(&wait, TSO, Limits::default()).is_err());
}
