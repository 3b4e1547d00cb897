//! `litmus report`: records judged again, without the machines that made them, and reports made of them.

mod chosen;
mod junit;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use executor::files;
use executor::judge::judge;
use executor::record::{End, ModelIdentity, Record, Status, TestRecord};
use executor::reports::{self, Judge, Source as Recorded, data, logs};
use lang::litmus;
use lang::source::Source;
use serde_json::json;

use super::run::result::{Layout, RunResult};
use super::run::runner::allowed;
use crate::engine::Request;
use crate::exit::Exit;
use crate::input::{self, Input};
use crate::libraries;
use crate::models::{LoadedModel, Models};
use crate::options::{Format, ModelOption, RecordFormatOption, SolverOptions};
use crate::output::{self, Failure};
use crate::pages::Pages;
use crate::problem::{Problem, problems};
use crate::report::{Report, Skip};
use crate::select::{OnlyOption, SelectOption};
use crate::terminal::Terminal;

/// Judge recorded runs again, and make reports of them: by the models that they were judged by, or by others
///
/// Several records are put side by side. The exit code is 1 if there is a violation, with --baseline if there is one
/// that the baseline does not have.
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
    solver: SolverOptions,
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
    let format = arguments.format.report();
    let mut report = Report::new(terminal, format, &head);
    if let Some(models) = arguments.models.load(&mut report) {
        let mut sources: Vec<Recorded> = Vec::new();
        // The baseline comes first: the others are compared with it.
        for path in arguments.baseline.iter().chain(&arguments.records) {
            sources.extend(read(path, arguments, &models, &mut report));
        }
        chosen::load_models(&sources, &models);
        if let Err(message) = chosen::keep(&mut sources, &arguments.select, &models) {
            report.usage_error("no-test-matches", &message);
            return report.finish(&[], None);
        }
        let is_reported = arguments.output.is_some() || arguments.baseline.is_some();
        let is_complete =
            sources.len() == arguments.records.len() + arguments.baseline.iter().count();
        // Of what a run did not come to, nothing is known.
        if sources.iter().any(|source| source.record.end != End::Whole) {
            report.exit.raise(Exit::Unknown);
        }
        if arguments.format.is_log() || !is_reported || !is_complete {
            sources.iter().for_each(|source| tell_remarks(source, &mut report));
        }
        if arguments.format.is_log() {
            sources.iter().for_each(|source| log(&source.record, &mut report));
        } else if !is_reported || format == Format::Json {
            let before = report.exit;
            let request = arguments.solver.request();
            let mut changed = BTreeSet::new();
            let baseline = arguments.baseline.iter().count();
            for source in sources.iter().skip(baseline) {
                let request = Request { libraries: Some(source.libraries), ..request };
                one(&source.record, &models, &request, &arguments.only, &mut changed, &mut report);
            }
            if report.counts().1 == 0 {
                report.exit.raise(Exit::Unknown);
            }
            if is_reported {
                // The report says what it comes to: a baseline may know the violations.
                report.exit = before;
            } else {
                for model in changed {
                    let message = format!("{model} is another text now than when it was recorded");
                    report.terminal.note(&message);
                }
            }
        }
        if is_complete && is_reported {
            full(arguments, &sources, &models, &mut report);
        }
        if arguments.format.is_log() {
            return report.exit;
        }
    }
    report.finish(&[], Some(["as allowed", "VIOLATION", "inconclusive"]))
}

/// What is odd about a record.
fn tell_remarks(source: &Recorded, report: &mut Report<'_>) {
    for remark in &source.record.remarks {
        report.terminal.note(&format!("{}: {remark}", source.name));
    }
    if let Some(remark) = reports::other_tool(source, env!("CARGO_PKG_VERSION")) {
        report.terminal.note(&remark);
    }
}

