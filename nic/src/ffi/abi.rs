//! The structures of `infiniband/verbs.h` that programs and this library share, with C's layout on x86-64.
//!
//! Fields are named as in the header. Enumerations are integers, because a program may store any number in
//! them. A test compares sizes and offsets with the header of this machine.

mod context;
mod objects;
mod requests;
#[cfg(test)]
mod tests;

pub use context::*;
pub use objects::*;
pub use requests::*;
