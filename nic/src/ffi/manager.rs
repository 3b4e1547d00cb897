//! The connection manager is another library, librdmacm, which finds no device here. A program that asks it
//! for one gets the error that a machine without devices gives, and `litmus nic` says why.

use std::ffi::{c_int, c_void};

use super::objects::none;

fn no_device() -> *mut c_void {
    crate::nic::note_connection_manager();
    none(libc::ENODEV)
}

/// Names of librdmacm's first calls, which fail. In C's calling convention, a function need not know how many
/// arguments it gets.
macro_rules! fails {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            no_device();
            -1
        }
    )+ };
}

fails! { rdma_create_id rdma_create_ep rdma_getaddrinfo }

#[unsafe(no_mangle)]
extern "C" fn rdma_create_event_channel() -> *mut c_void {
    no_device()
}
