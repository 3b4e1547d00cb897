//! The suite's tests one by one: how long it takes to read one, and to know all its outcomes, by each engine.
//!
//! `cargo bench -p model --bench engines` prints a table in Markdown.

#![allow(clippy::print_stdout, reason = "the table is the result")]

#[path = "shared/allocator.rs"]
mod allocator;
#[path = "../tests/files/mod.rs"]
mod files;
#[path = "shared/markdown.rs"]
mod markdown;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lang::Test;
use lang::cat::model::Model;
use lang::source::Source;
use model::allowed::{Options, Question};
use model::machine::{self, Variant};
use model::models;
use model::smt::solver::SolverKind;

/// The model that tests are asked about.
const MODEL: &str = "rdma-tso-rmw";
/// Short runs are repeated at most this often, and for this long in all.
const REPEATS: usize = 15;
const REPEATING: Duration = Duration::from_millis(15);

fn main() {
    let suite = suite();
    let model = models::load_shipped(MODEL).expect("a shipped model");
    let model = model.unwrap_or_else(|_| panic!("a model without errors")).model;
    let is_defined = |test: &Test| Question::of(test, &model).question().is_ok();
    let asked: Vec<&(String, Test)> = suite.iter().filter(|(_, test)| is_defined(test)).collect();
    let all: Vec<&(String, Test)> = suite.iter().collect();
    let mut rows = vec![
        row("parse and check", &all, |(text, _)| {
            black_box(load(text));
            true
        }),
        row("event skeleton", &all, |(_, test)| skeleton::build(&test.program, 4).is_ok()),
    ];
    for &solver in SolverKind::ALL {
        let what = format!("all outcomes: smt, {}", solver.name());
        rows.push(row(&what, &asked, |(_, test)| is_answered(test, &model, solver)));
    }
    rows.push(row("all outcomes: explore", &asked, |(_, test)| {
        let variant = Variant::from_name(MODEL).expect("the model has a machine");
        let explored = machine::explore(test, variant, machine::Limits::default());
        explored.is_ok_and(|explored| explored.complete)
    }));
    markdown::print(
        &[
            "what",
            "tests",
            "tests per second",
            "median, ms",
            "99 of 100, ms",
            "slowest, ms",
            "which",
        ],
        &rows,
    );
    println!(
        "\nOne core. Tests are those of `litmus-suite`, and outcomes those that `{MODEL}` allows. Tests whose statements are not \
         defined there do not count, nor do, for the skeleton, those that call libraries."
    );
}

/// What becomes of those tests of which `run` says that it did it.
fn row(
    what: &str,
    tests: &[&(String, Test)],
    run: impl Fn(&(String, Test)) -> bool,
) -> Vec<String> {
    let mut times: Vec<(Duration, &str)> = tests
        .iter()
        .filter(|test| run(test))
        .map(|test| (median(|| run(test)), test.1.name.as_str()))
        .collect();
    times.sort_unstable();
    let total: Duration = times.iter().map(|(time, _)| time).sum();
    let Some((slowest, name)) = times.last() else { return vec![what.to_owned()] };
    let at = |part: f64| markdown::milliseconds(times[(times.len() as f64 * part) as usize].0);
    vec![
        what.to_owned(),
        markdown::count(times.len()),
        markdown::count((times.len() as f64 / total.as_secs_f64()) as u64),
        at(0.5),
        at(0.99),
        markdown::milliseconds(*slowest),
        format!("`{name}`"),
    ]
}

fn median(run: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || (times.len() < REPEATS && began.elapsed() < REPEATING) {
        let began = Instant::now();
        black_box(run());
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

fn is_answered(test: &Test, model: &Model, solver: SolverKind) -> bool {
    let question = Question::of(test, model).question();
    let question = question.expect("the model defines the test");
    let options = Options { solver, ..Options::default() };
    question.allowed(&options).expect("it can be encoded").complete.is_some()
}

fn load(text: &str) -> Test {
    let source = Source::new("bench", text);
    let (test, diagnostics) = lang::litmus::load(&source);
    let report: String = diagnostics.iter().map(|found| found.render(&source, false)).collect();
    test.unwrap_or_else(|| panic!("{report}"))
}

fn suite() -> Vec<(String, Test)> {
    let files = files::below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite"));
    let read = |path: &PathBuf| std::fs::read_to_string(path).expect("the suite is readable");
    files.iter().map(read).map(|text| (text.clone(), load(&text))).collect()
}
