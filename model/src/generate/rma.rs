//! coreRMA tests, generated as by the paper's authors: all programs within bounds on which one application of
//! a rule shows.
//!
//! [`program`] defines what is enumerated ([`enumerate`]), up to symmetry. [`pivot`] searches for an
//! execution that the rule forbids.

pub mod draft;
pub mod enumerate;
mod executions;
pub mod pivot;
pub mod program;
