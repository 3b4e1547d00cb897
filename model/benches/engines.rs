//! What the tool exists for: outcomes of tests, by each engine, and how time grows with the program.
//!
//! `cargo bench -p model` prints a table; docs/performance.md says what was measured.

use std::fmt::Write;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lang::Test;
use lang::source::Source;
use model::allowed::{Options, Question};
use model::machine::{self, FaultSet, Simulator, Variant};
use model::refine::{Bounds, MOST, Refinement, clients};
use model::smt::solver::SolverKind;
use model::{library, models};

/// Store buffering with puts and polls: the yardstick of the simulator.
const STORE_BUFFERING: &str = "litmus SB+put-polls\nmodel rdma-tso-rmw\n
  y = 0      || x = 0
  -----------------------
  x^2 := 1   || y^1 := 1
  Poll(2)    || Poll(1)
  a := y     || b := x

  observe a, b
";

/// Node 1 puts to each of `nodes` other nodes `puts` times, whose CPUs read twice: the number of outcomes is
/// polynomial in the puts and exponential in the nodes.
fn puts_family(nodes: usize, puts: usize) -> String {
    let mut text = String::from("litmus puts\nmodel rdma-tso-rmw\n\n");
    let others = 2..nodes + 2;
    let row = |first: &str, cell: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = others.clone().map(cell).collect();
        format!("  {first} || {}\n", cells.join(" || "))
    };
    text += &row("", &|node| format!("x{node} = 0"));
    text += "  -----\n";
    text += &row("", &|node| format!("a{node} := x{node}; b{node} := x{node}"));
    for node in others.clone() {
        for value in 1..=puts {
            text += &row(&format!("x{node}^{node} := {value}"), &|_| String::new());
        }
    }
    let names: Vec<String> = others.map(|node| format!("a{node}, b{node}")).collect();
    let _ = writeln!(text, "\n  observe {}", names.join(", "));
    text
}

fn load(text: &str) -> Test {
    let source = Source::new("bench", text);
    let (test, diagnostics) = lang::litmus::load(&source);
    let report: String = diagnostics.iter().map(|found| found.render(&source, false)).collect();
    test.unwrap_or_else(|| panic!("{report}"))
}

fn suite() -> Vec<(String, Test)> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the suite is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite"), &mut files);
    files.sort();
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("the suite is readable");
    files.iter().map(read).map(|text| (text.clone(), load(&text))).collect()
}

fn outcomes(test: &Test, model: &lang::cat::model::Model, solver: SolverKind) -> usize {
    let question =
        Question::new(test, model, library::shipped(), None).expect("the model defines the test");
    let options = Options { solver, ..Options::default() };
    question.allowed(&options).expect("it can be encoded").outcomes.len()
}

fn shipped(name: &str) -> lang::cat::model::Model {
    models::load_shipped(name).expect("shipped").expect("it loads").model
}

fn front(criterion: &mut Criterion) {
    let suite = suite();
    let mut group = criterion.benchmark_group("front");
    group.throughput(Throughput::Elements(suite.len() as u64));
    group.bench_function("parse-suite", |bencher| {
        bencher.iter(|| suite.iter().for_each(|(text, _)| drop(black_box(load(text)))));
    });
    group.bench_function("skeleton-suite", |bencher| {
        bencher.iter(|| {
            for (_, test) in &suite {
                black_box(compiler::skeleton::build(&test.program, 4).ok());
            }
        });
    });
    group.finish();
}

