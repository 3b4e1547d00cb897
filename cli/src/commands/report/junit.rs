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
            started: run.started.as_deref().and_then(timestamp),
            failures,
            errors,
            skipped,
            properties: properties.collect(),
            cases,
        });
    }
    Document { total, suites }
}

/// A time as JUnit has it: `2026-01-02T03:04:05`. Records are read, so theirs can be anything.
fn timestamp(at: &str) -> Option<String> {
    let at = at.trim_end_matches('Z');
    let shape = "0000-00-00T00:00:00";
    let fits = |(known, found): (char, char)| match known {
        '0' => found.is_ascii_digit(),
        _ => known == found,
    };
    if at.len() != shape.len() || !shape.chars().zip(at.chars()).all(fits) {
        return None;
    }
    let number = |from: usize| at.get(from..from + 2)?.parse::<u32>().ok();
    let is_in = |from: usize, low: u32, high: u32| {
        number(from).is_some_and(|number| (low..=high).contains(&number))
    };
    let is_time = is_in(5, 1, 12)
        && is_in(8, 1, 31)
        && is_in(11, 0, 23)
        && is_in(14, 0, 59)
        && is_in(17, 0, 59);
    is_time.then(|| at.to_owned())
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
        let reason = reason.unwrap_or_else(|| {
            let is_judged = !test.results.is_empty();
            if is_judged { "no finished run" } else { "no model judged it" }.to_owned()
        });
        case.message = format!("inconclusive: {reason}");
    }
    case
}

fn histogram(result: &ResultReport) -> String {
    let rows = result.rows.iter().take(64);
    let rows = rows.map(|row| format!("  {:>12}  {}  {}\n", row.count, row.outcome, row.judgement));
    format!("{}: {}\n{}", result.models.join(", "), result.judgement, rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn times_are_times() {
        assert_eq!(timestamp("2026-01-02T03:04:05Z").as_deref(), Some("2026-01-02T03:04:05"));
        for wrong in [
            "",
            "yesterday",
            "2026-13-02T03:04:05Z",
            "2026-01-02T03:04:05\"/>",
            "２026-01-02T03:04:5",
        ] {
            assert_eq!(timestamp(wrong), None, "{wrong}");
        }
    }
}
