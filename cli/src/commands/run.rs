//! `litmus run`: tests on a backend, recorded and judged.
//!
//! The way of a test is [`Runner::run_test`]: load, choose machines, measure (or take what a record has),
//! judge.

mod heartbeat;
mod parts;
pub mod plan;
pub mod result;
pub mod runner;
mod summary;
mod tune;
mod verbs;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use evidence::judge::Answers;
use evidence::record::{Ended, RecordWriter};
use evidence::reports::{self, data, part_of};
use executor::mpi::Launcher;
use executor::sim::Sim;
use lang::diagnostic::Code;
use lang::mutex::lock;
use serde_json::json;

use super::report::making::{self, Making};
use super::report::{records, tell};
use crate::exit::Exit;
use crate::input::Input;
use crate::inputs::{self, Workers};
use crate::judging;
use crate::libraries::{LibraryOption, Uses};
use crate::models::Models;
use crate::options::{Format, JobsOption, ModelOption, RecordFormatOption, SolverOptions};
use crate::select::{Kind, OnlyOption, SelectOption, StopOption};
use crate::shard::ShardOption;
use crate::sink::Sink;
use crate::table;
use crate::terminal::Terminal;

use heartbeat::Heartbeat;
use model::engine::Request;
use plan::Plan;
use result::Layout;
use runner::{Answer, Runner};
use summary::Summary;
use verbs::VerbsOptions;

/// Run tests on a machine or a simulator, and judge what is seen
///
/// What a model forbids and the machine shows is a violation. Ctrl-C ends a run early: what was measured is
/// kept and judged, and the exit code is 1 if there is a violation, else 2.
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
    /// What starts programs of --backend mpi, with its options, as in a shell; mpicc of the same folder and
    /// suffix builds them
    #[arg(long, value_name = "COMMAND", default_value = "mpirun")]
    mpirun: Launcher,
    /// Break the simulated machine on purpose; can be repeated
    #[arg(long = "fault", value_name = "NAME")]
    faults: Vec<String>,
    /// List the faults that --fault knows
    #[arg(long, exclusive = true)]
    list_faults: bool,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    solver: SolverOptions,
    /// Record what is seen in DIR/record.jsonl, and make a report of it there: report.html, report.md,
    /// report.json, junit.xml
    #[arg(short, long, value_name = "DIR", conflicts_with = "shard")]
    output: Option<PathBuf>,
    /// Record what is seen in a new file, as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    record: Option<PathBuf>,
    /// Go on with a record: tests that it has are not run again, and seed, iterations and faults are its own
    #[arg(long, value_name = "RECORD")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    stop: StopOption,
    #[command(flatten)]
    only: OnlyOption,
    #[command(flatten)]
    format: RecordFormatOption,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    shard: ShardOption,
    // Last, since its heading holds for all that follows.
    #[command(flatten)]
    verbs: VerbsOptions,
}

impl Arguments {
    /// Where a new record goes.
    fn new_record(&self) -> Option<PathBuf> {
        let of_report = self.output.as_ref().filter(|_| self.resume.is_none());
        self.record.clone().or_else(|| Some(of_report?.join("record.jsonl")))
    }
}

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendName {
    /// The operational machine under a random scheduler.
    Sim,
    /// Real RDMA, by libibverbs.
    Verbs,
    /// Real networks and shared memory, by libfabric.
    Ofi,
    /// C programs over MPI's one-sided communication, built and started on this machine.
    Mpi,
}

/// How many tests there may be for each to get a table instead of one line.
pub const FEW: usize = 4;

