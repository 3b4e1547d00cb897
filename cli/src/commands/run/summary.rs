//! The summary at the end of a run: violations with their cycles, a table by group, and the verdict in one
//! line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evidence::judge::{Forbids, Judge, Judgement};
use evidence::record::Status;
use evidence::reports::data::Verdict;
use evidence::reports::rejudge::outcome_text;
use lang::Test;
use lang::outcome::{Asked, Outcome};
use lang::source::Source;
use model::allowed::Question;
use model::engine::{Request, explained};
use model::explain::Reason;
use model::sequential;

use super::result::RunResult;
use super::runner::Answer;
use crate::commands::report::tell::tint;
use crate::groups::Groups;
use crate::table::count;
use crate::terminal::{Look, Tint};

/// How many violations are shown with their cycles.
const EXPLAINED: usize = 5;
/// How many more are shown in a line each.
const LINES: usize = 15;

/// How many tests are named whose threads did not overlap.
const NAMED: usize = 5;

/// What explains a violation.
#[derive(Clone)]
pub struct Evidence {
    /// The test.
    pub test: Test,
    /// Its text.
    pub source: Arc<Source>,
    /// The model that forbids.
    pub model: Arc<Judge>,
}

/// A test that violates on a machine.
struct Violating {
    size: usize,
    evidence: Evidence,
    machine: String,
    finished: u64,
    outcomes: Vec<Forbidden>,
}

/// An outcome that was seen, and the models that forbid it.
struct Forbidden {
    outcome: Outcome,
    count: u64,
    models: Vec<String>,
    /// The command that explains it.
    explain: String,
}

/// A program on all its machines.
#[derive(Default)]
struct Program {
    is_finished: bool,
    is_open: bool,
    is_against_file: bool,
    /// Whether it can show a violation; `None` as long as no model was asked.
    forbids: Option<Forbids>,
}

/// Counts, and the violations.
#[derive(Default)]
pub struct Summary {
    groups: Groups,
    /// By file and machine.
    violating: BTreeMap<(String, String), Violating>,
    /// By file.
    programs: BTreeMap<String, Program>,
    /// By file, machine and outcome.
    unseen: BTreeSet<(String, String, Outcome)>,
    /// By file: whether an outcome shows that threads overlapped, where one could.
    overlapped: BTreeMap<String, bool>,
    runs: u64,
    /// Tests that broke.
    pub failed: usize,
    /// Tests that were not run.
    pub skipped: usize,
    /// Files whose tests broke.
    pub broken_files: usize,
    /// Other files with errors.
    pub unusable: usize,
    /// A line for each test of which something was never seen; not for all, if they are many.
    pub unseen_lines: String,
    /// Files that a signal, a full disk or a limit kept from being run to the end.
    pub not_run: usize,
}

impl Summary {
    /// What came of one more test.
    pub fn take(&mut self, answer: &Answer) {
        answer.results.iter().for_each(|result| self.add(result));
        self.failed += answer.failures.len();
        self.broken_files += usize::from(!answer.failures.is_empty());
        // As the record has it. A test that no model defines is not in it, and listed with the reasons.
        let is_skipped = answer.records.iter().any(|record| record.status == Status::Skipped);
        self.skipped += usize::from(answer.results.is_empty() && is_skipped);
    }

    fn add(&mut self, result: &RunResult) {
        let (file, machine) = result.identity();
        let judged = result.judged();
        if self.groups.add(file, machine, judged.overall as usize) {
            self.runs += result.finished();
        }
        let program = self.programs.entry(file.to_owned()).or_default();
        program.is_finished |= result.finished() > 0;
        program.is_open |= judged.overall == Judgement::Inconclusive;
        program.is_against_file |= result.is_against_file();
        program.forbids = program.forbids.max(Some(result.forbids()));
        let named = |outcome: &Outcome| (file.to_owned(), machine.to_owned(), outcome.clone());
        self.unseen.extend(judged.unseen.iter().map(named));
        if let Some(overlapped) = result.overlapped() {
            *self.overlapped.entry(file.to_owned()).or_default() |= overlapped;
        }
        let Some(evidence) = result.evidence() else { return };
        let key = (file.to_owned(), machine.to_owned());
        let violating = self.violating.entry(key).or_insert_with(|| Violating {
            size: evidence.test.program.size(),
            evidence: evidence.clone(),
            machine: machine.to_owned(),
            finished: result.finished(),
            outcomes: Vec::new(),
        });
        for seen in result.violations() {
            let model = evidence.model.identity.name.clone();
            let known = violating.outcomes.iter_mut().find(|known| known.outcome == seen.outcome);
            match known {
                Some(known) => known.models.push(model),
                None => violating.outcomes.push(Forbidden {
                    outcome: seen.outcome.clone(),
                    count: seen.count,
                    models: vec![model],
                    explain: result.explain(seen),
                }),
            }
        }
    }

