//! The operational machine of RDMA^TSO_RMW [RMW §D.1], explored or simulated, and one for coreRMA (`rma`).
//!
//! *Exploration* is sound and complete: [`explore()`] gives exactly the outcomes that the rules allow,
//! unless it says `complete: false`; then those it gives are still allowed. *Simulation* is sound: every
//! outcome that [`Simulator`] shows is allowed, and it makes no promise to show all. Under a
//! [`Fault`] both do what the broken rules say.
//!
//! [`state`] is what changes, [`rules`] (with `cpu` and `queue_pair`) how; both users step the same machine.
//! `reduce` says which steps exploration may leave out, and why. [`witness()`] shows how an outcome comes about.

mod cpu;
mod describe;
mod encode;
mod explore;
mod fault;
mod footprint;
mod needs;
mod progress;
mod queue_pair;
mod random;
mod reduce;
mod rma;
pub mod rules;
mod seen;
mod simulate;
pub mod state;
mod stubborn;
mod witness;

pub use compiler::code::CompileError;
pub use describe::describe;
pub use explore::{Blocked, Effort, Exploration, Limits, explore, explore_with};
pub use fault::{FAULTS, Fault, FaultInfo, FaultSet};
pub use progress::{
    Ending, Places, Stuck, explore_to_ends, may_wait, never_comes_back, progress, why_nothing,
};
pub use random::Random;
pub use rma::Rules as RmaRules;
pub use rules::{Machine, Variant};
pub use simulate::{Histogram, Run, Simulator};
pub use witness::{Witness, witness};

#[cfg(test)]
mod tests;
