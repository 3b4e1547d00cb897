//! Questions to the engines: which outcomes does a test have under a model.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use compiler::library::Libraries;
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::{Code, Diagnostic};
use lang::limits::Limits;
use lang::outcome::{Asked, Outcome};
use lang::program::{StmtKind, each};
use lang::source::Span;
use model::allowed::{Allowed, Options, Question, undefined_calls};
use model::asking::Refused;
use model::explain::{Explanation, Reason, explain};
use model::machine::{self, Ending, Variant};
use model::models;
use model::smt::solver::SolverKind;
use model::verdict::{self, Answered, Checked, Verdict};

use crate::memory;
use crate::models::LoadedModel;

/// Which engine computes outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Explore where it soon knows all outcomes, and else smt; both where a loop may exceed its bound.
    #[default]
    Auto,
    /// Smt, and explore where smt cannot tell since a loop may exceed its bound. For judging what the
    /// simulator shows: it is the machine that explore would ask.
    #[value(skip)]
    Axioms,
    /// The model's axioms, by a solver.
    Smt,
    /// The operational machine, by exploring all its states.
    Explore,
    /// Both, compared.
    Both,
}

/// How many states are explored at most where smt cannot tell, unless the user says otherwise: a few seconds.
const STATES_OF_AUTO: u64 = 1_000_000;
/// How many states are explored at most before smt is asked, or to know whether all executions end: some
/// 10 ms.
const FEW_STATES: u64 = 20_000;
/// How many bytes these may take: those of long programs are large, and take as much longer.
const FEW_BYTES: u64 = 16 << 20;

impl Engine {
    /// Whether the machine is asked about loops that may exceed their bound.
    fn explores_loops(self) -> bool {
        matches!(self, Self::Auto | Self::Axioms)
    }

    /// The engine that a refusal is from.
    pub fn refusing(self) -> Self {
        if self.explores_loops() { Self::Smt } else { self }
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

/// Which solver the engine smt uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SolverName {
    /// A SAT solver in Rust.
    #[default]
    Batsat,
    /// Z3.
    #[cfg(feature = "z3")]
    Z3,
}

/// How to ask.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Which engine.
    pub engine: Engine,
    /// Which solver.
    pub solver: SolverName,
    /// How long one test under one model may take.
    pub timeout: Option<Duration>,
    /// When that time is over, once it has begun.
    pub deadline: Option<Instant>,
    /// How much memory the process may take, in bytes, if somebody says so.
    pub memory: Option<u64>,
    /// How often loops are unrolled, if not as the test says.
    pub loops: Option<u32>,
    /// How many states the explorer may store.
    pub max_states: Option<u64>,
    /// The libraries of programs, if not the shipped ones.
    pub libraries: Option<&'static Libraries>,
}

impl Request {
    /// The libraries of programs.
    pub fn libraries(&self) -> &'static Libraries {
        self.libraries.unwrap_or_else(|| model::library::shipped())
    }

    /// The request with its time running from now, unless it runs already: all that is asked with it shares
    /// that time.
    pub fn begun(self) -> Self {
        let end = || self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self { deadline: self.deadline.or_else(end), ..self }
    }

    /// The limits of a question that is asked now.
    pub fn limits(&self) -> Limits {
        Limits { deadline: self.begun().deadline, ..memory::limits() }
    }

    /// The request as the engine smt takes it, asked now.
    pub fn options(&self) -> Options {
        let solver = match self.solver {
            SolverName::Batsat => SolverKind::Batsat,
            #[cfg(feature = "z3")]
            SolverName::Z3 => SolverKind::Z3,
        };
        Options { solver, limits: self.limits(), loop_bound: self.loops }
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

/// Asks the engines of a request.
///
/// # Errors
/// See [`Refusal`].
pub fn ask(test: &Test, model: &Model, request: &Request) -> Result<Found, Refusal> {
    let request = &request.begun();
    let undefined = undefined_calls(test, model, request.libraries());
    if !undefined.is_empty() {
        return Err(Refusal::Undefined(undefined));
    }
    match request.engine {
        Engine::Auto => auto(test, model, request),
        Engine::Axioms => axioms(test, model, request),
        Engine::Smt => by_smt(test, model, request),
        Engine::Explore => explore(test, model, request).map(|found| of_machine(found, model)),
        Engine::Both => both(by_smt(test, model, request), explore(test, model, request)),
    }
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

/// Asks about verdicts alone: explore where it soon knows all outcomes, and else smt.
///
/// # Errors
/// See [`Refusal`].
pub fn verdicts(test: &Test, model: &LoadedModel, request: &Request) -> Result<Verdicts, Refusal> {
    let request = &request.begun();
    let undefined = undefined_calls(test, model.model(), request.libraries());
    if !undefined.is_empty() {
        return Err(Refusal::Undefined(undefined));
    }
    let own = (model.name(), model.is_own);
    if request.engine == Engine::Auto
        && let Some(found) = quickly(test, model.model(), request)
        && found.allowed.complete
    {
        let answered = Answered::of(test, own, &found.allowed);
        return Ok(Verdicts { answered, misuses: Vec::new(), by: found.by });
    }
    let options = request.options();
    let asking = Question::of(test, model.model()).libraries(request.libraries());
    let question = asking.options(&options).question()?;
    let mut answered = verdict::ask(&question, own, &options)?;
    let is_unknown = |checked: &Checked| checked.verdict == Verdict::Unknown;
    let mut by = Engine::Smt;
    if request.engine.explores_loops() && answered.checked.iter().any(is_unknown) {
        let found = axioms(test, model.model(), request)?;
        answered = Answered::of(test, own, &found.allowed);
        by = found.by;
    }
    let misuses = question.misuses(&options)?;
    Ok(Verdicts { answered, misuses, by })
}

/// Explains outcomes. Where a loop may exceed its bound, what the machine knows counts too, as in [`ask`].
///
/// # Errors
/// As [`model::explain::explain`].
pub fn explained<'q>(
    question: &'q Question<'q>,
    (test, model): (&Test, &Model),
    asked: &Asked,
    request: &Request,
) -> Result<Explanation<'q>, Refused> {
    let request = &request.begun();
    let explanation = explain(question, &request.options(), asked)?;
    let is_open = matches!(explanation.reason, Reason::Unknown(_));
    let has_bound = !question.skeleton.exceeded.is_empty();
    if !is_open || !has_bound || !request.engine.explores_loops() {
        return Ok(explanation);
    }
    match beyond_bound(test, model, request) {
        Some(Ok(found)) => explanation.knowing(&request.options(), &found.allowed),
        _ => Ok(explanation),
    }
}

