//! The search against trying all sets, on programs of each kind.

mod alike;
mod messages;
mod random;
mod sound;

use std::collections::BTreeSet;

use lang::source::Source;

use super::*;

fn with<R>(text: &str, model: &str, forbid: Option<&str>, work: impl FnOnce(Repair<'_>) -> R) -> R {
    let source = Source::new("t.litmus", text);
    let libraries = crate::library::shipped();
    let (file, wrong) = lang::litmus::parse(&source, libraries.words());
    let file = file.unwrap_or_else(|| panic!("{wrong:?}"));
    let model = crate::models::load_shipped(model).unwrap().unwrap().model;
    work(Repair {
        file: &file,
        source: &source,
        libraries,
        models: vec![(&model, false)],
        forbid,
        kinds: Kind::ALL.iter().map(|(kind, _)| *kind).collect(),
        size: 2,
        options: Options::default(),
    })
}

/// The texts of all repairs that were found.
fn texts(found: &Repairs) -> BTreeSet<String> {
    found.texts().map(str::to_owned).collect()
}

/// The texts of all minimal repairs, found by trying all sets, with all sizes of flushes.
fn brute(repair: &Repair<'_>) -> BTreeSet<String> {
    let test = repair.test(repair.file).unwrap();
    let mut asking = ask::Asking::new(repair, &test).unwrap();
    let edits = edits::candidates(repair, &test);
    let listed: Vec<usize> = (0..edits.len()).filter(|one| !edits[*one].is_sized()).collect();
    let mut sets: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
    let mut good: Vec<BTreeSet<usize>> = Vec::new();
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for _ in 0..repair.size {
        let larger = |set: &BTreeSet<usize>| {
            let (set, next) = (set.clone(), set.last().map_or(0, |last| last + 1));
            let more = listed.iter().copied().filter(move |one| *one >= next);
            more.map(move |one| set.iter().copied().chain([one]).collect())
        };
        sets = sets.iter().flat_map(larger).collect();
        for set in &sets {
            let mut rewritings = set.iter().filter(|one| edits[**one].is_rewriting());
            let rewriting = rewritings.next().map(|one| &edits[*one]);
            if rewritings.next().is_some()
                || !set.iter().all(|one| edits[*one].goes_with(rewriting))
                || good.iter().any(|known| known.is_subset(set))
            {
                continue;
            }
            let least = least_sizes(&edits, set, &mut asking);
            if !least.is_empty() {
                good.push(set.clone());
            }
            all.extend(least);
        }
    }
    let is_least =
        |set: &&BTreeSet<usize>| !all.iter().any(|other| edits::is_without_get(&edits, other, set));
    let text = |set: &BTreeSet<usize>| {
        let edits: Vec<_> = set.iter().map(|one| &edits[*one]).collect();
        print(&edits::apply(repair.file, &edits).unwrap())
    };
    let is_listed = |set: &&BTreeSet<usize>| is_least(set) && !edits::has_double(&edits, set);
    all.iter().filter(is_listed).map(text).collect()
}

/// The smallest flushes with which a set is a repair: of all numbers of polls.
fn least_sizes(
    edits: &[edits::Edit],
    set: &BTreeSet<usize>,
    asking: &mut ask::Asking<'_>,
) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    for one in set {
        let Some(most) = edits[*one].polls() else { continue };
        let with = |sizes: &Vec<(usize, usize)>| {
            let sizes = sizes.clone();
            (1..=most).map(move |number| sizes.iter().copied().chain([(*one, number)]).collect())
        };
        all = all.iter().flat_map(with).collect();
    }
    let changes =
        |sizes: &Vec<(usize, usize)>| edits::sized(edits, set, &sizes.iter().copied().collect());
    let is_good = |sizes: &Vec<(usize, usize)>, asking: &mut ask::Asking<'_>| {
        let set = changes(sizes);
        asking.forbids(edits, &set) == ask::Helps::Yes && asking.keeps_the_rest(edits, &set)
    };
    let good: Vec<_> = all.into_iter().filter(|sizes| is_good(sizes, asking)).collect();
    let is_less = |one: &Vec<(usize, usize)>, other: &Vec<(usize, usize)>| {
        one != other && one.iter().zip(other).all(|(one, other)| one.1 <= other.1)
    };
    let least = good.iter().filter(|sizes| !good.iter().any(|other| is_less(other, sizes)));
    least.map(changes).collect()
}

