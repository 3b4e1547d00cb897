//! Whether loops were unrolled often enough, and the proof without which nothing is forbidden.

use lang::diagnostic::Diagnostic;
use skeleton::EventId;

use crate::allowed::{Allowed, Options, Question};
use crate::smt::prefix::Shape;
use crate::smt::{Found, Session};

/// Proof that no execution was left out: no bound and no limit was hit. Only this module makes one, from the
/// solver's answer that no execution comes to the bound, or from outcomes that are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete(());

/// Whether an execution comes to the bound on loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loops {
    /// None does: proved.
    Within(Complete),
    /// One may.
    Beyond,
    /// It is not known, and why: a limit was reached.
    Unknown(String),
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
        let limits = &options.limits;
        let prefixes = limits.within(|| {
            let shape = Shape::new(&self.plan, &self.skeleton);
            let causes = shape.causes(&self.model)?;
            let causes = causes.pairs().map(|(cause, event)| (EventId(cause), EventId(event)));
            Some((self.skeleton.prefixes(causes), shape))
        });
        let (prefixes, shape) = match prefixes {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Loops::Beyond),
            Err(reached) => return Ok(Loops::Unknown(reached.to_string())),
        };
        let keep =
            |axiom: usize| self.plan.axioms.get(axiom).is_some_and(|node| shape.grows(*node));
        let solver = (options.solver, limits);
        let session = limits
            .within(|| Session::beyond_bound(&prefixes, &self.model, &self.plan, solver, keep));
        let mut session = match session {
            Err(reached) => return Ok(Loops::Unknown(reached.to_string())),
            session => self.made(session)?,
        };
        let counted = session.counted();
        Ok(match session.find(&counted) {
            Found::Nothing => Loops::Within(Complete(())),
            Found::Execution(_) => Loops::Beyond,
            Found::Unknown => Loops::Unknown(session.why_unknown()),
        })
    }

    /// What is said where a loop may go on past the bound.
    pub fn beyond_bound(&self) -> String {
        format!("a loop can run more than {} times", self.skeleton.loop_bound)
    }
}
