//! Functions that are not supported. In C's calling convention, a function need not know how many arguments
//! it gets. So one function serves all names with the same result type.

use std::ffi::{c_int, c_void};

use crate::ffi::objects::none;

/// Returns EOPNOTSUPP.
pub extern "C" fn code() -> c_int {
    libc::EOPNOTSUPP
}

/// Returns null, and sets errno to EOPNOTSUPP.
pub extern "C" fn object() -> *mut c_void {
    none(libc::EOPNOTSUPP)
}

/// Does nothing: it lets the provider of a real device register itself, and the provider is not used.
pub extern "C" fn nothing() {}
