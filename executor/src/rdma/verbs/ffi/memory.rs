//! Memory that a NIC may read and write.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use compiler::plan::Placements;

use crate::rdma::lines::{Lines, WORD_BYTES};
use crate::rdma::{Pages, Registration};

use super::{CallError, Context, sys};

/// What fails if there are too few huge pages.
pub const NO_HUGE_PAGES: &str = "mmap of huge pages";
const NO_MEMORY: CallError = CallError { call: "ibv_reg_mr", errno: libc::ENOMEM };

/// A protection domain: the memory and queue pairs of a device that work together.
pub struct Domain {
    pub(super) raw: NonNull<sys::ibv_pd>,
    pub(super) context: Arc<Context>,
}

// SAFETY: as for `Context`.
unsafe impl Send for Domain {}
// SAFETY: as for `Context`.
unsafe impl Sync for Domain {}

impl Domain {
    /// Creates a domain.
    pub fn new(context: &Arc<Context>) -> Result<Arc<Self>, CallError> {
        // SAFETY: the context is open, and stays open because the domain holds its Arc.
        let raw = unsafe { sys::ibv_alloc_pd(context.raw.as_ptr()) };
        let raw = NonNull::new(raw).ok_or_else(|| CallError::last("ibv_alloc_pd"))?;
        Ok(Arc::new(Self { raw, context: Arc::clone(context) }))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: it was made by ibv_alloc_pd, and is freed once. Its memory and queue pairs hold an Arc of
        // it, so they are gone.
        unsafe { sys::ibv_dealloc_pd(self.raw.as_ptr()) };
    }
}

/// Registered words, on whole cache lines.
pub struct Memory {
    pub(super) registration: NonNull<sys::ibv_mr>,
    pub(super) domain: Arc<Domain>,
    /// Freed after the NIC has let go of them.
    lines: ManuallyDrop<Lines>,
}

// SAFETY: as for `Context`. The words are atomic, so the NIC's accesses are like those of another thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates and registers words, all 0. Peers may read and write them, and use atomics if `atomics` is
    /// set. libibverbs drops the flag for relaxed ordering silently if the kernel's driver does not support
    /// it.
    pub fn new(
        domain: &Arc<Domain>,
        count: usize,
        atomics: bool,
        how: Registration,
    ) -> Result<Self, CallError> {
        let bytes = count.checked_mul(WORD_BYTES).ok_or(NO_MEMORY)?;
        let none = match how.pages {
            Pages::Huge => CallError { call: NO_HUGE_PAGES, errno: libc::ENOMEM },
            Pages::Usual | Pages::Transparent => NO_MEMORY,
        };
        let lines = Lines::new(count, how.pages).ok_or(none)?;
        let address: *mut c_void = lines.words().as_ptr().cast_mut().cast();
        let paging = if how.on_demand { sys::ibv_access_flags::IBV_ACCESS_ON_DEMAND.0 } else { 0 };
        let access = access(atomics, how.placements).0 | paging;
        // SAFETY: the domain is alive. The lines have at least that many bytes. They are atomic words for the
        // CPU, and stay in place until `drop` has deregistered them.
        let registration = unsafe {
            if how.relaxed_ordering {
                let access = access | sys::ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
                sys::ibv_reg_mr_iova2(domain.raw.as_ptr(), address, bytes, address as u64, access)
            } else {
                sys::ibv_reg_mr(domain.raw.as_ptr(), address, bytes, access.cast_signed())
            }
        };
        let registration =
            NonNull::new(registration).ok_or_else(|| CallError::last(NO_MEMORY.call))?;
        Ok(Self { registration, domain: Arc::clone(domain), lines: ManuallyDrop::new(lines) })
    }

    /// Whether the memory belongs to this domain.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        self.lines.words()
    }

    /// The address of the first word, and the remote key.
    pub fn remote(&self) -> (u64, u32) {
        // SAFETY: the registration lives as long as `self`.
        (self.words().as_ptr() as u64, unsafe { self.registration.as_ref() }.rkey)
    }

    /// Flushes the cache line of a word, as [`Lines::flush`] does.
    pub fn flush(&self, word: usize) {
        self.lines.flush(word);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was made by ibv_reg_mr, and is deregistered once. Queue pairs that use it hold an Arc of
        // it, so they are gone.
        if unsafe { sys::ibv_dereg_mr(self.registration.as_ptr()) } == 0 {
            // SAFETY: they are freed once, and the NIC cannot reach them. If deregistering fails, they stay
            // allocated.
            unsafe { ManuallyDrop::drop(&mut self.lines) };
        }
    }
}

/// `IBV_ACCESS_FLUSH_GLOBAL`, since rdma-core 45. The bindings may not have it.
const FLUSH_GLOBAL: sys::ibv_access_flags = sys::ibv_access_flags(1 << 8);
/// `IBV_ACCESS_FLUSH_PERSISTENT`, likewise.
const FLUSH_PERSISTENT: sys::ibv_access_flags = sys::ibv_access_flags(1 << 9);

/// The access rights of peers to memory and queue pairs.
pub(super) fn access(atomics: bool, placements: Placements) -> sys::ibv_access_flags {
    use sys::ibv_access_flags as flags;
    let rights = [
        (true, flags::IBV_ACCESS_LOCAL_WRITE),
        (true, flags::IBV_ACCESS_REMOTE_WRITE),
        (true, flags::IBV_ACCESS_REMOTE_READ),
        (atomics, flags::IBV_ACCESS_REMOTE_ATOMIC),
        (placements.flush, FLUSH_GLOBAL),
        (placements.persist, FLUSH_PERSISTENT),
    ];
    let given = rights.into_iter().filter(|(is_given, _)| *is_given);
    given.fold(flags(0), |all, (_, right)| all | right)
}
