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
            assert!(!found.repairs.is_empty() && found.open.is_empty(), "{model}: {found:?}");
            assert_eq!(texts(&found), brute(&repair), "{model}");
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

/// The changes of a kind that may be made, in words.
fn candidates(text: &str, kind: Kind) -> Vec<String> {
    with(text, "rdma-tso-rmw", None, |mut repair| {
        repair.kinds = Kind::ALL.iter().map(|(kind, _)| *kind).collect();
        let test = repair.test(repair.file).unwrap();
        let edits = edits::candidates(&repair, &test);
        edits.iter().filter(|one| one.kind() == kind).map(edits::Edit::words).collect()
    })
}

/// A word of an array is put by an RCAS too, also where a value names the word.
#[test]
fn a_put_to_a_word_becomes_an_rcas() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n || d[2] = 0, f = 0\n---\nd[WORD]^2/1 := 5 || a := f\nf^2 := 1 || b := d[1]\n\n(a, b) = (1, 0) ✗\n";
    let kinds = |text: &str| candidates(text, Kind::Rcas);
    let constant = kinds(&text.replace("WORD", "1"));
    assert!(constant.iter().any(|words| words.contains("`d[1]^2/1 := 5`")), "{constant:?}");
    let value = text.replace(" || d[2]", "i = 1 || d[2]").replace("WORD", "i");
    let by_value = kinds(&value);
    assert!(by_value.iter().any(|words| words.contains("`d[i]^2/1 := 5`")), "{by_value:?}");
    // What else is put there may be there first, and so may another initial value.
    let twice = kinds(&value.replace("f^2 := 1", "d[0]^2 := 1 ||\nf^2 := 1"));
    assert!(twice.iter().all(|words| !words.contains("d[")), "{twice:?}");
    let differing = kinds(&value.replace("d[2] = 0", "d[2] = (0, 3)"));
    assert!(differing.iter().all(|words| !words.contains("d[")), "{differing:?}");
}

/// An index depends on what it is computed from, and a word is a part of its array.
#[test]
fn what_an_index_needs_is_not_exchanged() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\ni = 0 || d[2] = 0, f = 0\n---\ni := 1 || a := f\nd[i]^2/1 := 5 || b := d[1]\nf^2 := 1 || \n\n(a, b) = (1, 0) ✗\n";
    let exchanged = candidates(text, Kind::Exchange);
    assert!(exchanged.iter().all(|words| !words.contains("`i := 1`")), "{exchanged:?}");
    assert!(exchanged.iter().any(|words| words.contains("`d[i]^2/1 := 5`")), "{exchanged:?}");
}

/// Comments move with statements, beside and above them.
#[test]
fn comments_stay_with_what_they_are_about() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n || x = 0 || f = 0\n---\n// the flag\nf^3 := 1 || || // beside the flag\n// the data\nx^2 := 1 || || // beside the data\n|| || a := f // first\n|| || b := x^2 // second\n|| || Poll(2)\n\n// the claim\n(a, b) = (1, 0) ✗\n";
    let exchanged = with(text, "rdma-tso-rmw", None, |mut repair| {
        repair.kinds = vec![Kind::Exchange];
        let test = repair.test(repair.file).unwrap();
        let edits = edits::candidates(&repair, &test);
        let one = edits.iter().find(|one| one.words().contains("`f^3 := 1`")).unwrap();
        print(&edits::apply(repair.file, &[one]).unwrap())
    });
    let lines: Vec<&str> = exchanged.lines().map(str::trim).collect();
    let at = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap();
    assert!(lines[at("x^2 := 1")].ends_with("// beside the data"), "{exchanged}");
    assert!(lines[at("f^3 := 1")].ends_with("// beside the flag"), "{exchanged}");
    assert_eq!(lines[at("x^2 := 1") - 1], "// the data", "{exchanged}");
    assert_eq!(lines[at("f^3 := 1") - 1], "// the flag", "{exchanged}");
    assert!(at("x^2 := 1") < at("f^3 := 1"), "{exchanged}");
    assert!(lines[at("b := x^2")].ends_with("// second"), "{exchanged}");
    assert_eq!(lines[at("(a, b)") - 1], "// the claim", "{exchanged}");
}

