//! Programs that look for the devices' files find `/dev/null`: a character device that everybody may open.
//! (UCX uses no device without such a file.) All other paths are passed on to the system.

use std::ffi::{CStr, c_char, c_int};

/// What the names of the devices' files begin with.
const FILES: &[u8] = b"/dev/infiniband/uverbs-litmus";

/// The path of the file that stands for this one.
///
/// # Safety
/// The path is null or a text that ends with 0.
unsafe fn stands_for(path: *const c_char) -> *const c_char {
    // SAFETY: by the contract.
    let ours = !path.is_null() && unsafe { CStr::from_ptr(path) }.to_bytes().starts_with(FILES);
    if ours { c"/dev/null".as_ptr() } else { path }
}

/// `stat`. The structure is the kernel's.
///
/// # Safety
/// As for C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stat(path: *const c_char, out: *mut libc::stat) -> c_int {
    // SAFETY: by the contract; the kernel checks addresses.
    unsafe {
        libc::syscall(libc::SYS_newfstatat, libc::AT_FDCWD, stands_for(path), out, 0) as c_int
    }
}

/// `access`
///
/// # Safety
/// As for C's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: by the contract; the kernel checks addresses.
    unsafe { libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, stands_for(path), mode) as c_int }
}
