//! Shipped implementations hold for small clients, and broken ones are refuted; counterexamples are
//! confirmed.

mod changes;
mod symmetry;

use std::path::Path;

use lang::library::Library;
use lang::source::Source;
use model::allowed::{Options, Question};
use model::refine::{
    Answer, Bounds, Counterexample, MOST, OWN, Refinement, Symmetry, Wrong, by_default, clients,
};
use model::{library, models};

const SMALL: Bounds = Bounds {
    threads: 2,
    calls: 1,
    nodes: 2,
    values: OWN,
    zero: false,
    plain: 2,
    objects: 1,
    sizes: 1,
    size: 0,
    guarded: false,
    near: 0,
    initial: false,
    ahead: false,
    symmetry: Symmetry::Names,
};

fn shipped(name: &str) -> Library {
    let text = library::SHIPPED.iter().find(|(known, _)| *known == name).expect("it is shipped").1;
    library::load(&Source::new(format!("{name}.lib"), text)).expect("it loads")
}

fn file(name: &str) -> Library {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let text = std::fs::read_to_string(&path).expect("it can be read");
    library::load(&Source::new(name, text)).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|(s, e)| e.render(s, false)).collect::<String>())
    })
}

fn load(name: &str) -> Option<lang::cat::model::Model> {
    models::load_shipped(name)?.ok().map(|loaded| loaded.model)
}

/// The first counterexample; how many clients held before it.
fn check(
    library: &Library,
    other: Option<&Library>,
    families: &[Bounds],
) -> (Option<Box<Counterexample>>, usize) {
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement = Refinement::new(library::shipped(), library, other, &base, load)
        .expect("it can be checked");
    let options = Options { loop_bound: Some(2), ..Options::default() };
    let mut held = 0;
    let mut unknown = None;
    for client in clients(refinement.library(), families, MOST).expect("there are few") {
        match refinement.check(&client, &options).unwrap_or_else(|error| panic!("{error}")) {
            Answer::Holds { outcomes, .. } => {
                assert!(outcomes > 0, "a client without outcome");
                held += 1;
            }
            Answer::IllFormed => {}
            Answer::Nothing => panic!("nothing to compare"),
            // Another client may tell more; of what holds, none is unknown.
            Answer::Unknown(reason) => unknown = Some(reason),
            Answer::Refuted(found) => return (Some(found), held),
        }
    }
    assert_eq!(unknown, None);
    (None, held)
}

fn holds(name: &str, bounds: &Bounds) {
    let (found, held) = check(&shipped(name), None, &[*bounds]);
    if let Some(found) = found {
        panic!("{}\n{}\n{}", found.program, found.execution, found.forbidden);
    }
    assert!(held > 0, "{name}: no client");
}

fn refuted(name: &str, other: &str, bounds: &Bounds) {
    let (found, _) = check(&shipped(name), Some(&file(other)), &[*bounds]);
    let found = found.unwrap_or_else(|| panic!("{other} is not refuted"));
    confirm(&found);
}

/// The counterexample is a test whose verdict holds.
fn confirm(found: &Counterexample) {
    confirm_with(found, &shipped("bal"));
}

/// The same with a library of one's own.
fn confirm_with(found: &Counterexample, library: &Library) {
    assert_eq!(found.wrong, Wrong::Outcome, "{}", found.execution);
    let mut libraries = library::shipped().clone();
    libraries.all.push(std::sync::Arc::new(library.clone()));
    let (test, errors) =
        lang::litmus::load_with(&Source::new("client", found.program.clone()), libraries.words());
    let test = test.unwrap_or_else(|| panic!("{}\n{errors:?}", found.program));
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let question = Question::of(&test, &base).libraries(&libraries).question().expect("it fits");
    let allowed = question.allowed(&Options::default()).expect("it can be asked");
    let claims = model::verdict::check(&test, &base.name, false, &allowed);
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].holds(), Some(true), "{}", found.program);
    assert!(found.execution.starts_with("allowed"), "{}", found.execution);
    assert!(found.forbidden.starts_with("forbidden"), "{}", found.forbidden);
}

