//! How a test and a model become a question, and why they may not.

use std::borrow::Cow;

use compiler::library::{Libraries, each_call, prepare};
use compiler::plan::on_verbs;
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::{Code, Diagnostic};
use lang::limits::{Limits, Reached};
use lang::outcome::{Observable, Observed};
use lang::program::RegisterId;
use lang::source::Span;
use skeleton::Guard;

use crate::allowed::{
    AskedModel, DEFAULT_LOOP_BOUND, MISUSES, Options, Question, limit_reached, misuse_error,
    undefined_call, undefined_calls, undefined_statements,
};
use crate::library::Composed;
use crate::sequential;
use crate::smt::plan::Plan;

/// What is wrong with a test under the models that it is for: statements that they do not define, and rules
/// of libraries that it breaks.
pub fn wrong_under(test: &Test, models: &[&Model], libraries: &Libraries) -> Vec<Diagnostic> {
    let undefined = models.iter().flat_map(|model| undefined_calls(test, model, libraries));
    let mut wrong: Vec<Diagnostic> = undefined.collect();
    // Rules of libraries are kept whatever the model, so one is enough to see.
    let is_shown = |one: &Observable| matches!(one.what, Observed::Copy(..));
    let has_objects =
        !libraries.used(&test.program).is_empty() || test.observables.iter().any(is_shown);
    if wrong.is_empty() && sequential::is_called(test, libraries) {
        return sequential::wrong_in_all(test, libraries);
    }
    if let (true, true, Some(model)) = (wrong.is_empty(), has_objects, models.first())
        && let Err(errors) = Question::of(test, model).libraries(libraries).question()
    {
        wrong.extend(errors.diagnostics());
    }
    wrong
}

/// A question before it is asked. Unless said otherwise, its libraries are the shipped ones, its loops are
/// unrolled as the test says, and there are no limits.
#[derive(Clone)]
pub struct Asking<'a> {
    test: &'a Test,
    model: &'a Model,
    libraries: &'a Libraries,
    loops: Option<u32>,
    limits: Option<Limits>,
    /// Registers that are switches, by their names.
    switches: &'a [String],
    /// Models that questions with the same model and libraries have composed.
    composed: Option<&'a Composed>,
}

/// Why a question cannot be asked, or has no answer.
#[derive(Clone, Debug)]
pub enum Refused {
    /// The model does not define statements of the test.
    Undefined(Vec<Diagnostic>),
    /// Every execution of the test uses a library as its rules exclude.
    Misuse(Vec<Diagnostic>),
    /// A library cannot be used in this way: the call, and why.
    Library(String, Box<Diagnostic>),
    /// A limit was reached. Nothing is wrong.
    Limit(Reached),
    /// Something else is wrong with the test or the model.
    Wrong(Vec<Diagnostic>),
}

impl<'a> Asking<'a> {
    pub(crate) fn new(test: &'a Test, model: &'a Model) -> Self {
        let libraries = crate::library::shipped();
        Self { test, model, libraries, loops: None, limits: None, switches: &[], composed: None }
    }

    /// The libraries that the test may use.
    #[must_use]
    pub fn libraries(self, libraries: &'a Libraries) -> Self {
        Self { libraries, ..self }
    }

    /// Where composed models are kept, for questions with the same model and libraries.
    #[must_use]
    pub fn composed(self, composed: &'a Composed) -> Self {
        Self { composed: Some(composed), ..self }
    }

    /// Registers, by their names, that hold at first what whoever asks a session chooses: 1 or 0. Programs
    /// that use libraries have none.
    #[must_use]
    pub fn switches(self, switches: &'a [String]) -> Self {
        Self { switches, ..self }
    }

    /// How often loops are unrolled. `None`: as the test says, or [`DEFAULT_LOOP_BOUND`].
    #[must_use]
    pub fn loops(self, loops: Option<u32>) -> Self {
        Self { loops, ..self }
    }

    /// The bound on loops and the limits that options set.
    #[must_use]
    pub fn options(self, options: &Options) -> Self {
        Self { loops: options.loop_bound, limits: Some(options.limits.clone()), ..self }
    }

