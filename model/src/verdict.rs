//! Verdicts: what a set of allowed outcomes means for the claims in a test.

use lang::Test;
use lang::outcome::{Asked, Claim, Condition, Expectation, Observable, Outcome, Value};

use crate::allowed::{Allowed, Options, Question};
use crate::asking::Refused;
use crate::bound::Complete;
use crate::smt::Found;

/// The result for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Some allowed outcome meets the condition.
    Allowed,
    /// No allowed outcome meets the condition, and it is proved that no outcome is missing.
    Forbidden,
    /// Every allowed outcome meets the condition (for `forall`).
    Always,
    /// Some allowed outcome does not meet the condition (for `forall`).
    NotAlways,
    /// The allowed outcomes are exactly the listed ones.
    Exactly,
    /// The allowed outcomes are not exactly the listed ones.
    Differs,
    /// A claim about all outcomes holds only because no execution ends, so there are no outcomes.
    Vacuous,
    /// A bound or limit was reached before there was an answer.
    Unknown,
}

impl Verdict {
    /// The word for the verdict, in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::Always => "always",
            Self::NotAlways => "not always",
            Self::Exactly => "exactly",
            Self::Differs => "differs",
            Self::Vacuous => "vacuous",
            Self::Unknown => "unknown",
        }
    }
}

/// A claim with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The condition as in the test's text.
    pub condition: String,
    /// The verdict that the test claims.
    pub expected: Verdict,
    /// The verdict that the engine found.
    pub verdict: Verdict,
    /// How many outcomes meet the condition, if the test only asks and claims nothing.
    pub seen: Option<Seen>,
}

/// How many outcomes meet the condition of a question, and how many do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Outcomes that meet the condition.
    pub positive: usize,
    /// Outcomes that do not meet it.
    pub negative: usize,
    /// Whether all outcomes are counted.
    pub complete: bool,
}

impl Seen {
    /// herd's word for the result. `None` if outcomes that are not known could change it.
    pub fn word(self) -> Option<&'static str> {
        match (self.positive, self.negative) {
            (1.., 1..) => Some("Sometimes"),
            _ if !self.complete => None,
            (0, _) => Some("Never"),
            (_, 0) => Some("Always"),
        }
    }
}

impl Checked {
    /// Whether the claim holds; a question holds if it is answered. `None` if the result is unknown or
    /// vacuous.
    pub fn holds(&self) -> Option<bool> {
        self.is_so().map(|is_so| is_so || self.seen.is_some())
    }

    /// Whether the claimed or asked verdict is the one found. `None` if the result is unknown or vacuous.
    pub fn is_so(&self) -> Option<bool> {
        let is_open = matches!(self.verdict, Verdict::Unknown | Verdict::Vacuous);
        (!is_open).then_some(self.verdict == self.expected)
    }

    /// Adjusts the result if it is known that no execution ends. Then a claim about all outcomes is vacuous;
    /// most often the program has a mistake. `exactly {}` claims just that, so it holds. Questions are
    /// answered as herd answers them.
    fn of_endless(self) -> Self {
        let holds = self.verdict == self.expected && self.seen.is_none();
        match self.verdict {
            Verdict::Forbidden | Verdict::Always if holds => {
                Self { verdict: Verdict::Vacuous, ..self }
            }
            _ => self,
        }
    }

    /// herd's answer to a question: `Ok` if the asked verdict is the one found.
    pub fn answer(&self) -> Option<&'static str> {
        self.seen?;
        self.is_so().map(|is_so| if is_so { "Ok" } else { "No" })
    }
}

/// Whether a verdict line of a test applies to a model. If the user gives the model as a file (`is_own`),
/// lines that name no model apply to it too, because that is what the user asks.
pub fn applies(test: &Test, expectation: &Expectation, model: &str, is_own: bool) -> bool {
    match &expectation.model {
        Some(named) => named == model,
        None => is_own || test.lists(model),
    }
}

/// The verdict lines of a test that apply to a model.
fn claims<'t>(
    test: &'t Test,
    (model, is_own): (&'t str, bool),
) -> impl Iterator<Item = &'t Expectation> {
    test.expectations.iter().filter(move |claim| applies(test, claim, model, is_own))
}

/// Whether a claim of a test that applies to a model excludes an outcome.
pub fn excludes(test: &Test, model: &str, is_own: bool, outcome: &Outcome) -> bool {
    claims(test, (model, is_own)).any(|expectation| match &expectation.claim {
        _ if expectation.is_question => false,
        Claim::Allowed(_) => false,
        Claim::Forbidden(condition) => condition.holds(outcome),
        Claim::Always(condition) => condition.fails(outcome),
        Claim::Exactly { observables, outcomes } => {
            let seen = || observables.iter().map(|index| outcome.0[*index]);
            let covers =
                |listed: &Vec<Value>| listed.iter().zip(seen()).all(|(one, seen)| one.covers(seen));
            !outcomes.iter().any(covers)
        }
    })
}

