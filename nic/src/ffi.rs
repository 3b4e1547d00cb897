//! The wall: everything that C or the system must be asked for, and all that is `unsafe` in this crate.
//!
//! `abi` has the structures that are shared with programs, `symbols` the names under which they find functions, and
//! the other modules these functions. `host` is this process: its memory, its threads, and what it waits on.

#![allow(unsafe_code, reason = "C and the system are reached here and nowhere else")]

mod abi;
mod calls;
mod host;
mod objects;
mod symbols;

pub use host::{Bell, HostMemory, become_nic_thread, mapped, same_user, wait};
