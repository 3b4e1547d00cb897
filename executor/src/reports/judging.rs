//! Every test of every record judged again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use compiler::library::Libraries;
use lang::Test;
use lang::outcome::{Outcome, Value};
use model::allowed::Question;
use model::machine::{self, Variant};
use rayon::prelude::*;

use super::data::{Broken, ModelReport, ResultReport, Row, Skipped, TestReport};
use super::statistics::{bar, rule_of_three};
use super::{BROKE, Judge, NO_MODEL, Request, Source, skip, status_name};
use crate::judge::{AllowedSet, JudgedTest, Judgement, judge};
use crate::observation::Observations;
use crate::record::{Header, Status, TestRecord, hash_text, state_to_json};

/// All that records say.
pub struct Judged {
    /// Tests that were run, in the order of the records.
    pub tests: Vec<JudgedRecord>,
    /// What was not run, or not judged by some model.
    pub skipped: Vec<Skipped>,
    /// What broke.
    pub errors: Vec<Broken>,
    /// The models that judged.
    pub models: Vec<ModelReport>,
}

/// A line of a record, judged.
pub struct JudgedRecord {
    /// The test as text, for messages with places.
    pub source: Arc<lang::source::Source>,
    /// The libraries that it uses.
    pub libraries: &'static Libraries,
    /// The test.
    pub test: Test,
    /// What was seen.
    pub seen: Observations,
    /// What each model says.
    pub by: Vec<By>,
    /// The outcomes of a sequentially consistent machine, if they are known.
    pub sc: Option<Arc<BTreeSet<Outcome>>>,
    /// How large the program is, in characters: small ones explain best.
    pub size: usize,
    /// The program, the same for tests that have the same outcomes.
    pub body: String,
    /// As the report has it.
    pub report: TestReport,
}

/// A model's judgement.
pub struct By {
    /// The model.
    pub judge: Arc<Judge>,
    /// What it allows, if anything is known of it.
    pub allowed: Option<Arc<AllowedSet>>,
    /// What it says.
    pub judged: JudgedTest,
    /// Why not everything is known.
    pub reason: Option<String>,
}

/// What is allowed: nothing is known of it without a set, and a reason says why it is not all known.
pub type Allowed = (Option<Arc<AllowedSet>>, Option<String>);

/// Answers that tests with the same program share.
pub struct Known<'a> {
    request: &'a Request<'a>,
    allowed: Mutex<HashMap<(String, String), Allowed>>,
    sc: Mutex<HashMap<String, Option<Arc<BTreeSet<Outcome>>>>>,
}

/// What comes of a line.
struct Line {
    test: Option<JudgedRecord>,
    skipped: Vec<Skipped>,
    errors: Vec<Broken>,
}

/// Judges everything of some of the records, by all cores.
pub fn judge_all(sources: &[Source], runs: Range<usize>, known: &Known<'_>) -> Judged {
    let records: Vec<(usize, &Source, &TestRecord)> = runs
        .flat_map(|run| {
            let source = &sources[run];
            source.record.tests.iter().map(move |test| (run, source, test))
        })
        .collect();
    let lines: Vec<Line> =
        records.par_iter().map(|(run, source, test)| known.line(*run, source, test)).collect();
    let mut judged =
        Judged { tests: Vec::new(), skipped: Vec::new(), errors: Vec::new(), models: Vec::new() };
    for line in lines {
        judged.skipped.extend(line.skipped);
        judged.errors.extend(line.errors);
        judged.tests.extend(line.test);
    }
    judged.models = models(&judged.tests, &records);
    link_twins(&mut judged.tests);
    judged
}

fn models(tests: &[JudgedRecord], records: &[(usize, &Source, &TestRecord)]) -> Vec<ModelReport> {
    let mut models: BTreeMap<&str, ModelReport> = BTreeMap::new();
    for by in tests.iter().flat_map(|test| &test.by) {
        let identity = &by.judge.identity;
        let entry = models.entry(&identity.name).or_insert_with(|| ModelReport {
            name: identity.name.clone(),
            title: by.judge.model.title.clone(),
            hash: identity.hash.clone(),
            tests: 0,
            recorded_hash: None,
        });
        entry.tests += 1;
    }
    for identity in records.iter().flat_map(|(_, _, test)| &test.models) {
        if let Some(model) = models.get_mut(identity.name.as_str())
            && model.hash != identity.hash
        {
            model.recorded_hash = Some(identity.hash.clone());
        }
    }
    models.into_values().collect()
}

