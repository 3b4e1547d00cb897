//! The subcommands, one module each.

pub mod agent;
pub mod allowed;
pub mod check;
pub mod compare;
pub mod compile;
pub mod completions;
pub mod coverage;
pub mod devices;
pub mod explain;
pub mod explain_code;
pub mod fmt;
pub mod generate;
pub mod lsp;
pub mod man;
pub mod merge;
pub mod models;
pub mod nic;
pub mod refine;
pub mod repair;
pub mod report;
pub mod run;
pub mod watch;