    /// How many tests violate so far.
    pub fn violating(&self) -> usize {
        self.violating.len()
    }

    /// The table by group, if there are enough tests for one.
    pub fn groups(&self, look: Look) -> String {
        self.groups.draw(look, &["conforms", "with unseen", "inconclusive", "VIOLATION"])
    }

    /// The violations, those of the smallest programs first, and the first of them with the cycles that
    /// forbid them.
    pub fn violations(&self, look: Look, request: &Request<'_>) -> String {
        let mut all: Vec<&Violating> = self.violating.values().collect();
        all.sort_by_key(|violating| violating.size);
        let (explained, lines) =
            if look.verbose > 0 { (all.len(), all.len()) } else { (EXPLAINED, EXPLAINED + LINES) };
        let mut text = String::new();
        for (index, violating) in all.iter().take(lines).enumerate() {
            text.push_str(&violating.text(look, (index < explained).then_some(request)));
        }
        if all.len() > lines {
            text.push_str(&format!("… and {} more; -v shows all\n", all.len() - lines));
        }
        text
    }

    /// A warning, if there are tests whose outcomes are all those of threads that ran one after another.
    pub fn apart(&self) -> Option<String> {
        let apart = self.overlapped.iter().filter(|(_, overlapped)| !**overlapped);
        let files: Vec<&str> = apart.map(|(file, _)| file.as_str()).collect();
        let (some, all) = (files.len(), self.overlapped.len());
        let more = if some > NAMED { ", …" } else { "" };
        let names = files.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        (some > 0).then(|| {
            format!(
                "warning: in {some} of {} no outcome shows that threads overlapped, so little could be seen \
                 there; -n, --spread and --tune may help: {names}{more}",
                count(all, "test")
            )
        })
    }

    /// Whether a program shows what its file marks ✗ and the model allows.
    pub fn is_against_file(&self) -> bool {
        self.programs.values().any(|program| program.is_against_file)
    }

    /// The verdict in one line.
    pub fn verdict(&self, look: Look, interrupted: bool, part: Option<String>) -> String {
        let finished = || self.programs.values().filter(|program| program.is_finished);
        let that = |forbids: Forbids| {
            finished().filter(|program| program.forbids == Some(forbids)).count()
        };
        let violating: BTreeSet<&String> = self.violating.keys().map(|(file, _)| file).collect();
        let outcomes = self.violating.iter().flat_map(|((file, _), violating)| {
            violating.outcomes.iter().map(move |forbidden| (file, &forbidden.outcome))
        });
        let verdict = Verdict {
            programs: finished().count(),
            forbidding: that(Forbids::Something),
            permissive: that(Forbids::Nothing),
            undecided: that(Forbids::Unknown),
            violations: outcomes.collect::<BTreeSet<_>>().len(),
            violating: violating.len(),
            unseen: self.unseen.len(),
            inconclusive: self.programs.values().filter(|program| program.is_open).count(),
            against_file: self.programs.values().filter(|one| one.is_against_file).count(),
            skipped: self.skipped,
            failed: self.failed,
            unusable: self.unusable,
            interrupted: self.not_run.max(usize::from(interrupted)),
            tests: self.groups.len(),
            runs: self.runs,
            part,
            ..Verdict::default()
        }
        .described();
        let tint = tint(verdict.word);
        format!("{}\n", look.paint(tint, look.fit(&verdict.line).trim_end()))
    }
}