/// A program without its name, title and comments: tests that differ in nothing else have the same outcomes.
/// What libraries say counts too.
fn body(program: &str, header: &Header) -> String {
    let code =
        |line: &'_ str| line.split_once("//").map_or(line, |(code, _)| code).trim_end().to_owned();
    let lines = program.lines().skip(1).map(code);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('"'));
    let libraries = header.libraries.iter().map(|library| library.hash.clone());
    libraries.chain(lines).collect::<Vec<_>>().join("\n")
}

impl<'a> Known<'a> {
    /// Nothing is known yet.
    pub fn new(request: &'a Request<'a>) -> Self {
        Self { request, allowed: Mutex::default(), sc: Mutex::default() }
    }

    fn line(&self, run: usize, from: &Source, recorded: &TestRecord) -> Line {
        let mut line = Line { test: None, skipped: Vec::new(), errors: Vec::new() };
        let reason = recorded.reason.clone().unwrap_or_default();
        let broken = |code: &str, message: String| Broken {
            test: recorded.test.clone(),
            file: recorded.file.clone(),
            code: code.to_owned(),
            message,
        };
        if recorded.status == Status::Skipped {
            line.skipped.push(skip(&recorded.test, &recorded.file, None, reason));
            return line;
        }
        if recorded.status == Status::Failed {
            line.errors.push(broken(BROKE, reason));
        }
        let source =
            Arc::new(lang::source::Source::new(recorded.file.as_str(), recorded.program.as_str()));
        let (test, diagnostics) = lang::litmus::load(&source);
        let Some(test) = test else {
            let first = diagnostics.into_iter().find(lang::diagnostic::Diagnostic::is_error);
            let (code, message) = first.map_or(("unusable-record", String::new()), |error| {
                let (row, column) = source.line_column(error.span.start);
                (error.code, format!("line {row}, column {column}: {}", error.message))
            });
            line.errors.push(broken(code, message));
            return line;
        };
        let seen = match recorded.observations(&test) {
            Ok(seen) => seen,
            Err(name) => {
                let message = format!("the record has a state without a value of `{name}`");
                line.errors.push(broken("unusable-record", message));
                return line;
            }
        };
        let mut by = Vec::new();
        let body = body(&recorded.program, &from.record.header);
        for judge in self.judges(recorded, &mut line.skipped) {
            match self.allowed(from, &test, &body, &judge) {
                Ok((allowed, reason)) => {
                    let judged = crate::judge::judge(allowed.as_deref(), &seen);
                    by.push(By { judge, allowed, judged, reason });
                }
                Err(reason) => {
                    let name = judge.identity.name.as_str();
                    line.skipped.push(skip(&recorded.test, &recorded.file, Some(name), reason));
                }
            }
        }
        let sc = self.sequential(&test, &body);
        let size = test.program.threads.iter().map(|thread| thread.body.len()).sum::<usize>();
        let size = size * 10_000 + recorded.program.len().min(9999);
        let report = test_report(run, recorded, &test, &by, sc.as_deref(), &seen);
        let libraries = from.libraries;
        line.test =
            Some(JudgedRecord { source, libraries, test, seen, by, sc, size, body, report });
        line
    }

    fn judges(&self, recorded: &TestRecord, skipped: &mut Vec<Skipped>) -> Vec<Arc<Judge>> {
        if !self.request.chosen.is_empty() {
            return self.request.chosen.clone();
        }
        if recorded.models.is_empty() {
            skipped.push(skip(&recorded.test, &recorded.file, Some("any"), NO_MODEL));
        }
        let mut found = Vec::new();
        for identity in &recorded.models {
            match (self.request.shipped)(&identity.name) {
                Some(judge) => found.push(judge),
                None => {
                    let name = identity.name.as_str();
                    let reason =
                        format!("the model `{name}` is not shipped; name its file with --model");
                    skipped.push(skip(&recorded.test, &recorded.file, Some(name), reason));
                }
            }
        }
        found
    }

