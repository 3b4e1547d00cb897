//! What is explained: the outcome of the command line, or what verdicts of the file are about.

use std::sync::Arc;

use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Asked, Claim, Expectation};
use lang::source::Source;
use model::engine::{Refusal, Request, verdicts};
use model::explain::Reason;
use model::verdict::{self, Checked, Verdict};
use serde_json::{Value as Json, json};

use crate::models::LoadedModel;

/// Outcomes under a model.
pub struct Subject {
    /// The model.
    pub model: Arc<LoadedModel>,
    /// The outcomes.
    pub asked: Asked,
    /// The verdict about them, if one does.
    pub verdict: Option<OfVerdict>,
}

/// A verdict, and what became of it.
#[derive(Clone)]
pub struct OfVerdict {
    line: usize,
    /// As it stands in the file.
    text: String,
    /// Whether it holds; `None` if that is unknown.
    holds: Option<bool>,
    is_question: bool,
    /// Whether it holds only because no execution ends.
    is_vacuous: bool,
    /// Whether it expects the outcomes to be allowed.
    is_allowed: bool,
}

impl Subject {
    /// Whether an answer says something: where a verdict does not hold, what contradicts it does.
    pub fn is_told(&self, reason: &Reason) -> bool {
        self.is_told_of(match reason {
            Reason::Unknown(_) => None,
            Reason::Witness(_) => Some(true),
            _ => Some(false),
        })
    }

    /// The same of an outcome that is allowed, forbidden, or not known.
    pub fn is_told_of(&self, is_allowed: Option<bool>) -> bool {
        let of_wrong = self.verdict.as_ref().filter(|_| self.is_wrong());
        of_wrong.zip(is_allowed).is_none_or(|(verdict, is)| is != verdict.is_allowed)
    }

    /// Whether it comes from a verdict that holds only because no execution ends.
    pub fn is_vacuous(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.is_vacuous)
    }

    /// Whether it comes from a verdict that does not hold.
    pub fn is_wrong(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| verdict.holds == Some(false))
    }

    /// Whether it comes from a verdict that forbids what is allowed.
    pub fn is_wrongly_allowed(&self) -> bool {
        self.is_wrong() && self.verdict.as_ref().is_some_and(|verdict| !verdict.is_allowed)
    }

    /// The line above its explanation.
    pub fn head(&self) -> Option<String> {
        let OfVerdict { line, text, holds, is_question, is_vacuous, .. } = self.verdict.as_ref()?;
        let is_so = match holds {
            _ if *is_question => "is asked of",
            Some(true) => "holds under",
            Some(false) => "does not hold under",
            None if *is_vacuous => "holds only because there is no outcome under",
            None => "is not known to hold under",
        };
        Some(format!("line {line}: `{text}` {is_so} {}\n", self.model.name()))
    }

    /// The verdict as JSON.
    pub fn json(&self) -> Option<Json> {
        let OfVerdict { line, text, holds, .. } = self.verdict.as_ref()?;
        Some(json!({ "line": line, "text": text, "holds": holds }))
    }
}

/// What verdicts are about: those that fail under a model; or else those that nobody knows to
/// hold; or else all about the first model.
///
/// # Errors
/// What is wrong with asking a model about the test.
pub fn of_verdicts(
    test: &Test,
    source: &Source,
    models: &[Arc<LoadedModel>],
    request: &Request<'_>,
) -> Result<Vec<Subject>, Vec<Diagnostic>> {
    let (mut wrong, mut unknown, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for model in models {
        let own = (model.name(), model.is_own);
        let is_meant = |claim: &&Expectation| verdict::applies(test, claim, own.0, own.1);
        let claims: Vec<&Expectation> = test.expectations.iter().filter(is_meant).collect();
        if claims.is_empty() {
            continue;
        }
        let answered = verdicts(test, (model.model(), model.is_own), request)
            .map_err(Refusal::into_diagnostics)?
            .answered;
        let checked = answered.checked;
        let is_first = first.is_empty();
        for (claim, checked) in claims.into_iter().zip(checked) {
            let found = || subjects(claim, &checked, (test, source), model);
            match checked.holds() {
                Some(false) => wrong.extend(found()),
                None => unknown.extend(found()),
                Some(true) => {}
            }
            if is_first {
                first.extend(found());
            }
        }
    }
    Ok([wrong, unknown, first].into_iter().find(|all| !all.is_empty()).unwrap_or_default())
}

fn subjects(
    claim: &Expectation,
    checked: &Checked,
    (test, source): (&Test, &Source),
    model: &Arc<LoadedModel>,
) -> Vec<Subject> {
    let text = source.text.get(claim.span.range()).unwrap_or_default();
    let holds = checked.holds();
    // That listed outcomes are allowed is what the verdict says already.
    let is_list = matches!(claim.claim, Claim::Exactly { .. }) && holds != Some(false);
    let all = verdict::asked(claim, &test.observables).into_iter();
    let all = all.take(if is_list { 1 } else { usize::MAX });
    let subject = |(asked, is_allowed)| Subject {
        model: Arc::clone(model),
        asked,
        verdict: Some(OfVerdict {
            line: source.line_column(claim.span.start).0,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            holds,
            is_question: claim.is_question,
            is_vacuous: checked.verdict == Verdict::Vacuous,
            is_allowed,
        }),
    };
    all.map(subject).collect()
}
