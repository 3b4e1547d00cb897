//! A NIC in software, for any program of libibverbs: as weak as the models allow, and broken on request.
//!
//! A program that is started with this library preloaded finds devices here, instead of the system's. `engine` is
//! what the NIC does, in the words of the operational semantics; `nic` is its thread; `transport` how processes
//! meet; `ffi` the wall between all this and C.

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
mod states;
mod trace;
mod transport;
mod wire;