/// The answer of the machine where it soon knows all outcomes, and else that of the axioms.
fn auto(test: &Test, model: &Model, request: &Request) -> Result<Found, Refusal> {
    match quickly(test, model, request) {
        Some(found) if found.allowed.complete => Ok(found),
        _ => axioms(test, model, request),
    }
}

/// The answer of the axioms. A loop that waits or tries again may go round for ever, and yet through few
/// states: then the machine knows all outcomes.
fn axioms(test: &Test, model: &Model, request: &Request) -> Result<Found, Refusal> {
    let found = by_smt(test, model, request)?;
    if found.allowed.complete && is_shipped(model) {
        let ending = ending(test, model, request);
        return Ok(Found { ending, ..found });
    }
    if !found.allowed.is_beyond_bound {
        return Ok(found);
    }
    match beyond_bound(test, model, request) {
        Some(Ok(explored)) => both(Ok(found), Ok(explored)),
        _ => Ok(found),
    }
}

/// What the machine shows in few states. It is asked only of the shipped models, which are known to agree
/// with it.
fn quickly(test: &Test, model: &Model, request: &Request) -> Option<Found> {
    // Only the axioms' engine warns of executions that use an index which is out of range.
    let mut may_misuse = false;
    for thread in &test.program.threads {
        each(&thread.body, &mut |stmt| {
            may_misuse |= matches!(stmt.kind, StmtKind::OutOfRange { .. })
        });
    }
    if may_misuse {
        return None;
    }
    let at_most = |given: Option<u64>, few: u64| Some(given.map_or(few, |most| most.min(few)));
    let max_states = at_most(request.max_states, FEW_STATES);
    let memory = at_most(request.memory, FEW_BYTES);
    let ask = || explore(test, model, &Request { max_states, memory, ..*request });
    is_shipped(model).then(ask)?.ok()
}

/// What the machine of a shipped model says of loops that may exceed their bound; nothing of other models.
fn beyond_bound(test: &Test, model: &Model, request: &Request) -> Option<Result<Found, Refusal>> {
    let max_states = request.max_states.or(Some(STATES_OF_AUTO));
    let ask = || explore(test, model, &Request { max_states, ..*request });
    is_shipped(model).then(ask)
}

/// Whether all executions of a test end, if that is soon known: of executions that do not, the axioms say
/// nothing.
fn ending(test: &Test, model: &Model, request: &Request) -> Ending {
    if !machine::may_wait(&test.program) {
        return Ending::Always;
    }
    quickly(test, model, request).map(|found| found.ending).unwrap_or_default()
}

/// Whether a model is one of the shipped ones, which are known to mean what their machines do.
fn is_shipped(model: &Model) -> bool {
    static SHIPPED: LazyLock<Vec<OnceLock<Option<Model>>>> =
        LazyLock::new(|| models::SHIPPED.iter().map(|_| OnceLock::new()).collect());
    let Some(place) = models::SHIPPED.iter().position(|(name, _)| *name == model.name) else {
        return false;
    };
    let load = || models::load_shipped(&model.name)?.ok().map(|loaded| loaded.model);
    SHIPPED[place].get_or_init(load).as_ref() == Some(model)
}

