//! The allocator of the whole program, and the boundary to its library, which is written in C. A fifth of the
//! time was that of the system's allocator, see docs/decisions/0039-allocator.md.

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What gives free memory back to the system; allocators of other systems are not asked to.
#[cfg(target_os = "linux")]
pub const GIVE_BACK: Option<fn()> = Some(give_back);
#[cfg(not(target_os = "linux"))]
pub const GIVE_BACK: Option<fn()> = None;

/// Gives back what this thread keeps, and what no thread does.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the library has no other interface for it")]
fn give_back() {
    // SAFETY: any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
