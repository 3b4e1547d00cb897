//! A NIC in software, for any program of libibverbs: as weak as the models allow, and broken on request.
//!
//! A program that is started with this library preloaded finds these devices instead of the system's.
//! `engine` implements the NIC, in the terms of the operational semantics. `nic` is its thread. `transport`
//! connects processes. `ffi` is the boundary to C.

mod config;
mod counts;
mod device;
mod engine;
mod fault;
mod ffi;
mod keys;
mod nic;
mod queues;
mod random;
mod request;
mod spare;
mod states;
mod trace;
mod transport;
mod wire;
