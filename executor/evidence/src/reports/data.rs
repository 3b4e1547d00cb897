//! The report as data. Everything that HTML, Markdown and JUnit show is here, and JSON is this and nothing
//! else.
//!
//! Everything that depends on a machine says which: by `run`, the number of its record among
//! [`Report::runs`], and by `machine`, where one record has several (the simulator plays as many as the
//! models name).

mod evidence;
mod findings;
mod runs;
mod tests;

use std::collections::BTreeMap;

use lang::diagnostic::Code;
use serde::Serialize;

use super::compare::Comparison;
use crate::judge::Conclusion;
pub use evidence::{
    CellEvidence, CellReport, Coverage, Mutant, MutantState, Mutants, TableReport, TableRow, Unseen,
};
pub use findings::{Cause, CycleEnd, CycleStep, Diagnosis, Finding, Lost, Nature, Rate, Without};
pub use runs::{Bounds, Group, MachineReport, RunReport, Setting, Tested, Verdict, VerdictWord};
pub use tests::{OutcomeKind, ProgramReport, ResultReport, Row, TestJudgement, TestReport, Twin};

/// The format of reports that this version writes.
pub const SCHEMA: &str = "litmus-report/2";

/// A conformance report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// `litmus-report/2`.
    pub schema: String,
    /// The version of litmus that made the report.
    pub tool: String,
    /// The verdict on the record, or the heaviest of several.
    pub verdict: Verdict,
    /// The records, in the order of the command line; the baseline first.
    pub runs: Vec<RunReport>,
    /// The models that judged.
    pub models: Vec<ModelReport>,
    /// For each record with violations, the nearest models that would allow what was seen.
    pub diagnoses: Vec<Diagnosis>,
    /// What violations have in common; those of most programs first.
    pub causes: Vec<Cause>,
    /// What was seen and is forbidden: the smallest programs first.
    pub findings: Vec<Finding>,
    /// The programs, each once, however many machines ran it.
    pub programs: Vec<ProgramReport>,
    /// Every program on every machine that ran it.
    pub tests: Vec<TestReport>,
    /// The tables of orders of the models, with the evidence for each cell, for each record.
    pub tables: Vec<TableReport>,
    /// What was not run, and why.
    pub skipped: Vec<Skipped>,
    /// What broke, and why.
    pub errors: Vec<Broken>,
    /// What is odd about the records.
    pub remarks: Vec<String>,
    /// The records side by side, if there are several.
    pub comparison: Option<Comparison>,
}

/// A model that judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelReport {
    /// Its name.
    pub name: String,
    /// What it calls itself.
    pub title: Option<String>,
    /// The hash of its text.
    pub hash: String,
    /// How many programs it judged.
    pub programs: usize,
    /// The hash that it had when a record was made, if that was another.
    pub recorded_hash: Option<String>,
}

/// A test that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The number of the record.
    pub run: usize,
    /// The test.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The machine that was asked for; empty if it is not of one.
    pub machine: String,
    /// The model, if only that did not judge it.
    pub model: Option<String>,
    /// Why.
    pub reason: String,
    /// Whether it was run and not judged because the model is not there, which leaves something unknown.
    #[serde(skip)]
    pub lacks_model: bool,
}

/// A test that broke, or a line of a record that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Broken {
    /// The number of the record.
    pub run: usize,
    /// The test.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The machine that was asked for.
    pub machine: String,
    /// A code for what went wrong.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub code: Code,
    /// What went wrong.
    pub message: String,
}

impl Broken {
    /// Whether the backend failed. Tests with any other code cannot be used as they are recorded.
    pub fn is_of_backend(&self) -> bool {
        self.code == Code::BackendFailed
    }

    /// The code that terminals show, of the whole test: places in a text are not shown with it.
    pub fn shown_code(&self) -> Code {
        if self.is_of_backend() { self.code } else { Code::UnusableRecord }
    }
}

impl Report {
    /// What the report means for the exit code.
    pub fn conclusion(&self) -> Conclusion {
        let verdict = &self.verdict;
        let was_run =
            |run: usize| self.tests.iter().any(|test| test.run == run && test.finished > 0);
        let is_open = verdict.is_open()
            || verdict.interrupted > 0
            || self.skipped.iter().any(|skip| skip.lacks_model)
            || self.subjects().any(|(run, _)| !was_run(run));
        let baseline = self.comparison.as_ref().filter(|_| self.runs[0].is_baseline);
        let (violations, is_unanswered) = match baseline {
            Some(comparison) => (comparison.new_violations.len(), comparison.unanswered > 0),
            None => (verdict.violations, false),
        };
        // A verdict of a file that was seen not to hold counts as one of `litmus allowed` does.
        match violations {
            0 if baseline.is_none() && verdict.against_file > 0 => Conclusion::Violated,
            0 if is_open || is_unanswered => Conclusion::Unknown,
            0 => Conclusion::Holds,
            _ => Conclusion::Violated,
        }
    }

    /// The records that the report is about: all but the baseline.
    pub fn subjects(&self) -> impl Iterator<Item = (usize, &RunReport)> {
        self.runs.iter().enumerate().filter(|(_, run)| !run.is_baseline)
    }

    /// What was left out for one reason, with how many tests and their names.
    pub fn skips_by_reason(&self) -> Vec<(String, Vec<&Skipped>)> {
        let mut reasons: BTreeMap<String, Vec<&Skipped>> = BTreeMap::new();
        for skip in &self.skipped {
            let reason = match &skip.model {
                Some(model) => format!("under {model}: {}", skip.reason),
                None => skip.reason.clone(),
            };
            reasons.entry(reason).or_default().push(skip);
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, skips)| std::cmp::Reverse(skips.len()));
        reasons
    }
}
