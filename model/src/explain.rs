//! Explanations: an execution that shows an outcome, or why the nearest one that would is inconsistent.
//!
//! Everything shown here has been checked by the plain evaluator ([`crate::check`]); cycles are taken
//! from its relations, not from the solver's.

mod axiom;
mod between;
mod cycle;
mod dot;
mod json;
mod names;
mod nearest;
mod picture;
mod steps;
mod text;
mod weak;
mod words;

use lang::cat::model::AxiomKind;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::{Asked, Condition};
use lang::source::Span;

use crate::allowed::{Allowed, Options, Question};
use crate::asking::Refused;
use crate::bound::Complete;
use crate::check::{broken_axioms, well_formed};
use crate::execution::Execution;
use crate::smt::Found;

pub use axiom::Shape;
pub use between::Between;
pub use cycle::Step;
pub use picture::{
    Area, Curve, Drawing, DrawnArrow, DrawnCard, Kind, Look, Point, STYLE, escape_xml,
};
pub use steps::{Chain, EndWords, StepWords};
pub use weak::{NotKept, TableCell, Weakness};

/// An edge between events.
type Edge = (skeleton::EventId, skeleton::EventId);

/// Why an outcome is allowed or forbidden.
#[derive(Clone, Debug)]
pub struct Explanation<'q> {
    question: &'q Question<'q>,
    /// The outcomes that are explained.
    pub asked: Asked,
    /// What was found.
    pub reason: Reason,
    /// Whether the proof is from exploring the model's machine, and not from the solver.
    pub by_machine: bool,
    /// Whether exploring shows the outcome, in executions with more rounds of loops than the bound. Then the
    /// question with a larger bound has an execution to show.
    pub in_more_rounds: bool,
}

/// The kinds of explanations.
#[derive(Clone, Debug)]
pub enum Reason {
    /// Allowed: a consistent execution shows the outcome.
    Witness(Execution),
    /// Forbidden: the solver proved that no consistent execution shows the outcome; in this one,
    /// the nearest, an axiom is broken.
    Broken(Broken),
    /// Forbidden whatever the model: no execution of the program gives these values.
    NoCandidate(Complete),
    /// Forbidden, as everything is: no execution of the program ends, or none of those that do meets its
    /// assumptions.
    NothingEnds(Complete),
    /// Forbidden: the solver proved it. No execution that would show the outcome was found in time.
    Proved(Complete),
    /// Excluded: the executions that give these values misuse a library, as the diagnostic says, so they do
    /// not count.
    Misused(Box<Diagnostic>),
    /// A bound or a limit was reached first: this one.
    Unknown(String),
}

/// An inconsistent execution.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The execution.
    pub execution: Execution,
    /// The axiom that the steps break.
    pub axiom: String,
    /// Its condition.
    pub kind: AxiomKind,
    /// A cycle, or for an `empty` axiom a chain, each step from one event to the next.
    pub steps: Vec<Step>,
    /// All axioms that this execution breaks.
    pub all_axioms: Vec<String>,
}

/// Explains why outcomes are allowed or forbidden.
///
/// # Errors
/// Diagnostics if the question cannot be encoded, or if the plain evaluator finds the engine wrong
/// (code `engine-unsound`: a bug to be reported).
pub fn explain<'q>(
    question: &'q Question<'q>,
    options: &Options,
    asked: &Asked,
) -> Result<Explanation<'q>, Refused> {
    let reason = match search(question, options, &asked.condition)? {
        Search::Found(execution) => {
            check(question, &execution)?;
            let broken = broken_axioms(&question.skeleton, &question.model, &execution);
            if !broken.is_empty() {
                return Err(unsound(&format!(
                    "a witness breaks the axiom `{}`",
                    broken.join("`, `")
                )));
            }
            Reason::Witness(execution)
        }
        Search::Unknown(why) => Reason::Unknown(why),
        Search::Nothing(proof) => excluded(question, options, asked, proof)?,
    };
    Ok(Explanation {
        question,
        asked: asked.clone(),
        reason,
        by_machine: false,
        in_more_rounds: false,
    })
}

impl<'q> Explanation<'q> {
    /// The same where more is known than the axioms can tell within the bound on loops: all that is allowed,
    /// from exploring the model's machine. The execution that is shown is one within the bound.
    ///
    /// # Errors
    /// As [`explain`].
    pub fn knowing(
        mut self,
        options: &Options,
        allowed: &Allowed,
    ) -> Result<Explanation<'q>, Refused> {
        let (Reason::Unknown(bound), Some(proof)) = (&self.reason, allowed.complete) else {
            return Ok(self);
        };
        if allowed.outcomes.iter().any(|outcome| self.asked.condition.holds(outcome)) {
            let why = format!("{bound}; exploring the machine shows it, in more rounds");
            self.reason = Reason::Unknown(why);
            self.in_more_rounds = true;
            return Ok(self);
        }
        self.by_machine = true;
        self.reason = match excluded(self.question, options, &self.asked, proof)? {
            Reason::NothingEnds(proof) if !allowed.outcomes.is_empty() => Reason::Proved(proof),
            reason => reason,
        };
        Ok(self)
    }
}

