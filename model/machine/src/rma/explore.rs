//! Explores all states of a coreRMA program.

use compiler::code::CompileError;
use lang::Test;
use rustc_hash::FxHashSet;

use super::super::exploration::Exploration;
use super::super::limits::Limits;
use super::super::rules::Effect;
use super::{Machine, Rules, State};

/// The limits are checked once for this many states.
const LOOK: u64 = 1024;

/// All outcomes of a test on the machine.
///
/// # Errors
/// Fails for statements that are not part of coreRMA, and for accesses that are not atomic: for these, the
/// machine would show numbers where the model has ⊤.
pub fn explore(test: &Test, rules: Rules, mut limits: Limits) -> Result<Exploration, CompileError> {
    let machine = Machine::new(test, rules)?;
    if let Some(span) = machine.non_atomic {
        return Err(CompileError::Unsupported { span, statement: "X.n".to_owned() });
    }
    let mut found = Exploration::default();
    let mut seen: FxHashSet<State> = FxHashSet::default();
    let (start, effect) = machine.start();
    let mut open = Vec::new();
    let mut stopped = None;
    match effect {
        Effect::Continue => open.push(start),
        Effect::AssumeFailed => {}
        Effect::QueueFull => stopped = Some("a thread has too many pending statements".to_owned()),
    }
    while let Some(state) = open.pop() {
        if seen.contains(&state) {
            continue;
        }
        if (seen.len() as u64).is_multiple_of(LOOK) {
            let outcomes = found.outcomes.len();
            stopped = stopped.or_else(|| exceeded(&mut limits, (seen.len(), outcomes), &state));
            if stopped.is_some() {
                break;
            }
        }
        let enabled = machine.enabled(&state);
        if enabled.is_empty() {
            // No execution waits forever: the first of a thread's pending statements can always continue.
            found.outcomes.insert(machine.outcome(&state));
        }
        for transition in enabled {
            found.transitions += 1;
            let mut next = state.clone();
            match machine.apply(&mut next, transition) {
                Effect::Continue => open.push(next),
                Effect::AssumeFailed => {}
                Effect::QueueFull => {
                    stopped = Some("a thread has too many pending statements".to_owned());
                }
            }
        }
        seen.insert(state);
    }
    found.states = seen.len() as u64;
    found.complete = stopped.is_none();
    found.reason = stopped;
    Ok(found)
}

/// The limit that is reached, if one is.
fn exceeded(
    limits: &mut Limits,
    (states, outcomes): (usize, usize),
    state: &State,
) -> Option<String> {
    let size = size_of::<State>()
        + 8 * (state.memory.len() + state.registers.len())
        + 64 * state.threads.len();
    let stored = limits.exceeded_by(states + 1, size);
    stored
        .or_else(|| {
            let trial = limits.ends_trial(states as u64, states * size)?;
            (outcomes < trial.outcomes).then(|| trial.why_failed())
        })
        .or_else(|| limits.until.reached().map(|reached| reached.to_string()))
}
