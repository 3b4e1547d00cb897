//! The allowed outcomes of a test under a model, by the engine `smt`, and the verdicts that follow.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use compiler::calls::calls;
use compiler::library::{Libraries, each_call, prepare};
use lang::Test;
use lang::cat::model::{Base, Model};
use lang::diagnostic::{Code, Diagnostic};
use lang::library::notation::{self, shown};
use lang::limits::{Limits, Reached};
use lang::outcome::{Condition, Outcome, Value};
use lang::program::{Object, Towards};
use lang::source::Span;
use skeleton::{self, Misuse, Skeleton};

use crate::asking::{Asking, Refused, as_defined};

use crate::bound::{Complete, Loops};
use crate::execution::Execution;
use crate::smt::encode::EncodeError;
use crate::smt::plan::Plan;
use crate::smt::solver::{Answer, SolverKind};
use crate::smt::{Consistent, Session, Statistics, enumerate};

/// The default number of times that loops are unrolled, if the test gives none.
pub const DEFAULT_LOOP_BOUND: u32 = 4;

/// The settings of a question.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The solver to use.
    pub solver: SolverKind,
    /// The limits of time and memory.
    pub limits: Limits,
    /// The bound on loops, for [`Asking::options`]: a question that is made has its bound. `None`: the test's
    /// own bound, or [`DEFAULT_LOOP_BOUND`].
    pub loop_bound: Option<u32>,
}

/// The result of an engine.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// The outcomes, over all observables of the test.
    pub outcomes: BTreeSet<Outcome>,
    /// The proof that there are no others, if the outcomes are complete.
    pub complete: Option<Complete>,
    /// The reason, if they are not complete.
    pub reason: Option<String>,
    /// The outcomes are not complete because a loop may exceed its bound. A larger bound, or another engine,
    /// may decide.
    pub is_beyond_bound: bool,
    /// Statements that wait forever, if this is why there is no outcome.
    pub blocked: Vec<Span>,
    /// Why the program is not well formed: executions that misuse a library. These executions do not count.
    pub misuses: Vec<Diagnostic>,
    /// Outcomes that only the axioms forbid, if the solver came upon some.
    pub excluded: BTreeSet<Outcome>,
    /// Counters of the solver.
    pub statistics: Statistics,
}

impl Allowed {
    /// Whether it is known that no execution ends, so that there are no outcomes at all.
    pub fn is_endless(&self) -> bool {
        self.complete.is_some() && self.outcomes.is_empty()
    }

    /// Whether nothing is known: no outcome, and there may be some.
    pub fn is_unknown(&self) -> bool {
        self.complete.is_none() && self.outcomes.is_empty()
    }

    /// Whether an outcome is one of them. `⊤` in an allowed outcome stands for every value.
    pub fn contains(&self, outcome: &Outcome) -> bool {
        self.outcomes.contains(outcome) || self.outcomes.iter().any(|known| known.covers(outcome))
    }

    /// The proof that an outcome is not allowed, if that is known.
    pub fn forbids(&self, outcome: &Outcome) -> Option<Complete> {
        self.complete.filter(|_| !self.contains(outcome))
    }

    /// The outcomes over the observables that the test shows, sorted, without repetition.
    pub fn shown(&self, test: &Test) -> Vec<Vec<Value>> {
        let mut shown: Vec<Vec<Value>> =
            self.outcomes.iter().map(|outcome| outcome.0[..test.shown].to_vec()).collect();
        shown.sort();
        shown.dedup();
        shown
    }
}

/// A test and a model that fit each other, ready to be asked about.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The test. Its own locations come first, then the memory of library objects.
    pub test: Cow<'a, Test>,
    /// The model, composed with the libraries that the test uses.
    pub model: AskedModel<'a>,
    /// The test's events.
    pub skeleton: Skeleton,
    /// The model laid out for the test's events.
    pub plan: Plan,
}

/// The model that a question asks.
#[derive(Clone, Debug)]
pub enum AskedModel<'a> {
    /// One without libraries.
    Model(&'a Model),
    /// One composed with libraries, which other questions may share.
    Composed(Arc<Model>),
}

impl std::ops::Deref for AskedModel<'_> {
    type Target = Model;

    fn deref(&self) -> &Model {
        match self {
            Self::Model(model) => model,
            Self::Composed(model) => model,
        }
    }
}

