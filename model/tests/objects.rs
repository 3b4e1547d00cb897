//! Objects whose specification is a sequential object: those of `model/objects` are linearizable in small
//! clients, and each broken variant is refuted, with the smallest client.

use std::collections::BTreeSet;

use compiler::library::{Depth, inline};
use lang::library::Library;
use lang::outcome::{Observable, Observed};
use lang::program::LocationId;
use lang::source::Source;
use model::allowed::{Options, Question};
use model::refine::{
    Answer, Bounds, Client, Counterexample, MOST, Refinement, Wrong, clients, text,
};
use model::{library, machine, models};

fn object(name: &str) -> Library {
    let known = library::OBJECTS.iter().find(|(known, _)| *known == name).expect("it is there").1;
    loaded(name, known)
}

fn loaded(name: &str, text: &str) -> Library {
    library::load(&Source::new(format!("{name}.lib"), text)).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|(s, e)| e.render(s, false)).collect::<String>())
    })
}

/// An object with its implementation changed: each text once, where it comes first.
fn changed(name: &str, changes: &[(&str, &str)]) -> Library {
    let mut text = object(name).source.text;
    for (from, to) in changes {
        let body = text.find("implementation over").expect("it has an implementation");
        let at = body + text[body..].find(from).unwrap_or_else(|| panic!("no `{from}` in {name}"));
        text.replace_range(at..at + from.len(), to);
    }
    loaded(name, &text)
}

fn load(name: &str) -> Option<lang::cat::model::Model> {
    models::load_shipped(name)?.ok().map(|loaded| loaded.model)
}

