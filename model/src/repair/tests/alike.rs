//! Repairs that differ only in names are told once.

use super::*;

const SB: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 | \n---\nx := 1 | y := 1\na := y | b := x\n\n(a, b) = (0, 0) ✗\n";
const GETS_OF_TWO: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || y = 0 || v = 1\n---\nx := v^3 || y := v^3 ||\na := x || b := y ||\n\na = 0 ∧ b = 0 ✗\n";

/// The repairs, and how many more are alike to each.
fn told(text: &str, forbid: Option<&str>) -> (Vec<(String, usize)>, usize) {
    with(text, "rdma-tso-rmw", forbid, |repair| {
        let found = repair.find().unwrap();
        assert_eq!(texts(&found), brute(&repair), "{text}");
        let all = found.texts().count();
        let told = found.repairs.iter().map(|one| (one.changes.join("; "), one.alike.len()));
        (told.collect(), all)
    })
}

#[test]
fn threads_that_are_alike_are_repaired_once() {
    // Each thread alone is enough.
    let (told_once, all) = told(GETS_OF_TWO, None);
    let poll = "thread 1: after `x := v^3` (line 6), add Poll(3)".to_owned();
    assert!(told_once.contains(&(poll, 1)), "{told_once:?}");
    assert_eq!(told_once.iter().map(|(_, alike)| alike + 1).sum::<usize>(), all);
    // Both are needed, so nothing is alike.
    let (told_once, _) = told(SB, None);
    assert!(told_once.iter().all(|(_, alike)| *alike == 0), "{told_once:?}");
}

/// Threads are not alike where what is forbidden, a value or a place tells them apart.
#[test]
fn what_differs_is_told_apart() {
    let asymmetric = [
        (GETS_OF_TWO.replace("a = 0 ∧ b = 0", "a = 0 ∧ b < 1"), None),
        (GETS_OF_TWO.replace("b := y ||", "b := y + 0 ||"), None),
        (GETS_OF_TWO.replace("a = 0 ∧ b = 0 ✗", "a = 0 ✓"), Some("a = 0 ∧ b = 0 ∧ x = 1")),
        (GETS_OF_TWO.replace("y = 0 ||", "y = 5 ||").replace("b = 0", "b = 5"), None),
    ];
    for (text, forbid) in asymmetric {
        let (found, _) = told(&text, forbid);
        assert!(!found.is_empty() && found.iter().all(|(_, more)| *more == 0), "{text}: {found:?}");
    }
    // The order of what is claimed tells nothing.
    let claims = |claims: &str| GETS_OF_TWO.replace("a = 0 ∧ b = 0 ✗", claims);
    let (one, _) = told(&claims("a = 1 ✓"), Some("b = 0 ∧ a = 0"));
    assert!(one.iter().all(|(_, more)| *more == 0), "{one:?}");
    let (both, _) = told(&claims("a = 1 ✓\nb = 1 ✓"), Some("b = 0 ∧ a = 0"));
    assert!(both.iter().any(|(_, more)| *more == 1), "{both:?}");
}