impl<'a> Question<'a> {
    /// A question about a test under a model, to be put together.
    pub fn of(test: &'a Test, model: &'a Model) -> Asking<'a> {
        Asking::new(test, model)
    }

    /// A solver session with the axioms that `keep` picks by their index. The index after the last axiom
    /// stands for what the model says about ⊤.
    ///
    /// # Errors
    /// That the test cannot be encoded, or that a limit was reached.
    pub fn session(
        &self,
        options: &Options,
        keep: impl Fn(usize) -> bool,
    ) -> Result<Session<'_>, Refused> {
        self.session_about(Vec::new(), options, keep)
    }

    /// The same, and the session can be asked for outcomes that meet the conditions.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn session_about(
        &self,
        conditions: Vec<Condition>,
        options: &Options,
        keep: impl Fn(usize) -> bool,
    ) -> Result<Session<'_>, Refused> {
        let solver = (options.solver, &options.limits);
        let shown = (self.test.observables.as_slice(), conditions);
        let made = options
            .limits
            .within(|| Session::new(&self.skeleton, &self.model, &self.plan, shown, solver, keep));
        self.made(made)
    }

    /// Unwraps a session, or reports why it could not be made.
    pub(crate) fn made<'s>(
        &self,
        session: Result<Result<Session<'s>, EncodeError>, Reached>,
    ) -> Result<Session<'s>, Refused> {
        match session {
            Ok(session) => {
                session.map_err(|error| Refused::Wrong(vec![self.encode_diagnostic(&error)]))
            }
            Err(reached) => Err(Refused::Limit(reached)),
        }
    }

    fn encode_diagnostic(&self, error: &EncodeError) -> Diagnostic {
        let at = Span::default();
        match error {
            EncodeError::NoModificationOrder => {
                let model = &self.model.name;
                let message =
                    format!("the model `{model}` has no order `mo` of all writes of a location");
                Diagnostic::error(Code::NoModificationOrder, at, message).help(
                    "final values of locations follow from it: `exists mo total on (W * W) & loc \\ id`",
                )
            }
        }
    }

    /// The misuses of libraries that some executions have and others do not.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn misuses(&self, options: &Options) -> Result<Vec<Diagnostic>, Refused> {
        if self.skeleton.misuses.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.session(options, |_| true)?.misuses();
        Ok(found.into_iter().map(|index| self.misuse(index)).collect())
    }

    /// The warning about the skeleton's misuse with this index.
    pub fn misuse(&self, index: usize) -> Diagnostic {
        misuse_warning(&self.skeleton.misuses[index])
    }

    /// All allowed outcomes.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn allowed(&self, options: &Options) -> Result<Allowed, Refused> {
        self.allowed_by(options, &mut |_| {})
    }

    /// All allowed outcomes, with one execution for each, in any order.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn witnessed(&self, options: &Options) -> Result<(Allowed, Vec<Execution>), Refused> {
        let mut witnesses = Vec::new();
        let allowed = self.allowed_by(options, &mut |at| witnesses.push(at.execution()))?;
        Ok((allowed, witnesses))
    }

    fn allowed_by(
        &self,
        options: &Options,
        witness: &mut dyn FnMut(&Consistent<'_>),
    ) -> Result<Allowed, Refused> {
        let mut session = self.session(options, |_| true)?;
        // Misuses are asked first: clauses that block outcomes would hide them.
        let misuses = session.misuses();
        let (outcomes, answer) = enumerate(&mut session, witness);
        let mut is_beyond_bound = false;
        let proof = match answer {
            Answer::Unsatisfiable => {
                let loops = self.loops(options)?;
                is_beyond_bound = matches!(loops, Loops::Beyond(_));
                loops.proof().map_err(str::to_owned)
            }
            _ => Err(session.why_unknown()),
        };
        let mut blocked = Vec::new();
        if outcomes.is_empty() && proof.is_ok() {
            let unanswered = session.unanswered().iter();
            blocked = unanswered.map(|poll| self.skeleton.event(*poll).span).collect();
        }
        let is_allowed = |one: &&Outcome| outcomes.iter().any(|known| known.covers(one));
        let excluded = session.broken().iter().filter(|one| !is_allowed(one)).cloned().collect();
        Ok(Allowed {
            outcomes,
            excluded,
            complete: proof.as_ref().ok().copied(),
            reason: proof.err(),
            is_beyond_bound,
            blocked,
            misuses: misuses.into_iter().map(|index| self.misuse(index)).collect(),
            statistics: session.statistics(),
        })
    }
}

/// The diagnostic for a limit that was reached. Nothing is wrong, but the answer is unknown.
pub fn limit_reached(reached: Reached) -> Diagnostic {
    Diagnostic::error(Code::LimitReached, Span::default(), reached.to_string())
}

/// The codes of misuses of libraries and arrays.
pub const MISUSES: [Code; 6] = [
    Code::AlreadyHeld,
    Code::NotHeld,
    Code::NeverReleased,
    Code::UnequalCalls,
    Code::WordTooLarge,
    Code::IndexOutOfRange,
];

/// The error for a misuse that happens in every execution.
pub(crate) fn misuse_error(misuse: &Misuse) -> Diagnostic {
    let error = Diagnostic::error(misuse.code, misuse.span, misuse.message.as_str());
    match misuse.related {
        Some((place, text)) if place != misuse.span => error.related(place, text),
        _ => error,
    }
}

