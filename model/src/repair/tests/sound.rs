//! What must not be said: repairs that are none, and proofs of what was not tried.

use super::*;

/// The repairs in words, of some kinds.
fn words(text: &str, model: &str, kinds: &[Kind], size: usize) -> (Vec<String>, Vec<String>) {
    with(text, model, None, |mut repair| {
        (repair.kinds, repair.size) = (kinds.to_vec(), size);
        let found = repair.find().unwrap();
        let words = found.repairs.iter().map(|one| one.changes.join("; ")).collect();
        (words, found.open)
    })
}

/// The get of a flush leaves a completion, which the Poll that is there may take.
#[test]
fn what_a_poll_may_take_is_searched_apart() {
    let text = "litmus t\nmodel MODEL\n\nx = 0, y = 0 || v = 7, w = 1\n---\nx := v^2 ||\nPoll(2) ||\ny := w^2 || // keep\nb := y ||\n\nb = 0 ✗\n";
    for model in ["verbs", "verbs-ooo"] {
        with(&text.replace("MODEL", model), model, None, |mut repair| {
            repair.kinds = vec![Kind::Poll, Kind::Flush];
            let found = repair.find().unwrap();
            let texts: BTreeSet<String> =
                found.repairs.iter().map(|one| one.text.clone()).collect();
            assert!(!texts.is_empty() && found.open.is_empty(), "{model}: {found:?}");
            assert_eq!(texts, brute(&repair), "{model}");
        });
    }
}

/// What depends on another statement stays after it.
#[test]
fn data_flow_is_not_exchanged() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\nq = 1 || x = 0 || f = 0\n---\nx^2 := 7 || || a := f\nr := q || || b := x^2\nf^3 := r || || Poll(2)\n\na = 1 ∧ b = 0 ✗\n";
    let (found, _) = words(text, "rdma-tso-rmw", &[Kind::Exchange, Kind::Flush], 2);
    assert!(!found.is_empty(), "nothing found");
    let exchanged = "exchange `r := q` (line 7) and the statement after it";
    assert!(!found.iter().any(|words| words.contains(exchanged)), "{found:?}");
}

/// An RCAS expects the initial value, so nothing else may write the location.
#[test]
fn only_the_first_write_becomes_an_rcas() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n || d = 0, f = 0\n---\nd^2/1 := 5 || a := f\nf^2 := 1 || b := d\nf^2 := 2 ||\n\n(a, b) = (2, 0) ✗\n";
    let all: Vec<Kind> = Kind::ALL.iter().map(|(kind, _)| *kind).collect();
    let (found, _) = words(text, "rdma-tso-rmw", &all, 1);
    assert!(!found.iter().any(|words| words.contains("RCAS in place of `f^2")), "{found:?}");
}

/// A flush polls as often as the longest branch needs, and as each branch answers.
#[test]
fn flushes_after_branches_poll_as_much_as_is_sent() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\nc = 0 || x = 0 || f = 0\n---\nthread 1 @ 1 {\nr := c\nif r = 1 {\nx^2 := 1\n} else {\nx^2 := 2\n}\nf^3 := 1\n}\nthread 2 @ 2 {\n}\nthread 3 @ 3 {\na := f\nb := x^2\nPoll(2)\n}\n\na = 1 ∧ b = 0 ✗\n";
    let (found, open) = words(text, "rdma-tso-rmw", &[Kind::Flush], 1);
    let after = found.iter().find(|words| words.contains("after `if r = 1 { … }`"));
    let after = after.unwrap_or_else(|| panic!("{found:?}"));
    assert!(after.ends_with(":= x^2; Poll(2); Poll(2)") && open.is_empty(), "{after} {open:?}");
    // A branch that puts once more polls it.
    let dynamic = "litmus t\nmodel rdma-tso-rmw\n\nc = 0 || x = 0 || f = 0\n---\nthread 1 @ 1 {\nr := c\nif r = 1 {\nx^2 := 1\n}\nx^2 := 2\nf^3 := 1\n}\nthread 2 @ 1 {\nc := 1\n}\nthread 3 @ 2 {\n}\nthread 4 @ 3 {\na := f\nb := x^2\nPoll(2)\n}\n\na = 1 ∧ b = 0 ✗\n";
    let (found, open) = words(dynamic, "rdma-tso-rmw", &[Kind::Flush, Kind::Poll], 2);
    let is_right = |words: &&String| {
        words.contains("after `x^2 := 1` (line 9), add Poll(2)")
            && words.ends_with(":= x^2; Poll(2); Poll(2)")
    };
    assert_eq!(found.iter().filter(is_right).count(), 1, "{found:?} {open:?}");
}

/// Both polls come after the flag: that of the data moves up, behind a flush.
#[test]
fn a_later_poll_moves_up() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n || x = 0 || f = 0\n---\nx^2 := 1 || || a := f\nf^3 := 1 || || b := x^2\nPoll(3) || || Poll(2)\nPoll(2) || ||\n\na = 1 ∧ b = 0 ✗\n";
    let (found, _) = words(text, "rdma-tso-rmw", &[Kind::Flush, Kind::Exchange], 2);
    let moves = |words: &&String| {
        words.contains("`Poll(2)` (line 9) already before `f^3 := 1` (line 7)")
            && words.contains("add f1_2 := x^2; Poll(2)")
    };
    assert_eq!(found.iter().filter(moves).count(), 1, "{found:?}");
}

#[test]
fn a_round_of_a_loop_can_fence_the_round_before() {
    let text = "litmus t\nmodel rdma-tso-rmw\nbound loops = 3\n\nx = 0 || v = 7, w = 0\n---\ni := 0 ||\nwhile i < 2 { ||\nw^2 := x ||\nx := v^2 ||\ni := i + 1 ||\n} ||\n\nw = 0 ✗\n";
    // The first round puts the old value in any case, so only what comes last is asked.
    let (found, open) = words(text, "rdma-tso-rmw", &[Kind::Rfence], 1);
    assert!(
        found.iter().any(|one| one.contains("`while i < 2`") && one.ends_with("Rfence(2)")),
        "{found:?} {open:?}"
    );
}

/// What is read for a put may change before it is read, but for an inline put.
#[test]
fn a_source_that_is_written_again_can_be_inline() {
    let text = PUT.replace("rdma-wait-rmw", "rdma-tso-rmw");
    let (found, _) = words(&text, "rdma-tso-rmw", &[Kind::Inline], 1);
    assert_eq!(found, ["thread 1: `u^2 := x` (line 6) with its source `inline`"]);
}

#[test]
fn verdicts_of_other_models_are_not_all_right() {
    let found = with(GET, "rdma-tso", None, |repair| repair.find().unwrap());
    assert!(!found.is_right && found.open[0].contains("about other models"), "{found:?}");
}
