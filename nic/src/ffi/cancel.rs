//! Threads that are canceled (`pthread_cancel`), as threads that wait for events often are in the end.

use std::ffi::{c_int, c_void};
use std::os::fd::RawFd;

unsafe extern "C-unwind" {
    fn read(fd: c_int, to: *mut c_void, length: usize) -> isize;
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// Waits until the counter of a bell is not 0, and takes from it. Does not wait if the descriptor was made
/// non-blocking. Returns false, with `errno`, if the counter is 0 and non-blocking, or if a signal came.
///
/// The thread may be canceled here, as in the real library. It then unwinds through this function and its
/// callers, so these have nothing to drop.
pub fn hear(fd: RawFd) -> bool {
    let mut count = 0_u64;
    // SAFETY: there is room for eight bytes.
    unsafe { read(fd, (&raw mut count).cast(), size_of::<u64>()) >= 0 }
}

/// As long as it lives, the thread is not canceled. A canceled thread unwinds, which Rust's frames must not.
pub struct Uncanceled(c_int);

impl Uncanceled {
    /// Keeps the calling thread from being canceled.
    pub fn new() -> Self {
        const DISABLE: c_int = 1;
        let mut old = 0;
        // SAFETY: the pointer is good.
        unsafe { pthread_setcancelstate(DISABLE, &raw mut old) };
        Self(old)
    }
}

impl Drop for Uncanceled {
    fn drop(&mut self) {
        // SAFETY: the pointer is good.
        unsafe { pthread_setcancelstate(self.0, &raw mut self.0) };
    }
}
