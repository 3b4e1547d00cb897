//! Finds outcomes that one model allows and another forbids, with the engine `smt`.

use std::collections::BTreeSet;

use lang::Test;
use lang::cat::model::Model;
use lang::outcome::{Outcome, Value};

use crate::allowed::{Options, Question};
use crate::asking::Refused;
use crate::smt::Next;
use crate::smt::solver::Answer;

/// The reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided(pub String);

/// Values of some observables, each with the observable's index in the test.
pub type Condition = Vec<(usize, Value)>;

fn undecided(refused: Refused) -> Undecided {
    let messages: Vec<String> =
        refused.diagnostics().into_iter().map(|found| found.message).collect();
    Undecided(messages.join("; "))
}

/// All outcomes of a test under a model.
///
/// # Errors
/// Fails if the model does not define a statement of the test, or if the engine could not find all outcomes.
pub fn outcomes(test: &Test, model: &Model) -> Result<BTreeSet<Outcome>, Undecided> {
    let allowed = Question::of(test, model)
        .question()
        .and_then(|question| question.allowed(&Options::default()))
        .map_err(undecided)?;
    if allowed.complete.is_none() {
        return Err(Undecided(allowed.reason.unwrap_or_default()));
    }
    Ok(allowed.outcomes)
}

/// The outcomes that a model allows and that are not in `known`. With `only_first`, stops at the first.
///
/// # Errors
/// As [`outcomes`].
pub fn others(
    test: &Test,
    known: &BTreeSet<Outcome>,
    model: &Model,
    only_first: bool,
) -> Result<BTreeSet<Outcome>, Undecided> {
    let question = Question::of(test, model).question().map_err(undecided)?;
    let mut session = question.session(&Options::default(), |_| true).map_err(undecided)?;
    known.iter().for_each(|outcome| session.block(outcome));
    let within = session.counted();
    let mut found = BTreeSet::new();
    let answer = session.each(&within, &mut |at| {
        let outcome = at.outcome();
        // A known outcome can still appear if it cannot be blocked. It shows nothing new.
        let is_new = !known.contains(&outcome) && found.insert(outcome);
        if is_new && !only_first { Next::OtherOutcome } else { Next::Stop }
    });
    match answer {
        Answer::Unknown => Err(Undecided("a limit was reached".to_owned())),
        Answer::Satisfiable | Answer::Unsatisfiable => Ok(found),
    }
}

/// The shortest condition that holds for some outcome of `allows` and for no outcome of `forbids`. `None` if
/// there is no such outcome.
///
/// # Errors
/// As [`outcomes`].
pub fn difference(
    test: &Test,
    forbids: &Model,
    allows: &Model,
) -> Result<Option<Condition>, Undecided> {
    let known = outcomes(test, forbids)?;
    let others = others(test, &known, allows, false)?;
    let conditions = others.iter().map(|outcome| shortest(outcome, &known));
    Ok(conditions.min_by_key(|condition| (condition.len(), condition.clone())))
}

/// Whether `allows` has an outcome that `forbids` does not have.
///
/// # Errors
/// As [`outcomes`].
pub fn differ(test: &Test, forbids: &Model, allows: &Model) -> Result<bool, Undecided> {
    let known = outcomes(test, forbids)?;
    Ok(!others(test, &known, allows, true)?.is_empty())
}

/// A minimal part of an outcome's values that distinguishes it from all known outcomes.
fn shortest(outcome: &Outcome, known: &BTreeSet<Outcome>) -> Condition {
    let mut condition: Condition = outcome.0.iter().copied().enumerate().collect();
    for index in (0..outcome.0.len()).rev() {
        let without: Condition = condition.iter().filter(|(at, _)| *at != index).copied().collect();
        if !known.iter().any(|other| holds(&without, other)) {
            condition = without;
        }
    }
    condition
}

/// Whether a condition holds for an outcome.
pub fn holds(condition: &Condition, outcome: &Outcome) -> bool {
    condition.iter().all(|(index, value)| outcome.0[*index] == *value)
}
