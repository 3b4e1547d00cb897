//! Judgement: what observations say about a model.
//!
//! `litmus run`, `run --tune` and every form of `litmus report` judge by [`Answers::judge`], so that they
//! agree. It asks a model what it allows, once for each program, and [`weigh`] compares that with what was
//! observed. [`Judgement::conclusion`] says what a judgement means for the exit code.

mod answers;
mod asking;

use std::sync::Arc;

use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::outcome::Outcome;
use model::allowed::Allowed;
use serde::Serialize;

use crate::observation::Observations;
use crate::record::{ModelIdentity, TestRecord};
pub use answers::{Answers, JudgedBy, Program};
pub use asking::{decided, is_impossible, shows, wanted};

/// What observations say about a model. In the order of their weight: a whole is judged by its heaviest part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Allowed, and observed.
    Conforms,
    /// Allowed, and never observed: this says something about the stress, and nothing against the machine.
    Unseen,
    /// It is unknown whether it is allowed.
    Inconclusive,
    /// Forbidden, and observed.
    Violation,
}

/// What judgements mean for the exit code of every command that judges, in the order of weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conclusion {
    /// Nothing forbidden was observed.
    #[default]
    Holds,
    /// Something stays unknown.
    Unknown,
    /// Something forbidden was observed.
    Violated,
}

impl Judgement {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::Unseen => "unseen",
            Self::Inconclusive => "inconclusive",
            Self::Violation => "violation",
        }
    }

    /// What it means for the exit code.
    pub fn conclusion(self) -> Conclusion {
        match self {
            Self::Conforms | Self::Unseen => Conclusion::Holds,
            Self::Inconclusive => Conclusion::Unknown,
            Self::Violation => Conclusion::Violated,
        }
    }
}

/// A model that judges.
#[derive(Clone, Debug)]
pub struct Judge {
    /// Its name and hash.
    pub identity: ModelIdentity,
    /// The model.
    pub model: Model,
    /// What `--model` takes for it.
    pub argument: String,
    /// Whether it came from a file of the user's.
    pub is_own: bool,
}

/// Whether a program can show a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Forbids {
    /// A model allows all outcomes that executions of the program give.
    Nothing,
    /// That is not known.
    #[default]
    Unknown,
    /// A model forbids an outcome that some execution of the program gives.
    Something,
}

/// What a model says about a program.
#[derive(Clone, Debug, Default)]
pub struct ModelSays {
    /// What it allows, as far as that is known.
    pub allowed: Arc<Allowed>,
    /// Whether it forbids anything.
    pub forbids: Forbids,
}

/// Why a model does not judge a test.
#[derive(Clone, Debug)]
pub enum NotJudged {
    /// The model does not define a statement of the test. That is a skip in every command, not a failure.
    Undefined(Vec<Diagnostic>),
    /// The test or the model is wrong.
    Wrong(Vec<Diagnostic>),
}

impl NotJudged {
    /// What to say about an undefined statement, in one line.
    pub fn reason(undefined: &[Diagnostic]) -> String {
        undefined.first().map_or_else(String::new, |error| error.message.clone())
    }
}

/// A model that is not there: its name and what to do about it.
pub struct LackingModel {
    /// The name; `any` if the record names no model.
    pub name: String,
    /// Why it does not judge.
    pub reason: String,
}

/// The models that judge a recorded test: the chosen ones, or else those that it was recorded under.
pub fn judges(
    recorded: &TestRecord,
    chosen: &[Arc<Judge>],
    find: &dyn Fn(&str) -> Option<Arc<Judge>>,
) -> Vec<Result<Arc<Judge>, LackingModel>> {
    if !chosen.is_empty() {
        return chosen.iter().cloned().map(Ok).collect();
    }
    if recorded.models.is_empty() {
        let reason = "the record names no model for it; name one with --model".to_owned();
        return vec![Err(LackingModel { name: "any".to_owned(), reason })];
    }
    let find = |identity: &ModelIdentity| {
        let name = &identity.name;
        find(name).ok_or_else(|| LackingModel {
            name: name.clone(),
            reason: format!("the model `{name}` is not shipped; name its file with --model"),
        })
    };
    recorded.models.iter().map(find).collect()
}

/// An outcome that was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedOutcome {
    /// Over all observables of the test.
    pub outcome: Outcome,
    /// In how many runs.
    pub count: u64,
    /// Never [`Judgement::Unseen`].
    pub judgement: Judgement,
}

/// A test judged under a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedTest {
    /// What was observed.
    pub outcomes: Vec<JudgedOutcome>,
    /// What is allowed and was not observed.
    pub unseen: Vec<Outcome>,
    /// The heaviest of all.
    pub overall: Judgement,
}

impl JudgedTest {
    /// What was observed and is forbidden.
    pub fn violations(&self) -> impl Iterator<Item = &JudgedOutcome> {
        self.outcomes.iter().filter(|judged| judged.judgement == Judgement::Violation)
    }
}

/// Compares observations with what is allowed.
///
/// Without a single finished run nothing can be said, even if the model says that no run finishes.
pub fn weigh(allowed: &Allowed, seen: &Observations) -> JudgedTest {
    let outcomes: Vec<JudgedOutcome> = seen
        .outcomes
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(outcome, count)| JudgedOutcome {
            outcome: outcome.clone(),
            count: *count,
            judgement: judge_outcome(allowed, outcome),
        })
        .collect();
    let was_seen = |known: &&Outcome| {
        let is_it =
            |judged: &JudgedOutcome| judged.outcome == **known || known.covers(&judged.outcome);
        outcomes.iter().any(is_it)
    };
    let unseen: Vec<Outcome> =
        allowed.outcomes.iter().filter(|known| !was_seen(known)).cloned().collect();

    let base = if outcomes.is_empty() {
        Judgement::Inconclusive
    } else if unseen.is_empty() {
        Judgement::Conforms
    } else {
        Judgement::Unseen
    };
    let overall = outcomes.iter().map(|judged| judged.judgement).fold(base, Judgement::max);
    JudgedTest { outcomes, unseen, overall }
}

fn judge_outcome(allowed: &Allowed, outcome: &Outcome) -> Judgement {
    match allowed.forbids(outcome) {
        Some(_) => Judgement::Violation,
        None if allowed.contains(outcome) => Judgement::Conforms,
        None => Judgement::Inconclusive,
    }
}

#[cfg(test)]
mod tests;
