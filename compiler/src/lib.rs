//! Compiles checked programs to what engines and machines work on.
//!
//! The crate `skeleton` has the events that executions may have, for declarative models. [`code`] has flat
//! code for each thread, for simulated machines. [`plan`] adds what real machines need. The same text gives
//! the same bytes: nothing here depends on time, hash order or the environment.

pub mod c;
pub mod calls;
pub mod code;
pub mod library;
pub mod plan;
