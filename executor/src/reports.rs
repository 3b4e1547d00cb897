//! Reports: what records say of machines, as data, computed from records and models and nothing else.
//!
//! [`compute`] judges every test again ([`judging`]), explains what is forbidden and was seen (`findings`), looks
//! for the nearest model that would allow it (`variants`), and says what silence is worth (`evidence`,
//! `silence`). The same records, models and version give the same report.

mod commands;
pub mod compare;
pub mod data;
mod evidence;
mod findings;
pub mod judging;
pub mod logs;
mod setup;
mod silence;
pub mod statistics;
#[cfg(test)]
mod tests;
mod variants;
mod words;

use std::sync::Arc;

use compiler::library::Libraries;
use lang::cat::model::Model;
use model::allowed::Options;

use crate::record::{ModelIdentity, Record, Status};
pub use commands::quote;
use data::{Report, SCHEMA, Setting, Skipped, Verdict};
use judging::Judged;

/// A model that judges.
#[derive(Clone, Debug)]
pub struct Judge {
    /// Its name and hash.
    pub identity: ModelIdentity,
    /// The model.
    pub model: Model,
    /// What `--model` takes for it.
    pub argument: String,
    /// Whether it came from a file of the user's.
    pub is_own: bool,
}

/// A record, and the file that it is from.
#[derive(Clone)]
pub struct Source {
    /// The file, as messages name it.
    pub name: String,
    /// What it holds.
    pub record: Record,
    /// The libraries that its programs use.
    pub libraries: &'static Libraries,
}

/// How to report.
pub struct Request<'a> {
    /// The models that judge; those that each test was judged by when it was recorded, if there are none.
    pub chosen: Vec<Arc<Judge>>,
    /// Finds a shipped model.
    pub shipped: &'a (dyn Fn(&str) -> Option<Arc<Judge>> + Sync),
    /// How to ask what is allowed, anew for each question.
    pub options: &'a (dyn Fn() -> Options + Sync),
    /// The version of litmus.
    pub tool: String,
    /// How many pairs of program and model are examined for evidence; the smallest programs first.
    pub examined: usize,
    /// How often each test is run on each mutant at most; 0 for no mutation score.
    pub mutant_runs: u64,
    /// How many runs a mutant gets in all.
    pub mutant_budget: u64,
    /// Whether the first record is only there for the others to be compared with.
    pub has_baseline: bool,
}

impl Request<'_> {
    /// Pairs of program and model that are examined unless somebody asks for more.
    pub const EXAMINED: usize = 600;
    /// Runs of each test on a mutant.
    pub const MUTANT_RUNS: u64 = 1000;
    /// Runs that a mutant gets.
    pub const MUTANT_BUDGET: u64 = 400_000;

    /// The first of the records that the report is about.
    fn first(&self) -> usize {
        usize::from(self.has_baseline)
    }
}

/// Makes a report. What a baseline has is in the comparison, and nowhere else.
pub fn compute(sources: &[Source], request: &Request<'_>) -> Report {
    let first = request.first().min(sources.len());
    let known = judging::Known::new(request);
    let baseline = judging::judge_all(sources, 0..first, &known);
    let judged = judging::judge_all(sources, first..sources.len(), &known);
    let mut findings = findings::findings(sources, &judged, request);
    let variants = variants::variants(&judged, &mut findings, request);
    findings::smallest(&judged, &mut findings);
    let evidence = evidence::tables(&judged, &variants, request);
    let mut silence = silence::silence(sources, &judged, request);
    silence.cells = evidence.cells;
    silence.cells_tested = evidence.tested;
    let comparison = (sources.len() > 1)
        .then(|| compare::compare(sources, baseline.tests.iter().chain(&judged.tests)));
    let runs = setup::runs(sources, first);
    let tests: Vec<_> = judged.tests.iter().map(|test| test.report.clone()).collect();
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        tool: request.tool.clone(),
        verdict: Verdict::default(),
        runs,
        models: judged.models.clone(),
        findings: findings.into_iter().map(|found| found.finding).collect(),
        variants,
        tests,
        tables: evidence.tables,
        silence,
        cannot_tell: Vec::new(),
        skipped: judged.skipped.clone(),
        errors: judged.errors.clone(),
        remarks: remarks(sources, &judged, &baseline, request),
        comparison,
    };
    report.verdict = verdict(&report);
    report.cannot_tell = silence::cannot_tell(&sources[first..], &report);
    report
}

fn remarks(
    sources: &[Source],
    judged: &Judged,
    baseline: &Judged,
    request: &Request<'_>,
) -> Vec<String> {
    let mut remarks = Vec::new();
    for broken in &baseline.errors {
        let (test, message) = (&broken.test, &broken.message);
        remarks.push(format!("{}: {test}: {message}", sources[0].name));
    }
    for source in sources {
        let of_record = source.record.remarks.iter();
        remarks.extend(of_record.map(|remark| format!("{}: {remark}", source.name)));
    }
    for source in sources {
        remarks.extend(other_tool(source, &request.tool));
    }
    for model in &judged.models {
        if model.recorded_hash.is_some() {
            let name = &model.name;
            remarks.push(format!("{name} is another text now than when it was recorded"));
        }
    }
    remarks
}

