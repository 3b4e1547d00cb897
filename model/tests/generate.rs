//! Generated programs: one of all that are the same, the same in every form, and those that the papers print.

use std::collections::BTreeSet;
use std::path::Path;

use lang::Test;
use lang::cat::model::Model;
use lang::litmus::ast::{File, VerdictKind, without_places};
use lang::source::Source;
use model::changes::{self, Change};
use model::generate::cycles;
use model::generate::differences::differences;
use model::generate::distinguish::outcomes;
use model::generate::draft::Draft;
use model::generate::every::every;
use model::generate::pivot::Pivot;
use model::generate::program::test;
use model::generate::random::{Posting, Seed, Weights, random};
use model::generate::relaxations::parse;
use model::generate::rma::draft::Draft as RmaDraft;
use model::generate::rma::enumerate::{Bounds as RmaBounds, programs};
use model::generate::search::{Bounds, Known, Vocabulary};
use model::generate::shape::{Completion, Shape};
use model::generate::step::{Post, Step};
use model::generate::text::{self, Words};
use model::machine::{self, Random, Variant};

fn model(name: &str) -> Model {
    model::models::load_shipped(name).expect("shipped").expect("it loads").model
}

fn load(text: &str) -> Test {
    let source = Source::new("generated.litmus", text);
    let (test, diagnostics) = lang::litmus::load_with(&source, model::library::shipped().words());
    let report: String = diagnostics.iter().map(|found| found.render(&source, false)).collect();
    test.unwrap_or_else(|| panic!("{text}\n{report}"))
}

fn from_suite(path: &str) -> Test {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite").join(path);
    load(&std::fs::read_to_string(path).expect("the suite is readable"))
}

const WORDS: &str = "wput=4,wget=4,index=6,r=8";

fn randoms(model: &Model, count: u64) -> Vec<Shape> {
    let vocabulary = Vocabulary::of(&[model]);
    let bounds = Bounds { size: 7, ..Bounds::default() };
    let weights = Weights::default();
    let inline = "inline=6".parse().expect("weights");
    let others = ["flush=6,atomicwrite=6", "persist=4", "send=3,sendimm=3,putimm=3", WORDS];
    let is_defined = |weights: &&&str| **weights == WORDS || vocabulary.calls.contains(&"Flush");
    let others: Vec<Weights> =
        others.iter().filter(is_defined).map(|text| text.parse().expect("weights")).collect();
    let shared = if vocabulary.calls.contains(&"SharedPost") { 2 } else { 0 };
    let all = (0..count).filter_map(|number| {
        let posting = match number % 4 {
            0 | 2 => Posting { queue_pairs: 1, unsignaled: 0, shared: 0 },
            1 => Posting { queue_pairs: 3, unsignaled: 0, shared },
            _ => Posting { queue_pairs: 2, unsignaled: 3, shared: 0 },
        };
        let weights = match number % 3 {
            0 => &inline,
            1 => &others[number as usize / 3 % others.len()],
            _ => &weights,
        };
        random(Seed { seed: 7, number }, posting, weights, &vocabulary, &bounds)
    });
    all.collect()
}

