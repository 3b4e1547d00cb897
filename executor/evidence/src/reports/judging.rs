//! Every test of every record judged again.

pub mod asking;
mod tests;
mod twins;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use compiler::library::{Depth, Libraries, inline};
use lang::Test;
use lang::outcome::{Outcome, Value};
use rayon::prelude::*;

use super::data::{Broken, Forbids, ModelReport, ProgramReport, Skipped, TestReport};
use super::{BROKE, Judge, NAME_IT, NO_MODEL, Source, skip};
use crate::judge::{AllowedSet, JudgedTest, Judgement, judge};
use crate::observation::Observations;
use crate::record::{Header, Status, TestRecord};
pub use asking::Known;

/// All that records say.
#[derive(Default)]
pub struct Judged {
    /// Tests that were run, in the order of the records.
    pub tests: Vec<JudgedRecord>,
    /// Their programs, each once.
    pub programs: Vec<ProgramReport>,
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
    /// The test with its calls replaced by implementations, which is what machines run; if it has some.
    pub inlined: Option<Test>,
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
    /// The program, as the report has it.
    pub program: ProgramReport,
    /// As the report has it.
    pub report: TestReport,
}

impl JudgedRecord {
    /// What machines run: no library calls.
    pub fn runnable(&self) -> &Test {
        self.inlined.as_ref().unwrap_or(&self.test)
    }

    /// The test and its machine, for people.
    pub fn name(&self) -> String {
        name_on(&self.report.name, &self.report.machine)
    }
}

/// A test and its machine, for people.
pub fn name_on(test: &str, machine: &str) -> String {
    // Records of real machines have one machine only, and say of it no more than this.
    if machine.is_empty() || machine == "hardware" {
        test.to_owned()
    } else {
        format!("{test} on {machine}")
    }
}

/// A model's judgement.
pub struct By {
    /// The model.
    pub judge: Arc<Judge>,
    /// What it allows, if anything is known of it.
    pub allowed: Option<Arc<AllowedSet>>,
    /// Whether it forbids anything.
    pub forbids: Forbids,
    /// What it says.
    pub judged: JudgedTest,
    /// Why not everything is known.
    pub reason: Option<String>,
}

/// What comes of a line.
#[derive(Default)]
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
    let mut judged = Judged::default();
    for line in lines {
        judged.skipped.extend(line.skipped);
        judged.errors.extend(line.errors);
        judged.tests.extend(line.test);
    }
    judged.programs = programs(&mut judged.tests);
    judged.models = models(&judged.tests, &records);
    twins::link_twins(&mut judged.tests);
    judged
}

/// Each program once, numbered in the tests.
fn programs(tests: &mut [JudgedRecord]) -> Vec<ProgramReport> {
    let mut programs: Vec<ProgramReport> = Vec::new();
    let mut known: HashMap<(String, String, String), usize> = HashMap::new();
    let mut anchors: HashMap<String, usize> = HashMap::new();
    for test in tests.iter_mut() {
        let of = &test.program;
        let key = (of.name.clone(), of.file.clone(), of.hash.clone());
        let index = *known.entry(key).or_insert_with(|| {
            let name = anchor(&of.name);
            let times = anchors.entry(name.clone()).or_insert(0);
            *times += 1;
            let anchor = if *times == 1 { name } else { format!("{name}--{times}") };
            programs.push(ProgramReport { anchor, ..of.clone() });
            programs.len() - 1
        });
        programs[index].forbids = programs[index].forbids.max(test.report.forbids);
        test.report.program = index;
    }
    for test in tests {
        test.program.clone_from(&programs[test.report.program]);
    }
    programs
}

/// A name as links can have it.
fn anchor(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let name: String = name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    format!("p-{name}")
}

