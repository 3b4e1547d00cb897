//! Reports as JUnit XML, for CI systems: a suite for each file of each record, a case for each machine.
//!
//! Names say what was tested and nothing of when: they are the same from run to run, and no two cases share
//! one. Violations that the baseline has too do not count as failures. A suite has the file, since the
//! schemas of JUnit have no place for it in cases.

use std::collections::{BTreeMap, HashMap, HashSet};

use evidence::judge::Forbids;
use evidence::record::hash_text;
use evidence::reports::data::{
    Finding, Report, ResultReport, RunReport, TestJudgement, TestReport,
};
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
    time: String,
}

#[derive(Serialize)]
struct Suite {
    name: String,
    file: String,
    started: Option<String>,
    time: String,
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
    class: String,
    name: String,
    /// `failure`, `error`, `skipped`, or nothing.
    kind: &'static str,
    r#type: &'static str,
    message: String,
    text: String,
    out: String,
    time: String,
    #[serde(skip)]
    seconds: f64,
    #[serde(skip)]
    of: Identity,
}

/// What tells cases of a record apart.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Identity {
    file: String,
    test: String,
    machine: String,
    hash: String,
}

/// The cases of a report. What is inconclusive counts as skipped: it neither passed nor failed.
pub fn document(report: &Report) -> Document {
    let mut suites = Vec::new();
    let mut total = Total::default();
    let mut seconds = 0.0;
    let is_single = report.subjects().count() == 1;
    for (index, run) in report.subjects() {
        let mut cases = cases(report, index);
        let prefix = if is_single { String::new() } else { format!("{}.", record(report, run)) };
        name_cases(&mut cases, &prefix);
        let mut files: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for case in cases {
            seconds += case.seconds;
            files.entry(case.of.file.clone()).or_default().push(case);
        }
        for (number, (file, cases)) in files.into_iter().enumerate() {
            let mut suite = suite(run, (&prefix, file), cases, number == 0);
            if !is_single {
                // Some readers take the properties of all suites for one set, in which names are unique.
                suite
                    .properties
                    .iter_mut()
                    .for_each(|one| one.name = format!("{}: {}", run.key, one.name));
            }
            total.tests += suite.cases.len();
            total.failures += suite.failures;
            total.errors += suite.errors;
            suites.push(suite);
        }
    }
    total.time = time(seconds);
    Document { total, suites }
}

fn suite(
    run: &RunReport,
    (prefix, file): (&str, String),
    cases: Vec<Case>,
    is_first: bool,
) -> Suite {
    let count = |kind: &str| cases.iter().filter(|case| case.kind == kind).count();
    let settings = run.summary.iter().filter(|_| is_first);
    let properties =
        settings.map(|one| Property { name: one.name.clone(), value: one.value.clone() });
    Suite {
        name: format!("{prefix}{}", file.strip_suffix(".litmus").unwrap_or(&file)),
        started: run.started.as_deref().and_then(timestamp),
        time: time(cases.iter().map(|case| case.seconds).sum()),
        failures: count("failure"),
        errors: count("error"),
        skipped: count("skipped"),
        properties: properties.collect(),
        file,
        cases,
    }
}

/// What names of cases call a record: what was tested, if no other record tested the same, or else its file.
fn record(report: &Report, run: &RunReport) -> String {
    let same = report.subjects().filter(|(_, other)| other.subject == run.subject).count();
    let name = if same == 1 { &run.subject } else { &run.record };
    name.replace('.', "-")
}

