//! Threads that wait for ever: where, and what is said of it.

use std::sync::Arc;

use lang::diagnostic::{Code, Diagnostic};
use lang::source::{Source, Span};
use model::machine::{Ending, Place, Places};
use serde_json::{Value as Json, json};

use super::result::TestResult;
use crate::problem::Problem;

/// A statement that some thread never comes back from, or a message that waits for a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waits {
    /// From 1; `None` if only the statement is known.
    thread: Option<usize>,
    place: Place,
    line: usize,
    column: usize,
}

impl Waits {
    /// A poll of a text.
    pub fn of_poll(at: Span, source: &Source) -> Self {
        Self::new(None, Place::Thread(at), source)
    }

    fn new(thread: Option<usize>, place: Place, source: &Source) -> Self {
        let (line, column) = source.line_column(place.at().start);
        Self { thread, place, line, column }
    }

    /// What is said beside the statement.
    fn label(&self) -> String {
        match (self.thread, self.place) {
            (None, _) => "waits for ever".to_owned(),
            (Some(thread), Place::Thread(_)) => format!("thread {thread} waits here for ever"),
            (Some(thread), Place::Message(_)) => {
                format!("this message of thread {thread} waits for a receive for ever")
            }
            (Some(thread), Place::SomeMessage(_)) => format!(
                "this message of thread {thread}, or another of the queue pair, waits for a receive for ever"
            ),
        }
    }

    /// As documented for `litmus-allowed/1`.
    pub fn json(&self) -> Json {
        let mut json = json!({ "line": self.line, "column": self.column });
        if let Some(thread) = self.thread {
            json["thread"] = json!(thread);
        }
        if !matches!(self.place, Place::Thread(_)) {
            json["message"] = json!(true);
        }
        json
    }
}

/// A warning if the program cannot end under some of the models, and the file does not say so.
pub fn no_outcome(results: &[TestResult], source: &Arc<Source>) -> Option<Problem> {
    let is_none = |result: &&TestResult| result.is_endless && !result.says_nothing_ends();
    let none: Vec<&TestResult> = results.iter().filter(is_none).collect();
    let first = none.first()?;
    let models: Vec<String> = none.iter().map(|result| format!("`{}`", result.model)).collect();
    let why = first.why_nothing;
    let message = format!("the program has no outcome under {}: {why}", models.join(", "));
    let warning = waiting(Code::NoOutcome, message, &first.blocked);
    let help = "so ✗ and `forall` hold of nothing, which checks nothing; `exactly {} for (…)` says that this is meant";
    Some(Problem::at(source, warning.help(help)))
}

/// A warning for each set of statements at which threads wait for ever in some executions, while others end.
pub fn may_not_end(results: &[TestResult], source: &Arc<Source>) -> Vec<Problem> {
    let is_stuck = |result: &&TestResult| {
        !result.is_endless && result.stuck.as_ref().is_some_and(|ways| !ways.is_empty())
    };
    let mut groups: Vec<(&[Waits], Vec<String>)> = Vec::new();
    for result in results.iter().filter(is_stuck) {
        let model = format!("`{}`", result.model);
        match groups.iter_mut().find(|(blocked, _)| *blocked == result.blocked) {
            Some((_, models)) => models.push(model),
            None => groups.push((&result.blocked, vec![model])),
        }
    }
    let warning = |(blocked, models): (&[Waits], Vec<String>)| {
        let message = format!("not every execution ends under {}", models.join(", "));
        let help = "verdicts are about executions that end: what only the others could show counts as forbidden";
        Problem::at(source, waiting(Code::MayNotEnd, message, blocked).help(help))
    };
    groups.into_iter().map(warning).collect()
}

/// A warning with the statements at which threads wait.
fn waiting(code: Code, message: String, blocked: &[Waits]) -> Diagnostic {
    let Some((first, others)) = blocked.split_first() else {
        return Diagnostic::warning(code, Span::default(), message);
    };
    let warning = Diagnostic::warning(code, first.place.at(), message).label(first.label());
    others.iter().fold(warning, |warning, waits| warning.related(waits.place.at(), waits.label()))
}

/// The ways to wait for ever, with the threads that do; `None` if it is not known whether there are any.
pub fn ways(ending: &Ending, source: &Source) -> Option<Vec<Vec<Waits>>> {
    let way = |places: &Places| {
        let waits = places
            .iter()
            .enumerate()
            .filter_map(|(thread, at)| Some(Waits::new(Some(thread + 1), (*at)?, source)));
        waits.collect()
    };
    match ending {
        Ending::Unknown => None,
        Ending::Always => Some(Vec::new()),
        Ending::NotAlways(ways) if ways.is_empty() => Some(vec![Vec::new()]),
        Ending::NotAlways(ways) => Some(ways.iter().map(way).collect()),
    }
}