    fn allowed(
        &self,
        from: &Source,
        test: &Test,
        body: &str,
        judge: &Judge,
    ) -> Result<Allowed, String> {
        if !judge.is_own
            && let Some(reason) = from.record.header.unjudgeable()
        {
            return Ok((None, Some(reason)));
        }
        let key = (body.to_owned(), judge.identity.hash.clone());
        let lock = || self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Ok(known.clone());
        }
        let answer = ask(test, judge, from.libraries, self.request)?;
        lock().insert(key, answer.clone());
        Ok(answer)
    }

    /// What the sequentially consistent machine shows. It only colors histograms, so exploring it is good enough.
    fn sequential(&self, test: &Test, body: &str) -> Option<Arc<BTreeSet<Outcome>>> {
        let key = body.to_owned();
        let lock = || self.sc.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let variant = Variant::from_name("sc")?;
        let limits = machine::Limits { states: 100_000, ..machine::Limits::default() };
        let found = machine::explore(test, variant, limits).ok().filter(|found| found.complete);
        let found = found.map(|found| Arc::new(found.outcomes.into_iter().collect()));
        lock().insert(key, found.clone());
        found
    }
}

/// What a model allows.
///
/// # Errors
/// Why the model does not judge such a test.
fn ask(
    test: &Test,
    judge: &Judge,
    libraries: &Libraries,
    request: &Request<'_>,
) -> Result<Allowed, String> {
    let message = |errors: Vec<lang::diagnostic::Diagnostic>| {
        errors.first().map_or_else(String::new, |error| error.message.clone())
    };
    let options = (request.options)();
    let question =
        Question::new(test, &judge.model, libraries, options.loop_bound).map_err(message)?;
    match question.allowed(&options) {
        Ok(found) => {
            // Of programs that misuse a library in some execution, nothing can be said to be forbidden.
            let misuse = found.misuses.into_iter().next();
            let complete = found.complete && misuse.is_none();
            let reason = misuse.map(|misuse| misuse.message).or(found.reason);
            Ok((Some(Arc::new(AllowedSet { outcomes: found.outcomes, complete })), reason))
        }
        Err(errors) => Ok((None, Some(message(errors)))),
    }
}

/// `a=1, b=0`.
pub fn outcome_text(test: &Test, outcome: &Outcome) -> String {
    let pairs = test.observables.iter().zip(&outcome.0);
    pairs.map(|(name, value)| format!("{}={value}", name.name)).collect::<Vec<_>>().join(", ")
}

/// The outcome as `litmus explain` takes it.
pub fn wanted(outcome: &Outcome) -> Vec<(usize, Value)> {
    outcome.0.iter().copied().enumerate().collect()
}

fn test_report(
    run: usize,
    recorded: &TestRecord,
    test: &Test,
    by: &[By],
    sc: Option<&BTreeSet<Outcome>>,
    seen: &Observations,
) -> TestReport {
    let mut results: Vec<(usize, ResultReport)> = Vec::new();
    for (index, one) in by.iter().enumerate() {
        let same = results
            .iter_mut()
            .find(|(first, _)| by[*first].judged == one.judged && by[*first].reason == one.reason);
        match same {
            Some((_, result)) => result.models.push(one.judge.identity.name.clone()),
            None => results.push((index, result_report(test, one, sc, seen.finished()))),
        }
    }
    let overall = by.iter().map(|one| one.judged.overall).max().unwrap_or(Judgement::Inconclusive);
    let folder = recorded.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let group = folder.rsplit('/').next().unwrap_or_default();
    TestReport {
        run,
        name: recorded.test.clone(),
        title: test.title.clone(),
        source: test.source.clone(),
        file: recorded.file.clone(),
        group: if group.is_empty() { "tests".to_owned() } else { group.to_owned() },
        machine: recorded.machine.clone(),
        // Not what the record says of the text, but what the text is.
        hash: hash_text(&recorded.program),
        program: recorded.program.clone(),
        status: status_name(recorded.status).to_owned(),
        judgement: overall.name().to_owned(),
        iterations: recorded.iterations,
        finished: seen.finished(),
        blocked: seen.blocked,
        assume_failed: seen.assume_failed,
        unfinished: seen.unfinished,
        notes: seen.notes.clone(),
        results: results.into_iter().map(|(_, result)| result).collect(),
        twin: None,
    }
}