#[test]
fn barriers_hold() {
    holds("bal", &SMALL);
    holds("bal-all", &SMALL);
}

#[test]
fn shared_variables_hold() {
    holds("sv", &Bounds { plain: 0, ..SMALL });
}

#[test]
fn rings_hold() {
    holds("rbl", &Bounds { calls: 2, plain: 0, ..SMALL });
}

#[test]
fn locks_hold() {
    for name in ["wlock", "slock", "nlock"] {
        holds(name, &Bounds { calls: 2, size: 6, ..SMALL });
    }
}

#[test]
fn the_sc_library_holds() {
    holds("sc", &Bounds { plain: 0, ..SMALL });
}

#[test]
fn mixed_sizes_hold() {
    holds("msw", &Bounds { plain: 0, objects: 2, ..SMALL });
}

#[test]
fn waiting_by_polls_holds() {
    holds("wait", &Bounds { calls: 2, size: 3, ..SMALL });
}

#[test]
fn a_barrier_without_fence_is_refuted() {
    refuted("bal", "broken/bal-no-fence.lib", &Bounds { threads: 3, nodes: 3, ..SMALL });
}

#[test]
fn torn_reads_are_refuted() {
    refuted("msw", "broken/msw-guards.lib", &SMALL);
}

#[test]
fn a_weak_lock_is_not_strong() {
    refuted("slock", "broken/slock-weak.lib", &Bounds { calls: 2, ..SMALL });
}

#[test]
fn a_node_lock_needs_its_fence() {
    refuted("nlock", "broken/nlock-no-rfence.lib", &Bounds { calls: 2, ..SMALL });
}

#[test]
fn a_global_fence_waits() {
    refuted("sv", "broken/sv-gfence-no-wait.lib", &SMALL);
}

#[test]
fn one_poll_is_not_enough() {
    let bounds = Bounds { threads: 1, calls: 3, ..SMALL };
    refuted("wait", "broken/wait-polls-once.lib", &bounds);
}

#[test]
fn libraries_of_ones_own() {
    let lock = file("tas-lock.lib");
    let (found, held) = check(&lock, None, &[Bounds { calls: 2, size: 6, ..SMALL }]);
    assert!(found.is_none() && held > 0);
    let flag = file("broken/flag-no-fence.lib");
    let (found, _) = check(&flag, None, &[SMALL]);
    assert!(found.is_some(), "a flag without fence is refuted");
}

/// The bounds that `litmus refine` has by default find these.
#[test]
fn the_default_bounds_are_large_enough() {
    let check_one = |library: &Library, name: &str, other: &Library| {
        let (families, _) = by_default(Bounds::default(), library).expect("there are few");
        let (found, _) = check(library, Some(other), &families);
        confirm_with(&found.unwrap_or_else(|| panic!("{name} is not refuted")), library);
    };
    let refuted = |name: &str, other: &str| {
        let library = if name.is_empty() { file(other) } else { shipped(name) };
        check_one(&library, other, &file(other));
    };
    refuted("wlock", "broken/wlock-no-lock.lib");
    refuted("slock", "broken/slock-no-lock.lib");
    refuted("nlock", "broken/nlock-no-lock.lib");
    refuted("", "broken/tas-no-wait.lib");
    refuted("wait", "broken/wait-polls-once.lib");
    refuted("rbl", "broken/rbl-one-slot.lib");
    let waits_for_nothing = changed("sv", "{ Wait(d) }", "{ skip }");
    check_one(&shipped("sv"), "a WaitSV that waits for nothing", &waits_for_nothing);
}

/// One plain access alone shows nothing, so none is tried, and none is claimed.
#[test]
fn a_lone_access_is_not_claimed() {
    let lock = shipped("wlock");
    let families = Bounds { plain: 1, ..Bounds::default() }.families(&lock);
    assert!(Bounds::describe(&families, &lock).contains(" 0 plain accesses"));
}

/// A shipped library's implementation with one thing changed.
fn changed(name: &str, from: &str, to: &str) -> Library {
    let text = library::SHIPPED.iter().find(|(known, _)| *known == name).expect("it is shipped").1;
    changed_text(name, text, from, to)
}