fn models(tests: &[JudgedRecord], records: &[(usize, &Source, &TestRecord)]) -> Vec<ModelReport> {
    let mut models: BTreeMap<&str, (ModelReport, BTreeSet<usize>)> = BTreeMap::new();
    for (test, by) in tests.iter().flat_map(|test| test.by.iter().map(move |by| (test, by))) {
        let identity = &by.judge.identity;
        let entry = models.entry(&identity.name).or_insert_with(|| {
            let model = ModelReport {
                name: identity.name.clone(),
                title: by.judge.model.title.clone(),
                hash: identity.hash.clone(),
                programs: 0,
                recorded_hash: None,
            };
            (model, BTreeSet::new())
        });
        entry.1.insert(test.report.program);
    }
    for identity in records.iter().flat_map(|(_, _, test)| &test.models) {
        if let Some((model, _)) = models.get_mut(identity.name.as_str())
            && model.hash != identity.hash
        {
            model.recorded_hash = Some(identity.hash.clone());
        }
    }
    let counted = |(model, programs): (ModelReport, BTreeSet<usize>)| ModelReport {
        programs: programs.len(),
        ..model
    };
    models.into_values().map(counted).collect()
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

impl Known<'_> {
    fn line(&self, run: usize, from: &Source, recorded: &TestRecord) -> Line {
        let mut line = Line::default();
        let reason = recorded.reason.clone().unwrap_or_default();
        let broken = |code: &str, message: String| Broken {
            run,
            test: recorded.test.clone(),
            file: recorded.file.clone(),
            machine: recorded.machine.clone(),
            code: code.to_owned(),
            message,
        };
        if recorded.status == Status::Skipped {
            line.skipped.push(skip(run, recorded, None, reason));
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
        line.test = Some(self.judged((run, from, recorded), source, test, seen, &mut line.skipped));
        line
    }

    fn judged(
        &self,
        (run, from, recorded): (usize, &Source, &TestRecord),
        source: Arc<lang::source::Source>,
        test: Test,
        seen: Observations,
        skipped: &mut Vec<Skipped>,
    ) -> JudgedRecord {
        let mut by = Vec::new();
        let body = body(&recorded.program, &from.record.header);
        for judge in self.judges(run, recorded, skipped) {
            match self.allowed(from, &test, &body, &judge) {
                Ok(asking::ModelSays { allowed, reason, forbids }) => {
                    let judged = crate::judge::judge(allowed.as_deref(), &seen);
                    by.push(By { judge, allowed, forbids, judged, reason });
                }
                Err(reason) => {
                    let name = judge.identity.name.as_str();
                    skipped.push(skip(run, recorded, Some(name), reason));
                }
            }
        }
        let sc = self.sequential(&test, &body);
        let size = test.program.threads.iter().map(|thread| thread.body.len()).sum::<usize>();
        let size = size * 10_000 + recorded.program.len().min(9999);
        let program = tests::program_report(recorded, &test);
        let report = tests::test_report(run, recorded, &test, &by, sc.as_deref(), &seen);
        let libraries = from.libraries;
        let has_calls = !libraries.used(&test.program).is_empty();
        let inlined = if has_calls { inline(&test, libraries, Depth::Full).ok() } else { None };
        JudgedRecord { source, libraries, test, inlined, seen, by, sc, size, body, program, report }
    }

    fn judges(
        &self,
        run: usize,
        recorded: &TestRecord,
        skipped: &mut Vec<Skipped>,
    ) -> Vec<Arc<Judge>> {
        if !self.request.chosen.is_empty() {
            return self.request.chosen.clone();
        }
        if recorded.models.is_empty() {
            skipped.push(skip(run, recorded, Some("any"), NO_MODEL));
        }
        let mut found = Vec::new();
        for identity in &recorded.models {
            match (self.request.shipped)(&identity.name) {
                Some(judge) => found.push(judge),
                None => {
                    let name = identity.name.as_str();
                    let reason = format!("the model `{name}` {NAME_IT}");
                    skipped.push(skip(run, recorded, Some(name), reason));
                }
            }
        }
        found
    }
}

/// `a=1, b=0`.
pub fn outcome_text(test: &Test, outcome: &Outcome) -> String {
    let pairs = test.observables.iter().zip(&outcome.0);
    let pairs = pairs.map(|(shown, value)| format!("{}={}", shown.name, shown.show(*value)));
    pairs.collect::<Vec<_>>().join(", ")
}

/// The outcome as `litmus explain` takes it.
pub fn wanted(outcome: &Outcome) -> Vec<(usize, Value)> {
    outcome.0.iter().copied().enumerate().collect()
}

/// Judges again with other observations: for mutants.
pub fn is_violated(by: &By, seen: &Observations) -> bool {
    judge(by.allowed.as_deref(), seen).overall == Judgement::Violation
}
