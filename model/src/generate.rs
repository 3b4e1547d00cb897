//! Generates tests: programs that show the effect of a model's rules.
//!
//! [`shape`] defines what is enumerated, of the statements of [`step`], up to symmetry ([`canonical`]).
//! Candidates are cycles ([`cycles`]) of threads whose ends a model orders ([`segments`], found by
//! [`orders`]). [`every`] enumerates all programs instead, and [`random`] draws them. [`distinguish`] asks
//! the engine whether two models differ on a program.

pub mod canonical;
pub mod cycles;
pub mod differences;
pub mod distinguish;
pub mod draft;
pub mod drawn;
pub mod every;
pub mod naming;
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
pub mod step;
pub mod text;