/// Reads a record or a log.
fn read(
    path: &Path,
    arguments: &Arguments,
    models: &Models,
    report: &mut Report<'_>,
) -> Option<Recorded> {
    let name = path.to_string_lossy().into_owned();
    let mut refuse = |message: String| {
        report.problem(Problem::of_file(&name, "unusable-record", message));
    };
    let bytes = match input::bytes(path) {
        Ok(bytes) => bytes,
        Err(message) => {
            refuse(message);
            return None;
        }
    };
    if !logs::is_log(&bytes) {
        let is_asked = !arguments.tests.is_empty();
        if is_asked && arguments.records.len() == 1 && arguments.baseline.is_none() {
            let message =
                format!("--tests is for logs, and {name} is a record, which has its programs");
            report.usage_error("meaningless-option", &message);
            return None;
        }
        return match Record::parse(&bytes) {
            Ok(record) => with_libraries(name, record, report),
            Err(error) => {
                refuse(error.to_string());
                None
            }
        };
    }
    let tests = match logs::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(tests) => tests,
        Err((line, message)) => {
            refuse(format!("line {line}: {message}"));
            return None;
        }
    };
    let programs = programs(arguments, report);
    let find = |name: &str| {
        let (_, file, text, names) = programs.iter().find(|(known, ..)| known == name)?;
        let models = names.iter().filter_map(|name| models.shipped(name));
        let models: Vec<ModelIdentity> = models.map(|model| model.identity.clone()).collect();
        Some(((file.clone(), text.clone()), models))
    };
    let record = logs::to_record(tests, env!("CARGO_PKG_VERSION"), &find);
    Some(Recorded { name, record, libraries: model::library::shipped() })
}

/// A record and the libraries that it was made with.
fn with_libraries(name: String, mut record: Record, report: &mut Report<'_>) -> Option<Recorded> {
    match libraries::recorded(&record.header.libraries) {
        Ok((libraries, remarks)) => {
            record.remarks.extend(remarks);
            Some(Recorded { name, record, libraries })
        }
        Err(problems) => {
            problems.into_iter().for_each(|problem| report.problem(problem));
            None
        }
    }
}

/// Name, file, text and models of the tests that --tests names.
fn programs(
    arguments: &Arguments,
    report: &mut Report<'_>,
) -> Vec<(String, String, String, Vec<String>)> {
    let (inputs, unreadable) = input::collect(&arguments.tests, &["litmus"]);
    unreadable.into_iter().for_each(|problem| report.problem(problem));
    let mut programs = Vec::new();
    for input in inputs {
        let (loaded, found) = input::load_test(&input);
        found.into_iter().for_each(|problem| report.problem(problem));
        if let Some((test, source)) = loaded {
            programs.push((test.name, source.name.clone(), source.text.clone(), test.models));
        }
    }
    programs
}