fn answer(library: &Library, client: &Client) -> Answer {
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refinement = Refinement::new(library::shipped(), library, None, &base, load);
    let refinement = refinement.expect("it can be checked");
    refinement.check(client, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The first counterexample; how many clients held before it.
fn check(library: &Library, bounds: Bounds) -> (Option<Box<Counterexample>>, usize) {
    let mut held = 0;
    for client in clients(library, &[bounds], MOST).expect("there are few") {
        match answer(library, &client) {
            Answer::Holds { outcomes, .. } => {
                assert!(outcomes > 0, "a client without history");
                held += 1;
            }
            // A Pop alone waits for ever, as it should.
            Answer::Nothing => {}
            Answer::Refuted(found) => return (Some(found), held),
            other => panic!("{other:?} of\n{}", text(&client, library, None)),
        }
    }
    (None, held)
}

/// Clients of up to `threads` threads, `calls` calls of each, and `size` calls in all, on two nodes.
fn up_to(threads: usize, calls: usize, size: usize) -> Bounds {
    Bounds { threads, calls, size, plain: 0, near: 0, ..Bounds::default() }
}

/// The client with these statements, thread by thread, on these nodes.
fn client(library: &Library, bounds: Bounds, threads: &[(u32, &[&str])]) -> Client {
    let wanted: String = threads.iter().enumerate().fold(String::new(), |all, (index, thread)| {
        let body: String = thread.1.iter().map(|line| format!("    {line}\n")).collect();
        format!("{all}  thread {} @ {} {{\n{body}  }}\n", index + 1, thread.0)
    });
    let all = clients(library, &[bounds], MOST).expect("there are few").into_iter();
    let mut found = all.filter(|client| text(client, library, None).ends_with(&wanted));
    found.next().unwrap_or_else(|| panic!("no client\n{wanted}"))
}

fn holds(name: &str, bounds: Bounds) {
    let (found, held) = check(&object(name), bounds);
    if let Some(found) = found {
        panic!("{}\n{}\n{}", found.program, found.execution, found.forbidden);
    }
    assert!(held > 0, "{name}: no client");
}

/// The changed object is refuted, and what is said has these parts.
fn refuted(name: &str, changes: &[(&str, &str)], bounds: Bounds, wrong: Wrong, says: &[&str]) {
    let (found, _) = check(&changed(name, changes), bounds);
    let found = found.unwrap_or_else(|| panic!("{name} with {changes:?} is not refuted"));
    assert_eq!(found.wrong, wrong, "{name} with {changes:?}\n{}", found.execution);
    let all = format!("{}\n{}\n{}", found.program, found.execution, found.forbidden);
    for part in says {
        assert!(all.contains(part), "{name} with {changes:?} lacks `{part}`:\n{all}");
    }
}

#[test]
fn atomic_variables_are_linearizable() {
    holds("atomic", up_to(2, 2, 3));
    let fence = [("    GFence(x.home)\n", "")];
    let told = ["├─ Write(o, 1) ─┤", "→ 0 ─┤", "call 1 returns"];
    refuted("atomic", &fence, up_to(2, 1, 2), Wrong::History, &told);
    // The fence of Add.
    let fence = [("    GFence(x.home)\n    return r", "    return r")];
    refuted("atomic", &fence, up_to(2, 1, 2), Wrong::History, &["Add(o, 1) → 0 ─┤"]);
    // A put may come between the read and the write of an RFAA.
    let all = object("atomic").source.text;
    let (first, last) = (all.find("    loop {").unwrap(), all.find("    GFence").unwrap());
    let put = [(&all[first..last], "    ~x.word := v\n")];
    refuted("atomic", &put, up_to(2, 2, 3), Wrong::History, &["Add(o, 2) → 0", "Read(o) → 2"]);
    let wait = [(
        "    Wait(d)\n    r := x.result[me]\n    return r",
        "    r := x.result[me]\n    return r",
    )];
    refuted("atomic", &wait, up_to(1, 2, 2), Wrong::History, &["Read(o) → 0"]);
}

/// Two readers may see the old value after the new one.
#[test]
fn owned_variables_are_linearizable_with_one_reader() {
    holds("owned", up_to(2, 2, 0));
    let fence = [("    GFence(nodes(x.threads))\n", "")];
    refuted("owned", &fence, up_to(2, 1, 2), Wrong::History, &["├─ Store(o, 1) ─┤", "Load(o) → 0"]);
    let readers = ["├─ b1 := Load(o) → 1 ─┤", "├─ c1 := Load(o) → 0 ─┤"];
    refuted("owned", &[], up_to(3, 1, 3), Wrong::History, &readers);
}

#[test]
fn ticket_locks_exclude_each_other() {
    holds("ticket", up_to(2, 4, 6));
    // Two may draw one ticket.
    let get = [(
        "RFAA(l.ticket[me], ~l.next, 1, d)\n    Wait(d)\n    v := l.ticket[me]",
        "l.ticket[me] :=^d ~l.next\n    Wait(d)\n    v := l.ticket[me]\n    ~l.next := v + 1",
    )];
    refuted("ticket", &get, up_to(2, 2, 4), Wrong::History, &["├─ Acq(o) ─┤ ├─ Rel(o) ─┤"]);
    let same = [("~l.serving := v + 1", "~l.serving := v")];
    refuted("ticket", &same, up_to(1, 4, 4), Wrong::Stuck, &["does not come back from `Acq(o)`"]);
}

#[test]
fn transfers_keep_the_sum() {
    holds("accounts", up_to(2, 1, 2));
    let fence = [("    GFence(all)\n", "")];
    refuted("accounts", &fence, up_to(2, 1, 2), Wrong::History, &["Sum(o) → 99"]);
    let (locks, free) =
        ("    Acq(b.lock[0])\n    Acq(b.lock[1])\n", "    Rel(b.lock[1])\n    Rel(b.lock[0])\n");
    let one = [(locks, "    Acq(b.lock[from])\n"), (free, "    Rel(b.lock[from])\n")];
    refuted("accounts", &one, up_to(2, 2, 3), Wrong::History, &["Sum(o) → 97"]);
    let sum = format!("call Sum(Bank b) {{\n{locks}");
    let none = [
        (&*sum, "call Sum(Bank b) {\n"),
        ("    Rel(b.lock[1])\n    Rel(b.lock[0])\n    return", "    return"),
    ];
    refuted("accounts", &none, up_to(2, 1, 2), Wrong::History, &["Sum(o) → 99"]);
}

#[test]
fn a_queue_is_linearizable() {
    holds("queue", up_to(2, 2, 3));
    // Zeros: which Push a Pop took its value from, it does not show.
    let zeros = Bounds { zero: true, ..up_to(2, 2, 4) };
    let store = object("queue");
    let stuck =
        [(1, &["Push(o, 0)", "a2 := Pop(o)"][..]), (1, &["b1 := Pop(o)", "Push(o, 0)"][..])];
    let client = client(&store, zeros, &stuck);
    // One Pop may take what the other thread's Push would have been for.
    assert!(matches!(answer(&store, &client), Answer::Holds { .. }));
    let get = [(
        "RFAA(q.seen[me], ~q.tail, 1, d)\n    Wait(d)\n    t := q.seen[me]",
        "q.seen[me] :=^d ~q.tail\n    Wait(d)\n    t := q.seen[me]\n    ~q.tail := t + 1",
    )];
    refuted("queue", &get, up_to(2, 2, 3), Wrong::History, &["Push(o, 2)", "Pop(o) → 1"]);
    let once = [("if v != 0 { break }", "break")];
    refuted("queue", &once, up_to(1, 1, 1), Wrong::History, &["Pop(o) → -1"]);
}

#[test]
fn places_of_a_queue_are_used_again() {
    holds("cyclic", up_to(2, 2, 3));
    holds("cyclic", up_to(1, 4, 4));
    let room = [("if w = 1000 * round { break }", "break")];
    refuted("cyclic", &room, up_to(1, 3, 3), Wrong::History, &["Put(o, 3)"]);
    let item = [("if w % 1000 != 0 { break }", "break")];
    refuted("cyclic", &item, up_to(1, 1, 1), Wrong::History, &["Take(o) → -1"]);
    let next = [("1000 * round + 2000", "1000 * round")];
    let told = ["does not come back from `Put(o, 3)`"];
    refuted("cyclic", &next, up_to(1, 4, 4), Wrong::Stuck, &told);
}

/// Opposite orders of locks.
#[test]
fn transfers_in_opposite_orders_are_stuck() {
    let order = [(
        "    Acq(b.lock[0])\n    Acq(b.lock[1])\n",
        "    Acq(b.lock[from])\n    Acq(b.lock[1 - from])\n",
    )];
    let told = [
        "does not come back from `Transfer(o, 0, 1)`",
        "does not come back from `Transfer(o, 1, 2)`",
        "the sequential object lets one more call return",
    ];
    refuted("accounts", &order, up_to(2, 1, 2), Wrong::Stuck, &told);
}

#[test]
fn a_key_value_store_is_linearizable() {
    holds("kv", up_to(2, 1, 2));
    let ack = [("            GFence(all)\n", "")];
    let twice = ["Insert(o, 0, 1) → 1", "Insert(o, 0, 2) → 1"];
    refuted("kv", &ack, up_to(2, 1, 2), Wrong::History, &twice);
    let wait = [("      Wait(d)\n", "")];
    refuted("kv", &wait, up_to(1, 2, 2), Wrong::History, &["Lookup(o, 0) → ⊥"]);
}

/// Threads of an implementation's own write the indices, and acknowledge.
#[test]
fn services_do_what_they_are_sent() {
    holds("kv-tracker", up_to(2, 1, 2));
    holds("kv-tracker", up_to(1, 3, 3));
    let twice = ["Insert(o, 0, 1) → 1", "Insert(o, 0, 2) → 1"];
    let wait = [("if a = 2000000 * k + c + 10 * here + j { break }", "break")];
    refuted("kv-tracker", &wait, up_to(2, 1, 2), Wrong::History, &twice);
    // It acknowledges first.
    let early = [
        (
            "      what := (m - m % 1000000)\n",
            "      s.done@here := m\n      what := (m - m % 1000000)\n",
        ),
        ("      s.done@here := m\n    }\n  }", "    }\n  }"),
    ];
    refuted("kv-tracker", &early, up_to(2, 1, 2), Wrong::History, &twice);
    // It acknowledges, and then waits for what never comes.
    let waits = [(
        "s.done@here := m\n",
        "s.done@here := m\n      loop { w := s.index@here[0]; if w = 7 { break } }\n",
    )];
    let told = ["a service never comes to the end of its round"];
    refuted("kv-tracker", &waits, up_to(1, 1, 1), Wrong::Stuck, &told);
    let never = [("if m != d {", "if m = 1 {")];
    let told = ["does not come back from `a1 := Insert(o, 0, 1)`"];
    refuted("kv-tracker", &never, up_to(1, 1, 1), Wrong::Stuck, &told);
}

/// What has no place in a service, and where the message points.
#[test]
fn wrong_services_are_told() {
    let text = object("kv-tracker").source.text;
    for (from, to, code, at) in [
        ("s.done@here := m\n", "return m\n", "return-not-last", "return m"),
        ("s.done@here := m\n", "break\n", "break-outside-loop", "break"),
        ("on each node {", "on every node {", "syntax", "every"),
        ("service Tracked s", "service NLock s", "unknown-class", "service NLock s on each node"),
        ("s.done@here := m\n", "u := Lookup(s, 0)\n", "recursive-implementation", "Lookup(s, 0)"),
        (
            "service Tracked s",
            "service Tracker s",
            "unknown-class",
            "service Tracker s on each node",
        ),
        ("if m != d {", "if m != e {", "unknown-name", "m != e"),
    ] {
        let wrong = text.replacen(from, to, 1);
        let errors = library::load(&Source::new("wrong.lib", wrong.as_str())).err();
        let (_, error) = errors.unwrap_or_else(|| panic!("{to} is taken")).remove(0);
        assert_eq!(error.code.name(), code, "{to}");
        assert!(
            wrong[error.span.range()].contains(at) || at.contains(&wrong[error.span.range()]),
            "{to}"
        );
    }
}

/// Values of two words may be torn, which the checksum tells.
#[test]
fn torn_values_are_read_again() {
    holds("kv-wide", up_to(2, 1, 2));
    let threads: &[(u32, &[&str])] =
        &[(1, &["a1 := Update(o, 0, 1)"]), (2, &["b1 := Insert(o, 0, 2)", "b2 := Lookup(o, 0)"])];
    let client = client(&object("kv-wide"), up_to(2, 2, 3), threads);
    assert!(matches!(answer(&object("kv-wide"), &client), Answer::Holds { .. }));
    let unchecked = changed("kv-wide", &[("if l = h and l = w % 1000 {", "if true {")]);
    let Answer::Refuted(found) = answer(&unchecked, &client) else { panic!("it is not refuted") };
    assert!(found.forbidden.contains("Lookup(o, 0) → "), "{}", found.forbidden);
}

/// A broken store, and a client that shows it.
struct Shown<'a> {
    changes: &'a [(&'a str, &'a str)],
    bounds: Bounds,
    threads: &'a [(u32, &'a [&'a str])],
}

/// What larger clients show, each of the one that shows it; the store itself holds there.
#[test]
fn parts_of_a_key_value_store_are_needed() {
    let fence = "3000 + v }\n      } }\n      GFence(all)\n";
    let free = "i - i % 4000 }\n      } }\n      GFence(all)\n";
    let valid = "1000 }\n      } }\n      GFence(all)\n";
    let check = "if w - w % 1000 = i - i % 4000 + 3000";
    let all = [
        // Sherman's fence.
        Shown {
            changes: &[(fence, "3000 + v }\n      } }\n")],
            bounds: up_to(2, 2, 3),
            threads: &[
                (1, &["a1 := Update(o, 0, 1)"]),
                (2, &["b1 := Insert(o, 0, 2)", "b2 := Lookup(o, 0)"]),
            ],
        },
        // The counter.
        Shown {
            changes: &[(check, "if w % 4000 >= 3000")],
            bounds: Bounds { nodes: 1, ..up_to(2, 3, 4) },
            threads: &[
                (1, &["a1 := Lookup(o, 0)"]),
                (1, &["b1 := Insert(o, 0, 1)", "b2 := Delete(o, 0)", "b3 := Insert(o, 1, 2)"]),
            ],
        },
        // The valid bit.
        Shown {
            changes: &[(check, "if w - w % 4000 = i - i % 4000")],
            bounds: up_to(2, 2, 3),
            threads: &[
                (1, &["a1 := Delete(o, 0)"]),
                (1, &["b1 := Insert(o, 0, 1)", "b2 := Lookup(o, 0)"]),
            ],
        },
        // It is set before all know of the key.
        Shown {
            changes: &[("c + 1000 + v", "c + 3000 + v")],
            bounds: up_to(3, 1, 3),
            threads: &[
                (1, &["a1 := Insert(o, 0, 1)"]),
                (1, &["b1 := Lookup(o, 0)"]),
                (2, &["c1 := Lookup(o, 0)"]),
            ],
        },
        // A slot is free when its last user has gone.
        Shown {
            changes: &[(free, "i - i % 4000 }\n      } }\n")],
            bounds: up_to(2, 3, 4),
            threads: &[
                (1, &["a1 := Delete(o, 0)"]),
                (2, &["b1 := Insert(o, 0, 1)", "b2 := Insert(o, 1, 2)", "b3 := Insert(o, 0, 3)"]),
            ],
        },
        // A key is not valid before some do not know of it.
        Shown {
            changes: &[(valid, "1000 }\n      } }\n")],
            bounds: up_to(3, 2, 4),
            threads: &[
                (1, &["a1 := Delete(o, 0)"]),
                (1, &["b1 := Lookup(o, 0)"]),
                (2, &["c1 := Insert(o, 0, 1)", "c2 := Lookup(o, 0)"]),
            ],
        },
    ];
    let store = object("kv");
    for Shown { changes, bounds, threads } in all {
        let client = client(&store, bounds, threads);
        assert!(matches!(answer(&store, &client), Answer::Holds { .. }), "{changes:?}");
        match answer(&changed("kv", changes), &client) {
            Answer::Refuted(found) => assert_eq!(found.wrong, Wrong::History, "{changes:?}"),
            other => panic!("{changes:?}: {other:?}"),
        }
    }
}

/// A sequential object has no events, so no model knows what its calls mean.
#[test]
fn programs_are_not_asked_about_sequential_objects() {
    let mut libraries = library::shipped().clone();
    libraries.all.push(std::sync::Arc::new(object("atomic")));
    let program = "litmus x\n  Atomic o@1\n  ||\n  ---\n  thread 1 @ 1 { Write(o, 1) }\n";
    let source = Source::new("x", program);
    let (test, errors) = lang::litmus::load_with(&source, libraries.words());
    let test = test.unwrap_or_else(|| panic!("{errors:?}"));
    let base = load("rdma-wait-rmw").expect("it is shipped");
    let refused = Question::of(&test, &base).libraries(&libraries).question().err();
    let said = refused.expect("there is no question").message();
    assert!(said.contains("sequential object") && said.contains("--inline"), "{said}");
}

/// What a body of a sequential object computes, a lock and two words show: a call that does not return from a
/// state waits for another.
#[test]
fn sequential_objects_wait_and_count() {
    let text = "library queue\nclass Q\ncall Put(Q q, value v)\ncall Take(Q q)\n\
        sequential {\n memory Q.items [4]\n memory Q.first\n memory Q.last\n\
        call Put(Q q, value v) { q.items[q.last % 4] := v; q.last := q.last + 1 }\n\
        call Take(Q q) {\n while q.first = q.last { skip }\n v := q.items[q.first % 4]\n\
        q.first := q.first + 1\n return v }\n} linearizable\n\
        implementation over rdma-wait-rmw {\n memory Q.item [4] at home\n memory Q.head at home\n\
        memory Q.tail at home\n\
        call Put(Q q, value v) { FAA(q.tail, 1); for i in 0 .. 4 { if i = 0 { q.item[i] := v } } }\n\
        call Take(Q q) { loop { h := q.head; t := q.tail; if h < t { break } }\n v := q.item[0]\n\
        q.head := h + 1\n return v }\n}\n";
    // The item is written after its place is taken.
    let library = loaded("queue", text);
    let bounds = Bounds { nodes: 1, ..up_to(2, 1, 2) };
    let (found, _) = check(&library, bounds);
    let found = found.expect("it is refuted");
    assert!(found.forbidden.contains("Take(o) → 0"), "{}", found.forbidden);
    // With the item first, one Put and one Take are right, and a Take alone waits, as it should. Two Puts
    // write one word, which without a Take nothing shows.
    let (put, taken) = (
        "FAA(q.tail, 1); for i in 0 .. 4 { if i = 0 { q.item[i] := v } }",
        "q.item[0] := v; FAA(q.tail, 1)",
    );
    let library = loaded("queue", &text.replace(put, taken));
    let mut ended = (0, 0);
    for client in clients(&library, &[bounds], MOST).expect("there are few") {
        match answer(&library, &client) {
            Answer::Holds { .. } => ended.0 += 1,
            Answer::Nothing => ended.1 += 1,
            Answer::Refuted(found) => panic!("{}\n{}", found.program, found.forbidden),
            other => panic!("{other:?}"),
        }
    }
    assert!(ended.0 > 0 && ended.1 > 0, "{ended:?}");
}

/// A service sees what threads have put before they ended; a library that calls reach at two levels has its
/// memory, and its services, once.
#[test]
fn services_see_the_last_messages() {
    let relay = "library relay\nclass Relay\ncall Send(Relay r, value v)\n\
        sequential {\n memory Relay.last\n call Send(Relay r, value v) { r.last := v }\n} linearizable\n\
        implementation over rdma-wait-rmw {\n memory Relay.mail on each node\n\
        memory Relay.copy on each node\n\
        service Relay r on each node { m := r.mail@here; c := r.copy@here\n if m != c { r.copy@here := m } }\n\
        call Send(Relay r, value v) { for n in all { ~r.mail@n := v } }\n}\n";
    let outer = "library outer\nclass Outer\ncall Tell(Outer o, value v)\n\
        sequential {\n memory Outer.last\n call Tell(Outer o, value v) { o.last := v }\n} linearizable\n\
        implementation over rdma-wait-rmw {\n object Outer.relay : Relay at home\n\
        call Tell(Outer o, value v) { Send(o.relay, v) }\n}\n";
    let mut libraries = library::shipped().clone();
    libraries.all.extend(
        [("relay", relay), ("outer", outer)]
            .map(|(name, text)| std::sync::Arc::new(loaded(name, text))),
    );
    let text = "litmus x\nmodel rdma-wait-rmw\n\n  Relay r\n  Outer o\n  ---\n  Send(r, 1) || Tell(o, 2)\n";
    let source = Source::new("x", text);
    let test = lang::litmus::load_with(&source, libraries.words()).0.expect("it is right");
    let inlined = inline(&test, &libraries, Depth::Full).expect("it has implementations");
    let program = &inlined.program;
    assert_eq!((program.threads.len(), program.services), (6, 4));
    let names: BTreeSet<&str> = program.locations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), program.locations.len(), "{names:?}");
    // What the copies hold in the end.
    let mut shown = inlined.clone();
    let copies = program.locations.iter().enumerate().filter(|(_, one)| one.name.contains("copy"));
    shown.observables = copies
        .map(|(index, one)| Observable::new(&one.name, Observed::Location(LocationId(index))))
        .collect();
    shown.shown = shown.observables.len();
    let variant = machine::Variant::from_name("rdma-wait-rmw").expect("it is known");
    let found = machine::explore(&shown, variant, machine::Limits::default()).expect("it runs");
    let all: BTreeSet<Vec<String>> = found
        .outcomes
        .iter()
        .map(|outcome| outcome.0.iter().map(ToString::to_string).collect())
        .collect();
    assert!(found.complete);
    assert_eq!(all, BTreeSet::from([["1", "1", "2", "2"].map(str::to_owned).to_vec()]));
}
