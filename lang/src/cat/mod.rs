//! The model language.

pub mod model;