/// Makes the report, writes it, and says on the terminal what it comes to.
fn full(arguments: &Arguments, sources: &[Recorded], models: &Models, report: &mut Report<'_>) {
    let as_judge = |model: Arc<LoadedModel>| {
        Arc::new(Judge {
            identity: model.identity.clone(),
            model: model.model().clone(),
            argument: model.argument.clone(),
            is_own: model.is_own,
        })
    };
    let solver = arguments.solver.request();
    let request = reports::Request {
        chosen: models.chosen.iter().cloned().map(as_judge).collect(),
        shipped: &|name| models.named(name).map(as_judge),
        options: &|| solver.options(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        examined: if arguments.thorough { usize::MAX } else { reports::Request::EXAMINED },
        mutant_runs: arguments.mutants,
        mutant_budget: reports::Request::MUTANT_BUDGET,
        has_baseline: arguments.baseline.is_some(),
    };
    let made = reports::compute(sources, &request);
    made.remarks.iter().for_each(|remark| report.terminal.note(remark));
    if let Some(folder) = &arguments.output
        && let Err(failure) = write(folder, &made)
    {
        match failure {
            Failure::Unwritable(path, why) => report.problem(output::problem(&path, &why)),
            Failure::Usage(why) | Failure::Unusable(_, why) | Failure::Bug(why) => {
                report.internal_error(&folder.to_string_lossy(), &why);
            }
        }
    }
    report.exit.raise(exit(&made));
    // As JSON, they are among the results already.
    if arguments.format.report() == Format::Table {
        tell_errors(&made, report);
    }
    let is_quiet = report.look().quiet && report.exit == Exit::Fine;
    if !is_quiet && !arguments.format.is_log() {
        tell(arguments, &made, report);
    }
}

/// What the report comes to, on the terminal.
fn tell(arguments: &Arguments, made: &data::Report, report: &mut Report<'_>) {
    let look = report.look();
    let mut text = look.fit(&made.verdict.line);
    if !made.verdict.confidence.is_empty() {
        text.push_str(&look.fit(&format!("  confidence: {}", made.verdict.confidence)));
    }
    for variant in &made.variants {
        text.push_str(&look.fit(&format!("  {}", variant.line)));
    }
    if let Some(comparison) = &made.comparison {
        let refused = comparison.refused.len();
        text.push_str(&look.fit(&format!(
            "  {} tests compared, {} outcomes differ, {} violations are new, {} are gone; {refused} tests not compared",
            comparison.common,
            comparison.rows.len(),
            comparison.new_violations.len(),
            comparison.gone_violations.len(),
        )));
        for new in comparison.new_violations.iter().take(20) {
            text.push_str(&look.fit(&format!("  new: {new}")));
        }
    }
    if let Some(folder) = arguments.output.as_ref().filter(|_| report.exit < Exit::Unwritable) {
        text.push_str(&format!("  written: {}\n", folder.join("report.html").display()));
    }
    report.tell(&text);
}

/// How many errors are told on the terminal.
const ERRORS: usize = 20;

/// What broke, and what is of no use. Other tests may show a violation, which weighs more.
fn tell_errors(made: &data::Report, report: &mut Report<'_>) {
    for error in made.errors.iter().take(ERRORS) {
        let data::Broken { test, file, code, message } = error;
        let code = if code == reports::BROKE { reports::BROKE } else { "unusable-record" };
        report.failure(Problem::of_file(file, code, format!("{test}: {message}")));
    }
    let more = made.errors.len().saturating_sub(ERRORS);
    if more > 0 {
        report
            .terminal
            .note(&format!("{more} more tests broke or are unusable; the report lists them"));
    }
}

/// What the report means for CI: nothing is what it must not take for an answer.
fn exit(report: &data::Report) -> Exit {
    let verdict = &report.verdict;
    let was_run = |run: usize| report.tests.iter().any(|test| test.run == run && test.finished > 0);
    let is_empty = |(run, of): (usize, &data::RunReport)| !of.is_baseline && !was_run(run);
    let is_open = verdict.inconclusive > 0
        || verdict.failed > 0
        || verdict.unusable > 0
        || verdict.interrupted > 0
        || report.runs.iter().enumerate().any(is_empty);
    let baseline = report.comparison.as_ref().filter(|_| report.runs[0].is_baseline);
    let (violations, is_unanswered) = match baseline {
        Some(comparison) => (comparison.new_violations.len(), comparison.unanswered > 0),
        None => (verdict.violations, false),
    };
    match violations {
        0 if is_open || is_unanswered => Exit::Unknown,
        0 => Exit::Fine,
        _ => Exit::Violation,
    }
}

fn write(folder: &Path, report: &data::Report) -> Result<(), Failure> {
    let text = |error: minijinja::Error| Failure::Bug(format!("{error:#}"));
    let pages = Pages::new().map_err(text)?;
    let json = serde_json::to_string_pretty(report);
    let json = json.map_err(|error| Failure::Bug(error.to_string()))?;
    let files = [
        ("report.html", pages.html(report).map_err(text)?),
        ("report.md", pages.markdown(report).map_err(text)?),
        ("report.json", json + "\n"),
        ("junit.xml", pages.other("junit.xml", junit::document(report)).map_err(text)?),
    ];
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, error))?;
    for (name, content) in files {
        let path = folder.join(name);
        let written = files::replace(&path, content.as_bytes());
        written.map_err(|error| Failure::unwritable(&path, error))?;
    }
    Ok(())
}

/// The record as blocks of a log.
fn log(record: &Record, report: &mut Report<'_>) {
    for recorded in &record.tests {
        let source = Arc::new(Source::new(recorded.file.as_str(), recorded.program.as_str()));
        let (test, diagnostics) = litmus::load(&source);
        let Some(test) = test else {
            problems(&source, diagnostics).into_iter().for_each(|problem| report.problem(problem));
            continue;
        };
        match recorded.observations(&test) {
            Ok(seen) if seen.finished() > 0 => {
                let block = logs::block(&test, &recorded.program_hash, &seen);
                report.terminal.out(&block);
            }
            Ok(_) => {}
            Err(name) => {
                let message = format!("the record has a state without a value of `{name}`");
                report.problem(Problem::of_file(&recorded.file, "unusable-record", message));
            }
        }
    }
}