    /// The question.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub fn question(self) -> Result<Question<'a>, Refused> {
        match self.limits.clone() {
            Some(limits) => {
                limits.within(|| self.made()).unwrap_or_else(|why| Err(Refused::Limit(why)))
            }
            None => self.made(),
        }
    }

    fn made(&self) -> Result<Question<'a>, Refused> {
        let Self { model, libraries, loops, .. } = *self;
        let test = as_defined(self.test, model).map_err(|error| Refused::Wrong(vec![*error]))?;
        let sequential = sequential_calls(&test, libraries);
        if !sequential.is_empty() {
            return Err(Refused::Wrong(sequential));
        }
        let undefined = undefined_statements(&test, model, libraries);
        if !undefined.is_empty() {
            return Err(Refused::of(undefined));
        }
        let bound = loops.or(test.loop_bound).unwrap_or(DEFAULT_LOOP_BOUND);
        let is_object = |one: &Observable| matches!(one.what, Observed::Copy(..));
        let (test, model, skeleton) = if libraries.used(&test.program).is_empty() {
            let test = match test.observables.iter().any(is_object) {
                true => Cow::Owned(prepare(&test, libraries).map_err(Refused::of)?.test),
                false => test,
            };
            let named = |name: &String| {
                let mut registers = test.program.registers.iter();
                registers.position(|one| one.name.as_ref() == Some(name)).map(RegisterId)
            };
            let switches: Vec<RegisterId> = self.switches.iter().filter_map(named).collect();
            let skeleton = skeleton::build_with_switches(&test.program, &switches, bound);
            (test, AskedModel::Model(model), skeleton)
        } else {
            let prepared = prepare(&test, libraries).map_err(Refused::of)?;
            let own = Composed::default();
            let composed = self.composed.unwrap_or(&own).model(model, libraries, &prepared.used);
            let composed = composed.map_err(Refused::of)?;
            let skeleton = skeleton::build_prepared(&prepared, libraries, bound);
            (Cow::Owned(prepared.test), AskedModel::Composed(composed), skeleton)
        };
        let skeleton = skeleton.map_err(|unsupported| match unsupported.reason {
            Some(reason) => {
                let message = format!("`{}`: {reason}", unsupported.call);
                let error = Diagnostic::error(Code::LibraryNotUsable, unsupported.span, message);
                Refused::Library(unsupported.call, Box::new(error))
            }
            None => Refused::Undefined(vec![undefined_call(
                &model,
                &unsupported.call,
                unsupported.span,
            )]),
        })?;
        let certain = skeleton.misuses.iter().filter(|misuse| misuse.guard == Guard::TRUE);
        let errors: Vec<Diagnostic> = certain.map(misuse_error).collect();
        if !errors.is_empty() {
            return Err(Refused::Misuse(errors));
        }
        let plan = Plan::new(&model, &skeleton).map_err(|error| {
            let error = Diagnostic::error(Code::ModelNotUsable, Span::default(), error.0);
            Refused::Wrong(vec![error])
        })?;
        Ok(Question { test, model, skeleton, plan })
    }
}

/// A test in the statements that a model defines. A coreRMA test is asked of a model of RDMA as the test that
/// RDMA runs in its place.
///
/// # Errors
/// That the program is nested too deeply.
pub(crate) fn as_defined<'t>(
    test: &'t Test,
    model: &Model,
) -> Result<Cow<'t, Test>, Box<Diagnostic>> {
    let defines = |call: &str| model.calls.contains(&call);
    if defines("Rma") || !defines("Wait") {
        return Ok(Cow::Borrowed(test));
    }
    match on_verbs(test) {
        Ok(None) => Ok(Cow::Borrowed(test)),
        Ok(Some(on_verbs)) => Ok(Cow::Owned(on_verbs)),
        Err(error) => Err(Box::new(error.diagnostic())),
    }
}

/// Calls that have no events, because their library's specification is a sequential object.
fn sequential_calls(test: &Test, libraries: &Libraries) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    each_call(&test.program, &mut |_, call, span| {
        let Some(resolved) = libraries.resolve(&test.program, call) else { return };
        if resolved.library.sequential.is_some() {
            let (method, library) = (&resolved.method.name, &resolved.library.name);
            let message = format!(
                "`{method}`: the specification of `{library}` is a sequential object, without events"
            );
            let help = "`litmus allowed` takes its calls in every order; `--inline` asks about the \
                        implementation";
            found.push(Diagnostic::error(Code::LibraryNotUsable, span, message).help(help));
        }
    });
    found
}

/// The codes of what a model does not define.
const UNDEFINED: [Code; 2] = [Code::UndefinedCall, Code::UndefinedQueuePair];

impl Refused {
    /// What diagnostics of a test come to, by their codes: here, and nowhere else.
    fn of(diagnostics: Vec<Diagnostic>) -> Self {
        match diagnostics.first() {
            _ if diagnostics.iter().any(is_misuse) => Self::Misuse(diagnostics),
            Some(first) if UNDEFINED.contains(&first.code) => Self::Undefined(diagnostics),
            _ => Self::Wrong(diagnostics),
        }
    }

    /// What to say.
    pub fn diagnostics(self) -> Vec<Diagnostic> {
        match self {
            Self::Undefined(all) | Self::Misuse(all) | Self::Wrong(all) => all,
            Self::Library(_, error) => vec![*error],
            Self::Limit(reached) => vec![limit_reached(reached)],
        }
    }

    /// The first misuse of a library.
    pub fn misuse(&self) -> Option<&Diagnostic> {
        match self {
            Self::Misuse(all) => all.iter().find(|error| is_misuse(error)),
            _ => None,
        }
    }

    /// The message of the first diagnostic.
    pub fn text(&self) -> String {
        match self {
            Self::Undefined(all) | Self::Misuse(all) | Self::Wrong(all) => {
                all.first().map(|error| error.message.clone()).unwrap_or_default()
            }
            Self::Library(_, error) => error.message.clone(),
            Self::Limit(reached) => reached.to_string(),
        }
    }

    /// The same with its hint.
    pub fn message(self) -> String {
        first_message(&self.diagnostics())
    }
}

impl From<Refused> for Vec<Diagnostic> {
    fn from(refused: Refused) -> Self {
        refused.diagnostics()
    }
}

/// Whether a diagnostic says that a program uses a library as its rules exclude.
fn is_misuse(error: &Diagnostic) -> bool {
    MISUSES.contains(&error.code) || error.code == Code::NotAParticipant
}

/// The first of several errors, with its hint.
pub(crate) fn first_message(errors: &[Diagnostic]) -> String {
    match errors.first() {
        Some(Diagnostic { message, help: Some(help), .. }) => format!("{message} ({help})"),
        Some(error) => error.message.clone(),
        None => String::new(),
    }
}
