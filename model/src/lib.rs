//! Memory models: which outcomes a program may have, by axioms and by an operational machine.

pub mod allowed;
pub mod asked;
pub mod bound;
pub mod changes;
pub mod check;
pub mod coverage;
pub mod execution;
pub mod explain;
pub mod generate;
pub mod library;
pub mod machine;
pub mod models;
pub mod refine;
pub mod relation;
pub mod smt;
pub mod verdict;
