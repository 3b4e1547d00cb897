//! Results of records test by test: as JSON, as a log, and with `-v` or `--only` as `litmus run` shows them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use evidence::record::{Record, Status, TestRecord};
use evidence::reports::judging::asking::ModelSays;
use evidence::reports::{self, logs};
use lang::litmus;
use lang::source::Source;

use crate::commands::run::result::{Layout, RunResult};
use crate::commands::run::runner::allowed;
use crate::engine::Request;
use crate::exit::Exit;
use crate::input::Input;
use crate::models::{LoadedModel, Models};
use crate::problem::{Problem, problems};
use crate::select::OnlyOption;
use crate::sink::{Sink, Skip};

/// The record as blocks of a log.
pub fn log(record: &Record, report: &mut Sink<'_>) {
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

/// Each test of a record, judged and shown as `litmus run` shows it.
pub fn one(
    record: &Record,
    models: &Models,
    request: &Request,
    only: &OnlyOption,
    changed: &mut BTreeSet<String>,
    report: &mut Sink<'_>,
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
    report: &mut Sink<'_>,
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
            Some(reason) if !model.is_own => {
                Ok(ModelSays { reason: Some(reason), ..ModelSays::default() })
            }
            _ => allowed(&test, model.model(), request),
        };
        match found {
            Ok(said) => {
                let measured = (recorded, record.header.backend.as_str());
                results.push(RunResult::new(&test, measured, &model, &seen, said));
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
fn judges(recorded: &TestRecord, models: &Models, report: &mut Sink<'_>) -> Vec<Arc<LoadedModel>> {
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