/// Does a part of the work within limits; if one is reached, which.
fn found<R>(
    options: &Options,
    work: impl FnOnce() -> Result<R, Refused>,
) -> Result<Result<R, Refused>, String> {
    match options.limits.within(work) {
        Ok(Err(Refused::Limit(reached))) => Err(reached.to_string()),
        Ok(found) => Ok(found),
        Err(reached) => Err(reached.to_string()),
    }
}

/// Why no execution that counts is consistent: those that would be misuse a library, or else an axiom is
/// broken.
fn excluded(
    question: &Question<'_>,
    options: &Options,
    asked: &Asked,
    proof: Complete,
) -> Result<Reason, Refused> {
    // It is proved already that there is none, so a limit leaves open only why.
    let misused =
        |consistent| match found(options, || misused(question, options, asked, consistent)) {
            Ok(misused) => misused,
            Err(_) => Ok(None),
        };
    if let Some(misuse) = misused(true)? {
        return Ok(misuse);
    }
    match nearest::nearest(question, options, asked, proof)? {
        reason @ (Reason::NoCandidate(_) | Reason::Proved(_)) => {
            if let Some(misuse) = misused(false)? {
                return Ok(misuse);
            }
            match found(options, || nothing_ends(question, options)) {
                Ok(Ok(true)) => Ok(Reason::NothingEnds(proof)),
                Ok(Err(errors)) => Err(errors),
                Ok(Ok(false)) | Err(_) => Ok(reason),
            }
        }
        reason => Ok(reason),
    }
}

/// Whether no execution at all is consistent and counts, whatever its outcome.
fn nothing_ends(question: &Question<'_>, options: &Options) -> Result<bool, Refused> {
    let mut session = question.session(options, |_| true)?;
    let counted = session.counted();
    Ok(matches!(session.find(&counted), Found::Nothing))
}

/// The misuse of an execution that gives these values, consistent or not.
fn misused(
    question: &Question<'_>,
    options: &Options,
    asked: &Asked,
    consistent: bool,
) -> Result<Option<Reason>, Refused> {
    if question.skeleton.misuses.is_empty() {
        return Ok(None);
    }
    let conditions = vec![asked.condition.clone()];
    let mut session = question.session_about(conditions, options, |_| consistent)?;
    for (index, assumptions) in session.misusing().into_iter().enumerate() {
        if let Found::Execution(_) = session.find_meeting(0, &assumptions) {
            return Ok(Some(Reason::Misused(Box::new(question.misuse(index)))));
        }
    }
    Ok(None)
}

/// What a search for an execution came to.
pub(crate) enum Search {
    Found(Execution),
    /// There is none, and nothing was left out.
    Nothing(Complete),
    Unknown(String),
}

/// Looks for an execution whose outcome meets a condition, within the limits.
pub(crate) fn search(
    question: &Question<'_>,
    options: &Options,
    condition: &Condition,
) -> Result<Search, Refused> {
    found(options, || find(question, options, condition))
        .unwrap_or_else(|why| Ok(Search::Unknown(why)))
}

fn find(
    question: &Question<'_>,
    options: &Options,
    condition: &Condition,
) -> Result<Search, Refused> {
    let mut session = question.session_about(vec![condition.clone()], options, |_| true)?;
    let counted = session.counted();
    Ok(match session.find_meeting(0, &counted) {
        Found::Execution(execution) => Search::Found(*execution),
        Found::Nothing => match question.loops(options)?.proof() {
            Ok(proof) => Search::Nothing(proof),
            Err(why) => Search::Unknown(why.to_owned()),
        },
        Found::Unknown => Search::Unknown(session.why_unknown()),
    })
}

fn check(question: &Question<'_>, execution: &Execution) -> Result<(), Refused> {
    well_formed(&question.skeleton, &question.test.observables, execution)
        .map_err(|error| unsound(&error))
}

fn unsound(what: &str) -> Refused {
    Refused::Wrong(vec![
        Diagnostic::error(
            Code::EngineUnsound,
            Span::default(),
            format!("the engine and the plain evaluator disagree: {what}"),
        )
        .help("this is a bug in litmus; please report it with the test and the model"),
    ])
}
