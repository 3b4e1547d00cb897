//! The programs of each family, and what other tools took for them.

use std::fmt::Write;

use lang::Test;
use lang::cat::model::Model;
use lang::source::Source;
use model::allowed::Question;
use model::generate::program::test;
use model::generate::random::{Posting, Seed, Weights, random};
use model::generate::search::{Bounds, Vocabulary};
use model::generate::shape::Shape;
use model::models;

/// A family of programs.
pub struct Family {
    pub name: &'static str,
    pub members: Vec<Member>,
}

/// A program of it.
pub struct Member {
    /// What follows the family's name.
    pub size: String,
    /// As a litmus file.
    pub text: String,
    pub peers: Option<Peers>,
}

/// What other tools took, in milliseconds with their start: herd7 and GenMC 0.11 (`--tso`), one process for
/// each program, measured apart from this benchmark on a machine like ours (two virtual CPUs, Debian 12).
/// Their programs of three threads show two of the three reads, so have fewer outcomes than ours; executions
/// are the same.
#[derive(Clone, Copy)]
pub struct Peers {
    /// As GenMC counts them.
    pub executions: Option<u64>,
    /// herd7, herd7 with `-optace true`, GenMC.
    pub times: (&'static str, &'static str, &'static str),
}

/// A program that a process is asked about.
pub enum Program {
    /// A litmus file.
    Text(String),
    /// The random program of that number, of one of the [`SIZES`].
    Random(&'static Size, u64),
}

impl Program {
    /// What is sent to the process: the litmus file, or the number of the random program.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Random(size, number) => format!("{RANDOM}{} {number}", size.events),
        }
    }
}

const RANDOM: &str = "random ";
const TSO: &str = "tso";
const RDMA: &str = "rdma-tso-rmw";

/// The program that [`Program::text`] stands for, and its model's name.
pub fn load(sent: &str) -> (Test, &'static str) {
    if let Some((events, number)) = sent.strip_prefix(RANDOM).and_then(|sent| sent.split_once(' '))
    {
        let vocabulary = vocabulary();
        let size = SIZES.iter().find(|size| size.events.to_string() == events).expect("a size");
        let number = number.parse().expect("a number");
        let shape = draw(size, number, &vocabulary).expect("a number with a program");
        return (test(&shape, vocabulary.completion), RDMA);
    }
    let source = Source::new("bench", sent);
    let (test, diagnostics) = lang::litmus::load(&source);
    let report: String = diagnostics.iter().map(|found| found.render(&source, false)).collect();
    let test = test.unwrap_or_else(|| panic!("{report}"));
    let name = if sent.contains(&format!("\nmodel {TSO}\n")) { TSO } else { RDMA };
    (test, name)
}

/// How many events a program has, without initial writes.
pub fn events(test: &Test, model: &Model) -> usize {
    let question = Question::of(test, model).question();
    let question = question.expect("the model defines the test");
    question.skeleton.events.iter().filter(|event| event.thread.is_some()).count()
}

/// All families.
pub fn families() -> Vec<Family> {
    let tso = |name, members: Vec<(String, Vec<Vec<String>>, Option<Peers>)>| Family {
        name,
        members: members
            .into_iter()
            .map(|(size, threads, peers)| Member { size, text: cpu(&threads), peers })
            .collect(),
    };
    vec![
        tso(
            "SBring",
            [2, 4, 6, 8, 10].map(|n| (n.to_string(), ring(n), peers("SBring", n, 0))).into(),
        ),
        tso("CO", CO.map(|(n, k)| (size(n, k), coherence(n, k), peers("CO", n, k))).into()),
        tso("COR", COR.map(|(n, k)| (size(n, k), with_reader(n, k), None)).into()),
        tso("RD", [2, 3, 4, 5].map(|k| (k.to_string(), readers(k), peers("RD", k, 0))).into()),
        Family {
            name: "puts",
            members: PUTS
                .map(|(n, k)| Member { size: size(n, k), text: puts(n, k), peers: None })
                .into(),
        },
        Family {
            name: "same",
            members: SAME
                .map(|(n, k)| Member { size: size(n, k), text: same(n, k), peers: None })
                .into(),
        },
    ]
}

