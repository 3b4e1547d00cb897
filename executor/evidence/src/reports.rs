//! Reports: what records say about machines, as data, computed from records and models and nothing else.
//!
//! Every line of the records is judged again ([`rejudge`]), and [`compute`] makes a report of that. It puts
//! records side by side ([`compare`]), explains what is forbidden and was seen (`findings`), looks for the
//! nearest model that would allow it (`variants`), groups it by that (`causes`), says what was tested
//! and what that is worth (`tested`, `evidence`, `mutants`, `silence`), and sums up (`verdict`). The same
//! records, models and version give the same report.

mod causes;
pub mod compare;
pub mod data;
mod evidence;
mod findings;
pub mod logs;
mod mutants;
pub mod rejudge;
mod setup;
mod silence;
pub mod statistics;
mod tested;
mod variants;
mod verdict;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use compiler::library::Libraries;
use model::allowed::Options;
use rayon::prelude::*;

use crate::judge::{Answers, Judge};
use crate::record::{End, Header, Record};
use data::{
    Coverage, Diagnosis, Finding, Mutants, Report, RunReport, SCHEMA, Setting, TableReport,
    TestJudgement, Tested, Unseen, Verdict,
};
use findings::FoundViolation;
use rejudge::{Judged, JudgedLine, JudgedRecord};
pub use verdict::{counted, part as part_of};

/// A record, and the file that it is from.
#[derive(Clone)]
pub struct Source {
    /// The file, as messages name it.
    pub name: String,
    /// What it holds.
    pub record: Record,
    /// The libraries that its programs use.
    pub libraries: Libraries,
}

/// Commands in the words of a shell, for readers who want to do something again. Who has the command line
/// words them.
pub trait Shell: Sync {
    /// What makes a whole record again.
    fn again(&self, source: &Source) -> String;

    /// The parameters of a record's runs, as options, where they are not the default ones.
    fn parameters(&self, header: &Header) -> String;

    /// What runs a test again, judged by a model.
    fn run(&self, header: &Header, file: &str, model: &str) -> String;

    /// What explains an outcome: `a=1,b=0`.
    fn explain(&self, header: &Header, file: &str, model: &str, outcome: &str) -> String;
}

/// How to report.
pub struct Request<'a> {
    /// The models that judge; those that each test was judged by when it was recorded, if there are none.
    pub chosen: Vec<Arc<Judge>>,
    /// Finds a shipped model.
    pub shipped: &'a (dyn Fn(&str) -> Option<Arc<Judge>> + Sync),
    /// What models allow.
    pub answers: &'a Answers<'a>,
    /// How to ask other questions, anew for each.
    pub options: &'a (dyn Fn() -> Options + Sync),
    /// How commands are worded.
    pub shell: &'a dyn Shell,
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

/// Makes a report of records whose lines were judged by [`rejudge::judge_lines`]. What a baseline has is in
/// the comparison, and nowhere else.
pub fn compute(sources: &[Source], lines: Vec<JudgedLine<'_>>, request: &Request<'_>) -> Report {
    let first = request.first().min(sources.len());
    let (baseline, lines) = lines.into_iter().partition(|line| line.run < first);
    let (baseline, mut judged) = (rejudge::gather(baseline), rejudge::gather(lines));
    let mut runs = setup::runs(sources, first, request.shell);
    let keys = runs.iter().map(|run| run.key.clone()).collect();
    let compared = (sources.len() > 1)
        .then(|| compare::compare(keys, baseline.tests.iter().chain(&judged.tests)));
    let (comparison, known) = compared.unzip();
    // Without a baseline, no violation is excused.
    let known = known.filter(|_| request.has_baseline).unwrap_or_default();
    let mut found = findings::findings(sources, &judged, &known, request);
    excuse(&mut judged, &found);
    let diagnoses = variants::diagnoses(&judged, &mut found, request);
    findings::smallest(&judged, &mut found);
    let causes = causes::causes(&mut found);
    let parts = Parts { sources, baseline: &baseline, judged: &judged, found: &found, request };
    let (verdict, tables) = parts.complete(&mut runs, &diagnoses);
    let remarks = remarks(sources, &judged, &baseline, request);
    let Judged { tests, programs, skipped, errors, models } = judged;
    // To free what else is known of ten thousand tests takes a while.
    let tests = tests.into_par_iter().map(|test| test.report).collect();
    Report {
        schema: SCHEMA.to_owned(),
        tool: request.tool.clone(),
        verdict,
        runs,
        models,
        diagnoses,
        causes,
        findings: found.into_iter().map(|found| found.finding).collect(),
        programs: programs.into_iter().map(Arc::unwrap_or_clone).collect(),
        tests,
        tables,
        skipped,
        errors,
        remarks,
        comparison,
    }
}

/// Tests all of whose violations the baseline has too are `known`.
fn excuse(judged: &mut Judged, found: &[FoundViolation]) {
    let mut new = HashSet::new();
    new.extend(found.iter().filter(|one| !one.finding.is_known).map(|one| one.test));
    for one in found.iter().filter(|one| !new.contains(&one.test)) {
        judged.tests[one.test].report.judgement = TestJudgement::Known;
    }
}

/// What the summary of each record is computed from.
struct Parts<'a> {
    sources: &'a [Source],
    baseline: &'a Judged,
    judged: &'a Judged,
    found: &'a [FoundViolation],
    request: &'a Request<'a>,
}

