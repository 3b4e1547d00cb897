//! Every test of every record judged again.

mod tests;
mod twins;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use compiler::library::{Depth, Libraries, inline};
use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::Outcome;
use rayon::prelude::*;

use super::data::{Broken, ModelReport, ProgramReport, Skipped, TestReport};
use super::{Request, Source};
use crate::judge::{Forbids, JudgedBy, LackingModel, NotJudged, Program, judges};
use crate::observation::Observations;
use crate::record::{Status, TestRecord};

/// All that records say.
#[derive(Default)]
pub struct Judged {
    /// Tests that were run, in the order of the records.
    pub tests: Vec<JudgedRecord>,
    /// Their programs, each once.
    pub programs: Vec<Arc<ProgramReport>>,
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
    pub libraries: Libraries,
    /// The test.
    pub test: Test,
    /// The test with its calls replaced by implementations, which is what machines run; if it has some.
    pub inlined: Option<Test>,
    /// What was seen.
    pub seen: Observations,
    /// What each model says.
    pub by: Vec<JudgedBy>,
    /// The outcomes of a sequentially consistent machine, if they are known.
    pub sc: Option<Arc<BTreeSet<Outcome>>>,
    /// How large the program is, in characters: small ones explain best.
    pub size: usize,
    /// The program, the same for tests that have the same outcomes.
    pub body: String,
    /// The program, as the report has it.
    pub program: Arc<ProgramReport>,
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
    // Records of real machines have one machine only, and do not name it otherwise.
    if machine.is_empty() || machine == "hardware" {
        test.to_owned()
    } else {
        format!("{test} on {machine}")
    }
}

/// A line of a record, and what comes of it.
pub struct JudgedLine<'a> {
    /// The number of the record.
    pub run: usize,
    /// The line.
    pub recorded: &'a TestRecord,
    /// The test with the judgements, if it was run, can be read, and some model defines it.
    pub test: Option<Box<JudgedRecord>>,
    /// Why it was not run, or not judged by a model.
    pub skipped: Vec<Skipped>,
    /// What broke, or cannot be used.
    pub errors: Vec<Broken>,
    /// What is wrong with the program or a model, with places in the text.
    pub diagnostics: Option<(Arc<lang::source::Source>, Vec<Diagnostic>)>,
}

/// Judges every line of some records, by all cores.
pub fn judge_lines<'a>(sources: &'a [Source], request: &Request<'_>) -> Vec<JudgedLine<'a>> {
    let lines: Vec<(usize, &Source, &TestRecord)> = sources
        .iter()
        .enumerate()
        .flat_map(|(run, source)| source.record.tests.iter().map(move |test| (run, source, test)))
        .collect();
    // A core that is done early takes over few lines at a time: some lines take much longer than others.
    let lines = lines.par_iter().with_max_len(8);
    lines.map(|(run, source, test)| judge_line(*run, source, test, request)).collect()
}

/// Puts lines together.
pub fn gather(lines: Vec<JudgedLine<'_>>) -> Judged {
    let mut judged = Judged { tests: Vec::with_capacity(lines.len()), ..Judged::default() };
    let recorded: Vec<&TestRecord> = lines.iter().map(|line| line.recorded).collect();
    for line in lines {
        judged.skipped.extend(line.skipped);
        judged.errors.extend(line.errors);
        judged.tests.extend(line.test.map(|test| *test));
    }
    judged.programs = programs(&mut judged.tests);
    judged.models = models(&judged.tests, &recorded);
    twins::link_twins(&mut judged.tests);
    judged
}

/// Each program once, numbered in the tests.
fn programs(tests: &mut [JudgedRecord]) -> Vec<Arc<ProgramReport>> {
    let mut known: HashMap<[&str; 3], usize> = HashMap::with_capacity(tests.len());
    // The first test of each, and whether it can show a violation.
    let mut firsts: Vec<(usize, Forbids)> = Vec::new();
    let mut numbers = Vec::with_capacity(tests.len());
    for (index, test) in tests.iter().enumerate() {
        let of = &*test.program;
        let number = *known.entry([&of.name, &of.file, &of.hash]).or_insert_with(|| {
            firsts.push((index, Forbids::Nothing));
            firsts.len() - 1
        });
        let forbids = &mut firsts[number].1;
        *forbids = test.report.forbids.max(*forbids);
        numbers.push(number);
    }
    let mut anchors: HashMap<String, usize> = HashMap::with_capacity(firsts.len());
    let mut finish = |(index, forbids): (usize, Forbids)| {
        let program = &mut tests[index].program;
        let anchor = anchor(&program.name);
        let times = anchors.entry(anchor.clone()).or_insert(0);
        *times += 1;
        let finished = Arc::make_mut(program);
        finished.anchor = if *times == 1 { anchor } else { format!("{anchor}--{times}") };
        finished.forbids = forbids;
        Arc::clone(program)
    };
    let programs: Vec<Arc<ProgramReport>> = firsts.into_iter().map(&mut finish).collect();
    for (test, number) in tests.iter_mut().zip(numbers) {
        test.report.program = number;
        test.program = Arc::clone(&programs[number]);
    }
    programs
}

