//! `litmus report`: records judged again, without the machines that made them, and reports made of them.

mod chosen;
mod junit;
pub mod making;
pub mod records;
mod results;
pub mod tell;

use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use clap::Args;
use evidence::record::End;
use evidence::reports::{self, Source as Recorded, data};
use lang::diagnostic::Code;
use serde_json::json;

use crate::exit::Exit;
use crate::judging;
use crate::libraries::LibraryOption;
use crate::memory::MemoryOption;
use crate::options::{Format, ModelOption, RecordFormatOption, SolverOptions};
use crate::problem::Problem;
use crate::select::{OnlyOption, SelectOption};
use crate::sink::Sink;
use crate::terminal::Terminal;

/// Judge recorded runs again, and make reports of them: by the models that they were judged by, or by others
///
/// Several records are put side by side. The exit code is 1 if there is a violation, with --baseline if there
/// is one that the baseline does not have.
#[derive(Args)]
pub struct Arguments {
    /// Records, as `litmus run --record` writes them, or logs of herd7 and litmus7
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    /// Write report.html, report.md, report.json and junit.xml into a folder
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Compare with this record: only violations that it does not have are counted as such
    #[arg(long, value_name = "RECORD")]
    baseline: Option<PathBuf>,
    /// Where the programs of logs are: tests, or folders of tests
    #[arg(long, value_name = "FILE|DIR")]
    tests: Vec<PathBuf>,
    /// Examine all programs for evidence, however many there are
    #[arg(long)]
    thorough: bool,
    /// How often each test is run on each broken simulator for the mutation score; 0 for no score
    #[arg(long, value_name = "N", default_value_t = reports::Request::MUTANT_RUNS)]
    mutants: u64,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    solver: SolverOptions,
    #[command(flatten)]
    memory: MemoryOption,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    only: OnlyOption,
    #[command(flatten)]
    format: RecordFormatOption,
}

/// Judges all tests of all records.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        return chosen::list(arguments, terminal);
    }
    let head = [("schema", json!("litmus-run/1"))];
    let mut sink = Sink::new(terminal, arguments.format.report(), &head);
    let Some(models) = arguments.models.load(&mut sink) else { return sink.finish(&[], None) };
    let mut sources: Vec<Recorded> = Vec::new();
    // The baseline comes first: the others are compared with it.
    for path in arguments.baseline.iter().chain(&arguments.records) {
        sources.extend(records::read(path, arguments, &models, &mut sink));
    }
    chosen::load_models(&sources, &models);
    if let Err(message) = chosen::keep(&mut sources, &arguments.select, &models) {
        sink.usage_error(Code::NoTestMatches, &message);
        return sink.finish(&[], None);
    }
    let baseline = arguments.baseline.iter().count();
    let is_complete = sources.len() == arguments.records.len() + baseline;
    // Nothing is known about tests that a run did not reach.
    if sources.iter().any(|source| source.record.end != End::Whole) {
        sink.exit.raise(Exit::Unknown);
    }
    if arguments.format.is_log() || !is_complete {
        sources.iter().for_each(|source| records::tell_remarks(source, &mut sink));
    }
    if arguments.format.is_log() {
        sources
            .iter()
            .for_each(|source| results::log(&source.record, &source.libraries, &mut sink));
    }
    // A log says what was seen, and judges nothing.
    if !arguments.format.is_log() || (is_complete && arguments.output.is_some()) {
        let request = arguments.solver.request();
        // The program ends soon. To free all that it knows of ten thousand tests takes half a second.
        let sources = ManuallyDrop::new(sources);
        let answers = ManuallyDrop::new(judging::answers(request.clone()));
        let making = making::Making {
            models: &models,
            answers: &answers,
            request,
            is_thorough: arguments.thorough,
            mutants: arguments.mutants,
            has_baseline: arguments.baseline.is_some(),
        };
        let lines = making.judge(&sources);
        let is_listed = arguments.format.report() == Format::Json
            || arguments.only.is_some()
            || sink.look().verbose > 0
            || !is_complete;
        if is_listed && !arguments.format.is_log() {
            let first = baseline.min(sources.len());
            results::list(&sources, first, &lines, &arguments.only, &mut sink);
        }
        if is_complete {
            let made = ManuallyDrop::new(making.make(&sources, lines));
            show(arguments, &made, is_listed, &mut sink);
        }
    }
    if arguments.format.is_log() {
        return sink.exit;
    }
    sink.finish(&[], None)
}

/// Writes the report, and shows a summary on the terminal.
fn show(arguments: &Arguments, made: &data::Report, is_listed: bool, sink: &mut Sink<'_>) {
    let is_log = arguments.format.is_log();
    if !is_log {
        made.remarks.iter().for_each(|remark| sink.terminal.note(remark));
    }
    let folder = arguments.output.as_deref();
    let is_written = folder.is_none_or(|folder| making::written(folder, made, sink));
    sink.exit.raise(made.conclusion().into());
    // Where results are listed, errors are among them.
    if !is_listed {
        tell_errors(made, sink);
        let lacking = made.skipped.iter().filter(|skip| skip.lacks_model);
        let reasons: BTreeSet<&str> = lacking.map(|skip| skip.reason.as_str()).collect();
        reasons.into_iter().for_each(|reason| sink.terminal.note(reason));
    }
    let is_quiet = sink.look().quiet && sink.exit == Exit::Fine;
    if !is_quiet && !is_log {
        let mut text = tell::text(made, sink.look());
        if let Some(folder) = folder.filter(|_| is_written) {
            text.push_str(&tell::written(folder));
        }
        sink.tell(&text);
    }
}

/// How many errors the terminal shows.
const ERRORS: usize = 20;

/// Shows what broke and what cannot be used. Other tests may show a violation, which weighs more.
fn tell_errors(made: &data::Report, sink: &mut Sink<'_>) {
    for error in made.errors.iter().take(ERRORS) {
        let data::Broken { test, file, message, .. } = error;
        sink.failure(Problem::of_file(file, error.shown_code(), format!("{test}: {message}")));
    }
    let more = made.errors.len().saturating_sub(ERRORS);
    if more > 0 {
        sink.terminal
            .note(&format!("{more} more tests broke or are unusable; the report lists them"));
    }
}
