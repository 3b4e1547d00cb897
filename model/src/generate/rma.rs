//! Programs of coreRMA, as the paper's authors made them: all within bounds on which one application of a rule shows.
//!
//! [`program`] is what is enumerated ([`enumerate`]), up to symmetry; [`pivot`] looks for an execution that the rule
//! forbids.

pub mod draft;
pub mod enumerate;
mod executions;
pub mod pivot;
pub mod program;
