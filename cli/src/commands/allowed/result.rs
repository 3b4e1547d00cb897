//! A test under a model, and how it is shown.

mod json;

use std::collections::BTreeSet;
use std::sync::Arc;

use evidence::record::state_to_json;
use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::{Observable, Outcome, Value};
use lang::source::{Source, Span};
use model::engine::{Disagreement, Engine, Found};
use model::machine::why_nothing;
use model::smt::Statistics;
use model::verdict::{Answered, Checked, Seen, Verdict};
use serde_json::{Value as Json, json};

use crate::input::Input;
use crate::problem::Problem;
use crate::select::Kind;
use crate::sink::Status;
use crate::table::{self, assignments, cells, count, draw, pad};
use crate::terminal::{Look, Tint};

use super::waiting::{Waits, ways};

/// An execution that shows an outcome.
pub struct Witness {
    /// In words.
    pub text: String,
    /// For programs.
    pub json: Json,
}

/// Verdicts of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claims {
    /// All of them.
    pub all: usize,
    /// Those about the model.
    pub here: usize,
}

/// What is known of a test under a model.
pub struct TestResult {
    test: String,
    /// The file's name.
    pub file: String,
    /// How many statements the program has.
    pub size: usize,
    pub(super) model: String,
    engine: Engine,
    /// What outcomes show.
    shown: Vec<Observable>,
    /// Sorted, without repetition.
    pub outcomes: Vec<Vec<Value>>,
    /// Only verdicts were asked for.
    is_partial: bool,
    /// It is known that no execution ends.
    pub(super) is_endless: bool,
    /// Why, if no execution ends.
    pub(super) why_nothing: &'static str,
    complete: bool,
    reason: Option<String>,
    unsupported: Option<String>,
    checked: Vec<Checked>,
    /// How many verdicts the file has, and how many of them are about the model.
    claims: Claims,
    /// Where no execution ends, statements that wait for ever.
    pub(super) blocked: Vec<Waits>,
    /// Ways to wait for ever, with the threads that do; `None` if it is not known whether all executions end.
    pub(super) stuck: Option<Vec<Vec<Waits>>>,
    statistics: Statistics,
    explored: Option<(u64, u64)>,
    /// Both engines' outcomes over all observables.
    disagreement: Option<Json>,
    disagreement_text: String,
    /// One per outcome, if they were asked for.
    pub witnesses: Vec<Witness>,
}

impl TestResult {
    /// Puts together what was found.
    pub fn new(
        test: &Test,
        source: &Source,
        model: &str,
        found: Found,
        (checked, claims): (Vec<Checked>, Claims),
    ) -> Self {
        let stuck = ways(&found.ending, source);
        let mut blocked: Vec<Waits> = stuck.iter().flatten().flatten().copied().collect();
        blocked.sort();
        blocked.dedup();
        if blocked.is_empty() {
            let of_poll = |at: &Span| Waits::of_poll(*at, source);
            blocked = found.allowed.blocked.iter().map(of_poll).collect();
        }
        let all_states = |set: &BTreeSet<Outcome>| {
            set.iter().map(|outcome| state_to_json(test, &outcome.0)).collect::<Vec<_>>()
        };
        let disagreement = found.disagreement.as_ref();
        Self {
            test: test.name.clone(),
            file: source.name.clone(),
            size: test.program.size(),
            model: model.to_owned(),
            engine: found.by,
            shown: test.observables[..test.shown].to_vec(),
            outcomes: found.allowed.shown(test),
            is_partial: false,
            is_endless: found.allowed.is_endless(),
            why_nothing: why_nothing(&test.program, stuck.as_ref().is_some_and(Vec::is_empty)),
            complete: found.allowed.complete.is_some(),
            reason: found.allowed.reason,
            unsupported: found.unsupported,
            checked,
            claims,
            blocked,
            stuck,
            statistics: found.allowed.statistics,
            explored: found.explored,
            disagreement: disagreement.map(|Disagreement { smt, explore }| {
                json!({ "smt": all_states(smt), "explore": all_states(explore) })
            }),
            disagreement_text: disagreement.map_or(String::new(), |both| contrast(test, both)),
            witnesses: Vec::new(),
        }
    }

    /// Puts together what is known if only verdicts were asked for.
    pub fn of_verdicts(
        test: &Test,
        source: &Source,
        model: &str,
        (answered, by): (Answered, Engine),
    ) -> Self {
        let Answered { checked, is_endless, reason } = answered;
        let found = Found { by, ..Found::default() };
        let claims = Claims { all: checked.len(), here: checked.len() };
        let result = Self::new(test, source, model, found, (checked, claims));
        Self { is_partial: true, is_endless, reason, ..result }
    }

