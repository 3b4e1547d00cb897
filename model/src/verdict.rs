//! Verdicts: what a set of allowed outcomes says of the claims in a test.

use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Asked, Claim, Condition, Expectation, Observable, Outcome, Value};

use crate::allowed::{Allowed, Options, Question};
use crate::asked::{cases, of_cases};
use crate::bound::{Complete, Loops};
use crate::smt::Found;

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
    /// What is claimed of all outcomes holds only because no execution ends, so that there are none.
    Vacuous,
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
            Self::Vacuous => "vacuous",
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
    /// What is seen of it, if the text only asks.
    pub seen: Option<Seen>,
}

/// How many outcomes meet the condition of a question, and how many do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Those that meet it.
    pub positive: usize,
    /// Those that do not.
    pub negative: usize,
    /// Whether there are no others.
    pub complete: bool,
}

impl Seen {
    /// herd's word for it; `None` if outcomes that are not known could make it another.
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
    /// Whether the claim holds, and a question is answered; `None` if that is unknown, or nothing shows it.
    pub fn holds(&self) -> Option<bool> {
        self.is_so().map(|is_so| is_so || self.seen.is_some())
    }

    /// Whether what is claimed or asked is so; `None` if that is unknown, or nothing shows it.
    pub fn is_so(&self) -> Option<bool> {
        let is_open = matches!(self.verdict, Verdict::Unknown | Verdict::Vacuous);
        (!is_open).then_some(self.verdict == self.expected)
    }

    /// The same where it is known that no execution ends. Then a claim about all outcomes is true of none: most often the
    /// program has a mistake. `exactly {}` claims just that, and questions are answered as herd does.
    fn of_endless(self) -> Self {
        let holds = self.verdict == self.expected && self.seen.is_none();
        match self.verdict {
            Verdict::Forbidden | Verdict::Always if holds => {
                Self { verdict: Verdict::Vacuous, ..self }
            }
            _ => self,
        }
    }

    /// herd's answer to a question: `Ok` if what it asks is so.
    pub fn answer(&self) -> Option<&'static str> {
        self.seen?;
        self.is_so().map(|is_so| if is_so { "Ok" } else { "No" })
    }
}

/// Whether a verdict line of a test speaks of a model. With a model that the user gives as a file
/// (`is_own`), lines that name no model speak of it too: that is what the user asks.
pub fn applies(test: &Test, expectation: &Expectation, model: &str, is_own: bool) -> bool {
    match &expectation.model {
        Some(named) => named == model,
        None => is_own || test.lists(model),
    }
}

