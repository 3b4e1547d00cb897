//! Tests made by machine: programs on which a model's rules show.
//!
//! [`shape`] is what is enumerated, up to symmetry ([`canonical`]). Candidates are cycles ([`cycles`]) of threads
//! that a model orders from one end to the other ([`segments`], found by [`orders`]); [`every`] enumerates
//! without such aim. [`distinguish`] asks the engine whether two models differ on one.

pub mod canonical;
pub mod cycles;
pub mod differences;
pub mod distinguish;
pub mod draft;
pub mod every;
pub mod orders;
pub mod pivot;
pub mod program;
pub mod random;
pub mod reading;
pub mod relaxations;
pub mod rma;
pub mod search;
pub mod segments;
pub mod shape;
pub mod text;
