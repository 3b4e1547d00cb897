//! Verdicts: what a set of allowed outcomes says of the claims in a test.

use lang::Test;
use lang::outcome::{Claim, Condition, Expectation, Outcome, Value};

use crate::allowed::Allowed;

/// What the engine says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Some allowed outcome satisfies the condition.
    Allowed,
    /// No allowed outcome does, and the engine proved that it knows all of them.
    Forbidden,
    /// Every allowed outcome satisfies the condition (of a `forall`).
    Always,
    /// Some allowed outcome does not (of a `forall`).
    NotAlways,
    /// The allowed outcomes are the ones listed.
    Exactly,
    /// The allowed outcomes are not the ones listed.
    Differs,
    /// A bound or limit was hit before it was known.
    Unknown,
}

impl Verdict {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::Always => "always",
            Self::NotAlways => "not always",
            Self::Exactly => "exactly",
            Self::Differs => "differs",
            Self::Unknown => "unknown",
        }
    }
}

/// A claim, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The condition as the text prints it.
    pub condition: String,
    /// What the text claims.
    pub expected: Verdict,
    /// What the engine says.
    pub verdict: Verdict,
}

impl Checked {
    /// Whether the claim holds; `None` if that is unknown.
    pub fn holds(&self) -> Option<bool> {
        (self.verdict != Verdict::Unknown).then_some(self.verdict == self.expected)
    }
}

/// Whether a verdict line of a test speaks of a model. With a model that the user gives as a file
/// (`is_own`), lines that name no model speak of it too: that is what the user asks.
pub fn applies(test: &Test, expectation: &Expectation, model: &str, is_own: bool) -> bool {
    match &expectation.model {
        Some(named) => named == model,
        None => is_own || test.models.iter().any(|listed| listed == model),
    }
}

/// Checks the claims of a test that speak of a model.
pub fn check(test: &Test, model: &str, is_own: bool, allowed: &Allowed) -> Vec<Checked> {
    let claims = test.expectations.iter().filter(|claim| applies(test, claim, model, is_own));
    claims.map(|expectation| check_one(expectation, allowed)).collect()
}

fn check_one(expectation: &Expectation, allowed: &Allowed) -> Checked {
    let some = |condition: &Condition, wanted: bool| {
        let meets =
            |outcome| if wanted { condition.holds(outcome) } else { condition.fails(outcome) };
        allowed.outcomes.keys().any(meets)
    };
    let if_complete = |verdict| if allowed.complete { verdict } else { Verdict::Unknown };
    let (expected, verdict) = match &expectation.claim {
        Claim::Allowed(condition) | Claim::Forbidden(condition) => {
            let expected = match expectation.claim {
                Claim::Allowed(_) => Verdict::Allowed,
                _ => Verdict::Forbidden,
            };
            let found = some(condition, true);
            (expected, if found { Verdict::Allowed } else { if_complete(Verdict::Forbidden) })
        }
        Claim::Always(condition) => {
            let broken = some(condition, false);
            let verdict = if broken { Verdict::NotAlways } else { if_complete(Verdict::Always) };
            (Verdict::Always, verdict)
        }
        Claim::Exactly { observables, outcomes } => {
            (Verdict::Exactly, exactly(observables, outcomes, allowed))
        }
    };
    Checked { condition: expectation.text.clone(), expected, verdict }
}

fn exactly(observables: &[usize], outcomes: &[Vec<Value>], allowed: &Allowed) -> Verdict {
    let project = |outcome: &Outcome| -> Vec<Value> {
        observables.iter().map(|index| outcome.0[*index]).collect()
    };
    let mut found: Vec<Vec<Value>> = allowed.outcomes.keys().map(project).collect();
    found.sort();
    found.dedup();
    if found.iter().any(|outcome| !outcomes.contains(outcome)) {
        Verdict::Differs
    } else if !allowed.complete {
        Verdict::Unknown
    } else if found == outcomes {
        Verdict::Exactly
    } else {
        Verdict::Differs
    }
}
