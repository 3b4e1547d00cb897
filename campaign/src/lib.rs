//! Work over many things that may be split, killed and gone on with.
//!
//! Whoever writes a file that another process may write too goes through this crate: [`files`] writes whole files, and
//! [`journal`] the files that grow while work goes on.

pub mod digest;
pub mod files;
pub mod journal;