/// Checks the claims of a test that apply to a model.
pub fn check(test: &Test, model: &str, is_own: bool, allowed: &Allowed) -> Vec<Checked> {
    let checked = claims(test, (model, is_own)).map(|expectation| check_one(expectation, allowed));
    match allowed.is_endless() {
        true => checked.map(Checked::of_endless).collect(),
        false => checked.collect(),
    }
}

/// The results of all verdict lines of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The result of each line.
    pub checked: Vec<Checked>,
    /// Whether it is known that no execution ends, so that every ✗ holds.
    pub is_endless: bool,
    /// Why some results are unknown; the first reason.
    pub reason: Option<String>,
}

impl Answered {
    /// The results that follow from a set of outcomes.
    pub fn of(test: &Test, (model, is_own): (&str, bool), allowed: &Allowed) -> Self {
        let checked = check(test, model, is_own, allowed);
        let all = Self { checked, is_endless: allowed.is_endless(), reason: None };
        let reason = allowed.reason.clone().filter(|_| all.has_unknown());
        Self { reason, ..all }
    }

    /// Whether the result of some line is unknown.
    pub fn has_unknown(&self) -> bool {
        self.checked.iter().any(|checked| checked.verdict == Verdict::Unknown)
    }
}

/// Checks the claims of a test that apply to a model with one solver question for each claim, without finding
/// all outcomes. Claims that list outcomes, and questions, need all outcomes. If there are any, all outcomes
/// are found first.
///
/// # Errors
/// As [`Question::session`].
pub fn ask(
    question: &Question<'_>,
    own: (&str, bool),
    options: &Options,
) -> Result<Answered, Refused> {
    let test: &Test = &question.test;
    if needs(test, own) == Needs::AllOutcomes {
        return by_outcomes(question, own, options);
    }
    let (mut asked, mut conditions) = (Vec::new(), Vec::new());
    for claim in claims(test, own) {
        let (expected, looked_for) = looked_for(&claim.claim);
        let Some((condition, wanted)) = looked_for else { continue };
        let condition = condition.clone();
        conditions.push(if wanted { condition } else { Condition::Not(Box::new(condition)) });
        asked.push((claim, expected, wanted));
    }
    let mut session = question.session_about(conditions, options, |_| true)?;
    let Some(meeting) =
        (0..asked.len()).map(|claim| session.meeting(claim)).collect::<Option<Vec<_>>>()
    else {
        return by_outcomes(question, own, options);
    };
    // Loops are checked only if a verdict needs it.
    let mut loops = None;
    let (mut checked, mut reason) = (Vec::new(), None);
    for ((claim, expected, wanted), meeting) in asked.into_iter().zip(meeting) {
        let assumptions = [session.counted(), vec![meeting]].concat();
        let found = match session.find(&assumptions) {
            Found::Execution(_) => Ok(Search::Found),
            Found::Unknown => Err(session.why_unknown()),
            Found::Nothing => {
                let known = match &loops {
                    Some(known) => known,
                    None => &*loops.insert(question.loops(options)?),
                };
                known.proof().map(Search::Nothing).map_err(str::to_owned)
            }
        };
        let found = found.unwrap_or_else(|why| {
            reason.get_or_insert(why);
            Search::Unknown
        });
        let (condition, verdict) = (claim.text.clone(), answer(wanted, found));
        checked.push(Checked { condition, expected, verdict, seen: None });
    }
    // An allowed outcome proves that some execution ends. Without a proof about loops, nothing is forbidden.
    let is_vacuous =
        |checked: &Checked| matches!(checked.verdict, Verdict::Forbidden | Verdict::Always);
    let is_endless = !checked.is_empty() && checked.iter().all(is_vacuous) && {
        let counted = session.counted();
        matches!(session.find(&counted), Found::Nothing)
    };
    if is_endless {
        checked = checked.into_iter().map(Checked::of_endless).collect();
    }
    Ok(Answered { checked, is_endless, reason })
}

/// What is needed to check claims.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Needs {
    Nothing,
    /// For each claim, an outcome or a proof.
    Answers,
    AllOutcomes,
}

/// What the claims of a test need that apply to a model.
pub(crate) fn needs(test: &Test, own: (&str, bool)) -> Needs {
    let need = |claim: &Expectation| match claim.claim {
        Claim::Exactly { .. } => Needs::AllOutcomes,
        _ if claim.is_question => Needs::AllOutcomes,
        _ => Needs::Answers,
    };
    claims(test, own).map(need).max().unwrap_or(Needs::Nothing)
}

fn by_outcomes(
    question: &Question<'_>,
    (model, is_own): (&str, bool),
    options: &Options,
) -> Result<Answered, Refused> {
    Ok(Answered::of(&question.test, (model, is_own), &question.allowed(options)?))
}