/// The warning for a misuse that happens in some executions only.
fn misuse_warning(misuse: &Misuse) -> Diagnostic {
    as_warning(misuse_error(misuse))
}

/// The warning that some executions misuse a library, from the error that all do.
pub(crate) fn as_warning(error: Diagnostic) -> Diagnostic {
    let message = format!("the program is not well formed: {}", error.message);
    let help = match error.code {
        Code::IndexOutOfRange => "executions that do this are left out",
        _ => "executions that do this are left out; the library promises nothing for them",
    };
    Diagnostic { severity: lang::diagnostic::Severity::Warning, message, ..error }.help(help)
}

/// A diagnostic for each kind of statement that the test uses and that neither the model nor a library
/// defines.
pub fn undefined_calls(test: &Test, model: &Model, libraries: &Libraries) -> Vec<Diagnostic> {
    match as_defined(test, model) {
        Ok(test) => undefined_statements(&test, model, libraries),
        Err(error) => vec![*error],
    }
}

/// The same of a test that is in the model's statements already, see [`as_defined`].
pub(crate) fn undefined_statements(
    test: &Test,
    model: &Model,
    libraries: &Libraries,
) -> Vec<Diagnostic> {
    let mut library_calls = Vec::new();
    each_call(&test.program, &mut |_, call, span| {
        let is_defined = libraries.resolve(&test.program, call).is_some();
        library_calls.push((shown(&call.method), span, is_defined));
    });
    if let Some((call, span, _)) = library_calls.first()
        && let Some(lacking) = crate::library::lacking(model)
    {
        let message = format!("the model `{}` does not define `{call}`", model.name);
        let is_array = |object: &Object| object.class == notation::WORDS;
        let arrays = match test.program.objects.iter().find(|object| is_array(object)) {
            Some(Object { name, .. }) => format!(
                "; `{name}` belongs to a library, as the file names none of its words: with `{name}[0]` in it, \
                 it is an array"
            ),
            None => String::new(),
        };
        let help = format!("library calls need an rdma-wait model: this one {lacking}{arrays}");
        return vec![Diagnostic::error(Code::UndefinedCall, *span, message).help(help)];
    }
    let mut objects = test.program.objects.iter();
    let has_unknown = objects.any(|object| libraries.of_class(&object.class).is_none())
        || library_calls.iter().any(|(_, _, is_defined)| !is_defined);
    if has_unknown && let Err(errors) = prepare(test, libraries) {
        return errors;
    }
    let used = calls(&test.program);
    let is_library = |span: &Span| library_calls.iter().any(|(_, known, _)| known == span);
    let undefined = used
        .iter()
        .filter(|(call, span)| !model.calls.contains(&call.as_str()) && !is_library(span));
    let mut undefined: Vec<Diagnostic> =
        undefined.map(|(call, span)| undefined_call(model, call, *span)).collect();
    if undefined.is_empty() && !crate::library::mentions(model, &[Base::SameQueuePair]) {
        undefined.extend(test.program.other_queue_pair().map(|at| one_queue_pair(model, at)));
    }
    undefined
}

/// A model that mentions only threads and nodes would take two queue pairs for one.
fn one_queue_pair(model: &Model, (towards, span): (Towards, Span)) -> Diagnostic {
    let name = &model.name;
    let message = format!("the model `{name}` does not define the queue pair `{towards}`");
    Diagnostic::error(Code::UndefinedQueuePair, span, message)
        .help("it knows one queue pair for each thread and node; `same-queue-pair` relates the events of each")
}

pub(crate) fn undefined_call(model: &Model, call: &str, span: Span) -> Diagnostic {
    let name = &model.name;
    // The words of models for what programs say without a word, or with a mark.
    let what = match call {
        "SharedPost" => "queue pairs that threads share (`SharedPost`)".to_owned(),
        "SharedPoll" => "polls of several queue pairs (`SharedPoll`)".to_owned(),
        "Unsignaled" => "unsignaled requests (`Unsignaled`)".to_owned(),
        call => format!("`{call}`"),
    };
    let message = format!("the model `{name}` does not define {what}");
    let error = Diagnostic::error(Code::UndefinedCall, span, message);
    match call {
        "Poll" if model.calls.contains(&"Wait") => {
            error.help("this model has work ids: write `x^2 :=^d y` and `Wait(d)`, or use an rdma-tso model")
        }
        "Wait" if model.calls.contains(&"Poll") => {
            error.help("this model polls: write `Poll(n)` for each operation towards node n, or use an rdma-wait model")
        }
        _ => error.help(format!("it defines {}", model.calls.join(", "))),
    }
}

#[cfg(test)]
mod tests;