const GET: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || v = 1\n---\nx := v^2 ||\na := x ||\n\na = 0 ✗\na = 1 ✓\n";
const GETS: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2 ||\ny := w^2 ||\na := y ||\n\na = 0 ✗\n";
const PUT: &str =
    "litmus t\nmodel rdma-wait-rmw\n\nx = 0 || u = 0\n---\nu^2 := x ||\nx := 1 ||\n\nu = 1 ✗\n";
const FLAG: &str = "litmus t\nmodel rdma-wait-rmw\n\ny = 0 | || x = 0\n---\nx^2 := 1 | a := y ||\ny := 1 | b := x^2 ||\n\n(a, b) = (1, 0) ✗\n";
const BRANCH: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 | || v = 1\n---\na := y | y := 1 ||\nif a = 0 { x := v^2 } | ||\nb := x | ||\n\n(a, b) = (0, 0) ✗\n";

const UNSIGNALED: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || v = 1\n---\nunsignaled x := v^2 ||\na := x ||\n\na = 0 ✗\na = 1 ✓\n";

#[test]
fn an_unsignaled_request_is_signaled_and_polled() {
    let repairs = changes(UNSIGNALED, "rdma-tso-rmw");
    let is_signaled = |kinds: &&Vec<Kind>| {
        kinds.len() == 2 && kinds.contains(&Kind::Signal) && kinds.contains(&Kind::Poll)
    };
    assert_eq!(repairs.iter().filter(is_signaled).count(), 1, "{repairs:?}");
    // Without a completion, the poll would wait for ever.
    assert!(!repairs.contains(&vec![Kind::Poll]), "{repairs:?}");
    // With a Wait, a request gets its id and its completion at once.
    let waiting = UNSIGNALED.replace("rdma-tso-rmw", "rdma-wait-rmw");
    let repairs = changes(&waiting, "rdma-wait-rmw");
    assert!(repairs.contains(&vec![Kind::Wait]), "{repairs:?}");
    assert!(!repairs.iter().flatten().any(|kind| *kind == Kind::Signal), "{repairs:?}");
    // What is kept stays unsignaled.
    let kept = UNSIGNALED.replace("v^2 ||", "v^2 || // keep");
    let repairs = changes(&kept, "rdma-tso-rmw");
    assert!(!repairs.iter().flatten().any(|kind| *kind == Kind::Signal), "{repairs:?}");
}

#[test]
fn the_search_finds_what_trying_all_sets_finds() {
    let programs = [
        (GET, "rdma-tso-rmw", None),
        (GETS, "rdma-tso-rmw", None),
        (GETS, "rdma-tso-rmw", Some("a = 0")),
        (PUT, "rdma-wait-rmw", None),
        (BRANCH, "rdma-tso-rmw", None),
        (UNSIGNALED, "rdma-tso-rmw", None),
    ];
    for (text, model, forbid) in programs {
        with(text, model, forbid, |repair| {
            let found = repair.find().unwrap();
            assert_eq!(texts(&found), brute(&repair), "{text}");
            assert!(found.open.is_empty(), "{:?}", found.open);
        });
    }
}

fn changes(text: &str, model: &str) -> Vec<Vec<Kind>> {
    with(text, model, None, |repair| {
        repair.find().unwrap().repairs.into_iter().map(|repair| repair.kinds).collect()
    })
}

#[test]
fn known_repairs_are_found() {
    assert!(changes(GET, "rdma-tso-rmw").contains(&vec![Kind::Poll]));
    assert!(changes(GETS, "rdma-tso-rmw").contains(&vec![Kind::Poll, Kind::Poll]));
    assert!(changes(PUT, "rdma-wait-rmw").contains(&vec![Kind::Wait]));
    assert!(changes(FLAG, "rdma-wait-rmw").iter().any(|kinds| kinds.contains(&Kind::Flush)));
    // Where one branch has sent nothing, a poll behind both would wait for ever.
    let polls = with(BRANCH, "rdma-tso-rmw", None, |repair| {
        let repairs = repair.find().unwrap().repairs.into_iter();
        repairs.filter(|repair| repair.kinds == [Kind::Poll]).collect::<Vec<_>>()
    });
    assert_eq!(polls.len(), 1, "{polls:?}");
    assert!(polls[0].changes[0].contains("after `x := v^2`"), "{polls:?}");
}

