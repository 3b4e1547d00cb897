//! coreRMA's campaign again: all tests of its rules within the bounds of the paper's Table 6, and all their outcomes.
//!
//! `cargo bench -p model --bench campaign` prints a table beside the paper's; docs/performance.md says what was measured.

#![allow(clippy::print_stdout, reason = "the table is the result")]

use std::time::{Duration, Instant};

use model::allowed::{Options, Question};
use model::generate::rma::enumerate::{Bounds, programs};
use model::generate::rma::pivot::{Instance, Pivot, rules};
use model::generate::rma::program::Program;
use model::{library, models};
use rayon::prelude::*;

/// A row of Table 6: rule, processes, actions, tests, outputs. The size of WS with one process cannot be read in our copy.
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

/// Programs that are examined at once.
const AT_ONCE: usize = 1 << 14;

fn main() {
    // Criterion's arguments are of no use here; a list of rows restricts the table, as in `-- R1/1 IR/2`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|one| one.contains('/')).collect();
    println!(
        "rule   procs size | programs  tests  time (s)  tests/s | outputs  time (s) | paper: tests outputs"
    );
    let mut total = (0, 0, Duration::ZERO, Duration::ZERO);
    for row in TABLE {
        if !wanted.is_empty() && !wanted.contains(&format!("{}/{}", row.0, row.1)) {
            continue;
        }
        let (tests, outputs, generation, outcomes) = campaign(row);
        total = (total.0 + tests, total.1 + outputs, total.2 + generation, total.3 + outcomes);
    }
    println!(
        "all: {} tests in {:.1} s, {} outputs in {:.1} s (paper: 7441 tests in about 20 h, 19937 outputs in about 5 h)",
        total.0,
        total.2.as_secs_f64(),
        total.1,
        total.3.as_secs_f64()
    );
}

fn campaign(
    (name, processes, size, paper_tests, paper_outputs): (&str, usize, usize, usize, usize),
) -> (usize, usize, Duration, Duration) {
    let loaded = models::load_shipped("corerma").expect("a shipped model");
    let model = loaded.unwrap_or_else(|_| panic!("a model without errors")).model;
    let (rule, hit) = match name.split_once('-') {
        Some((rule, how)) => (rule, Some(how == "T")),
        None => (name, None),
    };
    let rules = rules(&model);
    let (_, id) = rules.iter().find(|(known, _)| known == rule).expect("a rule of coreRMA");
    let pivot = Pivot::new(&model, *id);
    let wanted = |instance: &Instance| hit.is_none() || instance.compared == hit;
    let began = Instant::now();
    let (mut tests, mut batch, mut tried) = (Vec::new(), Vec::new(), 0);
    let examine = |batch: &mut Vec<Program>| -> Vec<Program> {
        let found = batch.par_iter().filter(|one| pivot.instance(one, &wanted).is_some()).cloned();
        let found = found.collect();
        batch.clear();
        found
    };
    programs(Bounds { processes, size }, &mut |program| {
        tried += 1;
        batch.push(program);
        if batch.len() == AT_ONCE {
            tests.extend(examine(&mut batch));
        }
    });
    tests.extend(examine(&mut batch));
    let generation = began.elapsed();
    let began = Instant::now();
    let outputs: usize = tests
        .par_iter()
        .map(|program| {
            let test = program.test();
            let question = Question::new(&test, &model, library::shipped(), None);
            let allowed = question.and_then(|question| question.allowed(&Options::default()));
            let allowed = allowed.expect("coreRMA defines the test");
            assert!(allowed.complete, "every outcome is found");
            allowed.outcomes.len()
        })
        .sum();
    let outcomes = began.elapsed();
    println!(
        "{name:6} {processes:5} {size:4} | {tried:8} {:6} {:9.1} {:8.0} | {outputs:7} {:9.1} | {paper_tests:12} {paper_outputs:7}",
        tests.len(),
        generation.as_secs_f64(),
        tests.len() as f64 / generation.as_secs_f64(),
        outcomes.as_secs_f64(),
    );
    (tests.len(), outputs, generation, outcomes)
}
