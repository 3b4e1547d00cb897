//! `litmus run --tune`: the parameters under which weak outcomes show most.
//!
//! An outcome is weak if the model `sc` forbids it: then something was reordered or was not atomic. What the
//! test's own models forbid is a violation here too, and is shown with the parameters that provoked it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use compiler::library::Libraries;
use evidence::judge::{Answers, Judge, NotJudged, Program};
use evidence::observation::Observations;
use evidence::record::{LibraryText, NodeInfo};
use executor::backend::{Backend, Control, Job, Refusal};
use executor::nodes::Verbs;
use executor::rdma::Interface;
use executor::rounds::Parameters;
use executor::tune::{Score, Trial, best, search};
use lang::Test;
use lang::diagnostic::Code;
use lang::source::Source;
use model::allowed::Allowed;
use model::engine::Request;
use serde_json::{Value as Json, json};

use super::verbs::VerbsOptions;
use super::{Arguments, BackendName, plan, runner};
use crate::exit::Exit;
use crate::input::load_test_within;
use crate::inputs;
use crate::interrupt::stop_on_signal;
use crate::judging::{self, ask};
use crate::libraries::inlined;
use crate::models::Models;
use crate::options::Format;
use crate::problem::{Problem, problems};
use crate::sink::{Sink, Skip, Status};
use crate::table::{assignments, draw};
use crate::terminal::{Look, Terminal};

/// How often a test is run in a trial if nobody says.
const ITERATIONS: u64 = 2000;

/// A test with what its outcomes are compared with.
struct Target {
    test: Test,
    /// The same with calls of libraries replaced by their implementations: what machines run.
    runnable: Test,
    source: Arc<Source>,
    /// What the model sc allows.
    sequential: Arc<Allowed>,
    judges: Vec<Arc<Judge>>,
    /// Set when it cannot be run. The reason is shown once.
    is_out: bool,
}

/// How targets are judged.
struct Judging {
    answers: Answers<'static>,
    libraries: Libraries,
    texts: Vec<LibraryText>,
    nodes: Vec<NodeInfo>,
}

/// What all trials need.
struct Tuning<'a, 't> {
    verbs: Verbs,
    judging: Judging,
    targets: Vec<Target>,
    iterations: u64,
    seed: u64,
    stop: &'a AtomicBool,
    sink: &'a mut Sink<'t>,
    violations: Vec<Json>,
}

/// Searches, and prints what was tried.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.backend != BackendName::Verbs {
        return terminal
            .usage_error("--tune is for --backend verbs; the simulator has nothing to tune");
    }
    let verbs = match plan::connect(arguments, &Interface::Verbs, terminal) {
        Ok(verbs) => verbs,
        Err(exit) => return exit,
    };
    let Ok(start) = arguments.verbs.parameters() else { return Exit::Usage };
    let seed = arguments.seed.unwrap_or_else(plan::random_seed);
    let head = [("schema", json!("litmus-tune/1")), ("seed", json!(seed))];
    let mut sink = Sink::new(terminal, arguments.format.report(), &head);
    let Some(mut models) = arguments.models.load(&mut sink) else {
        return sink.finish(&[], Some(["", "", ""]));
    };
    let Some(libraries) = arguments.libraries.choose(&mut sink) else {
        return sink.finish(&[], Some(["", "", ""]));
    };
    models.libraries = Some(libraries.clone());
    let request = Request { libraries: Some(libraries), ..arguments.solver.request() };
    let judging = Judging {
        answers: judging::answers(arguments.solver.request()),
        libraries: libraries.clone(),
        texts: arguments.libraries.texts(),
        nodes: verbs.nodes(),
    };
    let targets = targets(arguments, &models, &request, &judging, &mut sink);
    let most = arguments.verbs.trials();
    sink.terminal.begin_progress(most);
    let stop = stop_on_signal();
    let iterations = arguments.iterations.unwrap_or(ITERATIONS);
    let violations = Vec::new();
    let (stop, of_all) = (&stop, &mut sink);
    let mut tuning =
        Tuning { verbs, judging, targets, iterations, seed, stop, sink: of_all, violations };
    let trials = search(&start, most, &mut |parameters| tuning.trial(parameters));
    let violations = tuning.violations;
    if trials.is_empty() {
        sink.exit.raise(Exit::Unknown);
    }
    if arguments.format.report() == Format::Table {
        let text = table(sink.look(), &trials);
        sink.terminal.out(&text);
    }
    let found = best(&trials).filter(|trial| trial.score.kinds > 0);
    let tail = [
        ("violations", json!(violations)),
        ("best", json!(found.map(|trial| trial.parameters.json()))),
        ("options", json!(found.map(|trial| VerbsOptions::as_options(&trial.parameters)))),
        ("interrupted", json!(stop.load(Ordering::Relaxed))),
    ];
    sink.finish(&tail, Some(["trials with weak outcomes only", "with a VIOLATION", "with none"]))
}

