//! Random programs over libraries, put to the engine and to an enumeration of executions that was written
//! from the papers' definitions alone (`oracle`): they must agree.
//!
//! `LITMUS_RANDOM=N` sets how many programs, `LITMUS_SEED=S` the seed of the first.

mod oracle;

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::Asked;
use lang::source::Source;
use model::allowed::{Options, Question};
use model::{check, library, models};
use oracle::{Outcomes, outcomes};

const PROGRAMS: u64 = 150;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn load(text: &str) -> Test {
    let source = Source::new("random.litmus", text);
    let (test, diagnostics) = lang::litmus::load_with(&source, library::shipped().words());
    let all: String = diagnostics.iter().map(|found| found.render(&source, false)).collect();
    test.unwrap_or_else(|| panic!("{text}\n{all}"))
}

#[test]
fn the_engine_agrees_with_the_definitions() {
    let (seed, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", PROGRAMS));
    let model = models::load_shipped("rdma-wait-rmw").and_then(Result::ok).expect("it loads").model;
    let (mut compared, mut skipped, mut seen) = (0, 0, 0);
    for seed in seed..seed + count {
        let text = generate(seed);
        let test = load(&text);
        let Some(expected) = outcomes(&test) else {
            skipped += 1;
            continue;
        };
        let question = Question::of(&test, &model)
            .question()
            .unwrap_or_else(|errors| panic!("seed {seed}\n{text}\n{}", errors.text()));
        let (allowed, witnesses) =
            question.witnessed(&Options::default()).expect("it can be asked");
        assert!(allowed.complete.is_some(), "seed {seed}\n{text}");
        for witness in &witnesses {
            let observables = &question.test.observables;
            check::well_formed(&question.skeleton, observables, witness)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            let broken = check::broken_axioms(&question.skeleton, &question.model, witness);
            assert!(broken.is_empty(), "seed {seed}: a witness breaks {broken:?}\n{text}");
        }
        let found: Outcomes = allowed.outcomes.iter().map(|outcome| outcome.0.clone()).collect();
        let only = |a: &Outcomes, b: &Outcomes| a.difference(b).cloned().collect::<Vec<_>>();
        assert!(
            found == expected,
            "LITMUS_SEED={seed}\n{text}\nonly the engine: {:?}\nonly the definitions: {:?}",
            only(&found, &expected),
            only(&expected, &found)
        );
        compared += 1;
        seen += expected.len();
    }
    println!("{compared} programs with {seen} outcomes compared, {skipped} too large");
    assert!(compared * 2 > count, "most programs are too large to enumerate");
}

#[test]
fn every_shipped_library_loads() {
    for (name, text) in library::SHIPPED {
        let source = Source::new(format!("{name}.lib"), *text);
        if let Err(errors) = library::load(&source) {
            let all: String = errors.iter().map(|(s, error)| error.render(s, false)).collect();
            panic!("{all}");
        }
    }
}

/// What is wrong with a program of one thread's statements per column; or how it is not well formed.
fn wrong(declared: &str, rows: &str) -> Vec<(&'static str, (usize, usize))> {
    let text =
        format!("litmus t\nmodel rdma-wait-rmw\n\n  {declared}\n  x = 0 ||\n  -----\n{rows}");
    let source = Source::new("t.litmus", text.clone());
    let test = load(&text);
    let model = models::load_shipped("rdma-wait-rmw").and_then(Result::ok).expect("it loads").model;
    let found = match Question::of(&test, &model).question() {
        Err(refused) => refused.diagnostics(),
        Ok(question) => question.allowed(&Options::default()).expect("it can be asked").misuses,
    };
    let place = |span: lang::source::Span| source.line_column(span.start);
    found.iter().map(|error| (error.code.name(), place(error.span))).collect()
}

#[test]
fn misuse_has_a_place() {
    let lock = "WLock l";
    assert_eq!(wrong(lock, "  Rel(l) || skip\n"), [("not-held", (7, 3))]);
    assert_eq!(wrong(lock, "  Acq(l); Acq(l); Rel(l) || skip\n"), [("already-held", (7, 11))]);
    assert_eq!(wrong(lock, "  Acq(l) || skip\n"), [("never-released", (7, 3))]);
    let barrier = "Barrier z {1, 2}";
    assert_eq!(wrong(barrier, "  Bar(z) || skip\n"), [("unequal-calls", (7, 3))]);
    // Where it depends on a value, those executions are left out, and it is said.
    let sometimes = "  a := x || x^1 := 1\n  if a = 1 { Acq(l) } ||\n  Rel(l) ||\n";
    assert_eq!(wrong(lock, sometimes), [("not-held", (9, 3))]);
    let never = "  a := x || x^1 := 1\n  if a = 1 { Acq(l) } ||\n  if a = 1 { Rel(l) } ||\n";
    assert_eq!(wrong(lock, never), []);
    // Where it is declared, once.
    let class = wrong("Flag f", "  Raise(f) || Raise(f)\n");
    assert_eq!(class, [("unknown-class", (4, 3))]);
}

/// A sequence of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}

/// A program of two or three threads and nodes over some of the libraries.
fn generate(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for _ in 0..8 {
        random.below(2);
    }
    let nodes = 2 + random.below(2);
    let threads = 2 + random.below(2);
    let together = random.below(4) == 0;
    let place: Vec<usize> = (0..threads)
        .map(|t| match t < nodes {
            _ if together => 1,
            true => t + 1,
            false => 1 + random.below(nodes),
        })
        .collect();
    let lock = ["WLock l", "SLock l", "NLock l@1", "NLock l@2"][random.below(4)];
    let home = 1 + random.below(nodes);
    let reader = 2;
    let mut out = String::from("litmus random\nmodel rdma-wait-rmw\n\n");
    out.push_str(&format!(
        "  SVar s = 0\n  Barrier z\n  {lock}\n  Ring r 1 -> {{{reader}}}\n  SC c@{home} = 0\n"
    ));
    let mut cells = vec![Vec::new(); nodes];
    let homes: Vec<usize> = (0..2).map(|_| 1 + random.below(nodes)).collect();
    for (name, home) in ["x", "y"].iter().zip(&homes) {
        cells[home - 1].push(format!("{name} = 0"));
    }
    let cells: Vec<String> = cells.iter().map(|cell| cell.join(", ")).collect();
    out.push_str(&format!("  {}\n  ------\n", cells.join(" || ")));
    let with_lock = random.below(3) == 0;
    // Which of the queue pairs to a node an operation uses.
    let queue_pairs: &[&str] = if seed.is_multiple_of(3) { &["", "/1"] } else { &[""] };
    let bars = random.below(3) / 2;
    let focus = random.below(4);
    for thread in 0..threads {
        out.push_str(&format!("  thread {} @ {} {{\n", thread + 1, place[thread]));
        let mut lines = Vec::new();
        let count = if threads == 3 { 2 + random.below(2) } else { 2 + random.below(3) };
        for line in 0..count {
            let a = format!("{}{line}", ["a", "b", "d"][thread]);
            lines.push(statement(&mut random, thread, &place, &homes, (focus, queue_pairs), &a));
        }
        lines.retain(|line| !line.is_empty());
        for _ in 0..bars {
            let at = random.below(lines.len() + 1);
            lines.insert(at, "Bar(z)".to_owned());
        }
        if with_lock && thread < 2 {
            let first = random.below(lines.len() + 1);
            lines.insert(first, "Acq(l)".to_owned());
            let rest = lines.len() - first;
            lines.insert(first + 1 + random.below(rest), "Rel(l)".to_owned());
        }
        lines.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
        out.push_str("  }\n");
    }
    out
}

fn statement(
    random: &mut Random,
    thread: usize,
    place: &[usize],
    homes: &[usize],
    (focus, queue_pairs): (usize, &[&str]),
    a: &str,
) -> String {
    let here = place[thread];
    let which = random.below(2);
    let (name, home) = (["x", "y"][which], homes[which]);
    let value = 1 + random.below(2);
    let on = match queue_pairs {
        [only] => *only,
        several => several[random.below(several.len())],
    };
    let other =
        |random: &mut Random| 1 + random.below(place.iter().max().copied().unwrap_or(2).max(2));
    let library = random.below(3) > 0;
    match (library, focus, random.below(6)) {
        (true, 0, 0 | 1) => format!("s :=SV {value}"),
        (true, 0, 2) => format!("{a} :=SV s"),
        (true, 0, 3) => {
            ["Bcast(s)", "Bcast(s, e, {1, 2})", "Bcast(s, e, {2})"][random.below(3)].to_owned()
        }
        (true, 0, 4) => ["WaitSV(e)", "GFence({1})", "GFence({1, 2})"][random.below(3)].to_owned(),
        (true, 0, _) => format!("{a} :=SV s"),
        (true, 1, _) if thread == 0 => format!("{a} := Submit(r, {value})"),
        (true, 1, _) if thread == 1 => format!("{a} := Receive(r)"),
        (true, 2, 0 | 1) => format!("c :=SC {value}"),
        (true, 2, 2 | 3) => format!("{a} :=SC c"),
        (true, 2, 4) => format!("{a} := CASSC(c, {}, 2)", random.below(2)),
        (true, 2, _) => format!("{a} := FAASC(c, 1)"),
        (true, 3, 0) => format!("GFence({{{}}})", other(random)),
        (_, _, 0 | 1) if home == here => format!("{name} := {value}"),
        (_, _, 2) if home == here => format!("{a} := {name}"),
        (_, _, 0) => format!("{name}^{home}{on} :=^d {value}"),
        (_, _, 1) => format!("{name}^{home}{on} := {value}"),
        (_, _, 2 | 3) => format!("{a} :=^d {name}^{home}{on}"),
        (_, _, 4) => match random.below(4) {
            0 => "Mfence".to_owned(),
            1 => format!("RFAA({a}, {name}^{home}{on}, 1, d)"),
            2 => format!("RCAS({a}, {name}^{home}{on}, 0, 2, d)"),
            _ => format!("Rfence({home}{on})"),
        },
        _ => "Wait(d)".to_owned(),
    }
}

#[test]
fn programs_are_varied() {
    let all: BTreeSet<String> = (1..60).map(generate).collect();
    assert!(all.len() > 50);
    for word in
        ["SV", "Bcast", "Submit", "Receive", "SC", "Bar(", "Acq(", "GFence", "Wait(d)", "/1"]
    {
        assert!(all.iter().any(|text| text.contains(word)), "{word}");
    }
}

/// What is wrong with a library is said at its place in the library's text.
#[test]
fn wrong_libraries_are_refused_at_their_place() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong");
    let base = models::load_shipped("rdma-wait-rmw").and_then(Result::ok).expect("shipped");
    let first = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).expect("it can be read");
        let source = Source::new(name, text);
        let wrong = match library::load(&source) {
            Err(errors) => errors.into_iter().map(|(_, error)| error).collect(),
            Ok(library) => {
                let shipped = library::shipped();
                model::refine::wrong_at_calls(shipped, &library, &base.model)
            }
        };
        let error = wrong.first().unwrap_or_else(|| panic!("{name} is not refused"));
        (error.code.name(), source.line_column(error.span.start).0)
    };
    for (name, code, line) in [
        ("recursive.lib", "recursive-implementation", 10),
        ("mutual.lib", "recursive-implementation", 10),
        ("selfobj.lib", "recursive-implementation", 11),
        ("hugeindex.lib", "too-much-memory", 9),
        ("noreturn.lib", "missing-return", 11),
        ("badmodel.lib", "unknown-model", 9),
        ("unknownm.lib", "wrong-body", 10),
        ("badnode.lib", "wrong-body", 10),
        ("badindex.lib", "wrong-body", 10),
        ("callarity.lib", "wrong-body", 11),
        ("hugefor.lib", "wrong-body", 10),
        ("remotecas.lib", "remote-cpu-access", 14),
        ("remoteread.lib", "remote-cpu-access", 10),
        ("remotebranch.lib", "remote-cpu-access", 12),
        ("otherthread.lib", "remote-cpu-access", 9),
        ("remotesource.lib", "put-source-remote", 10),
        ("remotetarget.lib", "get-target-remote", 10),
        ("remoteresult.lib", "get-target-remote", 10),
    ] {
        assert_eq!(first(name), (code, line), "{name}");
    }
}

