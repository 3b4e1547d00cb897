//! Questions to the engines: which outcomes does a test have under a model.

mod answers;
mod shipped;

use std::collections::BTreeSet;
use std::time::Duration;

use compiler::library::Libraries;
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::{Code, Diagnostic};
use lang::limits::Limits;
use lang::outcome::{Asked, Outcome};
use lang::program::{StmtKind, each};
use lang::source::Span;
use web_time::Instant;

use self::answers::{both, by_smt, explore, of_machine};
use self::shipped::is_shipped;
use crate::allowed::{Allowed, Options, Question, undefined_calls};
use crate::asking::{Refused, first_message};
use crate::explain::{Explanation, Reason, explain};
use crate::machine::{self, Ending, Trial};
use crate::sequential;
use crate::smt::solver::SolverKind;
use crate::verdict::{self, Answered, Needs};

/// Which engine computes outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Explore where it knows all outcomes soon, or sooner than smt can find them; else smt; both where a
    /// loop may exceed its bound.
    #[default]
    Auto,
    /// Smt, and explore where smt cannot tell since a loop may exceed its bound. For judging what the
    /// simulator shows: it is the machine that explore would ask.
    Axioms,
    /// The model's axioms, by a solver.
    Smt,
    /// The operational machine, by exploring all its states.
    Explore,
    /// Both, compared.
    Both,
}

/// How many states are explored at most where smt cannot tell, or takes longer, unless the user says
/// otherwise: a few seconds.
pub(crate) const STATES_OF_AUTO: u64 = 1_000_000;
/// How many states are explored at most before smt is asked, or to know whether all executions end: up to
/// 0.1 s.
const FEW_STATES: u64 = 20_000;
/// How many more for each statement. Smt takes time in proportion to the square of their number.
const STATES_OF_STATEMENT: u64 = 10;
/// How many states are explored at most before smt is asked about claims that need few outcomes.
const STATES_OF_VERDICTS: u64 = 200;
/// How many bytes these may take: those of long programs are large, and take as much longer.
const FEW_BYTES: usize = 16 << 20;
/// So many outcomes in these states, and all outcomes take smt longer than all states take the machine: an
/// outcome by smt takes as long as some eight states, and later states show fewer new ones.
const MANY_OUTCOMES: usize = 5000;
/// How many bytes the states may take then.
const MANY_BYTES: usize = 512 << 20;

impl Engine {
    /// Whether the machine is asked about loops that may exceed their bound.
    pub(crate) fn explores_loops(self) -> bool {
        matches!(self, Self::Auto | Self::Axioms)
    }

    /// The engine that a refusal is from.
    pub fn refusing(self) -> Self {
        if self.explores_loops() { Self::Smt } else { self }
    }

    /// The engine of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Auto, Self::Axioms, Self::Smt, Self::Explore, Self::Both];
        all.into_iter().find(|engine| engine.name() == name)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Axioms => "axioms",
            Self::Smt => "smt",
            Self::Explore => "explore",
            Self::Both => "both",
        }
    }
}

/// How to ask.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// Which engine.
    pub engine: Engine,
    /// Which solver.
    pub solver: SolverKind,
    /// How long one test under one model may take.
    pub timeout: Option<Duration>,
    /// How much memory the states of the explorer may take, in bytes, if not what it takes by default.
    pub memory: Option<u64>,
    /// When to give up. Its deadline is when the time above is over, once that has begun.
    pub limits: Limits,
    /// How often loops are unrolled, if not as the test says.
    pub loops: Option<u32>,
    /// How many states the explorer may store.
    pub max_states: Option<u64>,
    /// The libraries of programs, if not the shipped ones.
    pub libraries: Option<&'a Libraries>,
}