/// The same program with threads, nodes and locations in another order.
fn shuffled(shape: &Shape, random: &mut Random) -> Shape {
    let mut order = |count: usize| {
        let mut all: Vec<u8> = (0..count as u8).collect();
        for at in (1..count).rev() {
            all.swap(at, random.below(at as u32 + 1) as usize);
        }
        all
    };
    // The words of an array stay together.
    let arrays = shape.arrays().0;
    let words = |first: u8| arrays.iter().find(|array| array.0 == first).map_or(1, |array| array.1);
    let is_inner =
        |at: &u8| arrays.iter().any(|(first, words)| (first + 1..first + words).contains(at));
    let firsts: Vec<u8> = (0..shape.homes.len() as u8).filter(|at| !is_inner(at)).collect();
    let mut places = vec![0; shape.homes.len()];
    let mut next = 0;
    for index in order(firsts.len()) {
        let first = firsts[usize::from(index)];
        for word in first..first + words(first) {
            places[usize::from(word)] = next;
            next += 1;
        }
    }
    let nodes = order(shape.nodes());
    let threads = order(shape.threads.len());
    let node = |node: u8| nodes[usize::from(node)];
    let mut moved = shape.clone();
    for (at, home) in shape.homes.iter().enumerate() {
        moved.homes[usize::from(places[at])] = node(*home);
    }
    for (at, thread) in shape.threads.iter().enumerate() {
        let place = |place: u8| places[usize::from(place)];
        let target = &mut moved.threads[usize::from(threads[at])];
        target.node = node(thread.node);
        // Other numbers for the same queue pairs.
        let other = |post: Post| match u32::from(post.queue_pair) {
            lang::program::SHARED.. => post,
            _ => Post { queue_pair: 2 - post.queue_pair.min(2), ..post },
        };
        target.posts = (0..thread.body.len()).map(|step| other(thread.post(step))).collect();
        let from = |old: u8| threads[usize::from(old)];
        let renamed = |step: &Step| step.renamed(&place, &node).received_from(&from);
        target.body = thread.body.iter().map(renamed).collect();
    }
    moved
}

#[test]
fn symmetric_programs_are_one() {
    let mut random = Random::new(1);
    let all = randoms(&model("rdma-verbs"), 900);
    let has = |shape: &Shape, is_it: &dyn Fn(&Step) -> bool| {
        shape.threads.iter().any(|thread| thread.body.iter().any(is_it))
    };
    let of = |is_it: &dyn Fn(&Step) -> bool| all.iter().filter(|shape| has(shape, is_it)).count();
    for call in ["Flush", "AtomicWrite", "Persist", "Send", "Recv", "PollRecv"] {
        let count = of(&|step| step.call() == Some(call));
        assert!(count > 20, "{count} programs have {call}");
    }
    assert!(
        of(&|step| step.words() > 1) > 20 && of(&|step| matches!(step, Step::PutAt { .. })) > 5
    );
    let immediates = all.iter().flat_map(|shape| &shape.threads).flat_map(|thread| &thread.posts);
    assert!(immediates.filter(|post| post.immediate).count() > 20);
    for shape in randoms(&model("rdma-tso-rmw"), 300).into_iter().chain(all) {
        for _ in 0..5 {
            assert_eq!(shuffled(&shape, &mut random).canonical(), shape.canonical());
        }
        assert_eq!(shape.canonical().canonical(), shape.canonical());
    }
}

#[test]
fn enumeration_gives_each_program_once() {
    let model = model("rdma-tso-rmw");
    let vocabulary = Vocabulary::of(&[&model]);
    for size in 1..=2 {
        let mut seen = BTreeSet::new();
        every(size, 2, &vocabulary, &Bounds::default(), &mut |shape| {
            assert_eq!(shape.canonical(), shape);
            assert_eq!(shape.size(), size);
            assert!(seen.insert(shape));
            true
        });
        // One more location of another node, or a second thread, is among them.
        assert!(seen.iter().any(|shape| shape.nodes() == 2));
        assert!(size == 1 || seen.iter().any(|shape| shape.threads.len() == 2));
    }
}

/// The file of a program reads as the tree that it was printed from, so the engines are asked about what it
/// says.
fn says_its_tree(file: &File, models: Vec<String>) {
    let name = "generated".to_owned();
    let words = Words { name, models, ..Words::default() };
    let text = text::text(file.clone(), &words);
    let (read, _) = lang::litmus::parse(
        &Source::new("generated.litmus", text.as_str()),
        model::library::shipped().words(),
    );
    let read = read.unwrap_or_else(|| panic!("a text of the language\n{text}"));
    let tree = |file: &File| without_places(&(&file.threads, &file.declarations, &file.results));
    assert_eq!(tree(&read), tree(file), "{text}");
    assert_eq!(lang::litmus::print(&read), text);
}