/// Runs all tests; wrong ones do not keep it from running the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.list_faults {
        return list_faults(terminal);
    }
    if arguments.select.list {
        let asked = (&*arguments.models.models, &arguments.libraries);
        let format = arguments.format.report();
        return arguments.select.list(&arguments.paths, &["litmus"], asked, format, terminal);
    }
    if let Err(message) = arguments.only.refuse_in(&arguments.shard) {
        return terminal.usage_error(message);
    }
    if arguments.verbs.is_tuning() {
        return tune::run(arguments, terminal);
    }
    let is_simulated = arguments.backend == BackendName::Sim && arguments.resume.is_none();
    if arguments.shard.shard.is_some() && is_simulated && arguments.seed.is_none() {
        return terminal.usage_error("--shard needs --seed, which all parts must have in common");
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
    let format = arguments.format.report();
    let mut sink = Sink::new(terminal, format, &head);
    let mut was_stopped = false;
    let mut summary = Summary::default();
    // Only a report asks again.
    let answers = judging::answers(arguments.solver.request()).keeping(arguments.output.is_some());
    let mut models = arguments.models.load(&mut sink);
    if let Some(models) = &mut models {
        models.libraries = Some(arguments.libraries.known().clone());
    }
    if let Some(models) = &models {
        plan.header.models = models.chosen.iter().map(|model| model.identity.clone()).collect();
        plan.lacking().iter().for_each(|lacking| sink.terminal.note(lacking));
        if let Some(inputs) = choose(arguments, models, &mut plan, &mut sink)
            && plan.begin_record(&mut sink)
        {
            let asked = (models, &answers);
            was_stopped = run_all(arguments, &mut plan, asked, &inputs, &mut sink, &mut summary);
        }
    }
    if was_stopped {
        sink.terminal.note(&plan.how_to_resume());
        sink.exit.raise(Exit::Unknown);
    }
    if summary.is_against_file() {
        sink.exit.raise(Exit::Violation);
    }
    let (skipped, results) = sink.counts();
    if results == 0 && skipped > 0 {
        sink.exit.raise(Exit::Unknown);
    }
    let own_models: Vec<String> = models
        .iter()
        .flat_map(|models| &models.chosen)
        .filter(|model| model.is_own)
        .map(|model| model.argument.clone())
        .collect();
    let made =
        models.and_then(|models| make_report(arguments, &plan, (&models, &answers), &mut sink));
    if arguments.format.is_log() {
        return sink.exit;
    }
    let look = sink.look();
    let is_told =
        results > 0 && format == Format::Table && !(look.quiet && sink.exit == Exit::Fine);
    if is_told {
        show_results(arguments, &plan, &summary, &mut sink);
    }
    if let Some(warning) = summary.apart() {
        sink.terminal.note(&warning);
    }
    // The verdict sums up the results.
    let exit = sink.finish(&[("interrupted", json!(was_stopped))], None);
    if is_told {
        let record = plan.where_recorded(&own_models);
        let record = if record.is_empty() { record } else { look.fit(&record) };
        let part = part_of(plan.header.shard.as_ref());
        terminal.show(&(record + &summary.verdict(look, was_stopped, part)));
        if let Some((made, folder)) = made {
            terminal.show(&(tell::brief(&made, look) + &tell::written(&folder)));
        }
    }
    exit
}

fn list_faults(terminal: &mut Terminal) -> Exit {
    let row = |fault: &model::machine::FaultInfo| {
        vec![fault.name.to_owned(), fault.description.to_owned()]
    };
    let rows: Vec<_> = Sim::faults_known().iter().map(row).collect();
    terminal.out(&table::draw(terminal.look, &["fault", "what goes wrong"], rows, true));
    Exit::Fine
}

/// Shows what all tests have in common, behind what each has shown.
fn show_results(arguments: &Arguments, plan: &Plan, summary: &Summary, sink: &mut Sink<'_>) {
    let look = sink.look();
    let mut text = String::new();
    if arguments.only.shows(Kind::Violation, sink, false) {
        let libraries = Some(arguments.libraries.known());
        let request = Request { libraries, ..arguments.solver.request() };
        text.push_str(&summary.violations(look, &request));
    }
    text.push_str(&summary.unseen_lines);
    if !look.quiet {
        text.push_str(&summary.groups(look));
    }
    text.push_str(&look.fit(&plan.describe()));
    sink.terminal.show(&text);
}

