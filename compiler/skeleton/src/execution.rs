//! Executions: the witnesses of engines, and the input of the plain evaluator.

use crate::EventId;
use lang::outcome::{Outcome, Value};

/// A candidate execution of a skeleton. The crate `checker` decides whether a model allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The events that happen.
    pub events: Vec<Happening>,
    /// rf: pairs of a write and a read that takes its value.
    pub reads_from: Vec<(EventId, EventId)>,
    /// pf: pairs of the last event of an operation and the poll that answers for it. For an unsignaled
    /// operation, these are all polls that answer for later ones of its queue pair.
    pub polls_from: Vec<(EventId, EventId)>,
    /// The orders that the model declares with `exists`: name and pairs.
    pub orders: Vec<(String, Vec<(EventId, EventId)>)>,
    /// Reads whose value is ⊤ because the model declares it (and not because ⊤ was written).
    pub undefined_reads: Vec<EventId>,
    /// Writes that leave ⊤ in memory if they come last.
    pub undefined_writes: Vec<EventId>,
    /// For each condition of the skeleton that depends on ⊤, by its index: the guessed result.
    pub guesses: Vec<(usize, bool)>,
    /// The values of all observables of the test.
    pub outcome: Outcome,
}

/// An event that happens, with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happening {
    /// The event in the skeleton.
    pub event: EventId,
    /// The value it reads, if it reads.
    pub read: Option<Value>,
    /// The value it writes, if it writes.
    pub written: Option<Value>,
}
