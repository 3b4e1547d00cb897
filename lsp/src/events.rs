//! What a statement means to models: its events.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use lang::Test;
use lang::cat::model::{Base, Model};
use lang::limits::Limits;
use lang::program::{Program, Stmt, StmtKind, ThreadId};
use lang::source::Span;
use model::allowed::Question;
use model::library;
use skeleton::Event;

use crate::wire;

/// How long the events of a program may take. What is said of a statement is shown without them then.
const LIMIT: Duration = Duration::from_millis(700);

/// The events of a program, once somebody asks for them.
#[derive(Default)]
pub struct Events(OnceCell<Option<Vec<Line>>>);

/// An event in words, and whose it is. The rows of a block have cells of other threads between them, so its
/// place alone does not say whose.
struct Line {
    thread: ThreadId,
    span: Span,
    text: String,
}

impl Events {
    /// The events of a thread's statement, in words, each once; `None` if there is no time for them.
    pub fn of(
        &self,
        test: &Test,
        model: &Model,
        (thread, stmt): (ThreadId, &Stmt),
    ) -> Option<Vec<&str>> {
        let all = self.0.get_or_init(|| in_time(test, model)).as_ref()?;
        let inner = inner(stmt);
        let within = |of: Span, span: Span| of.start <= span.start && span.end <= of.end;
        let mut seen = BTreeSet::new();
        let own = all.iter().filter(|Line { thread: of, span, .. }| {
            *of == thread
                && within(stmt.span, *span)
                && !inner.iter().any(|block| within(*block, *span))
        });
        Some(own.map(|line| line.text.as_str()).filter(|line| seen.insert(*line)).collect())
    }
}

fn in_time(test: &Test, model: &Model) -> Option<Vec<Line>> {
    let work = || Limits::of_time(LIMIT).within(|| lines(test, model));
    // A program without the statements that are wrong may be one that nobody thought of.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(found) => found.ok()?,
        Err(_) => None,
    }
}

fn lines(test: &Test, model: &Model) -> Option<Vec<Line>> {
    let question = Question::of(test, model).libraries(library::shipped()).question().ok()?;
    let line = |event: &Event| {
        let text = line(event, &question.test.program, model);
        Some(Line { thread: event.thread?, span: event.span, text })
    };
    Some(question.skeleton.events.iter().filter_map(line).collect())
}

/// The statements in a statement.
fn inner(stmt: &Stmt) -> Vec<Span> {
    let mut found = Vec::new();
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => {
            found.extend(then.iter().chain(otherwise).map(|stmt| stmt.span));
        }
        StmtKind::Loop(body) => found.extend(body.iter().map(|stmt| stmt.span)),
        _ => {}
    }
    found.retain(|span| *span != stmt.span);
    found
}

fn line(event: &Event, program: &Program, model: &Model) -> String {
    let name = event.stamp.name();
    let base = Base::ALL.iter().find(|base| base.name() == name);
    let said = model.says(name).or_else(|| base.map(|base| base.meaning().to_owned()));
    let said = said.unwrap_or_default();
    let place = event.location.map(|id| format!(", {}", wire::place(program, id)));
    format!("`{name}`: {}{}", said.trim_end_matches('.'), place.unwrap_or_default())
}