/// For `explain`: the outcomes that a claim is about, and whether it expects them to be allowed. For a claim
/// that lists outcomes, the outcomes that it does not list come first.
pub fn asked(expectation: &Expectation, observables: &[Observable]) -> Vec<(Asked, bool)> {
    let of = |condition: Condition, text: &str| Asked { condition, text: text.to_owned() };
    match &expectation.claim {
        Claim::Allowed(condition) => vec![(of(condition.clone(), bare(&expectation.text)), true)],
        Claim::Forbidden(condition) => {
            vec![(of(condition.clone(), bare(&expectation.text)), false)]
        }
        Claim::Always(condition) => {
            let text = format!("¬{}", bare(&expectation.text));
            vec![(of(Condition::Not(Box::new(condition.clone())), &text), false)]
        }
        Claim::Exactly { observables: indices, outcomes } => {
            let values = |values: &Vec<Value>| {
                let pairs = indices.iter().copied().zip(values.iter().copied());
                Asked::values(observables, pairs)
            };
            let listed: Vec<Asked> = outcomes.iter().map(values).collect();
            let any = listed.iter().map(|asked| asked.condition.clone()).collect();
            let others = Condition::Not(Box::new(Condition::Or(any)));
            let others = of(others, "an outcome that the verdict does not list");
            let listed = listed.into_iter().map(|asked| (asked, true));
            std::iter::once((others, false)).chain(listed).collect()
        }
    }
}

/// The condition without the keyword in front (`exists`, `forall`, `~`).
fn bare(text: &str) -> &str {
    let text = text.trim_start_matches(['~', '¬']).trim_start();
    let words = ["exists", "forall"];
    words.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text).trim()
}

/// The verdict that a claim expects, the condition, and whether the search is for an outcome that meets it
/// (else one that does not). `None` for a list of outcomes: it needs all outcomes.
fn looked_for(claim: &Claim) -> (Verdict, Option<(&Condition, bool)>) {
    match claim {
        Claim::Allowed(condition) => (Verdict::Allowed, Some((condition, true))),
        Claim::Forbidden(condition) => (Verdict::Forbidden, Some((condition, true))),
        Claim::Always(condition) => (Verdict::Always, Some((condition, false))),
        Claim::Exactly { .. } => (Verdict::Exactly, None),
    }
}

/// The result of the search for an outcome.
#[derive(Clone, Copy)]
enum Search {
    Found,
    /// There is none, and the proof says that nothing was left out.
    Nothing(Complete),
    Unknown,
}

/// The verdict that follows from the search for an outcome that meets a condition (`wanted`), or does not
/// meet it.
fn answer(wanted: bool, found: Search) -> Verdict {
    match (found, wanted) {
        (Search::Found, true) => Verdict::Allowed,
        (Search::Found, false) => Verdict::NotAlways,
        (Search::Nothing(_), true) => Verdict::Forbidden,
        (Search::Nothing(_), false) => Verdict::Always,
        (Search::Unknown, _) => Verdict::Unknown,
    }
}

fn check_one(expectation: &Expectation, allowed: &Allowed) -> Checked {
    let (expected, looked_for) = looked_for(&expectation.claim);
    let verdict = match (&expectation.claim, looked_for) {
        (Claim::Exactly { observables, outcomes }, _) => exactly(observables, outcomes, allowed),
        (_, Some((condition, wanted))) => {
            let meets =
                |outcome| if wanted { condition.holds(outcome) } else { condition.fails(outcome) };
            let found = match allowed.complete {
                _ if allowed.outcomes.iter().any(meets) => Search::Found,
                Some(proof) => Search::Nothing(proof),
                None => Search::Unknown,
            };
            answer(wanted, found)
        }
        (_, None) => Verdict::Unknown,
    };
    let seen = seen(expectation, allowed);
    Checked { condition: expectation.text.clone(), expected, verdict, seen }
}

/// Counts how many outcomes meet the condition of a question.
fn seen(expectation: &Expectation, allowed: &Allowed) -> Option<Seen> {
    let (Claim::Allowed(condition) | Claim::Forbidden(condition) | Claim::Always(condition)) =
        &expectation.claim
    else {
        return None;
    };
    let count = |wanted: &dyn Fn(&Outcome) -> bool| {
        allowed.outcomes.iter().filter(|outcome| wanted(outcome)).count()
    };
    expectation.is_question.then(|| Seen {
        positive: count(&|outcome| condition.holds(outcome)),
        negative: count(&|outcome| condition.fails(outcome)),
        complete: allowed.complete.is_some(),
    })
}

fn exactly(observables: &[usize], outcomes: &[Vec<Value>], allowed: &Allowed) -> Verdict {
    let project = |outcome: &Outcome| -> Vec<Value> {
        observables.iter().map(|index| outcome.0[*index]).collect()
    };
    let mut found: Vec<Vec<Value>> = allowed.outcomes.iter().map(project).collect();
    found.sort();
    found.dedup();
    if found.iter().any(|outcome| !outcomes.contains(outcome)) {
        Verdict::Differs
    } else if allowed.complete.is_none() {
        Verdict::Unknown
    } else if found == outcomes {
        Verdict::Exactly
    } else {
        Verdict::Differs
    }
}
