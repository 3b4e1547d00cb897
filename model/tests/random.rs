//! Random programs, put to both engines and both solvers: they must agree, and so must models that mean the
//! same.
//!
//! `LITMUS_RANDOM=N` sets how many programs, `LITMUS_SEED=S` the seed of the first; the others follow it. A
//! failure prints its seed and the smallest program found that still fails, ready to be pasted into a file.
//! `LITMUS_EXPLORED_FOR=MS` bounds each exploration: most that take long have no end, and tell nothing.
//! `LITMUS_SOLVED_FOR=MS` bounds each answer of a solver, which is then compared as far as it goes, and
//! counted.
//! `LITMUS_MODELS=a,b` asks these models alone, which is many times faster than asking all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::programs::{
    Program, crashes, flushes, generate, in_turn, inline_puts, load, looping, messages, models,
    number, queue_pairs, shared_polls, shared_posts, shrink, unsignaled, words,
};
use lang::Test;
use lang::cat::model::Model;
use lang::limits::Limits;
use lang::outcome::{Asked, Outcome, Value};
use model::allowed::{Allowed, Options, Question, undefined_calls};
use model::check::{broken_axioms, well_formed};
use model::explain::{Reason, explain};
use model::machine::{self, Variant};
use model::smt::solver::SolverKind;
use model::smt::{self, Sizes, enumerate_by};

const PROGRAMS: u64 = 120;
const LOOPS: u64 = 100;
/// Z3 takes tens of milliseconds for a program; it gets one in this many.
const Z3_ONE_IN: u64 = 16;
/// Where exploration stops; random loops may fill queues, or count, for ever.
const STATES: u64 = 50_000;
const STATES_OF_LOOPS: u64 = 3_000;
/// Milliseconds: a loop that goes round for ever without a choice takes long to fill the states.
const EXPLORED_FOR: u64 = 500;
/// Milliseconds: a hang becomes an incomplete result, and is counted.
const SOLVED_FOR: u64 = 30_000;

/// What happened, so that nothing is left out in silence.
#[derive(Debug, Default)]
struct Counts {
    /// Where exploration stops.
    states: u64,
    questions: u64,
    outcomes: u64,
    witnesses: u64,
    without_outcome: u64,
    /// Questions to models that have no machine.
    without_machine: u64,
    beyond_bound: u64,
    beyond_time: u64,
    beyond_states: u64,
    not_compared: u64,
    z3: u64,
}

/// All outcomes that an engine found, and whether there are no others.
struct Answer {
    engine: String,
    outcomes: BTreeSet<Outcome>,
    complete: bool,
}

impl Answer {
    fn new(engine: String, allowed: &Allowed) -> Self {
        Self { engine, outcomes: allowed.outcomes.clone(), complete: allowed.complete.is_some() }
    }
}

#[test]
fn engines_agree() {
    println!("{}", agree(generate, PROGRAMS, STATES));
}

/// Several queue pairs between a thread and a node.
#[test]
fn engines_agree_on_queue_pairs() {
    println!("{}", agree(queue_pairs, PROGRAMS, STATES));
}

/// Puts whose source the CPU reads. Most programs also have puts whose source the NIC reads.
#[test]
fn engines_agree_on_inline_puts() {
    println!("{}", agree(inline_puts, PROGRAMS, STATES));
}

/// Requests without a completion: the poll of a later one answers for them.
#[test]
fn engines_agree_on_unsignaled_requests() {
    println!("{}", agree(unsignaled, PROGRAMS, STATES));
}

/// Flushes, and atomic writes, which wait for them.
#[test]
fn engines_agree_on_flushes() {
    println!("{}", agree(flushes, PROGRAMS, STATES));
}

/// What a crash leaves. Exploration leaves out nothing there, so programs are smaller.
#[test]
fn engines_agree_on_crashes() {
    println!("{}", agree(crashes, PROGRAMS, STATES));
}

/// Polls of several queue pairs, which take from any of them.
#[test]
fn engines_agree_on_shared_polls() {
    println!("{}", agree(shared_polls, PROGRAMS, STATES));
}

/// Queue pairs that threads share: in which order their requests come, and who takes which completion.
#[test]
fn engines_agree_on_shared_posts() {
    println!("{}", agree(shared_posts, PROGRAMS, STATES));
}

/// Arrays: requests of several words, of which nothing but the queue pair's other requests orders any two,
/// and indices that are values.
#[test]
fn engines_agree_on_words() {
    println!("{}", agree(words, PROGRAMS, STATES));
}

/// Sends, puts with immediate, and receives. Messages for which no receive is posted block.
#[test]
fn engines_agree_on_messages() {
    println!("{}", agree(messages, PROGRAMS, STATES));
}

/// Loops that exceed the bound while other threads wait for what comes after them.
#[test]
fn engines_agree_on_loops() {
    println!("{}", agree(looping, LOOPS, STATES_OF_LOOPS));
}

