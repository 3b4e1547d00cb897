//! Shows how an outcome comes about: one execution, step by step, in words.

use compiler::code::CompileError;
use lang::Test;
use lang::outcome::Outcome;

use super::explore::{Effort, Explorer, Goal};
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::limits::Limits;
use super::rules::{Machine, Variant, in_requests};
use super::state::State;
use super::stubborn::{Reduction, Round};

/// The result of the search for an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The steps of an execution with the outcome, each with its rule.
    Steps(Vec<String>),
    /// There is no such execution.
    None,
    /// A limit was reached first. The text names it.
    Unknown(String),
}

/// The search for an outcome.
pub(super) struct Search {
    pub outcome: Outcome,
    /// For each stored state, the state that it was reached from. The first state is its own parent.
    pub parents: Vec<usize>,
    /// The state that is being expanded.
    pub current: usize,
    /// Whether the outcome was reached from the current state.
    pub reached: bool,
}

/// An execution with a given outcome.
///
/// # Errors
/// Fails if a statement has no operational meaning in this variant.
pub fn witness(
    test: &Test,
    variant: Variant,
    faults: FaultSet,
    outcome: &Outcome,
    limits: Limits,
) -> Result<Witness, CompileError> {
    let test = &*in_requests(test)?;
    let machine = Machine::new(test, variant, faults)?;
    Ok(witness_of(test, &machine, outcome, limits, false))
}

/// The same on a machine that is made; briefly, without control steps.
pub(super) fn witness_of(
    test: &Test,
    machine: &Machine,
    outcome: &Outcome,
    limits: Limits,
    brief: bool,
) -> Witness {
    let footprints = Footprints::of(test, machine);
    // A reduction that drops values nobody needs would show them as 0.
    let mut explorer = Explorer::new(test, machine, &footprints, Effort::Stubborn, limits);
    explorer.steps_taken.brief = brief;
    let outcome = outcome.clone();
    explorer.search = Some(Search { outcome, parents: Vec::new(), current: 0, reached: false });
    let stopped = explorer.run();
    let Some(search) = explorer.search.take() else { return Witness::None };
    if !search.reached {
        return stopped.map_or(Witness::None, Witness::Unknown);
    }
    retrace(&mut explorer, &search).map_or_else(Witness::Unknown, Witness::Steps)
}

/// Repeats the steps that led from the first state to the outcome.
fn retrace(explorer: &mut Explorer<'_>, search: &Search) -> Result<Vec<String>, String> {
    let mut path = vec![search.current];
    while let Some(parent) = path.last().and_then(|last| search.parents.get(*last))
        && path.last() != Some(parent)
    {
        path.push(*parent);
    }
    path.reverse();
    let first = explorer.machine.initial().clone();
    retrace_path(explorer, first, &path, Some(&search.outcome))
}

/// Repeats the steps from a state along a path of stored states. Then goes on to an outcome, if one is given.
pub(super) fn retrace_path(
    explorer: &mut Explorer<'_>,
    mut state: State,
    path: &[usize],
    outcome: Option<&Outcome>,
) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut next = state.clone();
    let mut reduction = Reduction::default();
    // Goes up to the first stored state, or to the outcome if nothing needed to be stored.
    explorer.steps_taken.words = Some(Vec::new());
    explorer.forget_current();
    let to = |number: Option<&usize>| number.map_or(Goal::End, |number| Goal::State(*number));
    explorer.goal = to(path.first());
    explorer.arrive(&mut next, &mut reduction, 0)?;
    words.append(explorer.steps_taken.words.get_or_insert_default());
    for (index, number) in path.iter().enumerate() {
        let goal = path.get(index + 1);
        if *number >= explorer.seen.len() || (goal.is_none() && outcome.is_none()) {
            break;
        }
        if let (None, Some(outcome), true) = (goal, outcome, explorer.machine.crashes) {
            words.push(explorer.machine.describe_crash(explorer.program(), outcome));
            break;
        }
        explorer.goal = to(goal);
        explorer.machine.decode(explorer.seen.get(*number), &mut state);
        let mut taken = 0;
        let mut found = false;
        let all = (&mut reduction, Round::ALL);
        explorer.expand(&mut state, &mut next, all, &mut |explorer, state| {
            let machine = explorer.machine;
            found = match goal {
                Some(goal) => explorer.stored_as(*goal),
                None => machine.is_final(state) && Some(&machine.outcome(state)) == outcome,
            };
            if !found {
                taken = explorer.steps_taken.words.as_ref().map_or(0, Vec::len);
            }
            found
        })?;
        let mut steps = explorer.steps_taken.words.replace(Vec::new()).unwrap_or_default();
        if found {
            words.extend(steps.drain(taken..));
        }
    }
    explorer.goal = Goal::AnyState;
    Ok(words)
}