const QUEUE_PAIRS: &str = "litmus t\nmodel rdma-tso-rmw\n\n || x = 0, y = 0\n---\nx^2 := 1 || a := y\ny^2/1 := 1 || b := x\n\n(a, b) = (1, 0) ✗\n";
const OTHER_POLL: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2/1 ||\ny := w^2 ||\na := x ||\n\na = 0 ✗\n";

#[test]
fn changes_are_of_the_right_queue_pair() {
    with(QUEUE_PAIRS, "rdma-tso-rmw", None, |repair| {
        let found = repair.find().unwrap();
        assert_eq!(texts(&found), brute(&repair));
        let words: Vec<&str> =
            found.repairs.iter().flat_map(|one| &one.changes).map(String::as_str).collect();
        for expected in [
            "thread 1: `x^2 := 1` (line 6) on queue pair 1",
            "thread 1: `y^2/1 := 1` (line 7) on queue pair 0",
            "thread 1: after `x^2 := 1` (line 6), add f1_2 := x^2; Poll(2); Poll(2)",
        ] {
            assert!(words.contains(&expected), "{words:#?}");
        }
    });
    let polls = with(OTHER_POLL, "rdma-tso-rmw", None, |repair| {
        let repairs = repair.find().unwrap().repairs.into_iter();
        repairs.filter(|repair| repair.kinds == [Kind::Poll]).collect::<Vec<_>>()
    });
    // A poll of queue pair 0 does not help.
    assert_eq!(polls.len(), 2, "{polls:?}");
    assert!(polls.iter().all(|one| one.text.contains("Poll(2/1)")), "{polls:?}");
}

const SHARED_GET: &str = "litmus t\nmodel verbs\n\nu, f = 0 | || x = 1\n---\nu := x^2/s0 | a := f ||\nf := 1 | b := u ||\n\n(a, b) = (1, 0) ✗\n";

/// Another thread may poll what they share, also under a model without a machine.
#[test]
fn polls_are_added_in_all_threads_that_share() {
    for model in ["rdma-verbs", "verbs"] {
        let text = SHARED_GET.replace("model verbs", &format!("model {model}"));
        let polls = with(&text, model, None, |mut repair| {
            repair.size = 2;
            let found = repair.find().unwrap();
            assert!(found.open.is_empty(), "{:?}", found.open);
            assert_eq!(texts(&found), brute(&repair));
            let repairs = found.repairs.into_iter();
            repairs.filter(|repair| repair.kinds == [Kind::Poll]).collect::<Vec<_>>()
        });
        let words: Vec<&str> = polls.iter().map(|one| one.changes[0].as_str()).collect();
        let threads = |thread| words.iter().filter(|one| one.starts_with(thread)).count();
        assert_eq!((threads("thread 1"), threads("thread 2")), (1, 2), "{words:?}");
    }
}

#[test]
fn costs_are_read() {
    let costs = Costs::read("poll 7 # mine\n\n").unwrap();
    assert_eq!(costs.of(&[Kind::Poll, Kind::Poll, Kind::Mfence]), 15);
    assert_eq!(Costs::read("poll\n").unwrap_err().0, 1);
    assert_eq!(Costs::read("\nspin 3\n").unwrap_err().0, 2);
    assert!(Costs::read("poll 3 4\n").is_err());
    assert!(Kind::ALL.iter().all(|(kind, _)| costs.0.contains_key(kind)));
}

const TIGHT: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || v = 1\n---\nx := v^2 ||\nPoll(2) ||\na := x ||\n\na = 0 ✗\na = 1 ✓\n";
const LOOSE: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2 ||\nMfence ||\nPoll(2) ||\nRfence(2) ||\ny := w^2 ||\nPoll(2) ||\na := x ||\n\na = 0 ✗\n";
const KEPT: &str = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || v = 1\n---\nx := v^2 ||\nPoll(2) ||\nMfence || // keep\na := x ||\n\na = 0 ✗\n";

