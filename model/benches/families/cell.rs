//! One program by one engine, in a process of its own: what a process takes at most is known of itself only.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lang::Test;
use lang::cat::model::Model;
use lang::limits::Limits;
use lang::outcome::{Claim, Condition, Expectation, Operand, Outcome};
use lang::program::BinaryOp;
use lang::source::Span;
use model::allowed::{Options, Question};
use model::engine::{self, Request};
use model::machine::{self, Variant};
use model::models;
use model::smt::Next;
use model::smt::solver::Answer;

use crate::markdown;
use crate::programs::{self, Program};

/// The first argument of such a process.
pub const WORD: &str = "cell";

/// Short runs are repeated at most this often, and for this long in all. The shortest take some microseconds:
/// in 25 of them, other work on the machine would show.
const REPEATS: usize = 1_000;
const REPEATING: Duration = Duration::from_millis(250);

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// All outcomes, by the model's axioms.
    Smt,
    /// All outcomes, by the machine.
    Explore,
    /// All outcomes, as if nobody names an engine.
    Auto,
    /// Whether an outcome is allowed, and whether another one is, as if nobody names an engine.
    Verdicts,
    /// How many executions are consistent: every choice of the model counts.
    Count,
}

impl Engine {
    const ALL: [Self; 5] = [Self::Smt, Self::Explore, Self::Auto, Self::Verdicts, Self::Count];

    pub fn name(self) -> &'static str {
        match self {
            Self::Smt => "smt",
            Self::Explore => "explore",
            Self::Auto => "auto",
            Self::Verdicts => "auto, verdicts only",
            Self::Count => "count",
        }
    }
}

/// What came of it.
pub struct Cell {
    /// Outcomes or executions.
    pub found: u64,
    /// Whether these are all.
    pub complete: bool,
    /// Without reading the program and the model; the median, if there was time for several runs. Of several
    /// processes, the least.
    pub time: Duration,
    /// The most memory the process took, in KiB; 0 where the system does not say.
    pub peak: u64,
    /// Events of the program, without initial writes.
    pub events: usize,
}

impl Cell {
    /// Asks once more. Of answers with all outcomes, the one with the least time counts.
    pub fn again(&mut self, engine: Engine, limit: Duration, program: &Program) {
        let next = ask(engine, limit, program);
        let peak = self.peak.max(next.peak);
        if self.complete && next.complete {
            assert_eq!(self.found, next.found, "{}: the same outcomes", program.text());
        }
        if next.complete && (!self.complete || next.time < self.time) {
            *self = next;
        }
        self.peak = peak;
    }

    /// The time, or that it was not enough.
    pub fn shown(&self, limit: Duration) -> String {
        if self.complete {
            markdown::milliseconds(self.time)
        } else {
            format!("> {}", markdown::count(limit.as_millis() as u64))
        }
    }

    pub fn mebibytes(&self) -> String {
        markdown::count(self.peak.div_ceil(1024))
    }
}

