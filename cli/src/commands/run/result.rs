//! A test that was run and judged under a model, and how it is shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::shell::quote;
use evidence::judge::{Conclusion, Forbids, Judge, JudgedBy, JudgedOutcome, JudgedTest, Judgement};
use evidence::record::{self, TestRecord, value_to_json};
use lang::Test;
use lang::outcome::{Observable, Outcome};
use lang::source::Source;
use model::verdict::excludes;
use serde_json::{Value as Json, json};

use super::summary::Evidence;

use crate::input::{Input, STDIN};
use crate::options::Format;
use crate::select::{Kind, OnlyOption};
use crate::sink::{Sink, Status};
use crate::table::{self, assignments, cells, count, draw, pad};
use crate::terminal::{Look, Tint};

/// What is known of a test that was run.
pub struct RunResult {
    test: String,
    file: String,
    machine: String,
    model: String,
    /// The model as `--model` takes it.
    model_argument: String,
    backend: String,
    shown: Vec<Observable>,
    iterations: u64,
    finished: u64,
    blocked: u64,
    assume_failed: u64,
    unfinished: u64,
    is_interrupted: bool,
    judged: JudgedTest,
    /// What was seen and the file marks ✗, though the model is not known to forbid it.
    against_file: BTreeSet<Outcome>,
    /// Whether it could show a violation.
    forbids: Forbids,
    /// Whether all allowed outcomes are known.
    complete: bool,
    /// Why they are not all known.
    reason: Option<String>,
    /// What else a reader should know, such as which machines ran it.
    notes: Vec<String>,
    /// Whether an outcome showed that threads of real machines overlapped; `None` if none could.
    overlapped: Option<bool>,
    /// `--library` and a file, for each.
    library_options: String,
    /// What explains violations, if there are some.
    evidence: Option<Box<Evidence>>,
}

impl RunResult {
    /// Puts together what was measured and judged.
    pub fn new(test: &Test, (record, backend): (&TestRecord, &str), by: &JudgedBy) -> Self {
        let (judge, name) = (&by.judge, &by.judge.identity.name);
        let seen = by.judged.outcomes.iter();
        let seen = seen.filter(|one| one.judgement != Judgement::Violation);
        let is_against = |one: &&Outcome| excludes(test, name, judge.is_own, one);
        let against_file = seen.map(|one| &one.outcome).filter(is_against).cloned().collect();
        Self {
            test: test.name.clone(),
            file: record.file.clone(),
            machine: record.machine.clone(),
            model: name.clone(),
            model_argument: judge.argument.clone(),
            backend: backend.to_owned(),
            shown: test.observables.clone(),
            iterations: record.iterations,
            finished: record.finished,
            blocked: record.blocked,
            assume_failed: record.assume_failed,
            unfinished: record.unfinished,
            is_interrupted: record.status == record::Status::Interrupted,
            judged: by.judged.clone(),
            against_file,
            forbids: by.forbids,
            complete: by.allowed.complete.is_some(),
            reason: by.allowed.reason.clone(),
            notes: record.notes.clone(),
            overlapped: by.overlapped,
            library_options: String::new(),
            evidence: None,
        }
    }

    /// With the options that name its libraries.
    #[must_use]
    pub fn with_libraries(self, options: &str) -> Self {
        Self { library_options: options.to_owned(), ..self }
    }

    /// With what explains its violations, if it has some.
    #[must_use]
    pub fn explained_by(self, test: &Test, source: &Arc<Source>, model: &Arc<Judge>) -> Self {
        let evidence = (self.status() == Status::Bad).then(|| {
            let (source, model) = (Arc::clone(source), Arc::clone(model));
            Box::new(Evidence { test: test.clone(), source, model })
        });
        Self { evidence, ..self }
    }