/// A name as links can have it.
fn anchor(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let name: String = name.chars().map(|c| if plain(c) { c } else { '-' }).collect();
    format!("p-{name}")
}

fn models(tests: &[JudgedRecord], records: &[&TestRecord]) -> Vec<ModelReport> {
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
    for identity in records.iter().flat_map(|test| &test.models) {
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

fn judge_line<'a>(
    run: usize,
    from: &Source,
    recorded: &'a TestRecord,
    request: &Request<'_>,
) -> JudgedLine<'a> {
    let (skipped, errors) = (Vec::new(), Vec::new());
    let mut line = JudgedLine { run, recorded, test: None, skipped, errors, diagnostics: None };
    let reason = recorded.reason.clone().unwrap_or_default();
    if recorded.status == Status::Skipped {
        line.skip(None, reason, false);
        return line;
    }
    if recorded.status == Status::Failed {
        line.broken(Code::BackendFailed, reason);
    }
    let source =
        Arc::new(lang::source::Source::new(recorded.file.as_str(), recorded.program.as_str()));
    let (test, diagnostics) = lang::litmus::load_with(&source, from.libraries.words());
    let Some(test) = test else {
        line.wrong(&source, diagnostics);
        return line;
    };
    match recorded.observations(&test) {
        Ok(seen) => line.judge(from, source, test, seen, request),
        Err(name) => {
            let message = format!("the record has a state without a value of `{name}`");
            line.broken(Code::UnusableRecord, message);
        }
    }
    line
}

impl JudgedLine<'_> {
    fn skip(&mut self, model: Option<&str>, reason: String, lacks_model: bool) {
        let TestRecord { test, file, machine, .. } = self.recorded;
        self.skipped.push(Skipped {
            run: self.run,
            test: test.clone(),
            file: file.clone(),
            machine: machine.clone(),
            model: model.map(str::to_owned),
            reason,
            lacks_model,
        });
    }

    fn broken(&mut self, code: Code, message: String) {
        let TestRecord { test, file, machine, .. } = self.recorded;
        self.errors.push(Broken {
            run: self.run,
            test: test.clone(),
            file: file.clone(),
            machine: machine.clone(),
            code,
            message,
        });
    }

    /// Adds errors. Where no text is shown, only the first one is.
    fn wrong(&mut self, source: &Arc<lang::source::Source>, diagnostics: Vec<Diagnostic>) {
        let (code, message) = match diagnostics.iter().find(|one| one.is_error()) {
            Some(error) => {
                let (row, column) = source.line_column(error.span.start);
                (error.code, format!("line {row}, column {column}: {}", error.message))
            }
            None => (Code::UnusableRecord, String::new()),
        };
        self.broken(code, message);
        let (_, known) = self.diagnostics.get_or_insert_with(|| (Arc::clone(source), Vec::new()));
        known.extend(diagnostics);
    }

    fn judge(
        &mut self,
        from: &Source,
        source: Arc<lang::source::Source>,
        test: Test,
        seen: Observations,
        request: &Request<'_>,
    ) {
        let (recorded, libraries, header) = (self.recorded, &from.libraries, &from.record.header);
        let text = (libraries, header.libraries.as_slice());
        let program = Program::new((&test, &recorded.program), text, &header.nodes);
        let (mut by, mut is_defined) = (Vec::new(), false);
        for judge in judges(recorded, &request.chosen, request.shipped) {
            let judge = match judge {
                Ok(judge) => judge,
                Err(LackingModel { name, reason }) => {
                    self.skip(Some(&name), reason, true);
                    is_defined = true;
                    continue;
                }
            };
            match request.answers.judge(&program, &judge, &seen) {
                Err(NotJudged::Undefined(undefined)) => {
                    self.skip(Some(&judge.identity.name), NotJudged::reason(&undefined), false);
                    continue;
                }
                Err(NotJudged::Wrong(diagnostics)) => self.wrong(&source, diagnostics),
                Ok(one) => by.push(one),
            }
            is_defined = true;
        }
        // A test that no model defines is skipped, as `litmus run` does.
        if !is_defined {
            return;
        }
        let sc = request.answers.sequential(&program);
        let body = program.body;
        let size = test.program.threads.iter().map(|thread| thread.body.len()).sum::<usize>();
        let size = size * 10_000 + recorded.program.len().min(9999);
        let program = Arc::new(tests::program_report(recorded, &test));
        let report = tests::test_report(self.run, recorded, &test, &by, sc.as_deref(), &seen);
        let has_calls = !libraries.used(&test.program).is_empty();
        let inlined = if has_calls { inline(&test, libraries, Depth::Full).ok() } else { None };
        self.test = Some(Box::new(JudgedRecord {
            source,
            libraries: libraries.clone(),
            test,
            inlined,
            seen,
            by,
            sc,
            size,
            body,
            program,
            report,
        }));
    }
}

/// `a=1, b=0`.
pub fn outcome_text(test: &Test, outcome: &Outcome) -> String {
    let pairs = test.observables.iter().zip(&outcome.0);
    let pairs = pairs.map(|(shown, value)| format!("{}={}", shown.name, shown.show(*value)));
    pairs.collect::<Vec<_>>().join(", ")
}
