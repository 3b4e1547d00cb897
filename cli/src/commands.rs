//! The subcommands, one module each.

pub mod allowed;
pub mod check;
pub mod compile;
pub mod completions;
pub mod explain;
pub mod fmt;
pub mod man;
pub mod models;
pub mod run;