/// The tests; what is wrong with one is reported.
fn targets(
    arguments: &Arguments,
    models: &Models,
    request: &Request<'_>,
    judging: &Judging,
    sink: &mut Sink<'_>,
) -> Vec<Target> {
    let (paths, select) = (&arguments.paths, &arguments.select);
    let inputs = inputs::choose(paths, &["litmus"], select, models, sink);
    let mut targets = Vec::new();
    for input in &inputs.unwrap_or_default() {
        let (loaded, diagnostics) = load_test_within(input, request.libraries(), &request.limits());
        sink.problems(diagnostics);
        let Some((test, source)) = loaded else { continue };
        let asked = match models.of_test(&test, &source) {
            Ok(asked) => arguments.select.models(&test, input, asked),
            Err(unknown) => {
                sink.problems(problems(&source, unknown));
                continue;
            }
        };
        let runnable = match inlined(&test, &source, request.libraries()) {
            Ok(runnable) => runnable,
            Err(wrong) => {
                sink.problems(wrong);
                continue;
            }
        };
        let sc = models.shipped("sc");
        let sequential =
            sc.and_then(|sc| ask(&runnable, sc.model(), &judging.libraries, request).ok());
        let sequential =
            sequential.map(|says| says.allowed).filter(|allowed| allowed.complete.is_some());
        let Some(sequential) = sequential else {
            sink.skip(Skip {
                test: test.name.clone(),
                file: input.name(),
                model: "sc".to_owned(),
                reason: "the model sc does not say which of its outcomes are weak".to_owned(),
            });
            continue;
        };
        let asked = asked.into_iter().filter(|model| model.name() != "sc");
        let mut judges = Vec::new();
        for judge in asked.map(|model| model.judge()) {
            match judging.answers.says(&judging.program(&test, &source), &judge) {
                Ok(_) => judges.push(judge),
                Err(NotJudged::Undefined(undefined)) => sink.skip(Skip {
                    test: test.name.clone(),
                    file: input.name(),
                    model: judge.identity.name.clone(),
                    reason: NotJudged::reason(&undefined),
                }),
                Err(NotJudged::Wrong(errors)) => sink.problems(problems(&source, errors)),
            }
        }
        targets.push(Target { test, runnable, source, sequential, judges, is_out: false });
    }
    targets
}

impl Judging {
    fn program<'t>(&'t self, test: &'t Test, source: &Source) -> Program<'t> {
        Program::new((test, &source.text), (&self.libraries, &self.texts), &self.nodes)
    }
}

impl Tuning<'_, '_> {
    /// Runs all tests with these parameters; `None` when there is nothing more to be learned.
    fn trial(&mut self, parameters: &Parameters) -> Option<Score> {
        self.verbs.set_parameters(parameters.clone());
        let mut score = Score::default();
        let (mut worst, mut is_measured) = (Status::Open, false);
        for index in 0..self.targets.len() {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if self.targets[index].is_out {
                continue;
            }
            let Some((seen, seconds)) = self.measure(index) else { continue };
            is_measured = true;
            let target = &self.targets[index];
            let is_weak = |outcome: &&lang::outcome::Outcome| !target.sequential.contains(outcome);
            let weak: Vec<u64> = seen
                .outcomes
                .iter()
                .filter(|(o, n)| **n > 0 && is_weak(o))
                .map(|(_, n)| *n)
                .collect();
            score.kinds += weak.len();
            score.per_second += weak.iter().sum::<u64>() as f64 / seconds;
            if !weak.is_empty() && worst == Status::Open {
                worst = Status::Good;
            }
            if self.judge(index, &seen, parameters) {
                worst = Status::Bad;
            }
        }
        if !is_measured {
            return None;
        }
        self.sink.terminal.progress().tick();
        let json = || {
            json!({
                "parameters": parameters.json(), "options": VerbsOptions::as_options(parameters),
                "weak_outcomes": score.kinds, "weak_per_second": score.per_second,
            })
        };
        // That nothing weak was seen under some parameters leaves nothing unknown.
        match worst {
            Status::Open => self.sink.tally(worst),
            _ => self.sink.count(worst),
        }
        self.sink.print(json, String::new);
        Some(score)
    }