fn engines(criterion: &mut Criterion) {
    let suite = suite();
    let model = shipped("rdma-tso-rmw");
    let tests: Vec<&Test> = suite
        .iter()
        .map(|(_, test)| test)
        .filter(|test| Question::new(test, &model, library::shipped(), None).is_ok())
        .collect();
    print_extremes(&tests, &model);
    let mut group = criterion.benchmark_group("suite-outcomes");
    group.sample_size(10);
    group.throughput(Throughput::Elements(tests.len() as u64));
    for solver in SolverKind::ALL {
        group.bench_function(format!("smt-{}", solver.name()), |bencher| {
            bencher.iter(|| tests.iter().map(|test| outcomes(test, &model, solver)).sum::<usize>());
        });
    }
    group.bench_function("explore", |bencher| {
        let limits = machine::Limits::default();
        bencher.iter(|| {
            tests
                .iter()
                .map(|test| {
                    machine::explore(test, Variant::RdmaTso, limits).map_or(0, |e| e.outcomes.len())
                })
                .sum::<usize>()
        });
    });
    group.finish();
}

/// Clients per second of `litmus refine`: the first 200 of two libraries.
fn refinement(criterion: &mut Criterion) {
    let base = shipped("rdma-wait-rmw");
    let mut group = criterion.benchmark_group("refine");
    group.sample_size(10);
    for name in ["bal", "sv"] {
        let text = library::SHIPPED.iter().find(|(known, _)| *known == name).expect("shipped").1;
        let library = library::load(&Source::new(name, text)).expect("it loads");
        let load = |name: &str| Some(shipped(name));
        let refinement = Refinement::new(library::shipped(), &library, None, &base, load);
        let refinement = refinement.expect("it has an implementation");
        let mut all =
            clients(refinement.library(), &[Bounds::default()], MOST).expect("there are few");
        all.truncate(200);
        group.throughput(Throughput::Elements(all.len() as u64));
        group.bench_function(name, |bencher| {
            let options = Options { loop_bound: Some(2), ..Options::default() };
            bencher.iter(|| {
                all.iter().for_each(|client| drop(black_box(refinement.check(client, &options))));
            });
        });
    }
    group.finish();
}

/// What averages hide: the median test and the slowest.
#[expect(clippy::print_stdout, reason = "a benchmark prints")]
fn print_extremes(tests: &[&Test], model: &lang::cat::model::Model) {
    for solver in SolverKind::ALL {
        let mut times: Vec<_> = tests
            .iter()
            .map(|test| {
                let start = Instant::now();
                outcomes(test, model, solver);
                (start.elapsed(), test.name.as_str())
            })
            .collect();
        times.sort();
        let (median, _) = times[times.len() / 2];
        let (slowest, name) = times[times.len() - 1];
        println!("suite by {}: median {median:?}, slowest {slowest:?} ({name})", solver.name());
    }
}

fn growth(criterion: &mut Criterion) {
    let model = shipped("rdma-tso-rmw");
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(10);
    for (nodes, puts) in [(1, 2), (1, 4), (1, 8), (2, 2), (2, 4), (3, 2), (3, 3)] {
        let test = load(&puts_family(nodes, puts));
        let id = format!(
            "{puts} puts to each of {nodes}, {} outcomes",
            outcomes(&test, &model, SolverKind::Batsat)
        );
        group.bench_with_input(BenchmarkId::new("smt-batsat", &id), &test, |bencher, test| {
            bencher.iter(|| outcomes(test, &model, SolverKind::Batsat));
        });
        group.bench_with_input(BenchmarkId::new("explore", &id), &test, |bencher, test| {
            let limits = machine::Limits::default();
            bencher.iter(|| {
                machine::explore(test, Variant::RdmaTso, limits).map_or(0, |e| e.outcomes.len())
            });
        });
    }
    group.finish();
}

fn simulator(criterion: &mut Criterion) {
    const ITERATIONS: u64 = 10_000;
    let test = load(STORE_BUFFERING);
    let mut group = criterion.benchmark_group("simulator");
    group.throughput(Throughput::Elements(ITERATIONS));
    group.bench_function("store-buffering-put-polls", |bencher| {
        let mut simulator =
            Simulator::new(&test, Variant::RdmaTso, FaultSet::default()).expect("it compiles");
        let mut random = machine::Random::new(7);
        bencher.iter(|| simulator.run(&mut random, ITERATIONS));
    });
    group.finish();
}

criterion_group!(benches, front, engines, growth, simulator, refinement);
criterion_main!(benches);