/// What a machine shows is what its model allows only as far as the two are known to mean the same: the text
/// of one's own model may name a machine and say something else.
fn of_machine(mut found: Found, model: &Model) -> Found {
    if found.allowed.complete && !is_shipped(model) {
        let machine = model.machine.as_deref().unwrap_or_default();
        found.allowed.complete = false;
        found.allowed.blocked.clear();
        found.allowed.reason = Some(format!(
            "these are all outcomes of the machine `{machine}`; whether `{}` means the same, --engine both asks",
            model.name
        ));
    }
    found
}

fn by_smt(test: &Test, model: &Model, request: &Request) -> Result<Found, Refusal> {
    let options = request.options();
    let asking = Question::of(test, model).libraries(request.libraries());
    let allowed = asking.options(&options).question()?.allowed(&options)?;
    Ok(Found { allowed, by: Engine::Smt, ..Found::default() })
}

fn explore(test: &Test, model: &Model, request: &Request) -> Result<Found, Refusal> {
    if !request.libraries().used(&test.program).is_empty() {
        let message = "specifications of libraries have no operational machine; \
                       --inline explores their implementations";
        return Err(Refusal::Unsupported(message.to_owned()));
    }
    let Some(machine) = &model.machine else {
        let message = format!("the model `{}` has no operational machine", model.name);
        return Err(Refusal::Unsupported(message));
    };
    let Some(variant) = Variant::from_name(machine) else {
        let message = format!("the model `{}` names an unknown machine `{machine}`", model.name);
        return Err(Refusal::Unsupported(message));
    };
    let mut limits = machine::Limits { until: request.limits(), ..machine::Limits::default() };
    if let Some(memory) = request.memory {
        limits.memory = usize::try_from(memory).unwrap_or(usize::MAX);
    }
    if let Some(states) = request.max_states {
        limits.states = states;
    }
    let until = limits.until.clone();
    let (found, ending) = until
        .within(|| machine::explore_to_ends(test, variant, limits))
        .map_err(|reached| Refusal::Unsupported(reached.to_string()))?
        .map_err(|error| Refusal::Unsupported(error.diagnostic().message))?;
    let mut blocked = Vec::new();
    if found.outcomes.is_empty() && found.complete {
        blocked = found.blocked.iter().map(|blocked| blocked.span).collect();
    }
    let allowed = Allowed {
        outcomes: found.outcomes,
        complete: found.complete,
        reason: found.reason,
        blocked,
        ..Allowed::default()
    };
    let explored = Some((found.states, found.transitions));
    let ending = if is_shipped(model) { ending } else { Ending::Unknown };
    Ok(Found { allowed, by: Engine::Explore, explored, ending, ..Found::default() })
}

/// Puts two answers together. What is complete must hold all of the other.
fn both(smt: Result<Found, Refusal>, explore: Result<Found, Refusal>) -> Result<Found, Refusal> {
    let (smt, explore) = match (smt, explore) {
        (Ok(smt), Ok(explore)) => (smt, explore),
        (Ok(found), Err(Refusal::Unsupported(reason)))
        | (Err(Refusal::Unsupported(reason)), Ok(found)) => {
            let unsupported = Some(format!("not compared: {reason}"));
            return Ok(Found { unsupported, by: Engine::Both, ..found });
        }
        (Err(refusal), _) | (_, Err(refusal)) => return Err(refusal),
    };
    let by_axioms = smt.allowed.outcomes.clone();
    let by_machine = explore.allowed.outcomes;
    let agree = (!smt.allowed.complete || by_machine.is_subset(&by_axioms))
        && (!explore.allowed.complete || by_axioms.is_subset(&by_machine));
    let (explored, mut ending) = (explore.explored, explore.ending);
    let mut allowed = smt.allowed;
    allowed.outcomes.extend(by_machine.iter().cloned());
    if explore.allowed.complete {
        allowed.complete = true;
        allowed.reason = None;
        allowed.is_beyond_bound = false;
    }
    if allowed.blocked.is_empty() {
        allowed.blocked = explore.allowed.blocked;
    }
    let mut disagreement = None;
    if !agree {
        allowed.complete = false;
        allowed.reason = Some("the engines disagree".to_owned());
        ending = Ending::Unknown;
        disagreement = Some(Disagreement { smt: by_axioms, explore: by_machine });
    }
    Ok(Found { allowed, by: Engine::Both, explored, disagreement, unsupported: None, ending })
}

#[cfg(test)]
mod tests;
