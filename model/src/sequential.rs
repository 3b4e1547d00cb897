//! Programs whose calls are all of sequential objects: what do they show if each call takes place at once?
//!
//! Such a specification has no events, so the axioms say nothing of it. Of an implementation that is
//! linearizable, a program of calls alone shows only what some order of the calls gives, in which each
//! thread's calls come in program order. So the outcomes are those of all these orders. Accesses beside the
//! calls are refused: what a call promises for them, a sequential object does not say.

mod calls;
mod explore;
pub(crate) mod object;
mod program;
mod rules;

use compiler::library::{Libraries, prepare};
use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::Condition;
use lang::program::{Stmt, StmtKind, each};

use crate::allowed::Allowed;
use crate::engine::{Engine, Found, Refusal, Request, STATES_OF_AUTO};
use crate::machine::Limits;

pub use explore::{Order, Taken};

/// Whether a test calls a sequential object.
pub fn is_called(test: &Test, libraries: &Libraries) -> bool {
    let used = libraries.used(&test.program);
    used.iter().any(|number| libraries.all[*number].sequential.is_some())
}

/// How many states are visited to see whether all orders break a rule of a library.
const FEW_STATES: u64 = 20_000;

/// What is wrong with a test that calls sequential objects; also rules of libraries that all orders break, as
/// far as few states show.
pub fn wrong_in_all(test: &Test, libraries: &Libraries) -> Vec<Diagnostic> {
    let request =
        Request { max_states: Some(FEW_STATES), libraries: Some(libraries), ..Request::default() };
    match ask(test, &request) {
        Err(Refusal::Bad(wrong)) => wrong,
        _ => Vec::new(),
    }
}

/// The error for a statement that is neither a call of a sequential object nor control flow.
fn beside(stmt: &Stmt, test: &Test, libraries: &Libraries) -> Option<Diagnostic> {
    let what = match &stmt.kind {
        StmtKind::Assign { .. }
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Assume(_) => return None,
        StmtKind::Call(call) => match libraries.resolve(&test.program, call) {
            Some(resolved) if resolved.library.sequential.is_some() => return None,
            _ => "a call of another library",
        },
        _ => "an access of memory, or a wait for one",
    };
    let message = format!("expected a call of a sequential object, found {what}");
    let help = "a sequential object says what its calls do one after another, and nothing of what stands \
                beside them; `--inline` asks about the implementation";
    let error = Diagnostic::error(Code::LibraryNotUsable, stmt.span, message);
    Some(error.label("beside calls of a sequential object").help(help))
}

/// All outcomes of a test that calls sequential objects.
///
/// # Errors
/// What is wrong with the test, and that another engine was asked.
pub fn ask(test: &Test, request: &Request<'_>) -> Result<Found, Refusal> {
    if request.engine == Engine::Smt {
        let message =
            "a sequential object has no axioms; the engine explore takes its calls in every order";
        return Err(Refusal::Unsupported(message.to_owned()));
    }
    let found =
        with(test, request, &|test, limits| explore::explore(test, request.libraries(), limits));
    let mut found = match found {
        // The engine that was asked is this one, and it does not know.
        Err(Refusal::Unsupported(reason)) => {
            let allowed = Allowed { reason: Some(reason), ..Allowed::default() };
            Found { allowed, by: Engine::Explore, ..Found::default() }
        }
        found => found?,
    };
    if request.engine == Engine::Both {
        let why = "not compared: a sequential object has no axioms";
        found.unsupported = Some(why.to_owned());
        found.by = Engine::Both;
    }
    Ok(found)
}

/// Looks for an order of a test's calls whose outcome is one of those asked about.
///
/// # Errors
/// What is wrong with the test.
pub fn order(test: &Test, request: &Request<'_>, wanted: &Condition) -> Result<Order, Refusal> {
    with(test, request, &|test, limits| explore::order(test, request.libraries(), (wanted, limits)))
}

/// Asks about a test with its objects, within the limits of a request.
fn with<T>(
    test: &Test,
    request: &Request<'_>,
    ask: &dyn Fn(&Test, &Limits) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let libraries = request.libraries();
    let prepared = prepare(test, libraries).map_err(Refusal::Bad)?;
    let mut wrong = Vec::new();
    for thread in &prepared.test.program.threads {
        each(&thread.body, &mut |stmt| wrong.extend(beside(stmt, &prepared.test, libraries)));
    }
    if !wrong.is_empty() {
        return Err(Refusal::Bad(wrong));
    }
    let few = request.engine.explores_loops().then_some(STATES_OF_AUTO);
    let max_states = request.max_states.or(few);
    let limits = Request { max_states, ..request.clone() }.machine_limits();
    let until = limits.until.clone();
    let asked = until.within(|| ask(&prepared.test, &limits));
    asked.map_err(|reached| Refusal::Unsupported(reached.to_string()))?
}
