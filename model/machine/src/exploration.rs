//! What an exploration comes to.

use std::collections::BTreeSet;

use lang::outcome::Outcome;
use lang::program::ThreadId;
use lang::source::Span;

/// The result of an exploration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    /// Outcomes over the test's observables.
    pub outcomes: BTreeSet<Outcome>,
    /// Whether the outcomes are complete.
    pub complete: bool,
    /// The limit that was reached, if the outcomes are not complete.
    pub reason: Option<String>,
    /// The number of states stored.
    pub states: u64,
    /// The number of transitions taken.
    pub transitions: u64,
    /// Statements at which some execution waits forever, by thread.
    pub blocked: BTreeSet<Blocked>,
}

impl Exploration {
    /// Notes that a limit was hit.
    pub(crate) fn is_cut_off(&mut self, reason: String) {
        self.complete = false;
        self.reason.get_or_insert(reason);
    }
}

/// A statement that waits forever in some execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Blocked {
    /// The thread that waits.
    pub thread: ThreadId,
    /// The statement at which it waits.
    pub span: Span,
}
