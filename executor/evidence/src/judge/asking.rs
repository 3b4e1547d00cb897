//! What an answer of an engine means for judging.

use std::collections::BTreeSet;
use std::sync::Arc;

use lang::outcome::{Outcome, Value};
use model::allowed::{Allowed, Options, Question};
use model::smt::{Found, Session};

use super::{Forbids, ModelSays};

impl ModelSays {
    /// What follows from what an engine found. The question is needed if that does not show whether the model
    /// forbids anything; without one, this is not known.
    pub fn of<'q>(
        question: impl FnOnce() -> Option<Question<'q>>,
        options: &Options,
        found: Allowed,
    ) -> Self {
        let allowed = without_misuses(found);
        let forbids = match (&allowed.complete, allowed.excluded.is_empty()) {
            (None, _) => Forbids::Unknown,
            (Some(_), false) => Forbids::Something,
            (Some(_), true) => question()
                .map(|question| forbids(&question, options, &allowed.outcomes))
                .unwrap_or_default(),
        };
        Self { allowed: Arc::new(allowed), forbids }
    }

    /// The same of a program that calls sequential objects: what its calls return may be wrong.
    pub fn of_calls(found: Allowed) -> Self {
        let allowed = without_misuses(found);
        let is_known = allowed.complete.is_some();
        let forbids = if is_known { Forbids::Something } else { Forbids::Unknown };
        Self { allowed: Arc::new(allowed), forbids }
    }

    /// Nothing is known, for this reason.
    pub fn unknown(reason: String) -> Self {
        let allowed = Allowed { reason: Some(reason), ..Allowed::default() };
        Self { allowed: Arc::new(allowed), forbids: Forbids::Unknown }
    }
}

/// Nothing can be said to be forbidden of programs that misuse a library in some execution.
fn without_misuses(found: Allowed) -> Allowed {
    match found.misuses.first() {
        Some(misuse) => {
            let reason = Some(misuse.message.clone());
            Allowed { complete: None, reason, ..found }
        }
        None => found,
    }
}

/// Whether a model that allows just these outcomes forbids anything that could be seen: an outcome that some
/// execution of the program gives, whatever the memory does. A program of which all of these are allowed
/// cannot show a violation, however often it is run.
fn forbids(question: &Question<'_>, options: &Options, allowed: &BTreeSet<Outcome>) -> Forbids {
    let Ok(mut session) = question.session(options, |_| false) else { return Forbids::Unknown };
    allowed.iter().for_each(|outcome| session.block(outcome));
    let within = session.counted();
    match decided(question, &session.find(&within)) {
        Some(true) => Forbids::Something,
        Some(false) => Forbids::Nothing,
        None => Forbids::Unknown,
    }
}

/// Whether there is an execution, by what a search for one found. `None`: not known, because a limit ended
/// the search, or because some loop can go on beyond its bound.
pub fn decided(question: &Question<'_>, found: &Found) -> Option<bool> {
    match found {
        Found::Execution(_) => Some(true),
        Found::Nothing if question.skeleton.exceeded.is_empty() => Some(false),
        Found::Nothing | Found::Unknown => None,
    }
}

/// Whether some execution of a session gives an outcome; an undefined value (⊤) of the execution may be any.
/// `None`: not known, as for [`decided`].
pub fn shows(
    question: &Question<'_>,
    session: &mut Session<'_>,
    outcome: &Outcome,
) -> Option<bool> {
    let found = match session.covering(outcome) {
        Some(mut assumptions) => {
            assumptions.extend(session.counted());
            session.find(&assumptions)
        }
        None => session.nothing(),
    };
    decided(question, &found)
}

/// The outcome as `litmus explain` takes it.
pub fn wanted(outcome: &Outcome) -> Vec<(usize, Value)> {
    outcome.0.iter().copied().enumerate().collect()
}

/// Whether no execution of the program gives an outcome, whatever the memory model. If that is not known, it
/// is possible.
pub fn is_impossible(question: &Question<'_>, options: &Options, outcome: &Outcome) -> bool {
    let Ok(mut session) = question.session(options, |_| false) else { return false };
    shows(question, &mut session, outcome) == Some(false)
}
