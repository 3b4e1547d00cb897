//! An opened provider, and memory that it may read and write.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::rdma::Pages;
use crate::rdma::lines::{Lines, WORD_BYTES};

use super::{CallError, Info, Library, sys};

/// A provider's resources that work together.
pub struct Domain {
    fabric: NonNull<sys::FidFabric>,
    pub(super) raw: NonNull<sys::FidDomain>,
    pub(super) info: Info,
    /// The next key of memory, where they are not the provider's.
    next_key: AtomicU64,
}

// SAFETY: providers are asked for FI_THREAD_SAFE: any thread may call with any object.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

/// Closes an object. Nobody can be told if that fails.
pub(super) fn close(fid: *mut sys::Fid) {
    // SAFETY: callers own the object, have closed what was made from it, and do not use it again.
    unsafe { ((*(*fid).ops).close)(fid) };
}

impl Domain {
    /// Opens what a provider offers.
    pub fn new(library: &'static Library, info: Info) -> Result<Arc<Self>, CallError> {
        let mut fabric = null_mut();
        // SAFETY: the attributes are those of a complete description, and `fabric` is a place for the answer.
        let result =
            unsafe { (library.fabric)((*info.raw.as_ptr()).fabric_attr, &mut fabric, null_mut()) };
        CallError::check("fi_fabric", result)?;
        let missing = |call| CallError { call, errno: libc::EIO };
        let fabric = NonNull::new(fabric).ok_or(missing("fi_fabric"))?;
        let mut raw = null_mut();
        // SAFETY: the fabric is open, and `raw` is a place for the answer.
        let result = unsafe {
            ((*fabric.as_ref().ops).domain)(
                fabric.as_ptr(),
                info.raw.as_ptr(),
                &mut raw,
                null_mut(),
            )
        };
        let opened = CallError::check("fi_domain", result)
            .and_then(|()| NonNull::new(raw).ok_or(missing("fi_domain")));
        match opened {
            Ok(raw) => Ok(Arc::new(Self { fabric, raw, info, next_key: AtomicU64::new(1) })),
            Err(error) => {
                close(fabric.as_ptr().cast());
                Err(error)
            }
        }
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // Memory and queues hold an Arc of it, so they are gone.
        close(self.raw.as_ptr().cast());
        close(self.fabric.as_ptr().cast());
    }
}

/// Registered words, on whole cache lines.
pub struct Memory {
    raw: NonNull<sys::FidMr>,
    pub(super) domain: Arc<Domain>,
    /// Freed after the provider has let go of them.
    lines: ManuallyDrop<Lines>,
}

// SAFETY: as for `Domain`. The words are atomic, so accesses of the provider are like those of another
// thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates and registers words, all 0, for all kinds of requests of this process and others.
    pub fn new(domain: &Arc<Domain>, count: usize, pages: Pages) -> Result<Self, CallError> {
        let call = "fi_mr_reg";
        let lines = Lines::new(count, pages).ok_or(CallError { call, errno: libc::ENOMEM })?;
        let address: *const c_void = lines.words().as_ptr().cast();
        let access = sys::FI_READ | sys::FI_WRITE | sys::FI_REMOTE_READ | sys::FI_REMOTE_WRITE;
        let key = domain.next_key.fetch_add(1, Ordering::Relaxed);
        let key = if domain.info.chooses_keys() { 0 } else { key };
        let mut raw = null_mut();
        // SAFETY: the domain is open. The lines have at least that many bytes. They are atomic words for the
        // CPU, and stay in place until `drop` has deregistered them.
        let result = unsafe {
            let own = domain.raw.as_ptr();
            let bytes = count * WORD_BYTES;
            ((*(*own).mr).reg)(own.cast(), address, bytes, access, 0, key, 0, &mut raw, null_mut())
        };
        CallError::check(call, result)?;
        let raw = NonNull::new(raw).ok_or(CallError { call, errno: libc::EIO })?;
        Ok(Self { raw, domain: Arc::clone(domain), lines: ManuallyDrop::new(lines) })
    }

    /// Whether the memory belongs to this domain.
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        self.lines.words()
    }

    /// Flushes the cache line of a word, as [`Lines::flush`] does.
    pub fn flush(&self, word: usize) {
        self.lines.flush(word);
    }

    /// The address of the first word for peers, and the remote key.
    pub fn remote(&self) -> (u64, u64) {
        let address = self.words().as_ptr() as u64;
        // SAFETY: the registration lives as long as `self`.
        let key = unsafe { self.raw.as_ref() }.key;
        (if self.domain.info.has_addresses() { address } else { 0 }, key)
    }

    /// Where words are, if they are in it, for the provider to read and write.
    pub(super) fn place(&self, word: usize, count: usize) -> Option<*mut c_void> {
        let words = self.words().get(word..word.checked_add(count)?)?;
        Some(words.as_ptr().cast_mut().cast())
    }

    /// What the provider knows the memory by.
    pub(super) fn descriptor(&self) -> *mut c_void {
        // SAFETY: the registration lives as long as `self`.
        unsafe { self.raw.as_ref() }.mem_desc
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was made by fi_mr_reg, and is closed once. Queues that use it hold an Arc of it, so they
        // are gone.
        let fid: *mut sys::Fid = self.raw.as_ptr().cast();
        if unsafe { ((*(*fid).ops).close)(fid) } == 0 {
            // SAFETY: they are freed once, and the provider cannot reach them. If closing fails, they stay
            // allocated.
            unsafe { ManuallyDrop::drop(&mut self.lines) };
        }
    }
}
