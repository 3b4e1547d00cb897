//! Memory that a NIC may read and write.

use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, size_of};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::rdma::{Pages, Registration};

use super::{CallError, Context, sys};

/// The size of a word in bytes.
pub const WORD_BYTES: usize = size_of::<AtomicU64>();
/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;
/// The size of a huge page in bytes, where nobody has chosen another one.
const HUGE_PAGE: usize = 2 << 20;
/// What fails if there are too few huge pages.
pub const NO_HUGE_PAGES: &str = "mmap of huge pages";
const NO_MEMORY: CallError = CallError { call: "ibv_reg_mr", errno: libc::ENOMEM };

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

/// Where the lines of a region are. Dropping it frees them.
enum Lines {
    /// A leaked box.
    Boxed(NonNull<[Line]>),
    /// The lines, and the mapping in which they are.
    Mapped { lines: NonNull<[Line]>, start: NonNull<c_void>, bytes: usize },
}

impl Lines {
    /// That many lines, all 0.
    fn new(length: usize, pages: Pages) -> Result<Self, CallError> {
        match pages {
            Pages::Usual => Self::boxed(length).ok_or(NO_MEMORY),
            Pages::Transparent => Self::mapped(length, 0).ok_or(NO_MEMORY),
            Pages::Huge => {
                let none = CallError { call: NO_HUGE_PAGES, errno: libc::ENOMEM };
                Self::mapped(length, libc::MAP_HUGETLB).ok_or(none)
            }
        }
    }

    fn boxed(length: usize) -> Option<Self> {
        let mut lines = Vec::new();
        lines.try_reserve_exact(length).ok()?;
        lines.resize_with(length, || Line([const { AtomicU64::new(0) }; LINE_WORDS]));
        Some(Self::Boxed(NonNull::from(Box::leak(lines.into_boxed_slice()))))
    }

    /// Lines in huge pages, or in pages that the kernel is asked to make huge.
    fn mapped(length: usize, flags: c_int) -> Option<Self> {
        let used = length.checked_mul(LINE_BYTES)?.checked_next_multiple_of(HUGE_PAGE)?;
        // One more, so that a multiple of the size of a huge page is in it.
        let bytes = used.checked_add(if flags == 0 { HUGE_PAGE } else { 0 })?;
        let (protection, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, at no given address.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, kind | flags, -1, 0) };
        let start = NonNull::new(start).filter(|start| start.as_ptr() != libc::MAP_FAILED)?;
        let offset = start.as_ptr().align_offset(HUGE_PAGE);
        // SAFETY: there is one more huge page than is used, or the start is aligned, and the offset is 0.
        let first = unsafe { start.byte_add(offset) };
        if flags == 0 {
            // SAFETY: these pages are of the mapping. It is advice, so it may fail.
            unsafe { libc::madvise(first.as_ptr(), used, libc::MADV_HUGEPAGE) };
        }
        // The kernel fills new pages with 0, which atomic words may be.
        let lines = NonNull::slice_from_raw_parts(first.cast(), length);
        Some(Self::Mapped { lines, start, bytes })
    }

    fn get(&self) -> NonNull<[Line]> {
        match self {
            Self::Boxed(lines) | Self::Mapped { lines, .. } => *lines,
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        match self {
            // SAFETY: it was leaked by `boxed`, and is freed once.
            Self::Boxed(lines) => drop(unsafe { Box::from_raw(lines.as_ptr()) }),
            // SAFETY: it was mapped by `mapped`, and is unmapped once.
            Self::Mapped { start, bytes, .. } => unsafe {
                libc::munmap(start.as_ptr(), *bytes);
            },
        }
    }
}

/// Registered words, on whole cache lines.
pub struct Memory {
    pub(super) registration: NonNull<sys::ibv_mr>,
    pub(super) domain: Arc<Domain>,
    /// Freed after the NIC has let go of them.
    lines: ManuallyDrop<Lines>,
    count: usize,
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
        let lines = Lines::new(count.div_ceil(LINE_WORDS), how.pages)?;
        let address = lines.get().as_ptr().cast();
        let paging = if how.on_demand { sys::ibv_access_flags::IBV_ACCESS_ON_DEMAND.0 } else { 0 };
        let access = access(atomics).0 | paging;
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
        Ok(Self {
            registration,
            domain: Arc::clone(domain),
            lines: ManuallyDrop::new(lines),
            count,
        })
    }

    /// Whether the memory belongs to this domain.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: lines are arrays of words without gaps, and there are at least `count` words.
        unsafe {
            std::slice::from_raw_parts(self.lines.get().as_ptr().cast_const().cast(), self.count)
        }
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
            // SAFETY: they are freed once, and the NIC cannot reach them. If deregistering fails, they stay
            // allocated.
            unsafe { ManuallyDrop::drop(&mut self.lines) };
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
