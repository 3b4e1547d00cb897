//! libfabric behind a safe interface. All `unsafe` for it is in this file and those below it.
//!
//! It is safe to use for these reasons. Every object keeps alive the object that it was made from (queue →
//! memory → domain → library), and is closed before it. The provider gets only memory that consists of atomic
//! words, and that stays in place until it is deregistered. Local addresses come from checked indices, never
//! from a caller. What a request needs until it completes is in a slot that is not used again before.
//!
//! This module makes no decisions and no messages. Those are in `endpoint` and `describe`.

#![allow(unsafe_code, reason = "libfabric is a C library")]

mod domain;
mod info;
mod progress;
mod queue;
mod sys;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute_copy;
use std::sync::OnceLock;

pub use domain::{Domain, Memory};
pub use info::{Attributes, Info, Wish};
pub use progress::Progress;
pub use queue::{Failure, Level, PostError, Queue};
pub use sys::{FI_ATOMIC, FI_FENCE, FI_PROGRESS_AUTO};

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The name of the function.
    pub call: &'static str,
    /// The error number, as of libfabric: those of the system, and some more.
    pub errno: i32,
}

impl CallError {
    /// Checks a call that returns 0 or a negative error number.
    fn check(call: &'static str, result: c_int) -> Result<(), Self> {
        if result == 0 { Ok(()) } else { Err(Self { call, errno: result.wrapping_neg() }) }
    }
}

/// The functions that libfabric exports. All others are reached through its objects.
pub struct Library {
    getinfo: unsafe extern "C" fn(
        u32,
        *const c_char,
        *const c_char,
        u64,
        *const sys::FiInfo,
        *mut *mut sys::FiInfo,
    ) -> c_int,
    freeinfo: unsafe extern "C" fn(*mut sys::FiInfo),
    dupinfo: unsafe extern "C" fn(*const sys::FiInfo) -> *mut sys::FiInfo,
    fabric:
        unsafe extern "C" fn(*mut sys::FabricAttr, *mut *mut sys::FidFabric, *mut c_void) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: unsafe extern "C" fn() -> u32,
}

impl Library {
    /// The library of this process, which is never unloaded: providers have threads of their own.
    ///
    /// # Errors
    /// What the loader says, if it is not there or too old.
    pub fn get() -> Result<&'static Self, String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        LIBRARY.get_or_init(Self::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Self, String> {
        let how = libc::RTLD_NOW | libc::RTLD_GLOBAL;
        // SAFETY: a constant text. What libfabric does when it is loaded is what it does for any program.
        let handle = unsafe { libc::dlopen(c"libfabric.so.1".as_ptr(), how) };
        if handle.is_null() {
            return Err(last_error());
        }
        let find = |name: &CStr, version: &CStr| {
            find(name, version).ok_or_else(|| {
                format!(
                    "libfabric.so.1 has no {} of {}",
                    name.to_string_lossy(),
                    version.to_string_lossy()
                )
            })
        };
        // SAFETY: the symbols are functions of these types, in the versions of the layouts in `sys`.
        unsafe {
            Ok(Self {
                getinfo: transmute_copy(&find(c"fi_getinfo", sys::ABI)?),
                freeinfo: transmute_copy(&find(c"fi_freeinfo", sys::ABI)?),
                dupinfo: transmute_copy(&find(c"fi_dupinfo", sys::ABI)?),
                fabric: transmute_copy(&find(c"fi_fabric", c"FABRIC_1.1")?),
                strerror: transmute_copy(&find(c"fi_strerror", c"FABRIC_1.0")?),
                version: transmute_copy(&find(c"fi_version", c"FABRIC_1.0")?),
            })
        }
    }

    /// Its version: major and minor.
    pub fn version(&self) -> (u32, u32) {
        // SAFETY: it takes nothing.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    /// The text of an error number.
    pub fn error_text(&self, errno: i32) -> String {
        // SAFETY: it takes any number, and returns a constant text.
        text(unsafe { (self.strerror)(errno) })
    }
}

/// A symbol in this version, where the C library knows versions. It is the first one of the process, as for
/// a program that is linked with libfabric: a library in `LD_PRELOAD` can stand before it.
fn find(name: &CStr, version: &CStr) -> Option<*mut c_void> {
    type Versioned = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;
    let all = libc::RTLD_DEFAULT;
    // SAFETY: the texts are constants, and `dlvsym` is of this type wherever it is there.
    let symbol = unsafe {
        match libc::dlsym(all, c"dlvsym".as_ptr()) {
            versioned if versioned.is_null() => libc::dlsym(all, name.as_ptr()),
            versioned => {
                let versioned: Versioned = transmute_copy(&versioned);
                versioned(all, name.as_ptr(), version.as_ptr())
            }
        }
    };
    (!symbol.is_null()).then_some(symbol)
}

fn last_error() -> String {
    // SAFETY: it takes nothing, and returns a text that lives until the next such call of this thread.
    text(unsafe { libc::dlerror() })
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: callers pass texts that end in 0 and live at least until the caller returns.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