fn weakened(text: &str, model: &str) -> Weakened {
    with(text, model, None, |repair| repair.weaken().unwrap())
}

/// The texts after the largest sets of removals that keep the verdicts, found by trying all sets.
fn brute_weaken(repair: &Repair<'_>) -> BTreeSet<String> {
    let test = repair.test(repair.file).unwrap();
    let mut asking = ask::Asking::new(repair, &test).unwrap();
    let edits = edits::removals(repair, &test);
    let sets = (0..1_u32 << edits.len()).map(|bits| -> BTreeSet<usize> {
        (0..edits.len()).filter(|index| bits >> index & 1 == 1).collect()
    });
    let good: Vec<BTreeSet<usize>> =
        sets.filter(|set| asking.forbids(&edits, set) == ask::Helps::Yes).collect();
    let is_largest = |set: &&BTreeSet<usize>| {
        !set.is_empty() && !good.iter().any(|other| other != *set && set.is_subset(other))
    };
    let text = |set: &BTreeSet<usize>| {
        let edits: Vec<_> = set.iter().map(|one| &edits[*one]).collect();
        print(&edits::apply(repair.file, &edits).unwrap())
    };
    good.iter().filter(is_largest).map(text).collect()
}

#[test]
fn what_may_go_is_what_trying_all_sets_says() {
    for text in [TIGHT, LOOSE, KEPT, GETS] {
        with(text, "rdma-tso-rmw", None, |repair| {
            let found = repair.weaken().unwrap();
            if !found.is_right {
                return assert_eq!(text, GETS);
            }
            let texts: BTreeSet<String> = found.sets.iter().map(|set| set.text.clone()).collect();
            assert_eq!(texts, brute_weaken(&repair), "{text}");
            assert!(found.open.is_empty(), "{:?}", found.open);
        });
    }
}

#[test]
fn what_must_stay_is_told_with_what_it_forbids() {
    let tight = weakened(TIGHT, "rdma-tso-rmw");
    assert_eq!((tight.sets.len(), tight.needed.len()), (0, 1));
    assert_eq!(tight.needed[0].outcome, "a = 0");
    assert!(tight.needed[0].statements[0].contains("`Poll(2)` (line 7)"), "{tight:?}");
    // Either poll may go, and not both: the other then answers for the first get.
    let loose = weakened(LOOSE, "rdma-tso-rmw");
    assert_eq!(loose.sets.len(), 2, "{loose:?}");
    assert!(loose.sets.iter().all(|set| set.kinds.contains(&Kind::Mfence)), "{loose:?}");
    assert_eq!(loose.needed.len(), 1);
    assert_eq!(loose.needed[0].statements.len(), 2);
    assert!(weakened(KEPT, "rdma-tso-rmw").sets.is_empty());
    // A wait needs a name of what it waits for.
    let kept = PUT.replace("u^2 := x ||", "u^2 := x || // keep");
    assert!(changes(PUT, "rdma-wait-rmw").contains(&vec![Kind::Wait]));
    assert!(!changes(&kept, "rdma-wait-rmw").contains(&vec![Kind::Wait]));
    let nothing = weakened(&TIGHT.replace("a = 0 ✗\n", ""), "rdma-tso-rmw");
    assert!(nothing.is_right && !nothing.forbids);
}

/// A single change that does not help says what is still allowed; a repair is not its own neighbor.
#[test]
fn neighbors_are_not_repairs() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n  x = 0 || v = 1\n  ---\n  x := v^2 ||\n  a := x ||\n\n  a = 0 ✗\n";
    with(text, "rdma-tso-rmw", None, |repair| {
        let found = repair.find().unwrap();
        let rejected = repair.neighbors(&found).unwrap();
        assert!(rejected.iter().any(|one| one.changes[0].ends_with("add Rfence(2)")));
        for one in &rejected {
            let known = found.repairs.iter().any(|repair| repair.changes == one.changes);
            assert!(!known, "{one:?}");
            let allows = one.allows.clone().unzip();
            assert_eq!(allows, (Some("a = 0".to_owned()), Some("rdma-tso-rmw".to_owned())));
        }
    });
}