/// A flush of an array gets one of its words.
#[test]
fn what_puts_an_array_is_flushed_and_polled() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\ns[2] = (1, 2) || d[2] = 0\n---\nd^2 := s ||\ns[0] := 7 ||\ns[1] := 8 ||\n\nd[0] = 7 ✗\nd[1] = 8 ✗\n";
    let (found, open) = words(text, "rdma-tso-rmw", &[Kind::Poll, Kind::Flush], 1);
    assert!(open.is_empty(), "{open:?}");
    assert!(found.iter().any(|words| words.ends_with("add Poll(2)")), "{found:?}");
    let late = text.replace("d^2 := s", "d^2 := s ||\nPoll(2)").replace("✗", "✓");
    let flag = late.replace("|| d[2] = 0", "|| d[2] = 0 || f = 0");
    let flag = flag
        .replace("d^2 := s ||\nPoll(2) ||", "d^2 := s || || a := f\nf^3 := 1 || || b := d[1]^2");
    let flag = flag.replace("s[0] := 7 ||\ns[1] := 8 ||", "|| || Poll(2)");
    let flag = flag.replace("d[0] = 7 ✓\nd[1] = 8 ✓", "a = 1 ∧ b = 0 ✗");
    let (found, open) = words(&flag, "rdma-tso-rmw", &[Kind::Flush], 1);
    assert!(open.is_empty(), "{open:?}");
    assert!(found.iter().any(|words| words.contains(":= d[0]^2; Poll(2)")), "{flag} {found:?}");
}

/// Atomics of a CPU and of a NIC on one word: nothing mends them, and that is proved of every set of changes.
#[test]
fn atomics_of_two_kinds_have_no_repair() {
    let text = "litmus t\nmodel MODEL\n\n || x = 0, y = 0\n---\nRCAS(a, x^2, 0, 1) || b := CAS(x, 0, 2)\nc :=DONE y^2 || y := 1\nWAIT ||\n\na = 0 ∧ b = 0 ✗\n";
    for (model, done, wait) in [
        ("rdma-tso-rmw", "", "Poll(2)"),
        ("rdma-wait-rmw", "^d", "Wait(d)"),
        ("verbs", "^d", "Wait(d)"),
    ] {
        let text = text.replace("MODEL", model).replace("DONE", done).replace("WAIT", wait);
        let found = with(&text, model, None, |mut repair| {
            repair.size = 3;
            repair.find().unwrap()
        });
        assert!(found.repairs.is_empty() && found.open.is_empty(), "{model}: {found:?}");
        assert!(!found.is_right && found.candidates > 3 && found.asked > 0, "{model}: {found:?}");
    }
}

/// What an operation needs on the queue pair that it is moved to, though nothing was sent there before it.
const MOVED: [(&str, &str, &[Kind]); 3] = [
    (
        "rdma-tso-rmw",
        "litmus t\nmodel rdma-tso-rmw\n\ns = 5 || x = 0, y = 0\n---\nx^2 := s || a := y\ns := 6 || b := x\ny^2/1 := 1 ||  // keep\n\n(a, b) = (1, 0) ✗\nb = 6 ✗\n",
        &[Kind::Poll, Kind::QueuePair],
    ),
    (
        "rdma-wait-rmw",
        "litmus t\nmodel rdma-wait-rmw\n\ny = 0 || z = 0\n---\ny := z^2/1 ||\nz^2 := 1 || // keep\n\ny = 1 ✗\n",
        &[Kind::Rfence, Kind::QueuePair],
    ),
    (
        "rdma-tso-rmw",
        "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2 ||\ny := w^2/1 ||\na := x ||\nb := y ||\n\na = 0 ✗\nb = 0 ✗\n",
        &[Kind::Poll, Kind::QueuePair],
    ),
];

#[test]
fn what_is_moved_is_waited_for_where_it_comes_to() {
    for (model, text, kinds) in MOVED {
        with(text, model, None, |mut repair| {
            (repair.kinds, repair.size) = (kinds.to_vec(), 3);
            let found = repair.find().unwrap();
            assert_eq!(texts(&found), brute(&repair), "{text}");
            let both = |one: &Repaired| kinds.iter().all(|kind| one.kinds.contains(kind));
            assert!(found.repairs.iter().any(both), "{text}: {found:#?}");
        });
    }
}

/// Where the poll alone does, to move an operation behind it is in vain.
#[test]
fn nothing_is_moved_in_vain() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || z = 0, w = 0\n---\nz^2 := 1 ||\nz^2/1 := x ||\nx := 2 ||\nx := w^2 ||\n\nz = 2 ✗\n";
    with(text, "rdma-tso-rmw", None, |mut repair| {
        repair.kinds = vec![Kind::Poll, Kind::QueuePair];
        let found = repair.find().unwrap();
        let [repair] = &found.repairs[..] else { panic!("{found:#?}") };
        assert_eq!(repair.kinds, [Kind::Poll]);
    });
}
