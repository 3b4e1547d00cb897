//! `litmus run`: tests on a backend, recorded and judged.
//!
//! The way of a test is [`run_test`]: load, choose machines, measure (or take what a record has), judge.

mod plan;
mod result;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use executor::backend::{Backend, Control, Job, measure};
use executor::judge::{AllowedSet, judge};
use executor::record::{Record, Status, TestRecord, hash_text};
use executor::sim::Sim;
use lang::Test;
use lang::source::Source;
use model::allowed::undefined_calls;
use rayon::ThreadPool;
use serde_json::json;

use crate::engine::{self, Refusal, Request};
use crate::exit::Exit;
use crate::input::{self, Input, load_test};
use crate::models::{LoadedModel, Models};
use crate::options::{Format, FormatOption, JobsOption, ModelOption, SolverOptions};
use crate::ordered::map_in_order;
use crate::problem::{Problem, problems};
use crate::report::{Report, Skip};
use crate::table;
use crate::terminal::Terminal;

use plan::Plan;
use result::{Layout, RunResult};

/// Run tests on a machine or a simulator, and judge what is seen
///
/// What a model forbids and the machine shows is a violation. Ctrl-C ends a run early: what was measured is kept
/// and judged, and the exit code is 1 if there is a violation, else 2.
#[derive(Args)]
pub struct Arguments {
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(required_unless_present = "list_faults", value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// What runs the tests
    #[arg(long, value_name = "BACKEND", default_value = "sim")]
    backend: BackendName,
    /// How many times each test is run [default: 10000]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// What all random choices derive from; random by default, and always printed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Break the simulated machine on purpose; can be repeated
    #[arg(long = "fault", value_name = "NAME")]
    faults: Vec<String>,
    /// List the faults that --fault knows
    #[arg(long, exclusive = true)]
    list_faults: bool,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    solver: SolverOptions,
    /// Record what is seen in a new file, as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    record: Option<PathBuf>,
    /// Go on with a record: tests that it has are not run again, and seed, iterations and faults are its own
    #[arg(long, value_name = "RECORD")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
}

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// The operational machine under a random scheduler.
    Sim,
}

/// How many files may be named for each to get a table instead of one line.
const FEW: usize = 4;

/// Runs all tests; wrong ones do not keep it from running the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.list_faults {
        let row = |fault: &model::machine::FaultInfo| {
            vec![fault.name.to_owned(), fault.description.to_owned()]
        };
        let rows: Vec<_> = Sim::faults_known().iter().map(row).collect();
        terminal.out(&table::draw(&["fault", "what goes wrong"], &rows, true));
        return Exit::Fine;
    }
    let mut plan = match Plan::new(arguments, terminal) {
        Ok(plan) => plan,
        Err(exit) => return exit,
    };
    let head = [
        ("schema", json!("litmus-run/1")),
        ("backend", json!(plan.header.backend)),
        ("seed", json!(plan.header.seed)),
        ("iterations", json!(plan.header.iterations)),
        ("faults", json!(plan.header.faults)),
    ];
    let mut report = Report::new(terminal, arguments.format.format, &head);
    let mut was_stopped = false;
    if let Some(models) = arguments.models.load(&mut report) {
        plan.header.models = models.chosen.iter().map(|model| model.identity.clone()).collect();
        if plan.begin_record(&mut report) {
            was_stopped = run_all(arguments, &mut plan, &models, &mut report);
        }
    }
    if was_stopped {
        report.terminal.note(&plan.how_to_resume());
        report.exit.raise(Exit::Unknown);
    }
    let (skipped, results) = report.counts();
    if results == 0 && skipped > 0 {
        report.exit.raise(Exit::Unknown);
    }
    let is_told = results > 0 && !(report.look().quiet && report.exit == Exit::Fine);
    if arguments.format.format == Format::Table && is_told {
        let text = plan.describe();
        report.terminal.out(&text);
    }
    report
        .finish(&[("interrupted", json!(was_stopped))], ["as allowed", "VIOLATION", "inconclusive"])
}