    /// What explains its violations.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_deref()
    }

    /// The judgement.
    pub fn judged(&self) -> &JudgedTest {
        &self.judged
    }

    /// The file and the machine.
    pub fn identity(&self) -> (&str, &str) {
        (&self.file, &self.machine)
    }

    /// Whether it shows what the file marks ✗ and the model allows: the verdict of the file is wrong. What is
    /// not known to be allowed shows nothing about the verdict.
    pub fn is_against_file(&self) -> bool {
        self.judged.outcomes.iter().any(|seen| {
            seen.judgement != Judgement::Inconclusive && self.against_file.contains(&seen.outcome)
        })
    }

    /// Whether it could show a violation.
    pub fn forbids(&self) -> Forbids {
        self.forbids
    }

    /// Whether an outcome showed that threads of real machines overlapped; `None` if none could.
    pub fn overlapped(&self) -> Option<bool> {
        self.overlapped
    }

    /// Runs that ended with an outcome.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// How it came out. What was interrupted is judged by what was seen until then.
    pub fn status(&self) -> Status {
        match self.judged.overall.conclusion() {
            Conclusion::Violated => Status::Bad,
            Conclusion::Unknown => Status::Open,
            Conclusion::Holds => Status::Good,
        }
    }

    /// The judgement, as `--only` takes it.
    pub fn kind(&self) -> Kind {
        match self.judged.overall {
            Judgement::Violation => Kind::Violation,
            Judgement::Inconclusive => Kind::Unknown,
            Judgement::Unseen => Kind::Unseen,
            Judgement::Conforms => Kind::Ok,
        }
    }

    /// As documented for `litmus-run/1`.
    pub fn json(&self) -> Json {
        let state = |Outcome(values): &Outcome| -> Json {
            let values = values.iter().map(|value| value_to_json(*value));
            Json::Object(self.shown.iter().map(|shown| shown.name.clone()).zip(values).collect())
        };
        let outcome = |judged: &JudgedOutcome| {
            let mut json = json!({
                "state": state(&judged.outcome),
                "count": judged.count,
                "judgement": judged.judgement.name(),
            });
            if self.against_file.contains(&judged.outcome) {
                json["file_says"] = json!("forbidden");
            }
            json
        };
        let mut json = json!({
            "test": self.test,
            "file": self.file,
            "model": self.model,
            "backend": self.backend,
            "machine": self.machine,
            "iterations": self.iterations,
            "finished": self.finished,
            "blocked": self.blocked,
            "assume_failed": self.assume_failed,
            "unfinished": self.unfinished,
            "interrupted": self.is_interrupted,
            "judgement": self.judged.overall.name(),
            "complete": self.complete,
            "forbids": self.forbids,
            "outcomes": self.judged.outcomes.iter().map(outcome).collect::<Json>(),
            "unseen": self.judged.unseen.iter().map(state).collect::<Json>(),
        });
        let is_open = self.judged.overall == Judgement::Inconclusive;
        if let Some(reason) = &self.reason {
            json["reason"] = json!(reason);
        } else if is_open && self.judged.outcomes.is_empty() {
            json["reason"] = json!("no run ended");
        }
        if !self.notes.is_empty() {
            json["notes"] = json!(self.notes);
        }
        if let Some(overlapped) = self.overlapped {
            json["overlapped"] = json!(overlapped);
        }
        let explain: Vec<String> = self.violations().map(|bad| self.explain(bad)).collect();
        if !explain.is_empty() {
            json["explain"] = json!(explain);
        }
        json
    }

    /// Whether it differs from another result of the test by the model's name only.
    fn says_the_same(&self, other: &Self) -> bool {
        self.machine == other.machine
            && self.judged == other.judged
            && self.reason == other.reason
            && self.against_file == other.against_file
    }

    /// What was seen and is forbidden.
    pub fn violations(&self) -> impl Iterator<Item = &JudgedOutcome> {
        self.judged.violations()
    }

    /// The command that explains why an outcome is forbidden.
    pub fn explain(&self, judged: &JudgedOutcome) -> String {
        let outcome = assignments(&self.shown, &judged.outcome.0);
        let file = if self.file == STDIN { "-" } else { &self.file };
        let (file, model) = (quote(file), quote(&self.model_argument));
        let libraries = &self.library_options;
        format!("litmus explain {file} --model {model}{libraries} --outcome {}", quote(&outcome))
    }
}

/// How results are laid out for people: a line or a table each.
pub struct Layout {
    look: Look,
    /// Whether each result is a table.
    in_full: bool,
    test_width: usize,
    /// How many lines about what was never seen there were.
    unseen: usize,
    /// The first of them: they come after the violations.
    kept: String,
}

/// How many tests are named of which something was never seen, unless `--only` or `-v` asks for them.
const UNSEEN: usize = 20;

impl Layout {
    /// Columns wide enough for the tests that are to come; their names are those of their files.
    pub fn new(look: Look, is_few: bool, inputs: &[Input]) -> Self {
        let test_width = table::name_width(look, inputs.iter().map(Input::stem));
        let in_full = !look.quiet && (is_few || look.verbose > 0);
        Self { look, in_full, test_width, unseen: 0, kept: String::new() }
    }

    /// Prints those of a file's results that are wanted.
    pub fn print(&mut self, results: &[RunResult], options: &OnlyOption, sink: &mut Sink<'_>) {
        let is_table = sink.format == Format::Table;
        let is_shown = |result: &&RunResult| {
            // Violations are shown at the end.
            let is_later = is_table && !self.in_full && result.kind() == Kind::Violation;
            let shows = options.shows(result.kind(), sink, self.in_full);
            let is_asked = || options.shows(Kind::Violation, sink, self.in_full);
            let is_wrong = result.is_against_file() && (!options.is_some() || is_asked());
            !is_later && (shows || is_wrong)
        };
        let shown: Vec<&RunResult> = results.iter().filter(is_shown).collect();
        for (index, result) in shown.iter().enumerate() {
            let mut text = if is_table { self.draw(&shown, index) } else { String::new() };
            if result.kind() == Kind::Unseen && !self.in_full && !options.is_some() {
                self.unseen += usize::from(!text.is_empty());
                let text = std::mem::take(&mut text);
                self.kept.push_str(if self.unseen > UNSEEN { "" } else { &text });
            }
            sink.print(|| result.json(), || text);
        }
    }