fn one(
    record: &Record,
    models: &Models,
    request: &Request,
    only: &OnlyOption,
    changed: &mut BTreeSet<String>,
    report: &mut Report<'_>,
) {
    let input = |test: &TestRecord| Input { path: PathBuf::from(&test.file), is_named: true };
    let inputs: Vec<Input> = record.tests.iter().map(input).collect();
    let mut layout = Layout::new(report.look(), inputs.len() <= 4, &inputs);
    for test in &record.tests {
        let reason = test.reason.clone().unwrap_or_default();
        if test.status == Status::Failed {
            report.failure(Problem::of_file(&test.file, "backend-failed", reason.clone()));
        }
        if test.status == Status::Skipped {
            let models = test.models.iter();
            for model in models.map(|model| model.name.clone()) {
                let (test, file) = (test.test.clone(), test.file.clone());
                report.skip(Skip { test, file, model, reason: reason.clone() });
            }
        } else if test.iterations > 0 {
            if test.status == Status::Interrupted {
                report.exit.raise(Exit::Unknown);
            }
            for identity in &test.models {
                let now = models.named(&identity.name);
                if now.is_some_and(|now| now.identity.hash != identity.hash) {
                    changed.insert(identity.name.clone());
                }
            }
            judge_again(record, test, models, request, (&mut layout, only), report);
        }
    }
}

fn judge_again(
    record: &Record,
    recorded: &TestRecord,
    models: &Models,
    request: &Request,
    (layout, only): (&mut Layout, &OnlyOption),
    report: &mut Report<'_>,
) {
    let source = Arc::new(Source::new(recorded.file.as_str(), recorded.program.as_str()));
    let (test, diagnostics) = litmus::load(&source);
    let Some(test) = test else {
        problems(&source, diagnostics).into_iter().for_each(|problem| report.failure(problem));
        return;
    };
    let seen = match recorded.observations(&test) {
        Ok(seen) => seen,
        Err(name) => {
            let message = format!("the record has a state without a value of `{name}`");
            report.failure(Problem::of_file(&recorded.file, "unusable-record", message));
            return;
        }
    };
    let mut results = Vec::new();
    for model in judges(recorded, models, report) {
        let found = match record.header.unjudgeable() {
            Some(reason) if !model.is_own => Ok((None, Some(reason))),
            _ => allowed(&test, &model, request),
        };
        match found {
            Ok((allowed, reason)) => {
                let judged = judge(allowed.as_ref(), &seen);
                let measured = (recorded, record.header.backend.as_str());
                results.push(RunResult::new(&test, measured, &model, judged, reason));
            }
            Err(errors) => {
                problems(&source, errors).into_iter().for_each(|problem| report.failure(problem));
            }
        }
    }
    results.iter().for_each(|result| report.count(result.status()));
    layout.print(&results, only, report);
}

/// The models of the command line, or those that judged it when it was recorded.
fn judges(
    recorded: &TestRecord,
    models: &Models,
    report: &mut Report<'_>,
) -> Vec<Arc<LoadedModel>> {
    if !models.chosen.is_empty() {
        return models.chosen.clone();
    }
    if recorded.models.is_empty() {
        let (test, file) = (recorded.test.clone(), recorded.file.clone());
        let (model, reason) = ("any".to_owned(), reports::NO_MODEL.to_owned());
        report.skip(Skip { test, file, model, reason });
        report.exit.raise(Exit::Unknown);
    }
    let mut found = Vec::new();
    for identity in &recorded.models {
        match models.named(&identity.name) {
            Some(model) => found.push(model),
            None => {
                let message = format!(
                    "the model `{}` is not shipped; name its file with --model",
                    identity.name
                );
                let (test, file) = (recorded.test.clone(), recorded.file.clone());
                report.skip(Skip { test, file, model: identity.name.clone(), reason: message });
                report.exit.raise(Exit::Unknown);
            }
        }
    }
    found
}