impl Violating {
    /// A line for each outcome; with a request, also the cycle that forbids the first.
    fn text(&self, look: Look, request: Option<&Request<'_>>) -> String {
        let word = look.paint(Tint::Bad, "VIOLATION");
        let Self { evidence, machine, finished, .. } = self;
        let name = look.paint(Tint::Strong, &evidence.test.name);
        let mut text = String::new();
        for (index, forbidden) in self.outcomes.iter().enumerate() {
            let Forbidden { outcome, count, models, explain } = forbidden;
            let values = outcome_text(&evidence.test, outcome);
            let models = models.join(", ");
            let words = format!("{values}, {count} of {finished} runs, forbidden by {models}");
            let Some(request) = request else {
                text.push_str(&look.fit(&format!("{word}  {name} on {machine}: {words}")));
                continue;
            };
            if index > 0 {
                text.push_str(&look.fit(&format!("    also {words}")));
                continue;
            }
            match why(evidence, outcome, request) {
                Why::Cycle(axiom, way) => {
                    let line = format!("{word}  {name} on {machine}: {words} ({axiom})");
                    text.push_str(&look.fit(&line));
                    text.push_str(&wrap(&way, look.width));
                }
                Why::Words(why) => {
                    let line = format!("{word}  {name} on {machine}: {words}");
                    text.push_str(&look.fit(&line));
                    text.push_str(&look.fit(&format!("    {why}")));
                }
            }
            text.push_str(&look.fit_command(&format!("    why: {explain}")));
        }
        text
    }
}

/// Why an outcome is forbidden.
enum Why {
    /// The axiom, and the way around: `aNRW x=1 → oppo[nrW, nrW] → aNRW y=1 → …`.
    Cycle(String, Vec<String>),
    /// There is no cycle to show.
    Words(String),
}

fn why(evidence: &Evidence, outcome: &Outcome, request: &Request<'_>) -> Why {
    let (options, test) = (request.options(), &evidence.test);
    let model = &evidence.model.model;
    let unknown = |why: &str| Why::Words(format!("not explained: {why}"));
    if sequential::is_called(test, request.libraries()) {
        return Why::Words("no order of the calls, each at once, gives these results".to_owned());
    }
    let made =
        Question::of(test, model).libraries(request.libraries()).options(&options).question();
    let question = match made {
        Ok(question) => question,
        Err(refused) => return unknown(&refused.text()),
    };
    let asked = Asked::outcome(&question.test.observables, outcome);
    let explanation = match explained(&question, (test, model), &asked, request) {
        Ok(explanation) => explanation,
        Err(refused) => return unknown(&refused.text()),
    };
    let Some(chain) = explanation.chain(&evidence.source) else {
        return match &explanation.reason {
            Reason::NoCandidate(_) => Why::Words("no execution gives these values".to_owned()),
            Reason::NothingEnds(_) => Why::Words(explanation.why_nothing().to_owned()),
            Reason::Misused(misuse) => Why::Words(misuse.message.clone()),
            Reason::Unknown(bound) => unknown(bound),
            Reason::Witness(_) | Reason::Broken(_) | Reason::Proved(_) => {
                Why::Words("no consistent execution has this outcome".to_owned())
            }
        };
    };
    let mut words = Vec::new();
    for step in &chain.steps {
        words.extend([step.event.clone(), format!("—{}→", step.relation)]);
    }
    words.extend(chain.steps.last().map(|step| step.to.clone()));
    Why::Cycle(chain.axiom, words)
}

/// Lines that fit the terminal, indented.
fn wrap(words: &[String], width: Option<usize>) -> String {
    let width = width.unwrap_or(usize::MAX).max(40);
    let mut text = String::new();
    let mut used = 0;
    for word in words {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            text.push('\n');
            used = 0;
        }
        text.push_str(if used == 0 { "    " } else { " " });
        used += if used == 0 { 4 } else { 1 } + length;
        text.push_str(word);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_fit() {
        let words: Vec<String> = (0..20).map(|number| format!("word{number}")).collect();
        let text = wrap(&words, Some(40));
        assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= 40));
        assert_eq!(wrap(&words, None).lines().count(), 1);
    }
}
