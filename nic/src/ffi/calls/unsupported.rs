//! What this device does not have. Functions are not told how often they have arguments, so one serves for all
//! that give the same.

use std::ffi::{c_int, c_void};

use crate::ffi::objects::none;

/// Gives EOPNOTSUPP.
pub extern "C" fn code() -> c_int {
    libc::EOPNOTSUPP
}

/// Gives nothing, and EOPNOTSUPP in errno.
pub extern "C" fn object() -> *mut c_void {
    none(libc::EOPNOTSUPP)
}

/// Gives -1, and EOPNOTSUPP in errno.
pub extern "C" fn minus_one() -> c_int {
    none::<c_void>(libc::EOPNOTSUPP);
    -1
}

/// Does nothing: a provider of a real device introduces itself, and is not needed.
pub extern "C" fn nothing() {}
