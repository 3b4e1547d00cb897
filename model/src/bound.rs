//! Whether loops were unrolled often enough, and the proof without which nothing is forbidden.

use compiler::skeleton::EventId;
use lang::diagnostic::Diagnostic;

use crate::allowed::{Allowed, Options, Question};
use crate::smt::prefix::Shape;
use crate::smt::{Found, Session};

/// Proof that no execution was left out: no bound and no limit was hit. Only this module makes one, from the
/// solver's answer that no execution comes to the bound, or from outcomes that are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete(());

/// Whether an execution comes to the bound on loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// None does: proved.
    Within(Complete),
    /// One may.
    Beyond,
    /// A limit was reached before it was known.
    Unknown,
}

impl Allowed {
    /// The proof that there are no other outcomes, if there are none.
    pub fn proof(&self) -> Option<Complete> {
        self.complete.then_some(Complete(()))
    }
}

impl Question<'_> {
    /// Whether a consistent execution comes to the bound on loops. This is asked of prefixes of executions: one that
    /// goes on past the bound has no end in the skeleton.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn loops(&self, options: &Options) -> Result<Loops, Vec<Diagnostic>> {
        if self.skeleton.exceeded.is_empty() {
            return Ok(Loops::Within(Complete(())));
        }
        let shape = Shape::new(&self.plan, &self.skeleton);
        let Some(causes) = shape.causes(&self.model) else { return Ok(Loops::Beyond) };
        let causes = causes.pairs().map(|(cause, event)| (EventId(cause), EventId(event)));
        let prefixes = self.skeleton.prefixes(causes);
        let keep =
            |axiom: usize| self.plan.axioms.get(axiom).is_some_and(|node| shape.grows(*node));
        let solver = (options.solver, &options.limits);
        let session = Session::beyond_bound(&prefixes, &self.model, &self.plan, solver, keep);
        let mut session = session.map_err(|error| vec![self.encode_diagnostic(&error)])?;
        let counted = session.counted();
        Ok(match session.find(&counted) {
            Found::Nothing => Loops::Within(Complete(())),
            Found::Execution(_) => Loops::Beyond,
            Found::Unknown => Loops::Unknown,
        })
    }

    /// What is said where a loop may go on past the bound.
    pub fn beyond_bound(&self) -> String {
        format!("a loop can run more than {} times", self.skeleton.loop_bound)
    }
}
