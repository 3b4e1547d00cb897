//! Reports of records, made and written.

use std::mem::ManuallyDrop;
use std::path::Path;

use campaign::files::Written;
use evidence::judge::Answers;
use evidence::reports::rejudge::{JudgedLine, judge_lines};
use evidence::reports::{self, Source as Recorded, data};
use model::engine::Request;

use super::junit;
use crate::models::Models;
use crate::output::{self, Failure};
use crate::pages::Pages;
use crate::shell::CommandLine;
use crate::sink::Sink;

/// How to make a report.
pub struct Making<'a> {
    /// The models that judge, and the shipped ones.
    pub models: &'a Models,
    /// What models allow.
    pub answers: &'a Answers<'a>,
    /// How to ask other questions.
    pub request: Request<'static>,
    /// Whether all programs are examined for evidence.
    pub is_thorough: bool,
    /// How often each test is run on each broken simulator.
    pub mutants: u64,
    /// Whether the first record is a baseline.
    pub has_baseline: bool,
}

impl Making<'_> {
    /// Judges every line of some records.
    pub fn judge<'r>(&self, sources: &'r [Recorded]) -> Vec<JudgedLine<'r>> {
        self.with(|request| judge_lines(sources, request))
    }

    /// Makes the report of lines that were judged.
    pub fn make(&self, sources: &[Recorded], lines: Vec<JudgedLine<'_>>) -> data::Report {
        self.with(|request| reports::compute(sources, lines, request))
    }

    fn with<T>(&self, work: impl FnOnce(&reports::Request<'_>) -> T) -> T {
        work(&reports::Request {
            chosen: self.models.chosen.iter().map(|model| model.judge()).collect(),
            shipped: &|name| self.models.named(name).map(|model| model.judge()),
            answers: self.answers,
            options: &|| self.request.options(),
            shell: &CommandLine,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            examined: if self.is_thorough { usize::MAX } else { reports::Request::EXAMINED },
            mutant_runs: self.mutants,
            mutant_budget: reports::Request::MUTANT_BUDGET,
            has_baseline: self.has_baseline,
        })
    }
}

/// Writes a report's files into a folder; whether that worked. If not, the reason has been printed. The
/// memory of the pages is not freed: the program ends soon.
pub fn written(folder: &Path, made: &data::Report, sink: &mut Sink<'_>) -> bool {
    match write(folder, made) {
        Ok(()) => return true,
        Err(Failure::Unwritable(path, why)) => sink.problem(output::problem(&path, &why)),
        Err(Failure::Usage(why) | Failure::Unusable(_, why) | Failure::Bug(why)) => {
            sink.internal_error(&folder.to_string_lossy(), &why);
        }
    }
    false
}

/// Makes and writes the files by all cores. None has its place before all are made.
fn write(folder: &Path, made: &data::Report) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, error))?;
    let bug = |error: minijinja::Error| Failure::Bug(format!("{error:#}"));
    let file = |name: &str, content: &str| {
        let written = Written::beside(&folder.join(name), content.as_bytes());
        written.map_err(|(path, error)| Failure::unwritable(&path, error))
    };
    let json = || {
        let json = serde_json::to_string_pretty(made);
        file("report.json", &(json.map_err(|error| Failure::Bug(error.to_string()))? + "\n"))
    };
    let pages = || {
        let pages = ManuallyDrop::new(Pages::new(made).map_err(bug)?);
        let html = || file("report.html", &pages.html().map_err(bug)?);
        let markdown = || file("report.md", &pages.markdown().map_err(bug)?);
        let junit =
            || file("junit.xml", &pages.other("junit.xml", junit::document(made)).map_err(bug)?);
        let (html, (junit, markdown)) = rayon::join(html, || rayon::join(junit, markdown));
        Ok([html?, junit?, markdown?])
    };
    let (json, pages) = rayon::join(json, pages);
    let [html, junit, markdown] = pages?;
    let written = Written::place(vec![html, markdown, json?, junit]);
    written.map_err(|(path, error)| Failure::unwritable(&path, error))
}