fn agree(generate: fn(u64) -> Program, count: u64, states: u64) -> String {
    let (seed, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", count));
    let mut models = models();
    if let Ok(names) = std::env::var("LITMUS_MODELS") {
        let names: Vec<&str> = names.split(',').collect();
        models.retain(|model| names.contains(&model.name.as_str()));
        assert_eq!(
            models.len(),
            names.len(),
            "LITMUS_MODELS={names:?}: one of them is not shipped"
        );
    }
    let mut counts = Counts { states, ..Counts::default() };
    for seed in seed..seed + count {
        let program = generate(seed);
        let test = load(&program.to_string()).unwrap_or_else(|error| panic!("{program}\n{error}"));
        let z3 = seed % Z3_ONE_IN == 0;
        let models = in_turn(&models, seed);
        let Err(error) = compare(&test, &models, z3, &mut counts) else { continue };
        let fresh = || Counts { states, ..Counts::default() };
        let again = |program: &Program| {
            load(&program.to_string())
                .is_ok_and(|test| compare(&test, &models, z3, &mut fresh()).is_err())
        };
        let smallest = shrink(program, again);
        let test = load(&smallest.to_string()).expect("it has just been loaded");
        let reason = compare(&test, &models, z3, &mut fresh());
        panic!(
            "LITMUS_SEED={seed}: {error}\n\n{smallest}\n{}",
            reason.expect_err("it has just failed")
        );
    }
    format!("{count} programs: {counts:#?}")
}

/// Puts a test to every model that defines its statements.
fn compare(test: &Test, models: &[&Model], z3: bool, counts: &mut Counts) -> Result<(), String> {
    let mut machines: Vec<(Variant, Answer)> = Vec::new();
    let mut answers: BTreeMap<&str, Answer> = BTreeMap::new();
    for &model in models
        .iter()
        .filter(|model| undefined_calls(test, model, model::library::shipped()).is_empty())
    {
        counts.questions += 1;
        let by_solver = solve(test, model, SolverKind::Batsat, counts)?;
        if z3 {
            counts.z3 += 1;
            equal(&by_solver, &solve(test, model, SolverKind::Z3, counts)?, counts)?;
            for sizes in [Sizes::PARTS, Sizes::SMALLEST] {
                let divided = divided(test, model, sizes, by_solver.complete)?;
                equal(&by_solver, &divided, counts)?;
            }
        }
        // Models of networks have no machine: their witnesses are checked, and their answers by z3.
        let Some(machine) = &model.machine else {
            counts.without_machine += 1;
            continue;
        };
        let variant = Variant::from_name(machine);
        let variant = variant.ok_or_else(|| format!("{} names no machine", model.name))?;
        if !machines.iter().any(|(known, _)| *known == variant) {
            machines.push((variant, explore(test, variant, counts)?));
        }
        let (_, explored) =
            machines.iter().find(|(known, _)| *known == variant).ok_or("not explored")?;
        equal(&by_solver, explored, counts)?;
        counts.outcomes += by_solver.outcomes.len() as u64;
        counts.without_outcome += u64::from(by_solver.outcomes.is_empty());
        answers.insert(&model.name, by_solver);
    }
    related(&answers, counts)
}

fn solve(
    test: &Test,
    model: &Model,
    solver: SolverKind,
    counts: &mut Counts,
) -> Result<Answer, String> {
    let message = |refused: model::asking::Refused| refused.text();
    let question = Question::of(test, model).question().map_err(message)?;
    let mut options = Options { solver, ..Options::default() };
    options.limits = time("LITMUS_SOLVED_FOR", SOLVED_FOR);
    let (allowed, witnesses) = match question.witnessed(&options) {
        Err(model::asking::Refused::Limit(_)) => (Allowed::default(), Vec::new()),
        answered => answered.map_err(message)?,
    };
    let shown: BTreeSet<_> = witnesses.iter().map(|witness| witness.outcome.clone()).collect();
    if shown != allowed.outcomes || witnesses.len() != shown.len() {
        return Err(format!("{}: expected one witness for each outcome", model.name));
    }
    for witness in &witnesses {
        counts.witnesses += 1;
        well_formed(&question.skeleton, &test.observables, witness)?;
        let broken = broken_axioms(&question.skeleton, model, witness);
        if !broken.is_empty() {
            return Err(format!(
                "{}: a witness of {} breaks {broken:?}",
                solver.name(),
                model.name
            ));
        }
    }
    counts.beyond_bound += u64::from(allowed.is_beyond_bound);
    counts.beyond_time += u64::from(allowed.complete.is_none() && !allowed.is_beyond_bound);
    Ok(Answer::new(format!("smt-{} of {}", solver.name(), model.name), &allowed))
}

/// The outcomes, where a search is divided. `is_complete` says whether the search as a whole found all.
fn divided(test: &Test, model: &Model, sizes: Sizes, is_complete: bool) -> Result<Answer, String> {
    let message = |refused: model::asking::Refused| refused.text();
    let question = Question::of(test, model).question().map_err(message)?;
    let options = Options { limits: time("LITMUS_SOLVED_FOR", SOLVED_FOR), ..Options::default() };
    let mut session = question.session(&options, |_| true).map_err(message)?;
    let mut witnesses = 0;
    let (outcomes, answer) = enumerate_by(&mut session, sizes, &mut |_| witnesses += 1);
    let engine = format!("smt of {}, {sizes:?}", model.name);
    if witnesses != outcomes.len() {
        return Err(format!("{engine}: expected one witness for each outcome"));
    }
    let complete = is_complete && answer == smt::solver::Answer::Unsatisfiable;
    Ok(Answer { engine, outcomes, complete })
}

fn time(variable: &str, milliseconds: u64) -> Limits {
    Limits::of_time(Duration::from_millis(number(variable, milliseconds)))
}

fn explore(test: &Test, variant: Variant, counts: &mut Counts) -> Result<Answer, String> {
    let limits = machine::Limits {
        states: counts.states,
        until: time("LITMUS_EXPLORED_FOR", EXPLORED_FOR),
        ..machine::Limits::default()
    };
    let found = machine::explore(test, variant, limits).map_err(|error| format!("{error:?}"))?;
    counts.beyond_states += u64::from(!found.complete);
    let engine = format!("explore of {variant:?}");
    Ok(Answer { engine, outcomes: found.outcomes, complete: found.complete })
}

/// Models that mean the same on the programs that both define, and models that are stronger.
fn related(answers: &BTreeMap<&str, Answer>, counts: &mut Counts) -> Result<(), String> {
    // In pairs: whatever both models define, they say the same of it.
    let same = [
        ("rdma-tso", "rdma-tso-rmw"),
        ("rdma-wait", "rdma-wait-rmw"),
        ("rdma-tso-rmw", "rdma-wait-rmw"),
        ("tso", "rdma-tso"),
        ("tso", "rdma-wait"),
    ];
    for (left, right) in same {
        if let (Some(left), Some(right)) = (answers.get(left), answers.get(right)) {
            equal(left, right, counts)?;
        }
    }
    let Some(strong) = answers.get("sc") else { return Ok(()) };
    answers.values().try_for_each(|weak| within(strong, weak))
}

fn equal(left: &Answer, right: &Answer, counts: &mut Counts) -> Result<(), String> {
    counts.not_compared += u64::from(!left.complete && !right.complete);
    within(left, right)?;
    within(right, left)
}

/// Every outcome of the one is one of the other, if the other is complete.
fn within(small: &Answer, large: &Answer) -> Result<(), String> {
    let missing: Vec<&Outcome> = small.outcomes.difference(&large.outcomes).collect();
    if !large.complete || missing.is_empty() {
        return Ok(());
    }
    Err(format!("{} finds what {} does not: {missing:?}", small.engine, large.engine))
}

/// Threads that need something of what comes after a loop that exceeds the bound: no execution of the
/// skeleton has both, and yet there are outcomes. The last has none beyond the bound.
#[test]
fn what_comes_after_a_cut_is_not_forbidden() {
    let head = "litmus cut\nmodel rdma-tso-rmw\nbound loops = 3\n";
    let rows = [
        (
            "x = 0, z = 0 || y = 0\n-----\nwhile a < 5 { a := FAA(x, 1) } || while y = 0 { skip }\ny^2 := 1 || c := y\n",
            false,
        ),
        (
            "x = 0, y = 0\n-----\nloop { a := FAA(x, 1); if a = 4 { break } } | while y = 0 { skip }\ny := 1 | b := x\n",
            false,
        ),
        (
            "x = 0, y = 0\n-----\nloop { a := FAA(x, 1); if a = 1 { break } } | x := 1\ny := 1 | while y = 0 { skip }\n",
            true,
        ),
        (
            "r = 0 || x = 0\n-----\nloop { r := RFAA(x^2, 1); Poll(2); g := r; if g = 3 { break } } ||\n",
            false,
        ),
        (
            "r = 0 || x = 0\n-----\nloop { r := RFAA(x^2, 1); Poll(2); g := r; if g = 2 { break } } ||\n",
            true,
        ),
    ];
    let models = models();
    let models: Vec<&Model> = models.iter().collect();
    let model = models.iter().find(|model| model.name == "rdma-tso-rmw").expect("it is shipped");
    for (body, complete) in rows {
        let test = load(&format!("{head}{body}")).unwrap_or_else(|error| panic!("{body}\n{error}"));
        let question = Question::of(&test, model).question().unwrap();
        let allowed = question.allowed(&Options::default()).unwrap();
        assert_eq!(allowed.complete.is_some(), complete, "{body}");
        compare(&test, &models, true, &mut Counts { states: STATES, ..Counts::default() })
            .unwrap_or_else(|error| panic!("{body}\n{error}"));
        // A value that the bound leaves out is unknown, not forbidden.
        let asked = Asked::values(&question.test.observables, [(0, Value::Int(99))]);
        let explained = explain(&question, &Options::default(), &asked).unwrap();
        let is_unknown = matches!(explained.reason, Reason::Unknown(_));
        assert_eq!(is_unknown, !complete, "{body}");
    }
}