/// Makes a report of what was recorded, if one is wanted, and writes it. If that fails, shows why.
fn make_report(
    arguments: &Arguments,
    plan: &Plan,
    (models, answers): (&Models, &Answers<'_>),
    sink: &mut Sink<'_>,
) -> Option<(data::Report, PathBuf)> {
    let (folder, record) = (arguments.output.as_ref()?, plan.record()?);
    // A record that could not be begun is another run's.
    if sink.counts().1 == 0 {
        return None;
    }
    let source = records::read_record(record, sink)?;
    let making = Making {
        models,
        answers,
        request: arguments.solver.request(),
        is_thorough: false,
        mutants: reports::Request::MUTANT_RUNS,
        has_baseline: false,
    };
    let sources = [source];
    let made = making.make(&sources, making.judge(&sources));
    making::written(folder, &made, sink).then(|| (made, folder.clone()))
}

/// The inputs that are asked for, of this part if there are some; if not, the reason has been printed.
fn choose(
    arguments: &Arguments,
    models: &Models,
    plan: &mut Plan,
    sink: &mut Sink<'_>,
) -> Option<Vec<Input>> {
    let (paths, select) = (&arguments.paths, &arguments.select);
    let mut inputs = inputs::choose(paths, &["litmus"], select, models, sink)?;
    let libraries = &plan.header.libraries;
    inputs::take_part(&mut inputs, &arguments.shard, models, libraries, sink)?;
    match plan.take_shard(sink.shard.take()) {
        Ok(shard) => sink.shard = shard,
        Err(message) => {
            sink.usage_error(Code::OtherPart, &message);
            return None;
        }
    }
    Some(inputs)
}

/// Runs; whether it was stopped by a signal.
fn run_all(
    arguments: &Arguments,
    plan: &mut Plan,
    (models, answers): (&Models, &Answers<'_>),
    inputs: &[Input],
    sink: &mut Sink<'_>,
    summary: &mut Summary,
) -> bool {
    let jobs = arguments.jobs.count();
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool,
        Err(error) => {
            sink.internal_error("", &error.to_string());
            return false;
        }
    };
    let Some(libraries) = arguments.libraries.choose(sink) else { return false };
    let stop = plan.stop();
    let is_few = inputs.len() <= FEW;
    let mut layout = Layout::new(sink.look(), is_few, inputs);
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let progress = sink.terminal.progress();
    let heartbeat = Heartbeat::new(sink.look(), inputs.len());
    // Workers write parts of what they see.
    let writer = Mutex::new(plan.writer.take());
    let runner = Runner {
        plan,
        models,
        answers,
        select: &arguments.select,
        pool: &pool,
        request: Request { libraries: Some(libraries), ..arguments.solver.request() },
        library_options: arguments.libraries.options(),
        stop: &stop,
        uses: &uses,
        progress: &|| progress.tick(),
        heartbeat: &heartbeat,
        writer: &writer,
    };
    let each = |input: &Input, answer: Answer, sink: &mut Sink<'_>| {
        heartbeat.is_done();
        if let Some(error) = &answer.unwritten {
            sink.problem(plan.unwritable(error));
            return sink.end();
        }
        // A test that was named and that nothing could run leaves something unknown.
        if input.is_named && answer.results.is_empty() && !answer.skips.is_empty() {
            sink.exit.raise(Exit::Unknown);
        }
        answer.results.iter().for_each(|result| sink.count(result.status()));
        summary.take(&answer);
        sink.problems(answer.problems);
        if arguments.format.is_log() {
            answer.logs.iter().for_each(|block| sink.terminal.out(block));
        } else {
            layout.print(&answer.results, &arguments.only, sink);
        }
        if summary.violating() > 0 {
            let words = table::count(summary.violating(), "violating test");
            sink.terminal.progress().set_message(words);
        }
        answer.skips.into_iter().for_each(|skip| sink.skip(skip));
        answer.failures.into_iter().for_each(|failure| sink.failure(failure));
    };
    let workers = Workers { jobs, stop: Some(&stop), fail_fast: Some(&arguments.stop) };
    let worked = workers.work(inputs, sink, |input| runner.run_test(input), each);
    if sink.shard.is_none() {
        uses.tell(sink.terminal);
    }
    let is_cut = arguments.stop.ends(sink.exit) && worked.done < inputs.len();
    if is_cut {
        summary.skipped += inputs.len() - worked.done;
    } else {
        summary.not_run = inputs.len().saturating_sub(worked.done);
    }
    summary.unseen_lines = layout.unseen();
    summary.unusable = sink.broken_files().saturating_sub(summary.broken_files);
    let was_stopped = stop.load(Ordering::Relaxed);
    let is_complete = !was_stopped && !worked.is_short && !is_cut;
    if let Some(writer) = &mut *lock(&writer)
        && sink.exit != Exit::Unwritable
    {
        // What was done beyond a cut is as if it had not begun.
        let counted = if is_cut { &inputs[..worked.done] } else { inputs };
        let exit = sink.shard.as_ref().map(|_| sink.exit.code());
        let now = plan::now();
        let ended = Ended { at: now.as_deref(), is_complete, exit };
        let written = arrange(writer, plan, inputs, counted).and_then(|()| writer.end(ended));
        if let Err(error) = written {
            sink.problem(plan.unwritable(&error));
        }
    }
    was_stopped
}

/// Puts a record into the order of the inputs. Of those that do not count, only what it had before stays.
fn arrange(
    writer: &mut RecordWriter,
    plan: &Plan,
    inputs: &[Input],
    counted: &[Input],
) -> io::Result<()> {
    let places: HashMap<String, usize> =
        inputs.iter().enumerate().map(|(at, input)| (input.name(), at)).collect();
    let was_there = |file: &str| plan.previous.as_ref().is_some_and(|old| old.has_file(file));
    writer.arrange(|file| match places.get(file) {
        Some(at) => (*at < counted.len() || was_there(file)).then_some(*at),
        None => Some(usize::MAX),
    })
}