#[test]
fn a_file_says_what_its_shape_means() {
    for name in ["rdma-tso-rmw", "rdma-wait-rmw", "tso", "rdma-verbs"] {
        let model = model(name);
        let completion = Vocabulary::of(&[&model]).completion;
        for shape in randoms(&model, 120) {
            let draft = Draft { shape, claim: Vec::new() };
            let verdicts = draft.verdicts(completion, &model).expect("decided");
            says_its_tree(&draft.content(completion, verdicts).file, vec![name.to_owned()]);
        }
    }
}

/// Queue pairs, unsignaled requests and inline puts are read back as they were posted.
#[test]
fn a_program_reads_as_its_shape() {
    let mut posted = [0; 3];
    for name in ["rdma-tso-rmw", "rdma-wait-rmw"] {
        let model = model(name);
        let completion = Vocabulary::of(&[&model]).completion;
        for shape in randoms(&model, 400) {
            // Which statements of a program choose by a value is not read back.
            if !shape.arrays().0.is_empty() {
                continue;
            }
            let read = Shape::of(&test(&shape, completion).program);
            assert_eq!(read.as_ref(), Some(&shape));
            for post in shape.threads.iter().flat_map(|thread| &thread.posts) {
                posted[0] += usize::from(post.queue_pair > 0);
                posted[1] += usize::from(post.unsignaled);
                posted[2] += usize::from(post.inline);
            }
        }
    }
    assert!(posted.iter().all(|count| *count > 50), "{posted:?}");
}

#[test]
fn a_file_says_what_its_program_of_corerma_means() {
    let mut found = 0;
    programs(RmaBounds { processes: 2, size: 8 }, &mut |program| {
        let claim = vec![0; program.registers().len()];
        let draft = RmaDraft { program, claim };
        says_its_tree(&draft.content(Vec::new()).file, vec!["corerma".to_owned()]);
        found += 1;
    });
    assert!(found > 100, "{found} programs");
}

#[test]
fn both_engines_say_the_same_of_generated_programs() {
    for name in ["rdma-tso-rmw", "rdma-wait-rmw", "rdma-verbs"] {
        let model = model(name);
        let completion = Vocabulary::of(&[&model]).completion;
        let variant = model.machine.as_deref().and_then(Variant::from_name).expect("a machine");
        for shape in randoms(&model, 80) {
            let test = test(&shape, completion);
            let limits = machine::Limits { states: 200_000, ..machine::Limits::default() };
            let explored = machine::explore(&test, variant, limits).expect("no library calls");
            if explored.complete {
                assert_eq!(outcomes(&test, &model), Ok(explored.outcomes), "{shape:?}");
            }
        }
    }
}

#[test]
fn programs_of_the_suite_have_shapes() {
    let test = from_suite("loco-popl26/SB+put-get-poll+put-get-poll.litmus");
    let shape = Shape::of(&test.program).expect("a shape");
    assert_eq!(shape.size(), 8);
    assert_eq!(shape.threads[0].body[2], Step::Await { step: 1 });
}

struct Printed {
    file: &'static str,
    change: &'static str,
}

/// What the papers print, found from nothing but the rule that it shows.
#[test]
fn pivots_find_what_the_papers_print() {
    let model = model("rdma-tso-rmw");
    let vocabulary = Vocabulary::of(&[&model]);
    let bounds = Bounds::default();
    let known = Known::new(&model, &vocabulary, &bounds, 2);
    let all: Vec<Change> = changes::of(&model);
    let printed = [
        Printed { file: "rmw-paper/CoRW+put-poll-w.litmus", change: "drop [nlR, nrW]" },
        Printed { file: "rmw-paper/RCAS+rcas+rfaa.litmus", change: "drop rao" },
        Printed { file: "rmw-paper/LB+rcas-put+po.litmus", change: "drop [narR, nrW]" },
        Printed { file: "loco-popl26/SB+put-get-poll+put-get-poll.litmus", change: "drop [P, lR]" },
    ];
    for Printed { file, change } in printed {
        let wanted = Shape::of(&from_suite(file).program).expect("a shape");
        let change = all.iter().find(|known| known.name == change).expect("a change");
        let pivot = Pivot::new(&known, change, &vocabulary, bounds, 1);
        let found = pivot.of_size(wanted.size());
        assert!(found.contains(&wanted), "{file}: not among {} programs", found.len());
        let shown = pivot.check(&wanted).expect("decided").expect("minimal");
        let draft = Draft::new(&shown.shape, &shown.test, &shown.condition);
        let twin = draft.twin(vocabulary.completion, &model).expect("an allowed twin");
        let verdicts = twin.verdicts(vocabulary.completion, &model).expect("decided");
        assert!(matches!(verdicts[0], VerdictKind::Allowed(_)), "{verdicts:?}");
    }
}