    /// A test's observations, and how many seconds they took.
    fn measure(&mut self, index: usize) -> Option<(Observations, f64)> {
        let target = &self.targets[index];
        let job = Job {
            test: &target.runnable,
            file: &target.source.name,
            program: &target.source.text,
            libraries: &self.judging.libraries,
            machine: runner::HARDWARE,
            iterations: self.iterations,
            done: 0,
            seed: self.seed,
        };
        let began = Instant::now();
        let control = Control { stop: self.stop, progress: &|_| {}, keep: &|_| {} };
        let refusal = match self.verbs.run(&job, control) {
            Ok(seen) => return Some((seen, began.elapsed().as_secs_f64().max(1e-6))),
            Err(refusal) => refusal,
        };
        let (test, file) = (target.test.name.clone(), target.source.name.clone());
        match refusal {
            Refusal::Skip(reason) => {
                self.targets[index].is_out = true;
                self.sink.skip(Skip { test, file, model: runner::HARDWARE.to_owned(), reason });
            }
            Refusal::Error(reason) => {
                self.sink.failure(Problem::of_file(&file, Code::BackendFailed, reason));
            }
            // What was seen before may be a violation; the next trial may find all machines well.
            Refusal::Broken(reason, seen) => {
                self.sink.failure(Problem::of_file(&file, Code::BackendFailed, reason));
                return Some((*seen, began.elapsed().as_secs_f64().max(1e-6)));
            }
        }
        None
    }

    /// Whether something forbidden was seen; if so, it is shown.
    fn judge(&mut self, index: usize, seen: &Observations, parameters: &Parameters) -> bool {
        let target = &self.targets[index];
        let mut found = Vec::new();
        let program = self.judging.program(&target.test, &target.source);
        let judge = |judge| self.judging.answers.judge(&program, judge, seen).ok();
        for by in target.judges.iter().filter_map(judge) {
            for bad in by.judged.violations() {
                found.push(json!({
                    "test": target.test.name, "model": by.judge.identity.name, "count": bad.count,
                    "state": assignments(&target.test.observables, &bad.outcome.0),
                    "options": VerbsOptions::as_options(parameters), "seed": self.seed,
                    "places": seen.places.get(&bad.outcome),
                }));
            }
        }
        for violation in &found {
            let text = format!(
                "VIOLATION  {}: forbidden by {}, seen {} times: {}\n  with {} --seed {}\n",
                target.test.name,
                violation["model"].as_str().unwrap_or_default(),
                violation["count"],
                violation["state"].as_str().unwrap_or_default(),
                VerbsOptions::as_options(parameters),
                self.seed,
            );
            self.sink.terminal.err(&text);
        }
        let is_bad = !found.is_empty();
        self.violations.extend(found);
        is_bad
    }
}

/// The trials, and the options that were best.
fn table(look: Look, trials: &[Trial]) -> String {
    let row = |trial: &Trial| {
        let Parameters { instances, rounds, delay, flush, backlog, stress, .. } = &trial.parameters;
        let Parameters { stride, post_list, shuffle, pin, pages, .. } = &trial.parameters;
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        let mut row: Vec<String> =
            [instances, rounds, delay, flush, backlog, stress, &(8 * stride), post_list]
                .map(ToString::to_string)
                .to_vec();
        row.extend([yes(*shuffle), yes(*pin), pages.name().to_owned()]);
        row.push(trial.score.kinds.to_string());
        row.push(format!("{:.1}", trial.score.per_second));
        row
    };
    let head = [
        "instances",
        "rounds",
        "delay",
        "flush",
        "backlog",
        "stress",
        "stride",
        "list",
        "shuffle",
        "pin",
        "pages",
        "weak",
        "weak/s",
    ];
    let rows: Vec<Vec<String>> = trials.iter().map(row).collect();
    let mut text = draw(look, &head, rows, true);
    match best(trials) {
        Some(trial) if trial.score.kinds > 0 => {
            let options = VerbsOptions::as_options(&trial.parameters);
            text.push_str(&format!("best: {options}\n"));
        }
        _ => text.push_str("no weak outcome was seen under any of these\n"),
    }
    text
}
