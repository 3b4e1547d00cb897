//! Memory that a NIC may read and write.

use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{CallError, Context, sys};

/// The size of a word in bytes.
pub const WORD_BYTES: usize = size_of::<AtomicU64>();
/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;

#[repr(C, align(64))]
struct Line([AtomicU64; LINE_WORDS]);

const _: () = assert!(size_of::<Line>() == LINE_BYTES);

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
    /// A leaked box. `drop` frees it after the NIC has let go of it.
    lines: NonNull<[Line]>,
    count: usize,
}

// SAFETY: as for `Context`. The words are atomic, so the NIC's accesses are like those of another thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates and registers words, all 0. Peers may read and write them, and use atomics if `atomics` is
    /// set. `relaxed_ordering` requests PCIe relaxed ordering; libibverbs drops this flag silently if the
    /// kernel's driver does not support it.
    pub fn new(
        domain: &Arc<Domain>,
        count: usize,
        atomics: bool,
        relaxed_ordering: bool,
    ) -> Result<Self, CallError> {
        const CALL: &str = "ibv_reg_mr";
        let too_much = CallError { call: CALL, errno: libc::ENOMEM };
        let bytes = count.checked_mul(WORD_BYTES).ok_or(too_much)?;
        let length = count.div_ceil(LINE_WORDS);
        let mut lines = Vec::new();
        lines.try_reserve_exact(length).map_err(|_| too_much)?;
        lines.resize_with(length, || Line([const { AtomicU64::new(0) }; LINE_WORDS]));
        let lines = NonNull::from(Box::leak(lines.into_boxed_slice()));
        let address = lines.as_ptr().cast();
        let access = access(atomics).0;
        // SAFETY: the domain is alive. The lines have at least that many bytes. They are atomic words for the
        // CPU, and stay in place until `drop` has deregistered them.
        let registration = unsafe {
            if relaxed_ordering {
                let access = access | sys::ibv_access_flags::IBV_ACCESS_RELAXED_ORDERING.0;
                sys::ibv_reg_mr_iova2(domain.raw.as_ptr(), address, bytes, address as u64, access)
            } else {
                sys::ibv_reg_mr(domain.raw.as_ptr(), address, bytes, access.cast_signed())
            }
        };
        let Some(registration) = NonNull::new(registration) else {
            let error = CallError::last(CALL);
            // SAFETY: it was leaked above, is freed once, and nothing else knows it.
            drop(unsafe { Box::from_raw(lines.as_ptr()) });
            return Err(error);
        };
        Ok(Self { registration, domain: Arc::clone(domain), lines, count })
    }

    /// Whether the memory belongs to this domain.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: lines are arrays of words without gaps, and there are at least `count` words.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast_const().cast(), self.count) }
    }

    /// The address of the first word, and the remote key.
    pub fn remote(&self) -> (u64, u32) {
        // SAFETY: the registration lives as long as `self`.
        (self.words().as_ptr() as u64, unsafe { self.registration.as_ref() }.rkey)
    }

    /// Flushes the cache line of a word from the CPU's caches on x86-64. Elsewhere, and for an index out of
    /// range, it does nothing.
    pub fn flush(&self, word: usize) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.words().get(word) {
            // SAFETY: every x86-64 CPU has the instruction. It works on any readable address, and changes no
            // value.
            unsafe { std::arch::x86_64::_mm_clflush(word.as_ptr().cast_const().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was made by ibv_reg_mr, and is deregistered once. Queue pairs that use it hold an Arc of
        // it, so they are gone.
        if unsafe { sys::ibv_dereg_mr(self.registration.as_ptr()) } == 0 {
            // SAFETY: it was leaked by `new`, is freed once, and the NIC cannot reach it. If deregistering
            // fails, it stays allocated.
            drop(unsafe { Box::from_raw(self.lines.as_ptr()) });
        }
    }
}

/// The access rights of peers to memory and queue pairs.
pub(super) fn access(atomics: bool) -> sys::ibv_access_flags {
    use sys::ibv_access_flags as flags;
    let write = flags::IBV_ACCESS_LOCAL_WRITE | flags::IBV_ACCESS_REMOTE_WRITE;
    let plain = write | flags::IBV_ACCESS_REMOTE_READ;
    if atomics { plain | flags::IBV_ACCESS_REMOTE_ATOMIC } else { plain }
}