/// Asks in a new process.
pub fn ask(engine: Engine, limit: Duration, program: &Program) -> Cell {
    let itself = std::env::current_exe().expect("the benchmark is a file");
    let mut child = Command::new(itself)
        .args([WORD, engine.name(), &limit.as_secs().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the benchmark can be started");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(program.text().as_bytes()).expect("the process reads");
    drop(input);
    let output = child.wait_with_output().expect("the process ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [found, complete, nanoseconds, peak, events] = numbers[..] else {
        panic!("{}: expected five numbers, found `{text}`", program.text());
    };
    let time = Duration::from_nanos(nanoseconds);
    Cell { found, complete: complete == 1, time, peak, events: events as usize }
}

/// Answers in that process.
pub fn answer(engine: &str, limit: &str) {
    let engine = Engine::ALL.into_iter().find(|known| known.name() == engine).expect("an engine");
    let limit = Duration::from_secs(limit.parse().expect("seconds"));
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a program");
    let (mut test, name) = programs::load(&text);
    let model = models::load_shipped(name).expect("a shipped model");
    let model = model.unwrap_or_else(|_| panic!("a model without errors")).model;
    if engine == Engine::Verdicts {
        claim(&mut test, &model, limit);
    }
    let began = Instant::now();
    let mut times = Vec::new();
    let mut last = (0, false);
    while last == (0, false) || (began.elapsed() < REPEATING && times.len() < REPEATS) {
        let began = Instant::now();
        last = once(engine, limit, &test, &model, name);
        times.push(began.elapsed());
        if !last.1 {
            break;
        }
    }
    times.sort_unstable();
    let events = programs::events(&test, &model);
    let ((found, complete), time) = (last, times[times.len() / 2].as_nanos());
    println!("{found} {} {time} {} {events}", u8::from(complete), peak());
}

fn once(engine: Engine, limit: Duration, test: &Test, model: &Model, name: &str) -> (u64, bool) {
    let limits = Limits::of_time(limit);
    if engine == Engine::Explore {
        let variant = Variant::from_name(name).expect("the model has a machine");
        let limits = machine::Limits { until: limits, ..machine::Limits::default() };
        let explored = machine::explore(test, variant, limits).expect("the machine runs it");
        return (explored.outcomes.len() as u64, explored.complete);
    }
    if engine == Engine::Verdicts {
        let request = Request { limits, ..Request::default() };
        let found = engine::verdicts(test, (model, true), &request);
        let found = found.expect("the model defines the test").answered;
        assert!(found.checked.iter().all(|checked| checked.holds() != Some(false)), "wrong");
        return (found.checked.len() as u64, !found.has_unknown());
    }
    if engine == Engine::Auto {
        let found = engine::ask(test, model, &Request { limits, ..Request::default() });
        let allowed = found.expect("the model defines the test").allowed;
        return (allowed.outcomes.len() as u64, allowed.complete.is_some());
    }
    let options = Options { limits, ..Options::default() };
    let question = Question::of(test, model).question();
    let question = question.expect("the model defines the test");
    if engine == Engine::Smt {
        let allowed = question.allowed(&options).expect("it can be encoded");
        return (allowed.outcomes.len() as u64, allowed.complete.is_some());
    }
    let mut session = question.session(&options, |_| true).expect("it can be encoded");
    let within = session.counted();
    let mut executions = 0;
    let answer = session.each(&within, &mut |_| {
        executions += 1;
        Next::OtherExecution
    });
    (executions, answer == Answer::Unsatisfiable)
}

/// Adds two claims: that an outcome of the test is allowed, and that one is not whose values others have. The
/// second is left out if not all outcomes are found.
fn claim(test: &mut Test, model: &Model, limit: Duration) {
    let request = Request { limits: Limits::of_time(limit), ..Request::default() };
    let found = engine::ask(test, model, &request).expect("the model defines the test").allowed;
    let is_complete = found.complete.is_some();
    let outcomes = Vec::from_iter(found.outcomes);
    let mixed = |step: usize| {
        let value = |at: usize| outcomes[(at + 1) * step % outcomes.len()].0[at];
        Outcome((0..test.observables.len()).map(value).collect())
    };
    let others = (1..=10 * outcomes.len()).map(mixed);
    let is_missing = |one: &Outcome| is_complete && outcomes.binary_search(one).is_err();
    let missing = others.into_iter().find(is_missing);
    let shown = outcomes[outcomes.len() / 2].clone();
    let is = |outcome: Outcome| {
        let values = outcome.0.into_iter().enumerate();
        let compare = |(index, value)| {
            let [left, right] = [Operand::Observable(index), Operand::Value(value)];
            Condition::Compare(BinaryOp::Equal, left, right)
        };
        Condition::And(values.map(compare).collect())
    };
    let claims = [Some(Claim::Allowed(is(shown))), missing.map(is).map(Claim::Forbidden)];
    test.expectations = Vec::from_iter(claims.into_iter().flatten().map(|claim| Expectation {
        model: None,
        claim,
        is_question: false,
        text: String::new(),
        span: Span::default(),
    }));
}

/// The most memory that this process took, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