/// Rules about statements that no enumeration makes: messages, flushes, crashes, and shared queue pairs.
#[test]
fn random_programs_shrink_to_tests_of_other_rules() {
    let model = model("rdma-verbs");
    let vocabulary = Vocabulary::of(&[&model]);
    let bounds = Bounds::default();
    let known = Known::new(&model, &vocabulary, &Bounds { thread: 2, ..bounds }, 2);
    let rows = [
        ("drop part 2 of ib (consumed)", "Recv"),
        ("drop part 3 of ib (flushed)", "AtomicWrite"),
        ("drop part 1 of posted (lR)", "Recv"),
        ("drop part 3 of ob (lost)", "Persist"),
        ("drop posts", "SharedPost"),
    ];
    let all = changes::of(&model);
    for (name, call) in rows {
        let change = all.iter().find(|change| change.described() == name).expect(name);
        let pivot = Pivot::new(&known, change, &vocabulary, bounds, 1);
        let mut drawn = (0..6_000).filter_map(|number| pivot.drawn(number, bounds).expect(name));
        let shape = drawn.next().unwrap_or_else(|| panic!("{name}: no test"));
        assert!(pivot.check(&shape).expect(name).is_some(), "{name}: {shape:?} is not minimal");
        let mut steps = shape.threads.iter().flat_map(|thread| &thread.body);
        let mut posts = shape.threads.iter().flat_map(|thread| &thread.posts);
        let is_about = match call {
            "SharedPost" => posts.any(|post| u32::from(post.queue_pair) >= lang::program::SHARED),
            _ => steps.any(|step| step.call() == Some(call)),
        };
        assert!(is_about, "{name}: {shape:?}");
    }
}

#[test]
fn cycles_are_read() {
    let model = model("rdma-tso-rmw");
    let draft = |text: &str| {
        let segments = parse(text, &model, Completion::Poll)?;
        cycles::draft(&segments.iter().collect::<Vec<_>>(), 3).ok_or("no program".to_owned())
    };
    let forbidden = ["rb oppo[nrW, nrW] rfe po", "rfe oppo[nrW,nrW] rfe po", "rfe po rfe po"];
    for text in forbidden {
        let verdicts = draft(text).expect(text).verdicts(Completion::Poll, &model).expect(text);
        assert!(matches!(verdicts[0], VerdictKind::Forbidden(_)), "{text}: {verdicts:?}");
    }
    let verdicts = draft("rb po[W, R] rb po[W, R]").expect("SB");
    let verdicts = verdicts.verdicts(Completion::Poll, &model).expect("SB");
    assert!(matches!(verdicts[0], VerdictKind::Allowed(_)), "{verdicts:?}");
    assert!(draft("po po").expect_err("no communication").contains("communication"));
    assert!(draft("rf xpo[nrW, nrW]").expect_err("no table").contains("xpo"));
    assert!(draft("rf oppo[nrX, nrW]").expect_err("no event").contains("nrX"));
}

#[test]
fn differences_name_the_cell() {
    let model = model("rdma-tso-rmw");
    assert!(differences(&model, &model).is_empty());
    let all = changes::of(&model);
    let change = all.iter().find(|change| change.name == "drop [nrW, nrW]").expect("a change");
    let found = differences(&model, &change.model);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|found| found.is_cell));
    assert_eq!(found[1].text, "oppo[nrW, nrW] is Q and ·");
}
