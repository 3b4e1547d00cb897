//! Memory models: which outcomes a program may have, by axioms and by an operational machine.

// The random programs of the tests say `model`.
#[cfg(test)]
extern crate self as model;

pub mod allowed;
pub mod asking;
pub mod bound;
pub mod changes;
pub mod coverage;
pub mod engine;
pub mod explain;
pub mod generate;
pub mod library;
pub mod models;
pub mod refine;
pub mod repair;
pub mod sequential;
pub mod verdict;

pub use checker as check;
pub use skeleton::execution;
pub use smt::relation;
pub use {machine, smt};