/// What to say of a record of another version of litmus.
pub fn other_tool(source: &Source, tool: &str) -> Option<String> {
    let recorded = &source.record.header.tool;
    (recorded != tool)
        .then(|| format!("{}: made by litmus {recorded}, and read by litmus {tool}", source.name))
}

/// The verdict. What is forbidden and was seen outweighs everything.
fn verdict(report: &Report) -> Verdict {
    let tests = report.tests.iter().filter(|test| test.finished > 0).count();
    let violating = |test: &&data::TestReport| test.judgement == "violation";
    let count =
        |judgement: &str| report.tests.iter().filter(|test| test.judgement == judgement).count();
    let status = |status: &str| report.tests.iter().filter(|test| test.status == status).count();
    let mut verdict = Verdict {
        tests,
        violations: report.findings.len(),
        violating_tests: report.tests.iter().filter(violating).count(),
        unseen: report.silence.unseen.len(),
        inconclusive: count("inconclusive"),
        skipped: report.skipped.iter().filter(|skip| skip.model.is_none()).count(),
        failed: status("failed"),
        interrupted: status("interrupted"),
        unusable: report.errors.iter().filter(|one| one.code != BROKE).count(),
        runs: report.tests.iter().map(|test| test.finished).fold(0, u64::saturating_add),
        ..Verdict::default()
    };
    verdict = verdict.described();
    verdict.confidence = confidence(report, &verdict);
    verdict
}

impl Verdict {
    /// With the word and the line that follow from the numbers.
    #[must_use]
    pub fn described(self) -> Self {
        let mut verdict = self;
        let tests = verdict.tests;
        verdict.word = if verdict.violations > 0 {
            "violation"
        } else if tests == 0 {
            "nothing-tested"
        } else if verdict.inconclusive > 0 || verdict.failed > 0 || verdict.unusable > 0 {
            "inconclusive"
        } else {
            "conforms"
        }
        .to_owned();
        let counted = |number: usize, what: &str| {
            if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
        };
        let head = match verdict.word.as_str() {
            "violation" => format!(
                "VIOLATION: {} on {} of {}",
                counted(verdict.violations, "forbidden outcome"),
                verdict.violating_tests,
                counted(tests, "test")
            ),
            "nothing-tested" => "nothing was tested".to_owned(),
            "inconclusive" => format!(
                "no violation on {} · {} inconclusive",
                counted(tests, "test"),
                verdict.inconclusive
            ),
            _ => format!("conforms on {} · 0 violations", counted(tests, "test")),
        };
        let mut parts = vec![head];
        let more = [
            (verdict.unseen, "never seen"),
            (verdict.failed, "broke"),
            (verdict.unusable, "unusable"),
            (verdict.interrupted, "stopped early"),
            (verdict.skipped, "skipped"),
        ];
        for (number, what) in more {
            match what {
                "never seen" => {
                    parts.push(format!("{} {what}", counted(number, "allowed outcome")))
                }
                _ if number > 0 => parts.push(format!("{} {what}", counted(number, "test"))),
                _ => {}
            }
        }
        verdict.line = parts.join(" · ");
        verdict
    }
}

fn confidence(report: &Report, verdict: &Verdict) -> String {
    let silence = &report.silence;
    if verdict.violations > 0 {
        return "certain as far as the model is right: one forbidden outcome is enough, and each comes with its cycle".to_owned();
    }
    if verdict.tests == 0 {
        return "none".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(bound) = silence.worst_bound {
        parts.push(format!(
            "a forbidden outcome that was missed has a rate below {} in every test (95 %, rule of three)",
            percent(bound)
        ));
    }
    if silence.twins > 0 {
        parts.push(format!(
            "the stress provoked the allowed twin in {} of {} tests that have one",
            silence.twins_seen, silence.twins
        ));
    }
    if let Some(mutants) = &silence.mutants {
        parts.push(mutants.score());
    }
    parts.join("; ")
}

/// A rate for people: `0.15 %`.
pub fn percent(rate: f64) -> String {
    let percent = rate * 100.0;
    if percent == 0.0 {
        "0 %".to_owned()
    } else if percent >= 10.0 {
        format!("{percent:.0} %")
    } else {
        let digits = (1 - percent.log10().floor() as i32).clamp(0, 12) as usize;
        let text = format!("{percent:.digits$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        format!("{text} %")
    }
}

/// The code of errors of backends: such a test broke, and all others are of no use as they are recorded.
pub const BROKE: &str = "backend-failed";

/// Why a test is not judged that was recorded under no model.
pub const NO_MODEL: &str = "the record names no model for it; name one with --model";

fn setting(name: &str, value: impl Into<String>) -> Setting {
    Setting { name: name.to_owned(), value: value.into() }
}

fn skip(test: &str, file: &str, model: Option<&str>, reason: impl Into<String>) -> Skipped {
    Skipped {
        test: test.to_owned(),
        file: file.to_owned(),
        model: model.map(str::to_owned),
        reason: reason.into(),
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Skipped => "skipped",
        Status::Failed => "failed",
    }
}