impl<'a> Request<'a> {
    /// The libraries of programs.
    pub fn libraries(&self) -> &'a Libraries {
        self.libraries.unwrap_or_else(|| crate::library::shipped())
    }

    /// The request with its time running from now, unless it runs already: all that is asked with it shares
    /// that time.
    #[must_use]
    pub fn begun(&self) -> Self {
        Self { limits: self.limits(), ..self.clone() }
    }

    /// The limits of a question that is asked now.
    pub fn limits(&self) -> Limits {
        let end = || self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Limits { deadline: self.limits.deadline.or_else(end), ..self.limits.clone() }
    }

    /// The limits of an exploration that begins now.
    pub(crate) fn machine_limits(&self) -> machine::Limits {
        let all = machine::Limits::default();
        let memory = self.memory.map(|memory| usize::try_from(memory).unwrap_or(usize::MAX));
        machine::Limits {
            states: self.max_states.unwrap_or(all.states),
            memory: memory.unwrap_or(all.memory),
            trial: None,
            until: self.limits(),
        }
    }

    /// The request as the engine smt takes it, asked now.
    pub fn options(&self) -> Options {
        Options { solver: self.solver, limits: self.limits(), loop_bound: self.loops }
    }
}

/// What engines found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The outcomes; of both engines, if both were asked.
    pub allowed: Allowed,
    /// The engine that they are from.
    pub by: Engine,
    /// States and transitions of the explorer, if it was asked.
    pub explored: Option<(u64, u64)>,
    /// Set if the engines contradict each other.
    pub disagreement: Option<Disagreement>,
    /// Why an engine that was asked could not answer.
    pub unsupported: Option<String>,
    /// Whether all executions end, if the machine was asked and means what the model does.
    pub ending: Ending,
}

/// Outcomes that one engine has and the other excludes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disagreement {
    /// All that the engine smt has.
    pub smt: BTreeSet<Outcome>,
    /// All that the explorer has.
    pub explore: BTreeSet<Outcome>,
}

/// Why a question cannot be asked.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The model does not define statements of the test.
    Undefined(Vec<Diagnostic>),
    /// The test or the model is wrong.
    Bad(Vec<Diagnostic>),
    /// The engine cannot answer; another might.
    Unsupported(String),
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Undefined(diagnostics) => Self::Undefined(diagnostics),
            Refused::Limit(reached) => Self::Unsupported(reached.to_string()),
            other => Self::Bad(other.diagnostics()),
        }
    }
}

impl Refusal {
    /// The message of the first diagnostic, with its hint.
    pub fn message(self) -> String {
        first_message(&self.into_diagnostics())
    }

    /// What to say.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        match self {
            Self::Undefined(diagnostics) | Self::Bad(diagnostics) => diagnostics,
            Self::Unsupported(why) => {
                vec![Diagnostic::error(Code::LimitReached, Span::default(), why)]
            }
        }
    }
}

/// What engines found, and the question to the axioms if all of it is from them: there may be more to ask.
pub type WithQuestion<'a> = (Found, Option<Question<'a>>);

/// Asks the engines of a request.
///
/// # Errors
/// See [`Refusal`].
pub fn ask(test: &Test, model: &Model, request: &Request<'_>) -> Result<Found, Refusal> {
    ask_with_question(test, model, request).map(|(found, _)| found)
}

/// As [`ask`], with the question.
///
/// # Errors
/// See [`Refusal`].
pub fn ask_with_question<'a>(
    test: &'a Test,
    model: &'a Model,
    request: &Request<'a>,
) -> Result<WithQuestion<'a>, Refusal> {
    let request = &request.begun();
    let undefined = undefined_calls(test, model, request.libraries());
    if !undefined.is_empty() {
        return Err(Refusal::Undefined(undefined));
    }
    let alone = |found: Found| (found, None);
    if sequential::is_called(test, request.libraries()) {
        return sequential::ask(test, request).map(alone);
    }
    let by_smt = || by_smt(test, model, request);
    let explored = || of_all_states(test, model, request);
    match request.engine {
        Engine::Auto => auto(test, model, request),
        Engine::Axioms => axioms(test, model, request, None),
        Engine::Smt => by_smt().map(|(found, question)| (found, Some(question))),
        Engine::Explore => explored().map(|found| alone(of_machine(found, model))),
        Engine::Both => both(by_smt().map(|(found, _)| found), explored()).map(alone),
    }
}

