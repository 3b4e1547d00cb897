//! What must hold where something is odd: full disks, killed processes, endless inputs, options that make no
//! sense.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

mod common;
mod inputs;
mod killed;
mod limits;
mod parts;
mod reasons;
mod shapes;
#[cfg(unix)]
mod watch;
mod writing;
