//! Reports of records, made and written.

use std::path::Path;
use std::sync::Arc;

use campaign::files;
use evidence::reports::{self, Judge, Source as Recorded, data};

use super::junit;
use crate::commands::run::runner::allowed;
use crate::engine::Request;
use crate::exit::Exit;
use crate::models::{LoadedModel, Models};
use crate::output::{self, Failure};
use crate::pages::Pages;
use crate::shell::CommandLine;
use crate::sink::Sink;

/// How to make a report.
pub struct Making<'a> {
    /// The models that judge, and the shipped ones.
    pub models: &'a Models,
    /// How to ask what is allowed.
    pub request: Request,
    /// Whether all programs are examined for evidence.
    pub is_thorough: bool,
    /// How often each test is run on each broken simulator.
    pub mutants: u64,
    /// Whether the first record is a baseline.
    pub has_baseline: bool,
}

impl Making<'_> {
    /// Makes it.
    pub fn make(&self, sources: &[Recorded]) -> data::Report {
        let as_judge = |model: Arc<LoadedModel>| {
            Arc::new(Judge {
                identity: model.identity.clone(),
                model: model.model().clone(),
                argument: model.argument.clone(),
                is_own: model.is_own,
            })
        };
        reports::compute(
            sources,
            &reports::Request {
                chosen: self.models.chosen.iter().cloned().map(as_judge).collect(),
                shipped: &|name| self.models.named(name).map(as_judge),
                ask: &|test, model, libraries| {
                    allowed(test, model, &Request { libraries: Some(libraries), ..self.request })
                },
                options: &|| self.request.options(),
                shell: &CommandLine,
                tool: env!("CARGO_PKG_VERSION").to_owned(),
                examined: if self.is_thorough { usize::MAX } else { reports::Request::EXAMINED },
                mutant_runs: self.mutants,
                mutant_budget: reports::Request::MUTANT_BUDGET,
                has_baseline: self.has_baseline,
            },
        )
    }
}

/// Writes a report's files into a folder; whether that worked. If not, it has been said why.
pub fn written(folder: &Path, made: &data::Report, report: &mut Sink<'_>) -> bool {
    match write(folder, made) {
        Ok(()) => return true,
        Err(Failure::Unwritable(path, why)) => report.problem(output::problem(&path, &why)),
        Err(Failure::Usage(why) | Failure::Unusable(_, why) | Failure::Bug(why)) => {
            report.internal_error(&folder.to_string_lossy(), &why);
        }
    }
    false
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

/// What the report means for CI: nothing is what it must not take for an answer.
pub fn exit(report: &data::Report) -> Exit {
    let verdict = &report.verdict;
    let was_run = |run: usize| report.tests.iter().any(|test| test.run == run && test.finished > 0);
    let is_empty = |(run, of): (usize, &data::RunReport)| !of.is_baseline && !was_run(run);
    let is_open = verdict.inconclusive > 0
        || verdict.failed > 0
        || verdict.unusable > 0
        || verdict.interrupted > 0
        || report.skipped.iter().any(data::Skipped::lacks_model)
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