/// Whether a claim of a test that speaks of a model excludes an outcome.
pub fn excludes(test: &Test, model: &str, is_own: bool, outcome: &Outcome) -> bool {
    let mut claims = test.expectations.iter().filter(|claim| applies(test, claim, model, is_own));
    claims.any(|expectation| match &expectation.claim {
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

/// Checks the claims of a test that speak of a model.
pub fn check(test: &Test, model: &str, is_own: bool, allowed: &Allowed) -> Vec<Checked> {
    let claims = test.expectations.iter().filter(|claim| applies(test, claim, model, is_own));
    let checked = claims.map(|expectation| check_one(expectation, allowed));
    match allowed.is_endless() {
        true => checked.map(Checked::of_endless).collect(),
        false => checked.collect(),
    }
}

/// What the verdicts of a test came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// What is said of each.
    pub checked: Vec<Checked>,
    /// Whether it is known that no execution ends, so that every ✗ holds.
    pub is_endless: bool,
}

impl Answered {
    /// The answers that outcomes give.
    pub fn of(test: &Test, (model, is_own): (&str, bool), allowed: &Allowed) -> Self {
        let checked = check(test, model, is_own, allowed);
        Self { checked, is_endless: allowed.is_endless() }
    }
}

/// Checks the claims of a test that speak of a model, one question to the solver after the other, without all
/// outcomes. A claim that lists outcomes, and a question, need all of them: then they are found as ever.
///
/// # Errors
/// As [`Question::session`].
pub fn ask(
    question: &Question<'_>,
    (model, is_own): (&str, bool),
    options: &Options,
) -> Result<Answered, Vec<Diagnostic>> {
    let test: &Test = &question.test;
    let claims = || test.expectations.iter().filter(|claim| applies(test, claim, model, is_own));
    let needs_all = |expectation: &Expectation| {
        expectation.is_question || matches!(expectation.claim, Claim::Exactly { .. })
    };
    if claims().any(needs_all) {
        return by_outcomes(question, (model, is_own), options);
    }
    let mut session = question.session(options, |_| true)?;
    // Asked only where it matters.
    let mut loops = None;
    let mut checked = Vec::new();
    for expectation in claims() {
        let (expected, looked_for) = looked_for(&expectation.claim);
        let Some((condition, wanted)) = looked_for else { continue };
        let condition =
            if wanted { condition } else { &Condition::Not(Box::new(condition.clone())) };
        let Some(cases) = cases(&session, condition) else {
            return by_outcomes(question, (model, is_own), options);
        };
        let counted = session.counted();
        let found = match of_cases(&mut session, &cases, &counted) {
            Found::Execution(_) => Search::Found,
            Found::Unknown => Search::Unknown,
            Found::Nothing => {
                let known = match &loops {
                    Some(known) => known,
                    None => &*loops.insert(question.loops(options)?),
                };
                match known {
                    Loops::Within(proof) => Search::Nothing(*proof),
                    Loops::Beyond | Loops::Unknown(_) => Search::Unknown,
                }
            }
        };
        let verdict = answer(wanted, found);
        let condition = expectation.text.clone();
        checked.push(Checked { condition, expected, verdict, seen: None });
    }
    // Something that is allowed is an execution that ends, and without a proof about loops nothing is forbidden.
    let is_vacuous =
        |checked: &Checked| matches!(checked.verdict, Verdict::Forbidden | Verdict::Always);
    let is_endless = !checked.is_empty() && checked.iter().all(is_vacuous) && {
        let counted = session.counted();
        matches!(session.find(&counted), Found::Nothing)
    };
    if is_endless {
        checked = checked.into_iter().map(Checked::of_endless).collect();
    }
    Ok(Answered { checked, is_endless })
}

fn by_outcomes(
    question: &Question<'_>,
    (model, is_own): (&str, bool),
    options: &Options,
) -> Result<Answered, Vec<Diagnostic>> {
    Ok(Answered::of(&question.test, (model, is_own), &question.allowed(options)?))
}

/// What a claim is about, for people who ask why: the outcomes, and whether it expects them to be allowed. Of a claim that
/// lists outcomes, first those that it does not list.
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

/// A condition without the word that asks.
fn bare(text: &str) -> &str {
    let text = text.trim_start_matches(['~', '¬']).trim_start();
    let words = ["exists", "forall"];
    words.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text).trim()
}

/// What a claim expects, and the condition of which an outcome is looked for that meets it, or fails it; a list of
/// outcomes asks for all.
fn looked_for(claim: &Claim) -> (Verdict, Option<(&Condition, bool)>) {
    match claim {
        Claim::Allowed(condition) => (Verdict::Allowed, Some((condition, true))),
        Claim::Forbidden(condition) => (Verdict::Forbidden, Some((condition, true))),
        Claim::Always(condition) => (Verdict::Always, Some((condition, false))),
        Claim::Exactly { .. } => (Verdict::Exactly, None),
    }
}

/// What became of a search for an outcome.
#[derive(Clone, Copy)]
enum Search {
    Found,
    /// There is none, and nothing was left out.
    Nothing(Complete),
    Unknown,
}

/// What follows from a search for an outcome that meets a condition (`wanted`), or fails it.
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
            let found = match allowed.proof() {
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

/// How often the condition of a question is met.
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
        complete: allowed.complete,
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
    } else if !allowed.complete {
        Verdict::Unknown
    } else if found == outcomes {
        Verdict::Exactly
    } else {
        Verdict::Differs
    }
}