impl Parts<'_> {
    fn tests(&self, runs: &Range<usize>) -> Vec<(usize, &JudgedRecord)> {
        let (before, now) = (self.baseline.tests.iter(), self.judged.tests.iter());
        let all = before.enumerate().chain(now.enumerate());
        all.filter(|(_, test)| runs.contains(&test.report.run)).collect()
    }

    fn findings(&self, runs: &Range<usize>) -> Vec<&Finding> {
        let findings = self.found.iter().map(|found| &found.finding);
        findings.filter(|finding| runs.contains(&finding.run)).collect()
    }

    /// What some records come to together, which have these tests.
    fn summary(&self, runs: Range<usize>, numbered: &[(usize, &JudgedRecord)]) -> Summary {
        let tests = alone(numbered);
        let skipped = self.baseline.skipped.iter().chain(&self.judged.skipped);
        let errors = self.baseline.errors.iter().chain(&self.judged.errors);
        let sources = &self.sources[runs.clone()];
        let (tested, unseen) = (tested::tested(&tests), silence::unseen(numbered));
        let verdict = verdict::verdict(&verdict::Parts {
            tests: &tests,
            tested: &tested,
            findings: &self.findings(&runs),
            skipped: &skipped.filter(|skip| runs.contains(&skip.run)).collect::<Vec<_>>(),
            errors: &errors.filter(|error| runs.contains(&error.run)).collect::<Vec<_>>(),
            unseen: unseen.len(),
            is_partial: sources.iter().any(|source| source.record.end != End::Whole),
            part: match sources {
                [source] => verdict::part(source.record.header.shard.as_ref()),
                _ => None,
            },
        });
        Summary { tested, unseen, verdict }
    }

    /// Fills in the summaries of records; the verdict on all that are no baseline, and the tables. Broken
    /// simulators, which take time, run beside the rest.
    fn complete(
        &self,
        runs: &mut [RunReport],
        diagnoses: &[Diagnosis],
    ) -> (Verdict, Vec<TableReport>) {
        let subjects = self.request.first().min(runs.len())..runs.len();
        let tests: Vec<Vec<(usize, &JudgedRecord)>> =
            (0..runs.len()).map(|run| self.tests(&(run..run + 1))).collect();
        let mutants = || -> Vec<Option<Mutants>> {
            let sources = self.sources.iter().zip(&tests).skip(subjects.start);
            let of = |(source, tests): (&Source, &Vec<_>)| {
                mutants::mutants(source, &alone(tests), self.request)
            };
            sources.map(of).collect()
        };
        let rest = || {
            let tables = evidence::tables(self.judged, diagnoses, self.request);
            for ((number, run), tests) in runs.iter_mut().enumerate().zip(&tests) {
                self.sum_up(number, run, tests);
            }
            // The verdict on one record is on all.
            let of_several = subjects.len() != 1;
            let verdict =
                of_several.then(|| self.summary(subjects.clone(), &self.tests(&subjects)));
            (tables, verdict.map(|summary| summary.verdict).unwrap_or_default())
        };
        let (mutants, (tables, verdict)) = rayon::join(mutants, rest);
        for (number, mutants) in subjects.zip(mutants) {
            let (run, tests) = (&mut runs[number], &tests[number]);
            let tables: Vec<&TableReport> =
                tables.iter().filter(|table| table.run == number).collect();
            run.coverage = Coverage { mutants, ..evidence::coverage(&tables) };
            run.cannot_tell = silence::cannot_tell(&self.sources[number], run, &tables, tests);
        }
        (verdict::overall(verdict, runs), tables)
    }

    /// Fills in what the tests of a record come to.
    fn sum_up(&self, number: usize, run: &mut RunReport, numbered: &[(usize, &JudgedRecord)]) {
        let runs = number..number + 1;
        let Summary { tested, unseen, verdict } = self.summary(runs.clone(), numbered);
        run.machines = tested::machines(&alone(numbered));
        run.tested = tested;
        run.verdict = verdict;
        if run.is_baseline {
            // The report does not list its violations as findings.
            let Tested { violations, violating, .. } = run.tested;
            let verdict = std::mem::take(&mut run.verdict);
            run.verdict = Verdict { violations, violating, ..verdict }.described();
        } else {
            run.unseen = unseen;
        }
        run.verdict.confidence =
            verdict::confidence(&run.verdict, &run.tested, &self.findings(&runs));
    }
}

/// Tests without their numbers.
fn alone<'a>(numbered: &[(usize, &'a JudgedRecord)]) -> Vec<&'a JudgedRecord> {
    numbered.iter().map(|(_, test)| *test).collect()
}

/// What some records together come to.
struct Summary {
    tested: Tested,
    unseen: Vec<Unseen>,
    verdict: Verdict,
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

/// A remark on a record of another version of litmus.
pub fn other_tool(source: &Source, tool: &str) -> Option<String> {
    let recorded = &source.record.header.tool;
    (recorded != tool)
        .then(|| format!("{}: made by litmus {recorded}, and read by litmus {tool}", source.name))
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

fn setting(name: &str, value: impl Into<String>) -> Setting {
    Setting { name: name.to_owned(), value: value.into() }
}