/// Runs; whether it was stopped by a signal.
fn run_all(
    arguments: &Arguments,
    plan: &mut Plan,
    models: &Models,
    report: &mut Report<'_>,
) -> bool {
    let (inputs, unreadable) = input::collect(&arguments.paths, &["litmus"]);
    unreadable.into_iter().for_each(|problem| report.problem(problem));
    let jobs = arguments.jobs.count();
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool,
        Err(error) => {
            report.internal_error("", &error.to_string());
            return false;
        }
    };
    let stop = stop_on_signal();
    let is_few = inputs.len() <= FEW && inputs.iter().all(|input| input.is_named);
    let layout = Layout::new(report.look(), is_few, &inputs);
    report.terminal.begin_progress(inputs.len());
    let progress = report.terminal.progress();
    let mut writer = plan.writer.take();
    let runner = Runner {
        plan,
        models,
        pool: &pool,
        request: arguments.solver.request(),
        stop: &stop,
        progress: &|_| progress.tick(),
    };
    let each = |input: &Input, answer: Result<Answer, String>| {
        report.terminal.progress().inc(1);
        let answer = match answer {
            Ok(answer) => answer,
            Err(panic) => {
                report.internal_error(&input.name(), &panic);
                return ControlFlow::Continue(());
            }
        };
        if let Some(writer) = &mut writer {
            let mut records = answer.records.iter();
            if let Err(error) = records.try_for_each(|record| writer.append(record)) {
                report.internal_error(
                    &input.name(),
                    &format!("the record cannot be written: {error}"),
                );
                return ControlFlow::Break(());
            }
        }
        // A test that was named and that nothing could run leaves something unknown.
        if input.is_named && answer.results.is_empty() && !answer.skips.is_empty() {
            report.exit.raise(Exit::Unknown);
        }
        answer.problems.into_iter().for_each(|problem| report.problem(problem));
        for (index, result) in answer.results.iter().enumerate() {
            let draw = || layout.draw(&answer.results, index);
            report.result(result.status(), || result.json(), draw);
        }
        answer.skips.into_iter().for_each(|skip| report.skip(skip));
        if report.terminal.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    map_in_order(&inputs, jobs, &stop, |input| runner.run_test(input), each);
    stop.load(Ordering::Relaxed)
}

/// A flag that the first Ctrl-C sets; the second ends the process.
fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Without a handler, Ctrl-C ends the process at once; the record keeps what it has.
    drop(ctrlc::set_handler(handler));
    stop
}

/// What came of a file.
#[derive(Default)]
struct Answer {
    problems: Vec<Problem>,
    records: Vec<TestRecord>,
    results: Vec<RunResult>,
    skips: Vec<Skip>,
}

/// What workers need.
struct Runner<'a> {
    plan: &'a Plan,
    models: &'a Models,
    pool: &'a ThreadPool,
    request: Request,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(u64) + Sync),
}

