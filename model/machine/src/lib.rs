//! The operational machine of RDMA^TSO_RMW [RMW §D.1], explored or simulated, and one for coreRMA (`rma`).
//!
//! *Exploration* is sound and complete: [`explore()`] gives exactly the outcomes that the rules allow,
//! unless it reports `complete: false`; the outcomes that it gives are allowed even then. *Simulation* is
//! sound: every outcome that [`Simulator`] shows is allowed, but it may miss some. Under a [`Fault`], both
//! follow the broken rules.
//!
//! [`state`] holds what changes, and [`rules`] (with `cpu`, `queue_pair` and `crash`) says how. Exploration
//! and simulation step the same machine.
//! `reduce` says which steps exploration may leave out, and why. [`witness()`] shows one execution with a
//! given outcome.

mod cpu;
mod crash;
mod describe;
mod encode;
mod exploration;
mod explore;
mod fault;
mod footprint;
mod history;
mod limits;
mod needs;
mod past;
mod progress;
mod queue_pair;
mod random;
mod reduce;
mod requests;
mod rma;
pub mod rules;
mod seen;
mod serial;
mod simulate;
pub mod state;
mod steps;
mod stubborn;
mod witness;

pub use compiler::code::CompileError;
pub use describe::describe;
pub use exploration::{Blocked, Exploration};
pub use explore::{Effort, explore, explore_with};
pub use fault::{FAULTS, Fault, FaultInfo, FaultSet};
pub use history::{Histories, Timed};
pub use limits::{Limits, Trial};
pub use needs::Contents;
pub use progress::{
    Ending, Place, Places, Stuck, always_ends, explore_to_ends, may_wait, never_comes_back,
    progress, why_nothing,
};
pub use random::Random;
pub use rma::Rules as RmaRules;
pub use rules::{Machine, Variant};
pub use serial::serial;
pub use simulate::{Histogram, Run, Simulator};
pub use witness::{Witness, witness};

#[cfg(test)]
mod tests;