fn result_report(
    test: &Test,
    by: &By,
    sc: Option<&BTreeSet<Outcome>>,
    finished: u64,
) -> ResultReport {
    let row = |outcome: &Outcome, count: u64, judgement: Judgement| {
        let kind = match judgement {
            Judgement::Violation => "forbidden",
            Judgement::Inconclusive => "unknown",
            _ => match sc {
                Some(sc) if sc.contains(outcome) => "sc",
                Some(_) => "weak",
                None => "allowed",
            },
        };
        Row {
            outcome: outcome_text(test, outcome),
            state: state_to_json(test, &outcome.0),
            count,
            kind: kind.to_owned(),
            judgement: judgement.name().to_owned(),
            bar: bar(count, finished),
            bound: if count == 0 { rule_of_three(finished) } else { None },
        }
    };
    let judged = by.judged.outcomes.iter();
    let mut rows: Vec<Row> =
        judged.map(|seen| row(&seen.outcome, seen.count, seen.judgement)).collect();
    rows.extend(by.judged.unseen.iter().map(|outcome| row(outcome, 0, Judgement::Unseen)));
    ResultReport {
        models: vec![by.judge.identity.name.clone()],
        judgement: by.judged.overall.name().to_owned(),
        reason: by.reason.clone(),
        rows,
    }
}

/// The name after `// twin:` in a test's text.
fn twin_name(program: &str) -> Option<&str> {
    let rest = program.lines().find_map(|line| line.trim().strip_prefix("// twin:"))?;
    rest.split_whitespace().next()
}

/// Finds each test's twin, and whether it showed something that this test's models forbid and the twin's allow.
fn link_twins(tests: &mut [JudgedRecord]) {
    let mut by_name: HashMap<(usize, String, String), usize> = HashMap::new();
    for (index, test) in tests.iter().enumerate() {
        let report = &test.report;
        by_name.insert((report.run, report.name.clone(), report.machine.clone()), index);
    }
    let twins: Vec<Option<super::data::Twin>> = tests
        .iter()
        .map(|test| {
            let name = twin_name(&test.report.program)?.to_owned();
            let key = (test.report.run, name.clone(), test.report.machine.clone());
            let twin = by_name.get(&key).map(|index| &tests[*index]);
            let seen_weak = twin.is_some_and(|twin| shows_what_is_forbidden(test, twin));
            Some(super::data::Twin { name, was_run: twin.is_some(), seen_weak })
        })
        .collect();
    for (test, twin) in tests.iter_mut().zip(twins) {
        test.report.twin = twin;
    }
}

fn shows_what_is_forbidden(test: &JudgedRecord, twin: &JudgedRecord) -> bool {
    let names = |test: &Test| -> Vec<String> {
        test.observables.iter().map(|observable| observable.name.clone()).collect()
    };
    let seen: Vec<&Outcome> =
        twin.seen.outcomes.iter().filter(|(_, count)| **count > 0).map(|(one, _)| one).collect();
    if names(&test.test) == names(&twin.test) {
        let forbids = |outcome: &Outcome| {
            test.by.iter().any(|by| {
                by.allowed.as_ref().is_some_and(|set| set.complete && !set.contains(outcome))
            })
        };
        return seen.into_iter().any(forbids);
    }
    // What is observed differs: any weak outcome of the twin will do.
    twin.sc.as_ref().is_some_and(|sc| seen.into_iter().any(|outcome| !sc.contains(outcome)))
}

/// Judges again with other observations: for mutants.
pub fn is_violated(by: &By, seen: &Observations) -> bool {
    judge(by.allowed.as_deref(), seen).overall == Judgement::Violation
}
