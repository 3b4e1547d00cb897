//! Reports as JUnit XML, for CI systems: a suite for each record, a case for each test.

use executor::reports::data::{Broken, Report, ResultReport, TestReport};
use serde::Serialize;

/// What the template is filled with.
#[derive(Serialize)]
pub struct Document {
    total: Total,
    suites: Vec<Suite>,
}

#[derive(Default, Serialize)]
struct Total {
    tests: usize,
    failures: usize,
    errors: usize,
}

#[derive(Serialize)]
struct Suite {
    name: String,
    started: Option<String>,
    failures: usize,
    errors: usize,
    skipped: usize,
    properties: Vec<Property>,
    cases: Vec<Case>,
}

#[derive(Serialize)]
struct Property {
    name: String,
    value: String,
}

#[derive(Default, Serialize)]
struct Case {
    group: String,
    name: String,
    /// `failure`, `error`, `skipped`, or nothing.
    kind: &'static str,
    r#type: &'static str,
    message: String,
    text: String,
    out: String,
}

/// The cases of a report. What is inconclusive counts as skipped: it neither passed nor failed.
pub fn document(report: &Report) -> Document {
    let mut suites = Vec::new();
    let mut total = Total::default();
    let about = report.runs.iter().enumerate().filter(|(_, run)| !run.is_baseline);
    for (index, run) in about {
        let tests = report.tests.iter().enumerate().filter(|(_, test)| test.run == index);
        let mut cases: Vec<Case> = tests.map(|(at, test)| case(report, at, test)).collect();
        if suites.is_empty() {
            cases.extend(left_out(report));
        }
        let count = |kind: &str| cases.iter().filter(|case| case.kind == kind).count();
        let (failures, errors, skipped) = (count("failure"), count("error"), count("skipped"));
        total.tests += cases.len();
        total.failures += failures;
        total.errors += errors;
        let settings = run.summary.iter();
        let properties =
            settings.map(|one| Property { name: one.name.clone(), value: one.value.clone() });
        suites.push(Suite {
            name: run.subject.clone(),
            started: run.started.as_ref().map(|at| at.trim_end_matches('Z').to_owned()),
            failures,
            errors,
            skipped,
            properties: properties.collect(),
            cases,
        });
    }
    Document { total, suites }
}

fn left_out(report: &Report) -> Vec<Case> {
    let is_listed = |one: &Broken| {
        report.tests.iter().any(|test| test.name == one.test && test.file == one.file)
    };
    let skipped = report.skipped.iter().filter(|skip| skip.model.is_none()).map(|skip| Case {
        group: "skipped".to_owned(),
        name: skip.test.clone(),
        kind: "skipped",
        message: skip.reason.clone(),
        ..Case::default()
    });
    let broken = report.errors.iter().filter(|one| !is_listed(one)).map(|one| Case {
        group: "errors".to_owned(),
        name: one.test.clone(),
        kind: "error",
        r#type: "error",
        message: one.message.clone(),
        ..Case::default()
    });
    skipped.chain(broken).collect()
}

fn case(report: &Report, index: usize, test: &TestReport) -> Case {
    let mut case = Case {
        group: test.group.clone(),
        name: test.name.clone(),
        out: test.results.iter().map(histogram).collect(),
        ..Case::default()
    };
    let findings: Vec<_> = report.findings.iter().filter(|one| one.index == index).collect();
    let error = report
        .errors
        .iter()
        .find(|one| one.test == test.name && one.file == test.file && test.status == "failed");
    if let Some(first) = findings.first() {
        case.kind = "failure";
        case.r#type = "violation";
        case.message = format!(
            "{} was seen in {} of {} runs and is forbidden by {}",
            first.outcome,
            first.count,
            first.finished,
            first.models.join(", ")
        );
        for finding in findings {
            case.text.push_str(&format!("{}: {}\n", finding.outcome, finding.why));
            for step in &finding.steps {
                let (event, relation, because) = (&step.event, &step.relation, &step.because);
                case.text.push_str(&format!("  {event} -> {relation}: {because}\n"));
            }
            case.text.push_str(&format!("  again: {}\n", finding.reproduce));
        }
    } else if let Some(error) = error {
        case.kind = "error";
        case.r#type = "backend-failed";
        case.message.clone_from(&error.message);
    } else if test.judgement == "inconclusive" {
        case.kind = "skipped";
        let reason = test.results.iter().find_map(|result| result.reason.clone());
        case.message =
            format!("inconclusive: {}", reason.unwrap_or_else(|| "no finished run".to_owned()));
    }
    case
}

fn histogram(result: &ResultReport) -> String {
    let rows = result.rows.iter().take(64);
    let rows = rows.map(|row| format!("  {:>12}  {}  {}\n", row.count, row.outcome, row.judgement));
    format!("{}: {}\n{}", result.models.join(", "), result.judgement, rows.collect::<String>())
}
