//! coreRMA's campaign again: all tests of its rules within the bounds of the paper's Table 6, and all their
//! outcomes.
//!
//! `cargo bench -p model --bench campaign` prints a table in Markdown, beside the paper's figures.

#![allow(clippy::print_stdout, reason = "the table is the result")]

#[path = "shared/allocator.rs"]
mod allocator;
#[path = "shared/markdown.rs"]
mod markdown;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use model::allowed::{Options, Question};
use model::generate::rma::enumerate::{Bounds, programs};
use model::generate::rma::pivot::{Instance, Pivot, rules};
use model::generate::rma::program::Program;
use model::models;
use rayon::prelude::*;

/// A row of Table 6: rule, processes, actions, tests, outputs. The size of WS with one process cannot be read
/// in our copy.
const TABLE: [(&str, usize, usize, usize, usize); 24] = [
    ("R1", 1, 8, 863, 1492),
    ("R1", 2, 9, 1040, 3616),
    ("R2", 1, 7, 419, 532),
    ("R2", 2, 8, 684, 1514),
    ("F1", 1, 9, 326, 338),
    ("F1", 2, 10, 172, 452),
    ("F2", 1, 9, 350, 374),
    ("F2", 2, 10, 188, 492),
    ("F3", 1, 10, 810, 1320),
    ("F3", 2, 11, 200, 356),
    ("IR", 1, 10, 104, 104),
    ("IR", 2, 11, 127, 368),
    ("GA", 1, 10, 299, 1091),
    ("GA", 2, 11, 48, 624),
    ("PG", 1, 8, 164, 276),
    ("PG", 2, 10, 260, 1024),
    ("CAS-F", 1, 10, 12, 12),
    ("CAS-F", 2, 12, 43, 288),
    ("CAS-T", 1, 10, 12, 12),
    ("CAS-T", 2, 12, 48, 288),
    ("LO", 1, 7, 146, 250),
    ("LO", 2, 8, 362, 1004),
    ("WS", 1, 8, 282, 934),
    ("WS", 2, 10, 477, 3176),
];

fn main() {
    // Criterion's arguments are of no use here; a list of rows restricts the table, as in `-- R1/1 IR/2`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|one| one.contains('/')).collect();
    let is_wanted = |row: &&Row| {
        wanted.is_empty() || wanted.contains(&format!("{}/{}", row.rule, row.processes))
    };
    let rows: Vec<Row> = TABLE.into_iter().map(Row::new).collect();
    let rows: Vec<&Row> = rows.iter().filter(is_wanted).collect();
    let mut bounds: Vec<(usize, usize)> = rows.iter().map(|row| row.bounds()).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let began = Instant::now();
    let enumerated = |(processes, size): (usize, usize)| {
        let mut all = Vec::new();
        programs(Bounds { processes, size }, &mut |program| all.push(program));
        ((processes, size), all)
    };
    let known: HashMap<_, _> = bounds.into_par_iter().map(enumerated).collect();
    let enumeration = began.elapsed();
    let mut total = Made::default();
    let mut lines = Vec::new();
    for row in rows {
        let programs = &known[&row.bounds()];
        let made = campaign(row, programs);
        total.tests += made.tests;
        total.outputs += made.outputs;
        total.generation += made.generation;
        total.outcomes += made.outcomes;
        lines.push(row.line(programs.len(), &made));
    }
    markdown::print(&HEADINGS, &lines);
    say(&total, enumeration);
}

const HEADINGS: [&str; 10] = [
    "rule",
    "processes",
    "actions",
    "programs tried",
    "tests",
    "seconds",
    "outcomes",
    "seconds",
    "paper: tests",
    "outputs",
];

/// What the table adds up to.
fn say(total: &Made, enumeration: Duration) {
    let generation = total.generation + enumeration;
    let rate = |number: usize, time: Duration| {
        markdown::count((number as f64 / time.as_secs_f64()) as usize)
    };
    println!(
        "\nTogether {} tests in {:.0} s, and their {} outcomes in {:.0} s: {} tests made and {} tests answered\n\
         per second, by {} workers. Programs are enumerated once for all rules of the same bounds, which is {:.1} s\n\
         of the whole. The paper's authors report 7,441 tests in about 20 hours, and their 19,937 outputs in about 5.",
        markdown::count(total.tests),
        generation.as_secs_f64(),
        markdown::count(total.outputs),
        total.outcomes.as_secs_f64(),
        rate(total.tests, generation),
        rate(total.tests, total.outcomes),
        rayon::current_num_threads(),
        enumeration.as_secs_f64(),
    );
}

/// A row of the table.
struct Row {
    /// As the paper names it.
    rule: &'static str,
    processes: usize,
    /// The most actions.
    size: usize,
    paper_tests: usize,
    paper_outputs: usize,
}

impl Row {
    fn new(
        (rule, processes, size, paper_tests, paper_outputs): (
            &'static str,
            usize,
            usize,
            usize,
            usize,
        ),
    ) -> Self {
        Self { rule, processes, size, paper_tests, paper_outputs }
    }

    fn bounds(&self) -> (usize, usize) {
        (self.processes, self.size)
    }

    fn line(&self, programs: usize, made: &Made) -> Vec<String> {
        let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
        vec![
            self.rule.to_owned(),
            self.processes.to_string(),
            self.size.to_string(),
            markdown::count(programs),
            markdown::count(made.tests),
            seconds(made.generation),
            markdown::count(made.outputs),
            seconds(made.outcomes),
            markdown::count(self.paper_tests),
            markdown::count(self.paper_outputs),
        ]
    }
}

/// What a row took.
#[derive(Default)]
struct Made {
    tests: usize,
    outputs: usize,
    generation: Duration,
    outcomes: Duration,
}

fn campaign(row: &Row, programs: &[Program]) -> Made {
    let loaded = models::load_shipped("corerma").expect("a shipped model");
    let model = loaded.unwrap_or_else(|_| panic!("a model without errors")).model;
    let (rule, hit) = match row.rule.split_once('-') {
        Some((rule, how)) => (rule, Some(how == "T")),
        None => (row.rule, None),
    };
    let rules = rules(&model);
    let (_, id) = rules.iter().find(|(known, _)| known == rule).expect("a rule of coreRMA");
    let pivot = Pivot::new(&model, *id);
    let wanted = |instance: &Instance| hit.is_none() || instance.compared == hit;
    let began = Instant::now();
    let is_test = |program: &&Program| pivot.instance(program, &wanted).is_some();
    let tests: Vec<&Program> = programs.par_iter().filter(is_test).collect();
    let generation = began.elapsed();
    let began = Instant::now();
    let outputs: usize = tests
        .par_iter()
        .map(|program| {
            let test = program.test();
            let question = Question::of(&test, &model).question();
            let allowed = question.and_then(|question| question.allowed(&Options::default()));
            let allowed = allowed.expect("coreRMA defines the test");
            assert!(allowed.complete.is_some(), "every outcome is found");
            allowed.outcomes.len()
        })
        .sum();
    Made { tests: tests.len(), outputs, generation, outcomes: began.elapsed() }
}
