//! `litmus report`: records judged again, without the machines that made them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use executor::judge::judge;
use executor::record::{Record, Status, TestRecord};
use lang::litmus;
use lang::source::Source;
use serde_json::json;

use super::run::plan::unjudgeable;
use super::run::result::{Layout, RunResult};
use super::run::runner::allowed;
use crate::engine::Request;
use crate::exit::Exit;
use crate::input::Input;
use crate::models::{LoadedModel, Models};
use crate::options::{FormatOption, ModelOption, SolverOptions};
use crate::problem::{Problem, problems};
use crate::report::{Report, Skip};
use crate::terminal::Terminal;

/// Judge recorded runs again: by the models that they were judged by, or by others
#[derive(Args)]
pub struct Arguments {
    /// Records, as `litmus run --record` writes them
    #[arg(required = true, value_name = "RECORD")]
    records: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    solver: SolverOptions,
    #[command(flatten)]
    format: FormatOption,
}

/// Judges all tests of all records.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let head = [("schema", json!("litmus-run/1"))];
    let mut report = Report::new(terminal, arguments.format.format, &head);
    if let Some(models) = arguments.models.load(&mut report) {
        let request = arguments.solver.request();
        for path in &arguments.records {
            let name = path.to_string_lossy().into_owned();
            match Record::read(path) {
                Ok(record) => one(&record, &models, &request, &mut report),
                Err(error) => {
                    report.problem(Problem::of_file(&name, "unusable-record", error.to_string()));
                }
            }
        }
    }
    report.finish(&[], ["as allowed", "VIOLATION", "inconclusive"])
}

fn one(record: &Record, models: &Models, request: &Request, report: &mut Report<'_>) {
    let input = |test: &TestRecord| Input { path: PathBuf::from(&test.file), is_named: true };
    let inputs: Vec<Input> = record.tests.iter().map(input).collect();
    let layout = Layout::new(report.look(), inputs.len() <= 4, &inputs);
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
            judge_again(record, test, models, request, &layout, report);
        }
    }
}

fn judge_again(
    record: &Record,
    recorded: &TestRecord,
    models: &Models,
    request: &Request,
    layout: &Layout,
    report: &mut Report<'_>,
) {
    let source = Arc::new(Source::new(recorded.file.as_str(), recorded.program.as_str()));
    let (test, diagnostics) = litmus::load(&source);
    let Some(test) = test else {
        problems(&source, diagnostics).into_iter().for_each(|problem| report.problem(problem));
        return;
    };
    let seen = match recorded.observations(&test) {
        Ok(seen) => seen,
        Err(name) => {
            let message = format!("the record has a state without a value of `{name}`");
            report.problem(Problem::of_file(&recorded.file, "unusable-record", message));
            return;
        }
    };
    let mut results = Vec::new();
    for model in judges(recorded, models, report) {
        let found = match unjudgeable(&record.header.nodes) {
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
                problems(&source, errors).into_iter().for_each(|problem| report.problem(problem));
            }
        }
    }
    for (index, result) in results.iter().enumerate() {
        report.result(result.status(), || result.json(), || layout.draw(&results, index));
    }
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
    let mut found = Vec::new();
    for identity in &recorded.models {
        match models.shipped(&identity.name) {
            Some(model) => {
                if model.identity.hash != identity.hash {
                    let message =
                        format!("{} is another text now than when it was recorded", identity.name);
                    report.terminal.note(&message);
                }
                found.push(model);
            }
            None => {
                let message = format!(
                    "the model `{}` is not shipped; name its file with --model",
                    identity.name
                );
                let (test, file) = (recorded.test.clone(), recorded.file.clone());
                report.skip(Skip { test, file, model: identity.name.clone(), reason: message });
            }
        }
    }
    found
}
