//! The operational machine of RDMA^TSO_RMW [RMW §D.1], explored.
//!
//! *Exploration* is sound and complete: [`explore()`] gives exactly the outcomes that the rules allow,
//! unless it says `complete: false`; then those it gives are still allowed. Under a [`Fault`] it does
//! what the broken rules say.
//!
//! [`state`] is what changes, [`rules`] (with `cpu` and `queue_pair`) how.
//! `reduce` says which steps exploration may leave out, and why. [`witness()`] shows how an outcome comes about.

mod cpu;
mod describe;
mod encode;
mod explore;
mod fault;
mod footprint;
mod queue_pair;
mod random;
mod reduce;
pub mod rules;
mod seen;
pub mod state;
mod stubborn;
mod witness;

pub use compiler::code::CompileError;
pub use describe::describe;
pub use explore::{Blocked, Effort, Exploration, Limits, explore, explore_with};
pub use fault::{FAULTS, Fault, FaultInfo, FaultSet};
pub use random::Random;
pub use rules::{Machine, Variant};
pub use witness::{Witness, witness};

#[cfg(test)]
mod tests;