/// What the bodies of shipped implementations use, threads on all nodes may use so.
#[test]
fn shipped_libraries_have_nothing_wrong() {
    let base = models::load_shipped("rdma-wait-rmw").and_then(Result::ok).expect("shipped");
    for (name, text) in library::SHIPPED {
        let loaded = library::load(&Source::new(*name, *text)).expect("it loads");
        let wrong = model::refine::wrong_at_calls(library::shipped(), &loaded, &base.model);
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

/// An outcome whose executions misuse a library is excluded, and not forbidden by an axiom.
#[test]
fn misuse_that_hangs_on_values_is_explained_as_that() {
    let text = "litmus t\nmodel rdma-wait-rmw\n\n  WLock l\n  x = 0  |\n  ---\n  Acq(l) | x := 1\n  a := x |\n  if a = 0 { Rel(l) } |\n";
    let source = Source::new("t", text);
    let test = lang::litmus::load_with(&source, library::shipped().words()).0.expect("it loads");
    let base = models::load_shipped("rdma-wait-rmw").and_then(Result::ok).expect("shipped");
    let libraries = library::shipped();
    let question = Question::of(&test, &base.model).libraries(libraries).question().expect("fits");
    let options = Options::default();
    let a = test.observables.iter().position(|o| o.name == "a").expect("a is shown");
    let asked = Asked::values(&test.observables, [(a, lang::outcome::Value::Int(1))]);
    let text = model::explain::explain(&question, &options, &asked).expect("asked").text(&source);
    assert!(text.starts_with("excluded: a = 1\n\nthe program is not well formed"), "{text}");
}
