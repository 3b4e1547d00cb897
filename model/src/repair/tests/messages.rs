//! Programs with messages: what they send is polled, flushed and moved as puts are.

use super::*;

/// A source that is written again before it was read.
const SOURCE: &str = "litmus t\nmodel rdma-verbs\n\ny = 0 || m = 0\n---\nSend(2, y) || Recv(1, m)\ny := 1 || PollRecv(1)\n || a := m\n\na = 1 ✗\na = 0 ✓\n";
/// A buffer that is read before its message came.
const BUFFER: &str = "litmus t\nmodel rdma-verbs\n\n || m = 0\n---\n || Recv(1, m)\nSend(2, 1) || a := m\n\na = 0 ✗\na = 1 ✓\n";
/// A put on a queue pair that the message knows nothing of.
const APART: &str = "litmus t\nmodel rdma-verbs\n\n || x = 0, m = 0\n---\nx^2/1 := 1 || Recv(1, m)\nSend(2, 1) || PollRecv(1)\n || b := x\n\nb = 0 ✗\nb = 1 ✓\n";
/// Two messages on their way, of which a flush polls both.
const WORDS: &str = "litmus t\nmodel rdma-verbs\n\nu = 0, v = 0 || x = 0, m = 0\n---\nunsignaled Send(2, u) || Recv(1, m)\nSendImm(2, u, 7) || Recv(1, _)\nPutImm(x^2, v, 1) || Recv(1, _)\nv := 1 || b := x\n\nb = 1 ✗\nb = 0 ✓\n";

#[test]
fn the_search_finds_what_trying_all_sets_finds() {
    for text in [SOURCE, BUFFER, APART, WORDS] {
        // verbs-ooo does not define unsignaled requests.
        let all = ["rdma-verbs", "verbs", "verbs-ooo"];
        for model in &all[..if text == WORDS { 2 } else { 3 }] {
            let text = text.replace("rdma-verbs", model);
            with(&text, model, None, |repair| {
                let found = repair.find().unwrap();
                assert_eq!(texts(&found), brute(&repair), "{model}: {text}");
                assert!(found.open.is_empty(), "{model}: {:?}", found.open);
                assert!(!found.repairs.is_empty(), "{model}: {text}");
            });
        }
    }
}

#[test]
fn known_repairs_are_found() {
    assert_eq!(changes(SOURCE, "rdma-verbs"), [[Kind::Poll]]);
    assert!(changes(&SOURCE.replace("rdma-verbs", "verbs"), "verbs").contains(&vec![Kind::Wait]));
    assert_eq!(changes(BUFFER, "rdma-verbs"), [[Kind::PollReceive]]);
    assert!(changes(APART, "rdma-verbs").contains(&vec![Kind::QueuePair]));
    let words = with(WORDS, "rdma-verbs", None, |repair| repair.find().unwrap());
    let both = |one: &Repaired| one.kinds == [Kind::Poll, Kind::Poll];
    assert!(words.repairs.iter().any(both), "{words:#?}");
}

/// A poll more would give the second message's immediate to who takes the first's.
#[test]
fn immediates_stay_with_their_polls() {
    let text = "litmus t\nmodel rdma-verbs\n\n || m = 0\n---\nSend(2, 1) || Recv(1, m)\nSendImm(2, 2, 7) || Recv(1, _)\n || b := m\n || a := PollRecv(1)\n\nb = 0 ✗\n";
    with(text, "rdma-verbs", None, |repair| {
        let found = repair.find().unwrap();
        assert_eq!(texts(&found), brute(&repair));
        let polls = |one: &Repaired| one.kinds.contains(&Kind::PollReceive);
        assert!(!found.repairs.iter().any(polls), "{found:#?}");
    });
    let kept = weakened(
        &text.replace("a := PollRecv(1)", "PollRecv(1)\n || a := PollRecv(1)\n || c := m"),
        "rdma-verbs",
    );
    assert!(kept.sets.is_empty(), "{kept:?}");
}

/// Where the polls alone would do, a flush is not minimal, however few changes a repair may have.
#[test]
fn a_flush_with_a_vain_get_is_not_minimal() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2 ||\ny := w^2 ||\na := y ||\n\na = 0 ✗\n";
    with(text, "rdma-tso-rmw", None, |mut repair| {
        (repair.kinds, repair.size) = (vec![Kind::Poll, Kind::Flush], 1);
        let found = repair.find().unwrap();
        assert!(found.repairs.is_empty(), "{found:#?}");
        assert_eq!(found.larger, Some(2));
    });
}
