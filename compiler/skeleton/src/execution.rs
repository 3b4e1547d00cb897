//! Executions: what engines give as witnesses, and what the plain evaluator checks.

use crate::EventId;
use lang::outcome::{Outcome, Value};

/// A candidate execution of a skeleton. Whether a model allows it is for [`crate::check`] to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The events that happen.
    pub events: Vec<Happening>,
    /// rf: a write, and a read that takes its value.
    pub reads_from: Vec<(EventId, EventId)>,
    /// pf: the last event of an operation, and the poll that answers for it.
    pub polls_from: Vec<(EventId, EventId)>,
    /// The orders that the model declares with `exists`, by name, as pairs.
    pub orders: Vec<(String, Vec<(EventId, EventId)>)>,
    /// Reads that give ⊤ by what the model says of them (and not because ⊤ was written).
    pub undefined_reads: Vec<EventId>,
    /// Writes that leave ⊤ in memory, if they come last.
    pub undefined_writes: Vec<EventId>,
    /// How each condition of the skeleton that hangs on ⊤ came out, by its index.
    pub guesses: Vec<(usize, bool)>,
    /// What it shows, for all observables of the test.
    pub outcome: Outcome,
}

/// An event that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happening {
    /// Which.
    pub event: EventId,
    /// The value it reads, if it reads.
    pub read: Option<Value>,
    /// The value it writes, if it writes.
    pub written: Option<Value>,
}