const CO: [(usize, usize); 7] = [(2, 3), (2, 4), (2, 5), (2, 6), (3, 2), (3, 3), (3, 4)];
const COR: [(usize, usize); 7] = [(2, 2), (2, 4), (2, 6), (3, 2), (3, 3), (3, 4), (3, 5)];
const PUTS: [(usize, usize); 7] = [(1, 2), (1, 4), (1, 8), (2, 2), (2, 4), (3, 2), (3, 3)];
const SAME: [(usize, usize); 9] =
    [(2, 1), (2, 2), (3, 1), (4, 1), (3, 2), (5, 1), (8, 1), (3, 4), (3, 6)];

fn size(n: usize, k: usize) -> String {
    format!("{n}x{k}")
}

/// Other tools' figures for a program.
fn peers(family: &str, n: usize, k: usize) -> Option<Peers> {
    let (executions, times) = match (family, n, k) {
        ("SBring", 4, _) => (Some(16), ("20", "-", "20")),
        ("SBring", 8, _) => (Some(256), ("200", "-", "50")),
        ("CO", 2, 3) => (Some(50), ("520", "-", "70")),
        ("CO", 2, 4) => (Some(182), ("94,500", "50", "50")),
        ("CO", 2, 5) => (Some(672), ("> 120,000", "50", "60")),
        ("CO", 2, 6) => (Some(2508), ("> 120,000", "160", "80")),
        ("CO", 3, 2) => (Some(762), ("2,400", "50", "60")),
        ("CO", 3, 3) => (Some(16_530), ("> 120,000", "670", "170")),
        ("CO", 3, 4) => (Some(370_986), ("> 120,000", "28,500", "2,100")),
        ("RD", 3, _) => (Some(400), ("1,200", "-", "30")),
        ("RD", 4, _) => (Some(4900), ("> 120,000", "56,800", "50")),
        ("RD", 5, _) => (Some(63_504), ("> 120,000", "-", "370")),
        _ => return None,
    };
    Some(Peers { executions, times })
}

/// A litmus file of threads of one node; they share the locations `x0`, `x1`, …; what is read is observed.
fn cpu(threads: &[Vec<String>]) -> String {
    let threads: Vec<(usize, Vec<String>)> =
        threads.iter().map(|thread| (1, thread.clone())).collect();
    let uses = |location: &String| {
        threads.iter().flat_map(|(_, thread)| thread).any(|statement| statement.contains(location))
    };
    let locations: Vec<String> =
        (0..threads.len()).map(|index| format!("x{index}")).filter(uses).collect();
    let row: Vec<String> = locations.iter().map(|name| format!("{name} = 0")).collect();
    file(TSO, &row.join(", "), &threads)
}

/// A litmus file of threads with their nodes. Registers are `r…`, and all are observed.
fn file(model: &str, declarations: &str, threads: &[(usize, Vec<String>)]) -> String {
    let mut text = format!("litmus family\nmodel {model}\n\n  {declarations}\n  -----\n\n");
    for (index, (node, body)) in threads.iter().enumerate() {
        let _ = writeln!(text, "thread {} @ {node} {{ {} }}", index + 1, body.join("; "));
    }
    let registers: Vec<&str> = threads
        .iter()
        .flat_map(|(_, body)| body)
        .filter_map(|statement| statement.split_once(" := ").map(|(left, _)| left))
        .filter(|left| left.starts_with('r'))
        .collect();
    let _ = writeln!(text, "\n  observe {}", registers.join(", "));
    text
}

/// Store buffering of n threads in a ring.
fn ring(n: usize) -> Vec<Vec<String>> {
    let thread = |t: usize| vec![format!("x{t} := 1"), format!("r{t} := x{}", (t + 1) % n)];
    (0..n).map(thread).collect()
}