    /// How it came out. Verdicts that are known to hold are good even if not all outcomes are known.
    pub fn status(&self) -> Status {
        let fails = self.checked.iter().any(|checked| checked.holds() == Some(false));
        let is_open = if self.checked.is_empty() {
            !self.complete
        } else {
            self.checked.iter().any(|checked| checked.holds().is_none())
        };
        match () {
            () if fails || self.disagreement.is_some() => Status::Bad,
            () if is_open || self.shows_nothing() || self.unsupported.is_some() => Status::Open,
            () if self.checked.is_empty() && self.claims.all > 0 => Status::Unchecked,
            () if self.checked.is_empty() || self.questions().count() < self.checked.len() => {
                Status::Good
            }
            () if self.questions().all(|question| question.is_so() == Some(true)) => Status::Yes,
            () => Status::No,
        }
    }

    /// Whether the file claims that no execution ends, and so it is: `exactly {}`.
    pub(super) fn says_nothing_ends(&self) -> bool {
        self.is_endless && self.checked.iter().any(|checked| checked.verdict == Verdict::Exactly)
    }

    /// Whether no execution ends, and the file neither claims that nor only asks: then nothing was checked.
    fn shows_nothing(&self) -> bool {
        let asks = self.questions().count() > 0;
        self.is_endless && !self.says_nothing_ends() && !asks
    }

    /// The status, as `--only` takes it.
    pub fn kind(&self) -> Kind {
        match self.status() {
            Status::Good => Kind::Ok,
            Status::Yes | Status::No => Kind::Answered,
            Status::Unchecked => Kind::Unchecked,
            Status::Open => Kind::Unknown,
            Status::Bad => Kind::Violation,
        }
    }

    /// What the file only asks.
    fn questions(&self) -> impl Iterator<Item = &Checked> {
        self.checked.iter().filter(|checked| checked.seen.is_some())
    }

    /// An error if the engines contradict each other.
    pub fn engines_disagree(&self, source: &Arc<Source>) -> Option<Problem> {
        self.disagreement.as_ref()?;
        let message = format!(
            "the engines smt and explore disagree under `{}`; this is a bug in litmus or in the model",
            self.model
        );
        let error = Diagnostic::error(Code::EnginesDisagree, Span::default(), message);
        Some(Problem::at(source, error.help(self.disagreement_text.clone())))
    }

    /// Whether it differs from another result of the test by the model's name only.
    fn says_the_same(&self, other: &Self) -> bool {
        let parts = |result: &Self| {
            let Self { complete, reason, unsupported, disagreement_text, .. } = result;
            (*complete, reason.clone(), unsupported.clone(), disagreement_text.clone())
        };
        self.witnesses.is_empty()
            && parts(self) == parts(other)
            && self.outcomes == other.outcomes
            && self.checked == other.checked
    }

    fn word(&self) -> (&'static str, Tint) {
        match self.status() {
            Status::Good => ("ok", Tint::Good),
            Status::Yes => ("Ok", Tint::Good),
            Status::No => ("No", Tint::Strong),
            Status::Unchecked => ("verdicts not checked", Tint::Open),
            Status::Bad => ("FAIL", Tint::Bad),
            Status::Open if self.is_endless => ("no outcome", Tint::Open),
            Status::Open => ("unknown", Tint::Open),
        }
    }
}

/// Both sets, and what differs.
fn contrast(test: &Test, Disagreement { smt, explore }: &Disagreement) -> String {
    let list = |outcomes: &mut dyn Iterator<Item = &Outcome>| {
        let all: Vec<String> = outcomes
            .map(|outcome| format!("{{{}}}", assignments(&test.observables, &outcome.0)))
            .collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(" ") }
    };
    format!(
        "smt: {}\n  explore: {}\n  only smt: {}\n  only explore: {}",
        list(&mut smt.iter()),
        list(&mut explore.iter()),
        list(&mut smt.difference(explore)),
        list(&mut explore.difference(smt)),
    )
}

/// How results are laid out for people: a line or a block each.
pub struct Layout {
    look: Look,
    /// Whether each result is a block.
    pub in_full: bool,
    test_width: usize,
}

impl Layout {
    /// Columns wide enough for the tests that are to come; names of tests are those of their files.
    pub fn new(look: Look, in_full: bool, inputs: &[Input]) -> Self {
        let test_width = table::name_width(look, inputs.iter().map(Input::stem));
        Self { look, in_full, test_width }
    }

    /// The text of one of the results of a file: models that agree share that of the first.
    pub fn draw(&self, results: &[&TestResult], index: usize) -> String {
        let result = results[index];
        if results[..index].iter().any(|other| other.says_the_same(result)) {
            return String::new();
        }
        let mut models = result.model.clone();
        for other in results[index + 1..].iter().filter(|other| other.says_the_same(result)) {
            models = format!("{models}, {}", other.model);
        }
        if self.in_full { self.block(result, &models) } else { self.line(result, &models) }
    }

