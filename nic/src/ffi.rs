//! The boundary to C and the operating system. All `unsafe` code of this crate is here.
//!
//! `abi` has the structures that are shared with programs. `symbols` has the names under which programs find
//! the functions, and the other modules have the functions. `cancel` is about threads that are canceled.
//! `host` is this process: its memory, its threads, and the descriptors that it waits on. `unmapped` is about
//! memory that is registered and not there.

#![allow(unsafe_code, reason = "C and the system are reached here and nowhere else")]

mod abi;
mod calls;
mod cancel;
mod host;
// A few lines of its assembly.
#[cfg(target_arch = "x86_64")]
mod loader;
mod manager;
mod objects;
mod paths;
mod symbols;
mod unmapped;

pub use host::{
    Bell, HostMemory, become_nic_thread, finish_at_exit, mapped, page_size, read_into, same_user,
    say, wait, write_from,
};
pub use unmapped::handle_faults;