/// A second flush polls what the first has not polled.
#[test]
fn flushes_after_each_other_poll_what_is_left() {
    let text = "litmus t\nmodel rdma-tso-rmw\n\n   || x = 0, y = 0 || f = 0, g = 0, b = 0, d = 0\n  ---\n\
                x^2 := 1 || || a := f\nf^3 := 1 || || b := x^2\ny^2 := 1 || || Poll(2)\ng^3 := 1 || || c := g\n\
                || || d := y^2\n || || Poll(2)\n\n  a = 1 ∧ b = 0 ✗\n  c = 1 ∧ d = 0 ✗\n";
    let found = with(text, "rdma-tso-rmw", None, |repair| {
        Repair { kinds: vec![Kind::Flush], ..repair }.find().unwrap()
    });
    let [repair] = &found.repairs[..] else { panic!("{:#?}", found.repairs) };
    assert_eq!(repair.kinds, [Kind::Flush, Kind::Flush]);
    // Two of each flush, and two of the reader.
    assert_eq!(repair.text.matches("Poll(2)").count(), 6, "{}", repair.text);
}

/// Polls of one branch are not done in the other, and `_` gives way to an id.
#[test]
fn branches_and_operations_without_an_id_are_repaired() {
    let branches = "litmus t\nmodel rdma-tso-rmw\n\n  a = 0, y = 5, w = 0 || x = 0, z = 0\n  ---\n  x^2 := y ||\n  \
                    r := a ||\n  if r = 1 { Poll(2) } else { Poll(2) } ||\n  z^2 := w ||\n  w := 1 ||\n\n  z = 1 ✗\n";
    assert!(changes(branches, "rdma-tso-rmw").contains(&vec![Kind::Poll]));
    let id = "litmus t\nmodel rdma-wait-rmw\n\n  x = 7 || z = 0\n  ---\n  RFAA(x, z^2, 1, _) ||\n  a := x ||\n\n  a = 7 ✗\n";
    assert!(changes(id, "rdma-wait-rmw").contains(&vec![Kind::Wait]));
}

const ENDLESS: &str = "litmus t\nmodel rdma-tso\n\ny = 0 ||\n---\nPoll(2) || x^1 := 1\na := y || Poll(1)\n\na = 0 ✗\n";

#[test]
fn nothing_is_said_of_a_program_that_never_ends() {
    let text = ENDLESS.replace("y = 0 ||", "x = 0, y = 0 ||");
    let found = with(&text, "rdma-tso", None, |repair| repair.find().unwrap());
    assert!(!found.is_right && found.repairs.is_empty(), "{found:?}");
    assert!(found.open.iter().any(|why| why.contains("no execution ends")), "{:?}", found.open);
    let kept = weakened(&text, "rdma-tso");
    assert!(kept.sets.is_empty() && !kept.open.is_empty(), "{kept:?}");
    let meant = text.replace("a = 0 ✗", "exactly {} for (a)");
    let found = with(&meant, "rdma-tso", None, |repair| repair.find().unwrap());
    assert!(found.is_right, "{found:?}");
}

const LATE: &str = "litmus t\nmodel rdma-tso-rmw\n\n || x = 0 || f = 0\n---\nf^3 := 1 || || a := f\nx^2 := 1 || || b := x^2\n|| || Poll(2)\n\n(a, b) = (1, 0) ✗\n";

#[test]
fn what_is_exchanged_can_be_waited_for_between() {
    let repairs = with(LATE, "rdma-tso-rmw", None, |repair| {
        let found = repair.find().unwrap();
        assert_eq!(texts(&found), brute(&repair));
        found.repairs
    });
    let has_both =
        |one: &&Repaired| one.kinds.contains(&Kind::Exchange) && one.kinds.contains(&Kind::Flush);
    assert_eq!(repairs.iter().filter(has_both).count(), 1, "{repairs:?}");
}

const ROUNDS: &str = "litmus t\nmodel rdma-wait-rmw\n\nx = 0 || v = 1\n---\ni := 0 ||\nwhile i < 2 { ||\n  a := x ||\n  x := v^2 ||\n  i := i + 1 ||\n} ||\n\na = 0 ✗\n";

