//! Work over many things that may be split, killed and gone on with.
//!
//! Whoever writes a file that another process may write too goes through this crate: [`files`] writes whole
//! files, and [`journal`] the files that grow while work goes on. Work may be done in parts ([`shard`]),
//! whose outputs say whether they are what was written ([`sealed`]), and are put together ([`merge`]).
//! [`ordered`] works on many things at once, and keeps their order.

pub mod digest;
pub mod files;
pub mod journal;
pub mod merge;
pub mod ordered;
pub mod sealed;
pub mod shard;