    /// Which tests have something that was never seen: some of them, and how many more there are.
    pub fn unseen(self) -> String {
        match self.unseen.saturating_sub(UNSEEN) {
            0 => self.kept,
            more => format!("{}… and {more} more unseen; --only unseen lists them\n", self.kept),
        }
    }

    /// The text of one of the results of a file: models and machines of which the same is said share that of
    /// the first.
    fn draw(&self, results: &[&RunResult], index: usize) -> String {
        let result = results[index];
        if results[..index].iter().any(|other| self.is_one(other, result)) {
            return String::new();
        }
        let mut models = result.model.clone();
        for other in results[index + 1..].iter().filter(|other| self.is_one(result, other)) {
            models = format!("{models}, {}", other.model);
        }
        if self.in_full { self.block(result, &models) } else { self.line(result, &models) }
    }

    /// Whether two results share a text.
    fn is_one(&self, one: &RunResult, other: &RunResult) -> bool {
        if self.in_full {
            return one.says_the_same(other);
        }
        let is_alike = one.judged.overall == other.judged.overall;
        is_alike && self.numbers(one) == self.numbers(other)
    }

    fn word(&self, judgement: Judgement, width: usize) -> String {
        let (word, tint) = match judgement {
            Judgement::Violation => ("VIOLATION", Tint::Bad),
            Judgement::Inconclusive => (judgement.name(), Tint::Open),
            Judgement::Unseen => (judgement.name(), Tint::Faint),
            Judgement::Conforms => (judgement.name(), Tint::Good),
        };
        self.look.paint(tint, &pad(word, width))
    }

    fn line(&self, result: &RunResult, models: &str) -> String {
        let word = self.word(result.judged.overall, 12);
        let test = pad(&result.test, self.test_width);
        self.look.fit(&format!("{word}  {test}  {}, under {models}", self.numbers(result)))
    }

    fn numbers(&self, result: &RunResult) -> String {
        let seen = format!("{} seen", count(result.judged.outcomes.len(), "outcome"));
        let mut parts = vec![seen];
        let counts = [
            (result.judged.unseen.len() as u64, "unseen"),
            (result.against_file.len() as u64, "that the file marks ✗"),
            (result.assume_failed, "runs failed an assume"),
            (result.blocked, "runs waited for ever"),
            (
                result.unfinished,
                "runs given up: too many steps, a full queue, or a completion that did not come",
            ),
        ];
        let some = counts.into_iter().filter(|(number, _)| *number > 0);
        parts.extend(some.map(|(number, what)| format!("{number} {what}")));
        if result.is_interrupted {
            parts.push(format!("interrupted after {} runs", result.iterations));
        }
        parts.extend(result.reason.iter().map(|reason| format!("({reason})")));
        parts.extend(result.notes.iter().map(|note| format!("({note})")));
        if result.overlapped == Some(false) {
            parts.push("(no outcome shows that threads overlapped)".to_owned());
        }
        parts.join(", ")
    }

    fn block(&self, result: &RunResult, models: &str) -> String {
        let test = self.look.paint(Tint::Strong, &result.test);
        let word = self.word(result.judged.overall, 0);
        let (backend, runs) = (&result.backend, result.iterations);
        let numbers = self.numbers(result);
        let head = format!("{test} under {models}, {runs} runs on {backend}: {numbers} — {word}");
        let mut text = self.look.fit(&head);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for judged in &result.judged.outcomes {
            let mut row = cells(&result.shown, &judged.outcome.0);
            let mut word = self.word(judged.judgement, 0);
            if result.against_file.contains(&judged.outcome) {
                word.push_str(&self.look.paint(Tint::Bad, ", the file says ✗"));
            }
            row.extend([judged.count.to_string(), word]);
            rows.push(row);
        }
        for unseen in &result.judged.unseen {
            let mut row = cells(&result.shown, &unseen.0);
            row.extend(["0".to_owned(), self.word(Judgement::Unseen, 0)]);
            rows.push(row);
        }
        if !rows.is_empty() {
            let mut head: Vec<&str> =
                result.shown.iter().map(|shown| shown.name.as_str()).collect();
            head.extend(["count", "judgement"]);
            text.push_str(&draw(self.look, &head, rows, self.look.verbose > 0));
        }
        text.push('\n');
        text
    }
}
