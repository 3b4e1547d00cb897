//! The allocator of the whole program, and the boundary to its library, which is written in C. A fifth of the
//! time was that of the system's allocator, see docs/decisions/0039-allocator.md.

/// Gives memory that is free back to the system: what this thread keeps of it, and what no thread does.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the library has no other interface for it")]
pub fn give_back() {
    // SAFETY: any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// On other systems, what the allocator keeps is not given back.
#[cfg(not(target_os = "linux"))]
pub fn give_back() {}
