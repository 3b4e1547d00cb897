//! The allowed outcomes of a test under a model, by the engine `smt`, and what follows for its verdicts.

use std::collections::BTreeMap;

use compiler::skeleton::{self, Skeleton, calls::calls};
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Outcome, Value};
use lang::source::Span;

use crate::execution::Execution;
use crate::smt::encode::EncodeError;
use crate::smt::plan::Plan;
use crate::smt::solver::{Limits, SolverKind};
use crate::smt::{Enumeration, Session, Statistics, enumerate};

/// How often loops are unrolled where the test does not say.
pub const DEFAULT_LOOP_BOUND: u32 = 4;

/// How to ask.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which solver.
    pub solver: SolverKind,
    /// When to give up.
    pub limits: Limits,
    /// The bound on loops; the test's own, or [`DEFAULT_LOOP_BOUND`], if `None`.
    pub loop_bound: Option<u32>,
}

/// What an engine found.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Outcomes over all observables of the test, each with a witness if the engine gives any.
    pub outcomes: BTreeMap<Outcome, Option<Execution>>,
    /// Whether there are no others.
    pub complete: bool,
    /// Why not, if not.
    pub reason: Option<String>,
    /// Statements that wait for ever, where there is no outcome because of them.
    pub blocked: Vec<Span>,
    /// What the solver did.
    pub statistics: Statistics,
}

impl Allowed {
    /// The outcomes over what the test shows: sorted, without repetition.
    pub fn shown(&self, test: &Test) -> Vec<Vec<Value>> {
        let mut shown: Vec<Vec<Value>> =
            self.outcomes.keys().map(|outcome| outcome.0[..test.shown].to_vec()).collect();
        shown.sort();
        shown.dedup();
        shown
    }
}

/// A test and a model that fit each other, ready for questions.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The test.
    pub test: &'a Test,
    /// The model.
    pub model: &'a Model,
    /// The test's events.
    pub skeleton: Skeleton,
    /// The model laid out for them.
    pub plan: Plan,
}

impl<'a> Question<'a> {
    /// Fits a model to a test.
    ///
    /// # Errors
    /// A diagnostic in the test's text for each statement that the model does not define, or a
    /// diagnostic at its head if the model cannot be laid out.
    pub fn new(
        test: &'a Test,
        model: &'a Model,
        loop_bound: Option<u32>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let undefined = undefined_calls(test, model);
        if !undefined.is_empty() {
            return Err(undefined);
        }
        let bound = loop_bound.or(test.loop_bound).unwrap_or(DEFAULT_LOOP_BOUND);
        let skeleton = skeleton::build(&test.program, bound).map_err(|unsupported| {
            vec![undefined_call(model, &unsupported.call, unsupported.span)]
        })?;
        let plan = Plan::new(model, &skeleton).map_err(|error| {
            vec![Diagnostic::error("model-not-usable", Span::default(), error.0)]
        })?;
        Ok(Self { test, model, skeleton, plan })
    }

    /// A solver session in which the axioms hold that `keep` picks by their index; the index after the last one stands for
    /// what the model says of ⊤.
    ///
    /// # Errors
    /// A diagnostic if the test cannot be encoded.
    pub fn session(
        &self,
        options: &Options,
        keep: impl Fn(usize) -> bool,
    ) -> Result<Session<'_>, Vec<Diagnostic>> {
        let solver = (options.solver, &options.limits);
        let observables = &self.test.observables;
        Session::new(&self.skeleton, self.model, &self.plan, observables, solver, keep)
            .map_err(|error| vec![self.encode_diagnostic(&error)])
    }

    fn encode_diagnostic(&self, error: &EncodeError) -> Diagnostic {
        let at = Span::default();
        match error {
            EncodeError::NoModificationOrder => {
                let model = &self.model.name;
                let message =
                    format!("the model `{model}` has no order `mo` of all writes of a location");
                Diagnostic::error("no-modification-order", at, message).help(
                    "final values of locations follow from it: `exists mo total on (W * W) & loc \\ id`",
                )
            }
        }
    }

    /// All allowed outcomes, each with a witness.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn allowed(&self, options: &Options) -> Result<Allowed, Vec<Diagnostic>> {
        let mut session = self.session(options, |_| true)?;
        let Enumeration { outcomes, complete, reason } = enumerate(&mut session);
        let mut blocked = Vec::new();
        if outcomes.is_empty() && complete {
            let unanswered = session.unanswered().iter();
            blocked = unanswered.map(|poll| self.skeleton.event(*poll).span).collect();
        }
        let outcomes = outcomes.into_iter().map(|(outcome, witness)| (outcome, Some(witness)));
        Ok(Allowed {
            outcomes: outcomes.collect(),
            complete,
            reason,
            blocked,
            statistics: session.statistics,
        })
    }
}

/// A diagnostic for each kind of statement that the test uses and the model does not define.
pub fn undefined_calls(test: &Test, model: &Model) -> Vec<Diagnostic> {
    let used = calls(&test.program);
    let undefined = used.iter().filter(|(call, _)| !model.calls.contains(&call.as_str()));
    undefined.map(|(call, span)| undefined_call(model, call, *span)).collect()
}

fn undefined_call(model: &Model, call: &str, span: Span) -> Diagnostic {
    let name = &model.name;
    let error = Diagnostic::error(
        "undefined-call",
        span,
        format!("the model `{name}` does not define `{call}`"),
    );
    match call {
        "Poll" if model.calls.contains(&"Wait") => {
            error.help("this model has work ids: write `x^2 :=^d y` and `Wait(d)`, or use an rdma-tso model")
        }
        "Wait" if model.calls.contains(&"Poll") => {
            error.help("this model polls: write `Poll(n)` for each operation towards node n, or use an rdma-wait model")
        }
        _ => error.help(format!("it defines {}", model.calls.join(", "))),
    }
}
