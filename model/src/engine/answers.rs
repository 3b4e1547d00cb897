//! What each engine answers, and what two answers come to.

use lang::Test;
use lang::cat::model::Model;

use super::shipped::is_shipped;
use super::{Disagreement, Engine, Found, Refusal, Request};
use crate::allowed::{Allowed, Question};
use crate::bound::Complete;
use crate::machine::{self, Ending, Exploration, Place, Places, Variant};

/// What a machine shows is what its model allows only as far as the two are known to mean the same: the text
/// of one's own model may name a machine and say something else.
pub fn of_machine(mut found: Found, model: &Model) -> Found {
    if found.allowed.complete.is_some() && !is_shipped(model) {
        let machine = model.machine.as_deref().unwrap_or_default();
        found.allowed.complete = None;
        found.allowed.blocked.clear();
        found.allowed.reason = Some(format!(
            "these are all outcomes of the machine `{machine}`; whether `{}` means the same, --engine both asks",
            model.name
        ));
    }
    found
}

pub fn by_smt<'a>(
    test: &'a Test,
    model: &'a Model,
    request: &Request<'a>,
) -> Result<(Found, Question<'a>), Refusal> {
    let options = request.options();
    let asking = Question::of(test, model).libraries(request.libraries());
    let question = asking.options(&options).question()?;
    let allowed = question.allowed(&options)?;
    Ok((Found { allowed, by: Engine::Smt, ..Found::default() }, question))
}

pub fn explore(
    test: &Test,
    model: &Model,
    request: &Request<'_>,
    limits: machine::Limits,
) -> Result<Found, Refusal> {
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
    let until = limits.until.clone();
    let (found, ending) = until
        .within(|| machine::explore_to_ends(test, variant, limits))
        .map_err(|reached| Refusal::Unsupported(reached.to_string()))?
        .map_err(|error| Refusal::Unsupported(error.diagnostic().message))?;
    let ending = if is_shipped(model) { without_services(ending) } else { Ending::Unknown };
    Ok(Found::explored(found, ending))
}

impl Found {
    /// What exploring all states has found.
    pub(crate) fn explored(found: Exploration, ending: Ending) -> Self {
        let mut blocked = Vec::new();
        let complete = Complete::explored(&found);
        if found.outcomes.is_empty() && complete.is_some() {
            let places = found.blocked.iter().map(|blocked| blocked.span);
            blocked = places.filter(|at| !at.is_nowhere()).collect();
        }
        let allowed = Allowed {
            outcomes: found.outcomes,
            complete,
            reason: found.reason,
            blocked,
            ..Allowed::default()
        };
        let explored = Some((found.states, found.transitions));
        Self { allowed, by: Engine::Explore, explored, ending, ..Self::default() }
    }
}

/// Ways to wait for ever, without the services that go on all the time.
fn without_services(ending: Ending) -> Ending {
    let Ending::NotAlways(ways) = ending else { return ending };
    let shown = |place: Option<Place>| place.filter(|place| !place.at().is_nowhere());
    let way = |way: Places| way.into_iter().map(shown).collect();
    Ending::NotAlways(ways.into_iter().map(way).collect())
}

/// Puts two answers together. What is complete must hold all of the other.
pub fn both(
    smt: Result<Found, Refusal>,
    explore: Result<Found, Refusal>,
) -> Result<Found, Refusal> {
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
    let agree = (smt.allowed.complete.is_none() || by_machine.is_subset(&by_axioms))
        && (explore.allowed.complete.is_none() || by_axioms.is_subset(&by_machine));
    let (explored, mut ending) = (explore.explored, explore.ending);
    let mut allowed = smt.allowed;
    allowed.outcomes.extend(by_machine.iter().cloned());
    if explore.allowed.complete.is_some() {
        allowed.complete = explore.allowed.complete;
        allowed.reason = None;
        allowed.is_beyond_bound = false;
    }
    if allowed.blocked.is_empty() {
        allowed.blocked = explore.allowed.blocked;
    }
    let mut disagreement = None;
    if !agree {
        allowed.complete = None;
        allowed.reason = Some("the engines disagree".to_owned());
        ending = Ending::Unknown;
        disagreement = Some(Disagreement { smt: by_axioms, explore: by_machine });
    }
    Ok(Found { allowed, by: Engine::Both, explored, disagreement, unsupported: None, ending })
}