impl Runner<'_> {
    fn run_test(&self, input: &Input) -> Answer {
        let mut answer = Answer::default();
        let (loaded, diagnostics) = load_test(input);
        answer.problems = diagnostics;
        let Some((test, source)) = loaded else { return answer };
        let asked = match self.models.of_test(&test, &source) {
            Ok(asked) => asked,
            Err(unknown) => {
                answer.problems.extend(problems(&source, unknown));
                return answer;
            }
        };
        for (machine, models) in self.machines(input, &test, &source, asked, &mut answer) {
            self.run_on_machine(&test, &source, &machine, &models, &mut answer);
        }
        answer
    }

    /// The machines to be simulated, each once, with the models that judge it.
    fn machines(
        &self,
        input: &Input,
        test: &Test,
        source: &Arc<Source>,
        asked: Vec<Arc<LoadedModel>>,
        answer: &mut Answer,
    ) -> Vec<(String, Vec<Arc<LoadedModel>>)> {
        let mut order: Vec<(String, Vec<Arc<LoadedModel>>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let is_chosen = !self.models.chosen.is_empty();
        for model in asked {
            let skip = |reason: String| Skip {
                test: test.name.clone(),
                file: input.name(),
                model: model.name().to_owned(),
                reason,
            };
            let undefined = undefined_calls(test, model.model());
            if let Some(first) = undefined.first() {
                if is_chosen && !input.is_named {
                    answer.skips.push(skip(first.message.clone()));
                } else {
                    answer.problems.extend(problems(source, undefined));
                }
                continue;
            }
            let Some(machine) = self.machine_for(test, &model) else {
                let reason = format!("the model `{}` has no operational machine", model.name());
                answer.skips.push(skip(reason));
                continue;
            };
            let index = *known.entry(machine.clone()).or_insert_with(|| {
                order.push((machine, Vec::new()));
                order.len() - 1
            });
            order[index].1.push(model);
        }
        order
    }

    /// The machine that a model names. A user's own model may name none: then it judges the machine that the test
    /// is for, as it would judge hardware.
    fn machine_for(&self, test: &Test, model: &LoadedModel) -> Option<String> {
        let own = model.model().machine.clone();
        if own.is_some() || !model.is_own {
            return own;
        }
        let mut names = test.models.iter();
        names.find_map(|name| self.models.shipped(name)?.model().machine.clone())
    }

    fn run_on_machine(
        &self,
        test: &Test,
        source: &Arc<Source>,
        machine: &str,
        models: &[Arc<LoadedModel>],
        answer: &mut Answer,
    ) {
        let known = match self.known(test, source, machine) {
            Ok(known) => known,
            Err(problem) => {
                answer.problems.push(problem);
                return;
            }
        };
        let (record, seen) = match known {
            Some(known) => known,
            None => {
                let job = Job {
                    test,
                    file: &source.name,
                    program: &source.text,
                    machine,
                    iterations: self.plan.header.iterations,
                    seed: self.plan.header.seed,
                };
                let control = Control { stop: self.stop, progress: self.progress };
                let identities = models.iter().map(|model| model.identity.clone()).collect();
                let backend: &dyn Backend = &self.plan.backend;
                let measured = self.pool.install(|| measure(backend, &job, identities, control));
                if measured.0.status == Status::Interrupted && measured.0.iterations == 0 {
                    return;
                }
                answer.records.push(measured.0.clone());
                measured
            }
        };
        match (record.status, &record.reason) {
            (Status::Skipped, reason) => {
                answer.skips.extend(models.iter().map(|model| Skip {
                    test: test.name.clone(),
                    file: source.name.clone(),
                    model: model.name().to_owned(),
                    reason: reason.clone().unwrap_or_default(),
                }));
            }
            (Status::Failed, reason) => {
                let message = reason.clone().unwrap_or_default();
                answer.problems.push(Problem::of_file(&source.name, "backend-failed", message));
            }
            (Status::Complete | Status::Interrupted, _) => {
                for model in models {
                    match self.allowed(test, model) {
                        Ok((allowed, reason)) => {
                            let judged = judge(allowed.as_ref(), &seen);
                            let measured = (&record, self.plan.backend.name());
                            let result = RunResult::new(test, measured, model, judged, reason);
                            answer.results.push(result);
                        }
                        Err(errors) => answer.problems.extend(problems(source, errors)),
                    }
                }
            }
        }
    }

    /// What the record that is gone on with has of a test.
    fn known(
        &self,
        test: &Test,
        source: &Arc<Source>,
        machine: &str,
    ) -> Result<Option<(TestRecord, executor::observation::Observations)>, Problem> {
        let differs = |message: String| {
            Problem::of_file(&source.name, "record-differs", message)
                .help("record anew, or bring the file back to what it was")
        };
        let Some(record) = &self.plan.previous else { return Ok(None) };
        let record: &Record = record;
        let key = (test.name.as_str(), source.name.as_str(), machine);
        let found = record.completed(key, &hash_text(&source.text)).map_err(differs)?;
        let Some(found) = found else { return Ok(None) };
        let seen = found.observations(test).map_err(|name| {
            differs(format!("the record has a state without a value of `{name}`"))
        })?;
        Ok(Some((found.clone(), seen)))
    }

    /// What a model allows, and why that is not known in full, if it is not.
    fn allowed(
        &self,
        test: &Test,
        model: &LoadedModel,
    ) -> Result<(Option<AllowedSet>, Option<String>), Vec<lang::diagnostic::Diagnostic>> {
        match engine::ask(test, model.model(), &self.request) {
            Ok(found) => {
                let outcomes = found.allowed.outcomes.into_keys().collect();
                let complete = found.allowed.complete;
                Ok((Some(AllowedSet { outcomes, complete }), found.allowed.reason))
            }
            Err(Refusal::Unsupported(reason)) => Ok((None, Some(reason))),
            Err(Refusal::Undefined(errors) | Refusal::Bad(errors)) => Err(errors),
        }
    }
}