/// What the machine shows in as many states as the user allows.
fn of_all_states(test: &Test, model: &Model, request: &Request<'_>) -> Result<Found, Refusal> {
    explore(test, model, request, request.machine_limits())
}

/// What is known if only verdicts were asked about.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// What they came to.
    pub answered: Answered,
    /// How the program misuses libraries.
    pub misuses: Vec<Diagnostic>,
    /// The engine that they are from.
    pub by: Engine,
}

/// Asks about verdicts alone: explore where it soon knows enough outcomes, and else smt.
///
/// # Errors
/// See [`Refusal`].
pub fn verdicts(
    test: &Test,
    (model, is_own): (&Model, bool),
    request: &Request<'_>,
) -> Result<Verdicts, Refusal> {
    let request = &request.begun();
    let undefined = undefined_calls(test, model, request.libraries());
    if !undefined.is_empty() {
        return Err(Refusal::Undefined(undefined));
    }
    let own = (model.name.as_str(), is_own);
    if sequential::is_called(test, request.libraries()) {
        let found = sequential::ask(test, request)?;
        let answered = Answered::of(test, own, &found.allowed);
        return Ok(Verdicts { answered, misuses: found.allowed.misuses, by: found.by });
    }
    if let Some(found) = settled_soon(test, (model, own), request) {
        return Ok(found);
    }
    let options = request.options();
    let asking = Question::of(test, model).libraries(request.libraries());
    let question = asking.options(&options).question()?;
    let mut answered = verdict::ask(&question, own, &options)?;
    let mut by = Engine::Smt;
    if request.engine.explores_loops() && answered.has_unknown() {
        let (found, _) = axioms(test, model, request, None)?;
        answered = Answered::of(test, own, &found.allowed);
        by = found.by;
    }
    let misuses = question.misuses(&options)?;
    Ok(Verdicts { answered, misuses, by })
}

/// The verdicts, if the machine soon settles all. One outcome may do that.
fn settled_soon(
    test: &Test,
    (model, own): (&Model, (&str, bool)),
    request: &Request<'_>,
) -> Option<Verdicts> {
    if request.engine != Engine::Auto {
        return None;
    }
    let needs = verdict::needs(test, own);
    let states = match needs {
        // Only whether the machine can run the test.
        Needs::Nothing => 1,
        Needs::Answers => STATES_OF_VERDICTS,
        Needs::AllOutcomes => few_states(test),
    };
    let found = quickly(test, model, request, states)?;
    let answered = Answered::of(test, own, &found.allowed);
    let is_settled = needs != Needs::AllOutcomes && !answered.has_unknown();
    let is_enough = is_settled || found.allowed.complete.is_some();
    is_enough.then(|| Verdicts { answered, misuses: Vec::new(), by: found.by })
}

/// Explains outcomes. Where a loop may exceed its bound, what the machine knows counts too, as in [`ask`].
///
/// # Errors
/// As [`explain`].
pub fn explained<'q>(
    question: &'q Question<'q>,
    (test, model): (&Test, &Model),
    asked: &Asked,
    request: &Request<'_>,
) -> Result<Explanation<'q>, Refused> {
    let request = &request.begun();
    let explanation = explain(question, &request.options(), asked)?;
    let is_open = matches!(explanation.reason, Reason::Unknown(_));
    let has_bound = !question.skeleton.exceeded.is_empty();
    if !is_open || !has_bound || !request.engine.explores_loops() {
        return Ok(explanation);
    }
    match at_length(test, model, request) {
        Some(Ok(found)) => explanation.knowing(&request.options(), &found.allowed),
        _ => Ok(explanation),
    }
}

