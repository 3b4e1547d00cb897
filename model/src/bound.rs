//! Decides whether loops were unrolled often enough. `forbidden` needs this proof.

use skeleton::EventId;

use crate::allowed::{Options, Question};
use crate::asking::Refused;
use crate::machine::Exploration;
use crate::smt::prefix::Shape;
use crate::smt::{Found, Session};

/// Proof that no execution was left out: no bound and no limit was reached. Only this module creates it:
/// because the solver proved that no execution reaches the bound, or because the machine visited every state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complete(());

/// Whether an execution reaches the bound on loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loops {
    /// No execution does; this is proved.
    Within(Complete),
    /// Some execution may. The text says so.
    Beyond(String),
    /// Unknown, because a limit was reached. The text says which.
    Unknown(String),
}

impl Loops {
    /// The proof that no execution reaches the bound.
    ///
    /// # Errors
    /// Why there is none.
    pub fn proof(&self) -> Result<Complete, &str> {
        match self {
            Self::Within(proof) => Ok(*proof),
            Self::Beyond(why) | Self::Unknown(why) => Err(why),
        }
    }
}

impl Complete {
    /// The proof that a machine shows no other outcomes, if every state was visited.
    pub fn explored(found: &Exploration) -> Option<Self> {
        found.complete.then_some(Self(()))
    }

    /// Of outcomes that were complete when they were written down: in a cache, or in a test.
    pub fn on_trust() -> Self {
        Self(())
    }
}

impl Question<'_> {
    /// Whether a consistent execution reaches the bound on loops. The question is about prefixes of
    /// executions, because an execution that continues past the bound has no end in the skeleton.
    ///
    /// # Errors
    /// As [`Question::session`].
    pub fn loops(&self, options: &Options) -> Result<Loops, Refused> {
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
            Ok(None) => return Ok(self.beyond_bound()),
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
            Found::Execution(_) => self.beyond_bound(),
            Found::Unknown => Loops::Unknown(session.why_unknown()),
        })
    }

    fn beyond_bound(&self) -> Loops {
        let bound = self.skeleton.loop_bound;
        Loops::Beyond(format!("a loop can run more than {bound} times"))
    }
}