#[test]
fn a_round_of_a_loop_can_wait_for_the_round_before() {
    let found = with(ROUNDS, "rdma-wait-rmw", None, |mut repair| {
        repair.kinds = vec![Kind::Wait];
        repair.find().unwrap()
    });
    let at_head =
        |one: &&Repaired| one.changes[0].contains("at the beginning of `while i < 2` (line 7)");
    assert_eq!(found.repairs.iter().filter(at_head).count(), 1, "{found:?}");
    assert!(found.open.is_empty(), "{:?}", found.open);
}

const SHARED: &str = "litmus t\nmodel rdma-wait-rmw\n\nSVar x = 0, y = 0\n||\n---\nx :=SV 1 || y :=SV 1\nBcast(x, _, {2}) || Bcast(y, _, {1})\na :=SV y || b :=SV x\n\n(a, b) = (0, 0) ✗\n";

#[test]
fn a_broadcast_of_a_library_can_be_fenced() {
    let found = with(SHARED, "rdma-wait-rmw", None, |repair| repair.find().unwrap());
    let fences = |one: &&Repaired| one.kinds == [Kind::Gfence, Kind::Gfence];
    assert_eq!(found.repairs.iter().filter(fences).count(), 1, "{found:?}");
}

const FLUSHED: &str = "litmus t\nmodel rdma-tso-rmw\n\na = 0, f = 0 || x = 0 || y = 0\n---\nx^2 := 1 || b := x || c := y\nf := x^2 || ||\nPoll(2) || ||\nPoll(2) || ||\na := 1 || ||\n\na = 0 ✗\n";

#[test]
fn a_get_that_only_flushes_goes_with_its_poll() {
    let found = with(FLUSHED, "rdma-tso-rmw", None, |repair| {
        let found = repair.weaken().unwrap();
        let texts: BTreeSet<String> = found.sets.iter().map(|set| set.text.clone()).collect();
        assert_eq!(texts, brute_weaken(&repair));
        found
    });
    let words =
        ["thread 1: `f := x^2` (line 7) with `Poll(2)` (line 9)", "thread 1: `Poll(2)` (line 8)"];
    assert!(
        words.iter().all(|word| found.sets[0].removed.contains(&(*word).to_owned())),
        "{found:?}"
    );
    assert_eq!(found.sets[0].removed.len(), 2, "{found:?}");
    // A poll that stays could answer for something else.
    let apart = FLUSHED.replace("Poll(2) || ||\na", "Mfence || ||\nPoll(2) || ||\na");
    let apart = weakened(&apart, "rdma-tso-rmw");
    assert!(apart.sets.iter().all(|set| !set.kinds.contains(&Kind::Flush)), "{apart:?}");
    let read = FLUSHED.replace("a := 1", "a := f");
    let read = weakened(&read, "rdma-tso-rmw");
    assert!(read.sets.iter().all(|set| !set.kinds.contains(&Kind::Flush)), "{read:?}");
}

#[test]
fn a_comment_keeps_what_it_stands_beside() {
    for comment in ["// keep", "// KEEP", "# Keep: the driver needs it", "/* keep */"] {
        let kept = weakened(&KEPT.replace("// keep", comment), "rdma-tso-rmw");
        assert!(kept.sets.is_empty(), "{comment}: {kept:?}");
        assert_eq!(kept.kept, 1, "{comment}");
    }
    // The row above is not kept.
    let two = weakened(&KEPT.replace("Poll(2) ||", "Poll(2) ||\nMfence ||"), "rdma-tso-rmw");
    let [set] = &two.sets[..] else { panic!("{two:?}") };
    assert!(set.removed[0].contains("`Mfence` (line 8)"), "{set:?}");
    let beside =
        GET.replace("rdma-tso-rmw", "rdma-wait-rmw").replace("a := x ||", "a := x || // keep");
    assert!(changes(&beside, "rdma-wait-rmw").contains(&vec![Kind::Wait]));
    let not = weakened(&KEPT.replace("// keep", "// keep in mind"), "rdma-tso-rmw");
    assert_eq!(not.sets.len(), 1, "{not:?}");
}
