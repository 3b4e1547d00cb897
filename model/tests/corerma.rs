//! Random coreRMA programs: the engine's outcomes against those of a brute-force oracle.
//!
//! `LITMUS_RANDOM=N` sets how many programs, `LITMUS_SEED=S` the seed of the first; the others follow it. A
//! failure prints its seed and the smallest program found that still fails.

mod oracle;
mod program;

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::{Outcome, Value};
use model::allowed::{Options, Question};
use model::check::{broken_axioms, well_formed};
use model::smt::solver::SolverKind;
use model::{machine, models};
use oracle::{Variant, outcomes};
use program::{Program, generate, shrink};

const PROGRAMS: u64 = 150;
/// Z3 takes tens of milliseconds for a program; it gets one in this many.
const Z3_ONE_IN: u64 = 16;

const VARIANTS: [(&str, Variant); 4] = [
    ("corerma", Variant::Stock),
    ("corerma-verbs", Variant::Verbs),
    ("corerma-dmapp", Variant::SmallPut),
    ("corerma-atomic-rga", Variant::AtomicRga),
];

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn engine_agrees_with_brute_force() {
    let (first, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", PROGRAMS));
    let (mut compared, mut too_large, mut outcomes) = (0, 0, 0);
    for seed in first..first + count {
        let program = generate(seed);
        for (model, variant) in VARIANTS {
            let solver = if seed % Z3_ONE_IN == 0 { SolverKind::Z3 } else { SolverKind::Batsat };
            match compare(&program, model, variant, solver) {
                Ok(Some(found)) => {
                    compared += 1;
                    outcomes += found;
                }
                Ok(None) => too_large += 1,
                Err(_) => {
                    let fails = |p: &Program| compare(p, model, variant, solver).is_err();
                    let smallest = shrink(&program, fails);
                    let error = compare(&smallest, model, variant, solver).expect_err("it fails");
                    panic!("LITMUS_SEED={seed} under {model}:\n{smallest}\n{error}");
                }
            }
        }
    }
    println!(
        "{compared} questions with {outcomes} outcomes; {too_large} too large for brute force"
    );
    assert!(compared > 3 * too_large, "most programs are small enough");
}

/// A model of RDMA is asked about the RDMA operations that stand for coreRMA's statements, by both engines.
#[test]
fn engines_agree_on_what_rdma_runs() {
    let (first, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", PROGRAMS));
    for seed in first..first + count {
        let fails = |p: &Program| on_rdma(p).is_err();
        let program = generate(seed);
        if fails(&program) {
            let smallest = shrink(&program, fails);
            let error = on_rdma(&smallest).expect_err("it fails");
            panic!("LITMUS_SEED={seed}:\n{smallest}\n{error}");
        }
    }
}

fn on_rdma(program: &Program) -> Result<(), String> {
    let allowed = solve(program, "rdma-wait-rmw", SolverKind::Batsat)?;
    let (test, limits) = (load(program)?, machine::Limits::default());
    let explored = machine::explore(&test, machine::Variant::RdmaWait, limits);
    let explored = explored.map_err(|error| format!("{error:?}"))?;
    let shown: BTreeSet<Vec<oracle::Value>> = explored.outcomes.iter().map(plain).collect();
    // What the machine shows in time counts also if it was not done.
    let is_right = if explored.complete { shown == allowed } else { shown.is_subset(&allowed) };
    if is_right { Ok(()) } else { Err(format!("allowed: {allowed:?}\nthe machine: {shown:?}")) }
}

/// What a correct NIC may show and coreRMA for InfiniBand forbids: gets out of order, and a CPU's write
/// between the read and the write of an rga.
#[test]
fn verbs_promises_less_than_corerma_for_infiniband() {
    for (name, weak) in [("IR+get-get", [1, 0].as_slice()), ("RGA+one-step-before", &[1])] {
        let path = format!("{}/../litmus-suite/corerma/{name}.litmus", env!("CARGO_MANIFEST_DIR"));
        let source =
            lang::source::Source::new(&path, std::fs::read_to_string(&path).expect("it is there"));
        let (test, _) = lang::litmus::load_with(&source, model::library::shipped().words());
        let test = test.expect("it loads");
        let weak: Vec<oracle::Value> = weak.iter().map(|value| Some(*value)).collect();
        for (name, allows) in [("verbs", true), ("corerma-verbs", false)] {
            let model = models::load_shipped(name).expect("shipped").expect("it loads").model;
            let question = Question::of(&test, &model).question().expect("it can be asked");
            let allowed = question.allowed(&Options::default()).expect("it is answered");
            let has_it = allowed.outcomes.iter().any(|outcome| plain(outcome) == weak);
            assert_eq!(has_it, allows, "{weak:?} of {path} under {name}");
        }
    }
}

/// The number of outcomes, if the oracle can tell them.
fn compare(
    program: &Program,
    model: &str,
    variant: Variant,
    solver: SolverKind,
) -> Result<Option<usize>, String> {
    let Some(expected) = outcomes(program, variant) else { return Ok(None) };
    let found = solve(program, model, solver)?;
    if found == expected {
        by_machine(program, model, &expected)?;
        return Ok(Some(found.len()));
    }
    let only = |left: &BTreeSet<Vec<oracle::Value>>, right| {
        left.difference(right)
            .map(|outcome| format!("{outcome:?}"))
            .collect::<Vec<_>>()
            .join("\n  ")
    };
    Err(format!(
        "only the engine:\n  {}\nonly brute force:\n  {}",
        only(&found, &expected),
        only(&expected, &found)
    ))
}

/// The machine shows what the model allows, and all of it if every access is atomic.
fn by_machine(
    program: &Program,
    model: &str,
    expected: &BTreeSet<Vec<oracle::Value>>,
) -> Result<(), String> {
    let test = load(program)?;
    let variant = machine::Variant::from_name(model).ok_or("no such machine")?;
    let explored = machine::explore(&test, variant, machine::Limits::default());
    let explored = explored.map(|found| found.outcomes.iter().map(plain).collect());
    let is_atomic = !program.to_string().contains(".n");
    if is_atomic && explored.as_ref() != Ok(expected) {
        return Err(format!("the machine has {explored:?}, brute force {expected:?}"));
    }
    let stands_for = |shown: &Vec<oracle::Value>, seen: &Vec<oracle::Value>| {
        shown.iter().zip(seen).all(|(shown, seen)| shown.is_none() || shown == seen)
    };
    let mut simulator = machine::Simulator::new(&test, variant, machine::FaultSet::NONE)
        .map_err(|error| format!("{error:?}"))?;
    let runs = simulator.run(&mut machine::Random::new(1), 50);
    let seen: BTreeSet<Vec<oracle::Value>> = runs.outcomes.keys().map(plain).collect();
    match seen.iter().find(|seen| !expected.iter().any(|shown| stands_for(shown, seen))) {
        Some(seen) => Err(format!("the machine shows {seen:?}, which is not allowed")),
        None => Ok(()),
    }
}

fn plain(outcome: &Outcome) -> Vec<oracle::Value> {
    let value = |value: &Value| match value {
        Value::Int(value) => Some(*value),
        _ => None,
    };
    outcome.0.iter().map(value).collect()
}

fn load(program: &Program) -> Result<Test, String> {
    let source = lang::source::Source::new("random.litmus", program.to_string());
    let (test, diagnostics) = lang::litmus::load_with(&source, model::library::shipped().words());
    test.ok_or(diagnostics.iter().map(|d| d.render(&source, false)).collect())
}

fn solve(
    program: &Program,
    model: &str,
    solver: SolverKind,
) -> Result<BTreeSet<Vec<oracle::Value>>, String> {
    let test = load(program)?;
    let model = models::load_shipped(model).expect("shipped").expect("it loads").model;
    let message = |refused: model::asking::Refused| refused.text();
    let question = Question::of(&test, &model).question().map_err(message)?;
    let options = Options { solver, ..Options::default() };
    let (allowed, witnesses) = question.witnessed(&options).map_err(message)?;
    if allowed.complete.is_none() {
        return Err("incomplete".to_owned());
    }
    for witness in &witnesses {
        well_formed(&question.skeleton, &test.observables, witness)?;
        let broken = broken_axioms(&question.skeleton, &model, witness);
        if !broken.is_empty() {
            return Err(format!("the witness of {:?} breaks {broken:?}", witness.outcome));
        }
    }
    Ok(allowed.outcomes.iter().map(plain).collect())
}
