//! What models allow, asked once for each program.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use lang::Test;
use lang::outcome::Outcome;
use model::allowed::{Allowed, Options, Question};
use model::machine::{self, Variant};
use model::smt::Found;

use super::super::data::Forbids;
use super::super::{Judge, Request, Source};
use crate::judge::AllowedSet;

/// What a model says of a program.
#[derive(Clone, Debug, Default)]
pub struct ModelSays {
    /// What it allows; nothing is known of it without a set.
    pub allowed: Option<Arc<AllowedSet>>,
    /// Why that is not all known, if it is not.
    pub reason: Option<String>,
    /// Whether it forbids anything.
    pub forbids: Forbids,
}

/// Answers that tests with the same program share.
pub struct Known<'a> {
    pub(super) request: &'a Request<'a>,
    allowed: Mutex<HashMap<(String, String), ModelSays>>,
    sc: Mutex<HashMap<String, Option<Arc<BTreeSet<Outcome>>>>>,
}

impl<'a> Known<'a> {
    /// Nothing is known yet.
    pub fn new(request: &'a Request<'a>) -> Self {
        Self { request, allowed: Mutex::default(), sc: Mutex::default() }
    }

    /// What a model says of a program.
    ///
    /// # Errors
    /// Why the model does not judge such a test.
    pub(super) fn allowed(
        &self,
        from: &Source,
        test: &Test,
        body: &str,
        judge: &Judge,
    ) -> Result<ModelSays, String> {
        if !judge.is_own
            && let Some(reason) = from.record.header.unjudgeable()
        {
            return Ok(ModelSays { reason: Some(reason), ..ModelSays::default() });
        }
        let key = (body.to_owned(), judge.identity.hash.clone());
        let lock = || self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return Ok(known.clone());
        }
        let answer = (self.request.ask)(test, &judge.model, from.libraries).map_err(|errors| {
            errors.first().map_or_else(String::new, |error| error.message.clone())
        })?;
        lock().insert(key, answer.clone());
        Ok(answer)
    }

    /// What the sequentially consistent machine shows. It only colors histograms, so exploring it is good
    /// enough.
    pub(super) fn sequential(&self, test: &Test, body: &str) -> Option<Arc<BTreeSet<Outcome>>> {
        let key = body.to_owned();
        let lock = || self.sc.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let variant = Variant::from_name("sc")?;
        let limits = machine::Limits { states: 100_000, ..machine::Limits::default() };
        let found = machine::explore(test, variant, limits).ok().filter(|found| found.complete);
        let found = found.map(|found| Arc::new(found.outcomes.into_iter().collect()));
        lock().insert(key, found.clone());
        found
    }
}

impl ModelSays {
    /// What follows from what an engine found.
    pub fn of(question: Option<&Question<'_>>, options: &Options, found: Allowed) -> Self {
        // Of programs that misuse a library in some execution, nothing can be said to be forbidden.
        let misuse = found.misuses.into_iter().next();
        let complete = found.complete && misuse.is_none();
        let reason = misuse.map(|misuse| misuse.message).or(found.reason);
        let allowed = AllowedSet { outcomes: found.outcomes, complete };
        let forbids = question.map(|question| forbids(question, options, &allowed));
        Self { allowed: Some(Arc::new(allowed)), reason, forbids: forbids.unwrap_or_default() }
    }
}

/// Whether a model forbids anything that could be seen: an outcome that some execution of the program gives,
/// whatever the memory does. A program of which all of these are allowed cannot show a violation, however
/// often it is run.
fn forbids(question: &Question<'_>, options: &Options, allowed: &AllowedSet) -> Forbids {
    if !allowed.complete {
        return Forbids::Unknown;
    }
    let Ok(mut session) = question.session(options, |_| false) else { return Forbids::Unknown };
    allowed.outcomes.iter().for_each(|outcome| session.block(outcome));
    let within = session.counted();
    match session.find(&within) {
        Found::Execution(_) => Forbids::Something,
        Found::Nothing if is_bounded(question) => Forbids::Nothing,
        Found::Nothing | Found::Unknown => Forbids::Unknown,
    }
}

/// Whether no loop can go on beyond its bound, whatever the memory does.
fn is_bounded(question: &Question<'_>) -> bool {
    question.skeleton.exceeded.is_empty()
}

/// Whether no execution of the program gives an outcome, whatever the memory model. What is not known is
/// possible.
pub fn is_impossible(question: &Question<'_>, options: &Options, outcome: &Outcome) -> bool {
    let Ok(mut session) = question.session(options, |_| false) else { return false };
    let within = session.showing(&super::wanted(outcome)).map(|mut assumptions| {
        assumptions.extend(session.counted());
        assumptions
    });
    let found = match within {
        Some(assumptions) => session.find(&assumptions),
        None => session.nothing(),
    };
    matches!(found, Found::Nothing) && is_bounded(question)
}