    fn line(&self, result: &TestResult, models: &str) -> String {
        let (word, tint) = match result.status() {
            Status::Unchecked => ("-", Tint::Open),
            Status::Open if result.is_endless => ("nothing", Tint::Open),
            _ => result.word(),
        };
        let word = self.look.paint(tint, &pad(word, 7));
        let test = pad(&result.test, self.test_width);
        let mut line = format!("{word}  {test}  {}, under {models}", self.numbers(result));
        if let Some(reason) = result.unsupported.as_ref().or(result.reason.as_ref()) {
            line.push_str(&format!("  ({reason})"));
        }
        let mut text = self.look.fit(&line);
        for checked in result.checked.iter().filter(|checked| checked.holds() != Some(true)) {
            let Checked { condition, expected, verdict, .. } = checked;
            let (expected, verdict) = (expected.name(), verdict.name());
            let line = format!("         expected {expected}, found {verdict}: {condition}");
            text.push_str(&self.look.fit(&line));
        }
        text
    }

    fn numbers(&self, result: &TestResult) -> String {
        if result.is_partial {
            let is_asked = result.questions().count() == result.checked.len();
            let what = if is_asked { "question" } else { "verdict" };
            return count(result.checked.len(), what);
        }
        let more = if result.complete { "" } else { " or more" };
        let outcomes = format!("{}{more}", count(result.outcomes.len(), "outcome"));
        let questions = result.questions().count();
        let (checked, here) =
            (result.checked.len() - questions, result.claims.here.saturating_sub(questions));
        let mut text = match (checked, here) {
            (0, 0) if questions > 0 => outcomes,
            (0, 0) if result.claims.all == 0 => format!("{outcomes}, no verdict"),
            (0, 0) if self.in_full => {
                format!("{outcomes}, {} of other models", count(result.claims.all, "verdict"))
            }
            (0, 0) => format!("{outcomes}, verdicts not checked"),
            (checked, here) if checked < here => {
                format!("{outcomes}, {checked} of {}", count(here, "verdict"))
            }
            (checked, _) => format!("{outcomes}, {}", count(checked, "verdict")),
        };
        for seen in result.questions().filter_map(|question| question.seen) {
            let Seen { positive, negative, .. } = seen;
            text.push_str(&format!(", {} {positive} {negative}", seen.word().unwrap_or("unknown")));
        }
        text
    }

    /// The answers to questions, as herd gives them.
    fn answers(&self, result: &TestResult) -> String {
        let mut text = String::new();
        for question in result.questions() {
            let Some(Seen { positive, negative, .. }) = question.seen else { continue };
            let answer = question.answer().unwrap_or(Verdict::Unknown.name());
            let word = question.seen.and_then(Seen::word).unwrap_or(Verdict::Unknown.name());
            text.push_str(&format!("  {answer}: {}\n", question.condition));
            let test = &result.test;
            text.push_str(&format!("  Observation {test} {word} {positive} {negative}\n"));
        }
        text
    }

    fn block(&self, result: &TestResult, models: &str) -> String {
        let (word, tint) = result.word();
        let test = self.look.paint(Tint::Strong, &result.test);
        let word = self.look.paint(tint, word);
        let engine = result.engine.name();
        let numbers = self.numbers(result);
        let head = format!("{test} under {models}, by {engine}: {numbers} — {word}");
        let mut text = self.look.fit(&head);
        for reason in result.unsupported.iter().chain(&result.reason).take(1) {
            text.push_str(&self.look.fit(&format!("  {reason}")));
        }
        if !result.outcomes.is_empty() && !result.shown.is_empty() {
            let head: Vec<&str> = result.shown.iter().map(|shown| shown.name.as_str()).collect();
            let rows = result.outcomes.iter().map(|outcome| cells(&result.shown, outcome));
            text.push_str(&draw(self.look, &head, rows, self.look.verbose > 0));
        }
        let claims = result.checked.iter().filter(|checked| checked.seen.is_none());
        let rows: Vec<Vec<String>> = claims.map(|checked| self.verdict(checked)).collect();
        if !rows.is_empty() {
            text.push_str(&draw(self.look, &["", "expected", "found", "condition"], rows, true));
        }
        text.push_str(&self.answers(result));
        for witness in &result.witnesses {
            text.push('\n');
            text.push_str(&witness.text);
        }
        text.push('\n');
        text
    }

    fn verdict(&self, checked: &Checked) -> Vec<String> {
        let word = match checked.holds() {
            Some(true) => self.look.paint(Tint::Good, "ok"),
            Some(false) => self.look.paint(Tint::Bad, "FAIL"),
            None if checked.verdict == Verdict::Vacuous => self.look.paint(Tint::Open, "-"),
            None => self.look.paint(Tint::Open, Verdict::Unknown.name()),
        };
        let (expected, verdict) = (checked.expected.name(), checked.verdict.name());
        vec![word, expected.to_owned(), verdict.to_owned(), checked.condition.clone()]
    }
}
