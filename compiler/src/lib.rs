//! From checked programs to what engines and machines work on.
//!
//! The crate `skeleton` gives the events that executions may have, for declarative models; [`code`] gives flat
//! code per thread, for simulated machines; [`plan`] adds what real ones need. The same text gives the same bytes: nothing here depends on time, hashing
//! order or environment.

pub mod c;
pub mod calls;
pub mod code;
pub mod library;
pub mod plan;