fn changed_text(name: &str, text: &str, from: &str, to: &str) -> Library {
    let body = text.find("implementation over").expect("it has an implementation");
    let at = body + text[body..].find(from).unwrap_or_else(|| panic!("no `{from}` in {name}"));
    let text = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
    library::load(&Source::new(format!("{name}.lib"), text)).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|(s, e)| e.render(s, false)).collect::<String>())
    })
}

/// Values that no specification has are looked at like others.
#[test]
fn what_calls_return_is_looked_at() {
    for (name, from, to) in [
        ("sv", "return v", "return 5"),
        ("sv", "return v", "return v * 2"),
        ("sv", "return v", "return v * 0 + 1"),
        ("sc", "return r", "return 7"),
        ("msw", "if h = all_words { return h } else { return bot }", "return all_words"),
        ("rbl", "return v", "return 7"),
        ("rbl", "return v", "return v + 1"),
    ] {
        let library = shipped(name);
        let families = Bounds { plain: 0, ..Bounds::default() }.families(&library);
        let (found, _) = check(&library, Some(&changed(name, from, to)), &families);
        let found = found.unwrap_or_else(|| panic!("{name} with `{to}` is not refuted"));
        confirm(&found);
    }
}

/// Bounds that show what the shortest clients of two threads show.
const PAIR: Bounds = Bounds { calls: 2, plain: 0, size: 4, ..SMALL };

/// Where the specification lets calls return, some must.
#[test]
fn what_is_stuck_is_refuted() {
    for (name, from, to) in [
        ("wlock", "Write(l.released[me], v + 1)", "ignored := 0"),
        ("wlock", "Bcast(l.released[me], _, all \\ here)", "ignored := 0"),
        ("nlock", "~l.serving := l.ticket[me]", "ignored := 0"),
        ("nlock", "l.ticket[me] := v + 1", "l.ticket[me] := v + 2"),
        ("bal", "Bcast(x.count[me], _, nodes(x.threads) \\ here)", "ignored := 0"),
        ("bal", "w > v", "w > v + 1"),
        ("bal-all", "Write(x.count[me], v + 1)", "ignored := 0"),
        ("wait", "posted[node(x)] + 1", "posted[node(x)] + 2"),
    ] {
        let library = shipped(name);
        // Of the base's own statements, accesses show what they do.
        let plain = if name == "wait" { 2 } else { 0 };
        let bounds = Bounds { plain, ..PAIR };
        let (found, _) = check(&library, Some(&changed(name, from, to)), &[bounds]);
        let found = found.unwrap_or_else(|| panic!("{name} with `{to}` is not refuted"));
        assert_eq!(found.wrong, Wrong::Stuck, "{name} with `{to}`");
        assert!(found.execution.contains("does not come back from"), "{}", found.execution);
        assert!(found.forbidden.contains('✓'), "{}", found.forbidden);
    }
}

/// A lower library that is used as it must not be.
#[test]
fn misuse_of_lower_libraries_is_refuted() {
    for (name, from, to) in [
        ("slock", "GFence(all); Rel(l.weak)", "GFence(all)"),
        ("sc", "Rel(x.lock)", "ignored := 0"),
        ("sc", "Acq(x.lock)", "ignored := 0"),
    ] {
        let (found, _) = check(&shipped(name), Some(&changed(name, from, to)), &[PAIR]);
        let found = found.unwrap_or_else(|| panic!("{name} with `{to}` is not refuted"));
        assert_eq!(found.wrong, Wrong::Misuse, "{name} with `{to}`");
    }
}

/// Two threads that take two locks in another order may wait for each other by the specification too; but not
/// for a lock that nobody has.
#[test]
fn what_the_specification_leaves_stuck_may_be() {
    let holds = |answer: &Answer| matches!(answer, Answer::Holds { .. });
    crossing(&file("tas-lock.lib"), holds);
    let text = file("tas-lock.lib").source.text;
    let kept = changed_text("tas", &text, "~l.taken :=^d 0", "~l.taken :=^d 2");
    let is_stuck =
        |found: &Counterexample| found.wrong == Wrong::Stuck && found.execution.contains("is done");
    crossing(&kept, |answer| matches!(answer, Answer::Refuted(found) if is_stuck(found)));
}