/// k writes of thread t to one location; every value is written once.
fn writes(t: usize, k: usize) -> Vec<String> {
    (1..=k).map(|value| format!("x0 := {}", t * k + value)).collect()
}

/// n threads with k writes and a read each, of one location.
fn coherence(n: usize, k: usize) -> Vec<Vec<String>> {
    let thread = |t: usize| [writes(t, k), vec![format!("r{t} := x0")]].concat();
    (0..n).map(thread).collect()
}

/// n threads with k writes each, and one that reads twice, of one location.
fn with_reader(n: usize, k: usize) -> Vec<Vec<String>> {
    let mut threads: Vec<Vec<String>> = (0..n).map(|t| writes(t, k)).collect();
    threads.push(vec!["r0 := x0".to_owned(), "r1 := x0".to_owned()]);
    threads
}

/// One thread with k writes, and two with k reads each, of one location.
fn readers(k: usize) -> Vec<Vec<String>> {
    let reader = |t: usize| (0..k).map(|read| format!("r{t}{read} := x0")).collect();
    vec![writes(0, k), reader(1), reader(2)]
}

/// Node 1 puts to each of n others k times, and their CPUs read twice.
fn puts(n: usize, k: usize) -> String {
    let declarations: Vec<String> = (1..=n).map(|node| format!("|| x{node} = 0")).collect();
    let first = (1..=k)
        .flat_map(|value| (1..=n).map(move |node| format!("x{node}^{} := {value}", node + 1)));
    let mut threads = vec![(1, first.collect())];
    let read = |node: usize, read: usize| format!("r{node}{read} := x{node}");
    threads.extend((1..=n).map(|node| (node + 1, vec![read(node, 0), read(node, 1)])));
    file(RDMA, &declarations.join(" "), &threads)
}

/// n threads of node 1 put k times each to one location of node 2, whose CPU reads it twice.
fn same(n: usize, k: usize) -> String {
    let put = |t: usize| (1..=k).map(|value| format!("x0^2 := {}", t * k + value)).collect();
    let mut threads: Vec<(usize, Vec<String>)> = (0..n).map(|t| (1, put(t))).collect();
    threads.push((2, vec!["r0 := x0".to_owned(), "r1 := x0".to_owned()]));
    file(RDMA, "|| x0 = 0", &threads)
}

/// A size of random programs.
pub struct Size {
    pub events: usize,
    /// How many programs are drawn.
    count: usize,
    /// The most statements of a program and of a thread.
    statements: (usize, usize),
}

/// The sizes of random programs.
pub const SIZES: [Size; 2] = [
    Size { events: 24, count: 200, statements: (18, 6) },
    Size { events: 40, count: 10, statements: (30, 9) },
];
pub const NODES: usize = 3;
pub const THREADS: usize = 4;
const SEED: u64 = 1;

fn draw(size: &Size, number: u64, vocabulary: &Vocabulary) -> Option<Shape> {
    let (size, thread) = size.statements;
    let bounds = Bounds { size, thread, threads: THREADS, nodes: NODES };
    let posting = Posting { queue_pairs: 1, unsignaled: 0, shared: 0 };
    let shape =
        random(Seed { seed: SEED, number }, posting, &Weights::default(), vocabulary, &bounds)?;
    (shape.nodes() == NODES && shape.threads.len() == THREADS).then_some(shape)
}

fn rdma() -> Model {
    let model = models::load_shipped(RDMA).expect("a shipped model");
    model.unwrap_or_else(|_| panic!("a model without errors")).model
}

fn vocabulary() -> Vocabulary {
    Vocabulary::of(&[&rdma()])
}

/// The numbers of the first programs of that size.
pub fn random_programs(size: &Size) -> Vec<u64> {
    let model = rdma();
    let vocabulary = Vocabulary::of(&[&model]);
    let fits = |number: &u64| {
        draw(size, *number, &vocabulary).is_some_and(|shape| {
            events(&test(&shape, vocabulary.completion), &model) == size.events
        })
    };
    (0..).filter(fits).take(size.count).collect()
}
