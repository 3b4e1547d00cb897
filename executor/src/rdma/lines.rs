//! Words on whole cache lines, which stay in place: memory for a device to read and write.

#![allow(unsafe_code, reason = "memory in huge pages is mapped, and cache lines are flushed")]

use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

use super::Pages;

/// The size of a word in bytes.
pub const WORD_BYTES: usize = size_of::<AtomicU64>();
/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / WORD_BYTES;
/// The size of a huge page in bytes, where nobody has chosen another one.
const HUGE_PAGE: usize = 2 << 20;

#[repr(C, align(64))]
struct Line([AtomicU64; LINE_WORDS]);

const _: () = assert!(size_of::<Line>() == LINE_BYTES);

/// Words, all 0 at first. Dropping it frees them.
pub struct Lines {
    place: Place,
    count: usize,
}

// SAFETY: it owns the words, which are atomic.
unsafe impl Send for Lines {}
// SAFETY: as above.
unsafe impl Sync for Lines {}

/// Where the lines are.
enum Place {
    /// A leaked box.
    Boxed(NonNull<[Line]>),
    /// The lines, and the mapping in which they are.
    Mapped { lines: NonNull<[Line]>, start: NonNull<c_void>, bytes: usize },
}

impl Lines {
    /// That many words; `None` if there is no memory for them.
    pub fn new(count: usize, pages: Pages) -> Option<Self> {
        let length = count.div_ceil(LINE_WORDS);
        let place = match pages {
            Pages::Usual => Place::boxed(length),
            Pages::Transparent => Place::mapped(length, 0),
            Pages::Huge => Place::mapped(length, libc::MAP_HUGETLB),
        };
        Some(Self { place: place?, count })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        let lines = self.place.get().as_ptr().cast_const().cast();
        // SAFETY: lines are arrays of words without gaps, and there are at least `count` words.
        unsafe { std::slice::from_raw_parts(lines, self.count) }
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

impl Place {
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

impl Drop for Place {
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