/// What comes of each client in which two threads take two locks in another order.
fn crossing(lock: &Library, is_right: impl Fn(&Answer) -> bool) {
    let bounds = Bounds { calls: 4, objects: 2, size: 8, plain: 0, nodes: 1, ..SMALL };
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement =
        Refinement::new(library::shipped(), lock, None, &base, load).expect("it can be checked");
    let all = clients(lock, &[bounds], MOST).expect("there are few");
    let crossing = all.iter().filter(|client| {
        let text = model::refine::text(client, lock, None);
        let after = |thread: &str| text.split(thread).nth(1).unwrap_or_default().to_owned();
        let calls = |text: &str, first: &str| text.trim_start().starts_with(first);
        let (one, two) = (after("thread 1 @ 1 {"), after("thread 2 @ 1 {"));
        calls(&one, "Acq(o)\n    Acq(p)") && calls(&two, "Acq(p)\n    Acq(o)")
    });
    let options = Options { loop_bound: Some(2), ..Options::default() };
    let mut asked = 0;
    for client in crossing {
        let answer = refinement.check(client, &options).expect("it is a client");
        assert!(is_right(&answer), "{answer:?}");
        asked += 1;
    }
    assert!(asked > 0, "no such client");
}

/// A call that waits for what others may have taken: who comes first, the specification leaves open.
#[test]
fn a_semaphore_holds() {
    let semaphore = file("semaphore.lib");
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement = Refinement::new(library::shipped(), &semaphore, None, &base, load);
    let refinement = refinement.expect("it can be checked");
    let options = Options { loop_bound: Some(2), ..Options::default() };
    let (mut held, mut without_end) = (0, 0);
    for client in clients(&semaphore, &[PAIR], MOST).expect("there are few") {
        match refinement.check(&client, &options).unwrap_or_else(|error| panic!("{error}")) {
            Answer::Holds { .. } => held += 1,
            Answer::Nothing => without_end += 1,
            answer => panic!("{answer:?}"),
        }
    }
    assert!(held > 0 && without_end > 0, "{held}, {without_end}");
}

/// Puts and gets also go through the NIC to the thread's own node, which a fence may forget.
#[test]
fn accesses_through_the_own_nic_are_tried() {
    for (name, from, to) in [
        ("sv", "for n in N { sink", "for n in N \\ here { sink"),
        ("bal", "GFence(nodes(x.threads))", "GFence(nodes(x.threads) \\ here)"),
        ("slock", "GFence(all)", "GFence(all \\ here)"),
    ] {
        let library = shipped(name);
        let families = Bounds { nodes: 1, ..Bounds::default() }.families(&library);
        let near: Vec<Bounds> = families.into_iter().filter(|of| of.near > 0).collect();
        let (found, _) = check(&library, Some(&changed(name, from, to)), &near);
        confirm(&found.unwrap_or_else(|| panic!("{name} with `{to}` is not refuted")));
    }
}

/// Objects whose memory does not begin with the value that programs give.
#[test]
fn initial_values_are_looked_at() {
    for (name, from, to) in [("sv", " = x.initial", ""), ("sc", " = x.initial", " = 1")] {
        let library = shipped(name);
        let families = Bounds { plain: 0, ..Bounds::default() }.families(&library);
        let of_initial: Vec<Bounds> = families.into_iter().filter(|of| of.initial).collect();
        assert_eq!(of_initial.len(), 1, "{name}");
        let (found, _) = check(&library, Some(&changed(name, from, to)), &of_initial);
        let found = found.unwrap_or_else(|| panic!("{name} with `{to}` is not refuted"));
        assert_eq!(found.wrong, Wrong::Outcome);
    }
}