/// Explores few states first. If these are all, they are the answer. If they have many outcomes, it is
/// quicker to go on than to ask smt. Otherwise the axioms are asked. They have half of the time.
fn auto<'a>(
    test: &'a Test,
    model: &'a Model,
    request: &Request<'a>,
) -> Result<WithQuestion<'a>, Refusal> {
    if !is_asked_first(test, model) {
        return axioms(test, model, request, None);
    }
    let limits = request.machine_limits();
    let mut until = limits.until;
    let halved = |end: Instant| Instant::now() + end.saturating_duration_since(Instant::now()) / 2;
    until.deadline = until.deadline.map(halved);
    let limits = machine::Limits {
        states: request.max_states.unwrap_or(STATES_OF_AUTO),
        memory: limits.memory.min(MANY_BYTES),
        trial: Some(Trial { states: few_states(test), memory: FEW_BYTES, outcomes: MANY_OUTCOMES }),
        until,
    };
    match explore(test, model, request, limits) {
        Ok(soon) if soon.allowed.complete.is_some() => Ok((soon, None)),
        Ok(soon) if soon.allowed.outcomes.len() >= MANY_OUTCOMES => {
            with_axioms(test, model, request, soon).map(|found| (found, None))
        }
        soon => axioms(test, model, request, soon.ok()),
    }
}

/// The answer where the machine has shown many outcomes, and not all.
fn with_axioms(
    test: &Test,
    model: &Model,
    request: &Request<'_>,
    explored: Found,
) -> Result<Found, Refusal> {
    let found = match by_smt(test, model, request) {
        Err(Refusal::Unsupported(_)) => return Ok(explored),
        found => found?.0,
    };
    both(Ok(found), Ok(explored))
}

/// The answer of the axioms. A loop that waits or tries again may go round for ever, and yet through few
/// states: then the machine knows all outcomes. `soon` is what the machine has shown in few states, if it was
/// asked already.
fn axioms<'a>(
    test: &'a Test,
    model: &'a Model,
    request: &Request<'a>,
    soon: Option<Found>,
) -> Result<WithQuestion<'a>, Refusal> {
    let (mut found, question) = by_smt(test, model, request)?;
    if found.allowed.complete.is_some() && is_shipped(model) {
        found.ending = ending(test, model, request, soon);
    } else if found.allowed.is_beyond_bound
        && let Some(Ok(explored)) = at_length(test, model, request)
    {
        found = both(Ok(found), Ok(explored))?;
    }
    Ok((found, Some(question)))
}

/// Whether the machine is asked before the axioms: only of the shipped models, which are known to agree with
/// it, and not where a program may use an index that is out of range: only the axioms' engine warns of that.
fn is_asked_first(test: &Test, model: &Model) -> bool {
    let mut may_misuse = false;
    for thread in &test.program.threads {
        each(&thread.body, &mut |stmt| {
            may_misuse |= matches!(stmt.kind, StmtKind::OutOfRange { .. })
        });
    }
    !may_misuse && is_shipped(model)
}

/// How many states of a program are few.
fn few_states(test: &Test) -> u64 {
    FEW_STATES + STATES_OF_STATEMENT * test.program.size() as u64
}

/// What the machine shows in at most this number of states.
fn quickly(test: &Test, model: &Model, request: &Request<'_>, states: u64) -> Option<Found> {
    let limits = request.machine_limits();
    let (states, memory) = (limits.states.min(states), limits.memory.min(FEW_BYTES));
    let ask = || explore(test, model, request, machine::Limits { states, memory, ..limits });
    is_asked_first(test, model).then(ask)?.ok()
}

/// What the machine of a shipped model shows in as many states as the user has time for; nothing of other
/// models.
fn at_length(test: &Test, model: &Model, request: &Request<'_>) -> Option<Result<Found, Refusal>> {
    let limits = request.machine_limits();
    let states = request.max_states.unwrap_or(STATES_OF_AUTO);
    let ask = || explore(test, model, request, machine::Limits { states, ..limits });
    is_shipped(model).then(ask)
}

/// Whether all executions of a test end, if that is soon known: of executions that do not, the axioms say
/// nothing.
fn ending(test: &Test, model: &Model, request: &Request<'_>, soon: Option<Found>) -> Ending {
    if !machine::may_wait(&test.program) {
        return Ending::Always;
    }
    soon.or_else(|| quickly(test, model, request, few_states(test)))
        .map(|found| found.ending)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