/// Seconds as JUnit has them.
fn time(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// Gives cases the shortest names that no two of them share: the folder and the test, the way to the folder,
/// the program.
fn name_cases(cases: &mut [Case], prefix: &str) {
    let folder =
        |of: &Identity| of.file.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let named = |of: &Identity, level: usize| {
        let folder = folder(of);
        let class = match level {
            0 => folder.rsplit('/').next().unwrap_or_default().to_owned(),
            _ => folder.trim_matches('/').replace('/', "."),
        };
        let class = if class.is_empty() { "tests".to_owned() } else { class };
        let machine = match of.machine.as_str() {
            "" | "hardware" => String::new(),
            machine => format!(" on {machine}"),
        };
        let name = match level {
            0 | 1 => format!("{}{machine}", of.test),
            2 => format!("{}{machine} ({})", of.test, of.file),
            _ => format!("{}{machine} ({}, {})", of.test, of.file, of.hash),
        };
        (format!("{prefix}{class}"), name)
    };
    let mut levels = vec![0; cases.len()];
    for _ in 0..3 {
        let mut known: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (index, case) in cases.iter().enumerate() {
            known.entry(named(&case.of, levels[index])).or_default().push(index);
        }
        let clashes = known.into_values().filter(|same| same.len() > 1);
        clashes.flatten().for_each(|index| levels[index] += 1);
    }
    for (case, level) in cases.iter_mut().zip(levels) {
        (case.class, case.name) = named(&case.of, level);
    }
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

/// The cases of a record: what was run, what was skipped, and what cannot be used.
fn cases(report: &Report, run: usize) -> Vec<Case> {
    let tests = report.tests.iter().enumerate().filter(|(_, test)| test.run == run);
    let mut cases: Vec<Case> = tests.map(|(at, test)| case(report, at, test)).collect();
    let mut known: HashSet<(String, String, String)> = cases
        .iter()
        .map(|case| (case.of.file.clone(), case.of.test.clone(), case.of.machine.clone()))
        .collect();
    let errors = report.errors.iter().filter(|one| one.run == run);
    let errors = errors.map(|one| (&one.test, &one.file, &one.machine, "error", &one.message));
    let skips = report.skipped.iter().filter(|one| one.run == run);
    let skips = skips.map(|one| (&one.test, &one.file, &one.machine, "skipped", &one.reason));
    for (test, file, machine, kind, message) in errors.chain(skips) {
        if !known.insert((file.clone(), test.clone(), machine.clone())) {
            continue;
        }
        let of = Identity {
            file: file.clone(),
            test: test.clone(),
            machine: machine.clone(),
            hash: String::new(),
        };
        cases.push(Case {
            kind,
            r#type: kind,
            message: message.clone(),
            time: time(0.0),
            of,
            ..Case::default()
        });
    }
    cases
}

/// What a pass says of a program that may not be able to fail.
const UNDECIDED: &str =
    "it is not known whether this program could have shown a violation: a limit was reached\n";

fn case(report: &Report, index: usize, test: &TestReport) -> Case {
    let program = &report.programs[test.program];
    let seconds = test.seconds.unwrap_or_default();
    let mut case = Case {
        out: test.results.iter().map(histogram).collect(),
        time: time(seconds),
        seconds,
        of: Identity {
            file: program.file.clone(),
            test: test.name.clone(),
            machine: test.machine.clone(),
            hash: hash_text(&program.text)[..8].to_owned(),
        },
        ..Case::default()
    };
    if test.forbids == Forbids::Unknown && test.finished > 0 {
        case.out.push_str(UNDECIDED);
    }
    let findings = report.findings.iter().filter(|one| one.index == index);
    let (known, new): (Vec<&Finding>, Vec<&Finding>) = findings.partition(|one| one.is_known);
    for finding in known {
        let known = format!("known, the baseline has it too: {}\n", text(finding));
        case.out.push_str(&known);
    }
    let is_same = |file: &String, name: &String| *file == program.file && *name == test.name;
    let error = report.errors.iter().find(|one| {
        one.run == test.run && one.machine == test.machine && is_same(&one.file, &one.test)
    });
    if let Some(first) = new.first() {
        case.kind = "failure";
        case.r#type = "violation";
        case.message = format!(
            "{} was seen in {} of {} runs and is forbidden by {}",
            first.outcome,
            first.count,
            first.finished,
            first.models.join(", ")
        );
        case.text = new.into_iter().map(text).collect();
    } else if let Some(error) = error {
        case.kind = "error";
        case.r#type = if error.is_of_backend() { error.code.name() } else { "error" };
        case.message.clone_from(&error.message);
    } else if test.judgement == TestJudgement::Inconclusive {
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

/// A violation with the way to the contradiction.
fn text(finding: &Finding) -> String {
    let mut text = format!("{}: {}\n", finding.outcome, finding.why);
    if let Some(says) = &finding.says {
        text.push_str(&format!("  \"{says}\"\n"));
    }
    for step in &finding.steps {
        let (event, relation, because) = (&step.event, &step.relation, &step.because);
        text.push_str(&format!("  {event} -> {relation}: {because}\n"));
    }
    if let Some(end) = &finding.end {
        text.push_str(&format!("  {}: {}, {}\n", end.event, end.action, end.words));
    }
    text.push_str(&format!("  again: {}\n", finding.reproduce));
    text
}

fn histogram(result: &ResultReport) -> String {
    let rows = result.rows.iter().take(64);
    let says = |against: bool| if against { " (the file says ✗)" } else { "" };
    let rows = rows.map(|row| {
        let says = says(row.against_file);
        format!("  {:>12}  {}  {}{says}\n", row.count, row.outcome, row.judgement.name())
    });
    format!(
        "{}: {}\n{}",
        result.models.join(", "),
        result.judgement.name(),
        rows.collect::<String>()
    )
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