/// Memory that all objects of a class have in common, though each should have its own.
#[test]
fn objects_are_told_apart() {
    let mailbox = file("mailbox.lib");
    let families = Bounds { plain: 0, ..Bounds::default() }.families(&mailbox);
    let is_apart = |of: &Bounds| of.objects > families[0].objects;
    let apart: Vec<Bounds> = families.iter().copied().filter(is_apart).collect();
    let (found, held) = check(&mailbox, None, &apart);
    assert!(found.is_none() && held > 0);
    let text = &mailbox.source.text;
    let (head, body) = text.split_once("implementation over").expect("an implementation");
    let body = body.replace("Mailbox.slot", "slot").replace("m.slot", "slot");
    let shared = Source::new("shared.lib", format!("{head}implementation over{body}"));
    let shared = library::load(&shared).expect("it is a library");
    let (found, _) = check(&mailbox, Some(&shared), &apart);
    assert_eq!(found.expect("it is refuted").wrong, Wrong::Outcome);
}

/// Two threads of two calls take a lock twice in all.
#[test]
fn locks_that_work_only_twice_are_refuted() {
    let lock = file("tas-lock.lib");
    let count = "  memory TasLock.count at home\n  memory TasLock.old per thread";
    let text = lock.source.text.replace("  memory TasLock.old per thread", count);
    let twice = "RFAA(l.old[me], ~l.count, 1, d)\n Wait(d)\n v := l.old[me]\n while v > 1 { skip }\n loop {";
    let twice = changed_text("tas-lock", &text, "loop {", twice);
    let families = Bounds { plain: 0, ..Bounds::default() }.families(&lock);
    let (found, held) = check(&lock, None, &families);
    assert!(found.is_none() && held > 0);
    let (found, _) = check(&lock, Some(&twice), &families);
    assert_eq!(found.expect("it is refuted").wrong, Wrong::Stuck);
}

/// Threads that take part are not always the first ones.
#[test]
fn other_threads_than_the_first_take_part() {
    for name in ["bal", "rbl"] {
        let library = shipped(name);
        let families = Bounds { plain: 0, ..Bounds::default() }.families(&library);
        let ahead: Vec<Bounds> = families.into_iter().filter(|of| of.ahead).collect();
        assert_eq!(ahead.len(), 1, "{name}");
        let (found, held) = check(&library, None, &ahead);
        assert!(found.is_none() && held > 0, "{name}");
    }
    let mailbox = file("mailbox.lib");
    let families = Bounds { plain: 0, ..Bounds::default() }.families(&mailbox);
    let ahead: Vec<Bounds> = families.iter().copied().filter(|of| of.ahead).collect();
    let (from, to) = (
        "{ v := m.slot@here; return v }",
        "{ v := 7; for t in m.threads { if t = 1 { v := m.slot@here } } return v }",
    );
    let first = changed_text("mailbox", &mailbox.source.text, from, to);
    let (found, _) = check(&mailbox, Some(&first), &ahead);
    assert_eq!(found.expect("it is refuted").wrong, Wrong::Outcome);
}

/// A class of one's own whose objects have a writer.
#[test]
fn objects_of_ones_own_have_writers() {
    let mailbox = file("mailbox.lib");
    let (found, held) = check(&mailbox, None, &[PAIR]);
    assert!(found.is_none() && held > 0);
    let text = &mailbox.source.text;
    let silent = changed_text("mailbox", text, "    m.slot@here := v\n", "    ignored := v\n");
    let (found, _) = check(&mailbox, Some(&silent), &[SMALL]);
    assert!(found.expect("it is refuted").program.contains("Mailbox o 1 -> {2}"));
}

/// Of what no client calls, nothing is known.
#[test]
fn methods_that_no_client_calls_are_told() {
    let mailbox = file("mailbox.lib");
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement = Refinement::new(library::shipped(), &mailbox, None, &base, load);
    let refinement = refinement.expect("it can be checked");
    let uncalled = |bounds| {
        let clients = clients(&mailbox, &[bounds], MOST).expect("there are few");
        refinement.uncalled(&clients, &Options::default())
    };
    assert_eq!(uncalled(Bounds { threads: 1, ..SMALL }), ["Look"]);
    assert!(uncalled(SMALL).is_empty());
}
