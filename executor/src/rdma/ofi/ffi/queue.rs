//! An endpoint of libfabric, with what completes its requests and the peer that they go to.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::rdma::lines::WORD_BYTES;
use crate::rdma::{Pages, Request, RequestKind};

use super::domain::{Domain, Memory, close};
use super::progress::{Completions, Progress};
use super::{CallError, sys, text};

/// The most completions that are taken at once.
const TAKEN: usize = 32;
/// The longest address of an endpoint.
const LONGEST_ADDRESS: usize = 256;

/// When the completion of a write comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// When its source may be used again, and the peer has it (`FI_TRANSMIT_COMPLETE`).
    Transmit,
    /// When it is in the peer's memory (`FI_DELIVERY_COMPLETE`).
    Delivery,
}

/// Why a request was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The provider cannot take it now.
    Again,
    /// Its words are not all in the local memory.
    Outside,
    /// It has no meaning for libfabric's one-sided operations.
    Unknown,
    /// The call failed.
    Call(CallError),
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its number, if the provider says which it is.
    pub number: Option<u64>,
    /// libfabric's error number.
    pub errno: i32,
    /// The provider's own error number, and its text.
    pub provider: (i32, String),
}

/// What a request needs until it completes.
#[repr(C)]
struct Slot {
    /// Scratch space of the provider (`fi_context2`), whose address says which request completed.
    context: UnsafeCell<[u64; 8]>,
}

/// The objects of an endpoint, closed in this order.
struct Objects {
    endpoint: NonNull<sys::FidEp>,
    completions: Completions,
    addresses: NonNull<sys::FidAv>,
}

/// An endpoint that is bound to its completion queue, and sends to one peer.
pub struct Queue {
    objects: Objects,
    progress: Arc<Progress>,
    peer: sys::FiAddr,
    slots: Box<[Slot]>,
    /// For each slot, the number of its request.
    numbers: Vec<u64>,
    free: Vec<usize>,
    /// Two words for each slot: what an atomic writes, and what it compares with.
    operands: Memory,
    memory: Arc<Memory>,
}

// SAFETY: as for `Domain`. The slots are touched by the provider only.
unsafe impl Send for Queue {}

impl Queue {
    /// Creates an endpoint whose requests use this memory, with a depth of this many requests.
    pub fn new(
        memory: &Arc<Memory>,
        depth: usize,
        progress: &Arc<Progress>,
    ) -> Result<Self, CallError> {
        let domain = &memory.domain;
        let operands = Memory::new(domain, 2 * depth, Pages::Usual)?;
        let objects = Objects::new(domain, depth)?;
        progress.add(objects.completions);
        let slot = || Slot { context: UnsafeCell::new([0; 8]) };
        Ok(Self {
            objects,
            progress: Arc::clone(progress),
            peer: 0,
            slots: std::iter::repeat_with(slot).take(depth).collect(),
            numbers: vec![0; depth],
            free: (0..depth).rev().collect(),
            operands,
            memory: Arc::clone(memory),
        })
    }

    /// The address that peers reach it by.
    pub fn address(&self) -> Result<Vec<u8>, CallError> {
        let (mut bytes, mut length) = ([0_u8; LONGEST_ADDRESS], LONGEST_ADDRESS);
        let endpoint = self.objects.endpoint.as_ptr();
        // SAFETY: the endpoint is enabled, and there is place for `length` bytes.
        let result = unsafe {
            let name = bytes.as_mut_ptr().cast();
            ((*(*endpoint).cm).getname)(endpoint.cast(), name, &mut length)
        };
        CallError::check("fi_getname", result)?;
        Ok(bytes[..length.min(LONGEST_ADDRESS)].to_vec())
    }

    /// Sets the peer, once.
    pub fn connect(&mut self, address: &[u8]) -> Result<(), CallError> {
        // Longer than any address, and with a 0 behind it, whatever was sent.
        let mut bytes = [0_u8; LONGEST_ADDRESS + 1];
        let length = address.len().min(LONGEST_ADDRESS);
        bytes[..length].copy_from_slice(&address[..length]);
        let addresses = self.objects.addresses.as_ptr();
        // SAFETY: the address vector is open, and the bytes are an address, as long as any of the provider's.
        let result = unsafe {
            let (bytes, peer) = (bytes.as_ptr().cast(), &mut self.peer);
            ((*(*addresses).ops).insert)(addresses, bytes, 1, peer, 0, null_mut())
        };
        match result {
            1 => Ok(()),
            errno => Err(CallError { call: "fi_av_insert", errno: errno.wrapping_neg() }),
        }
    }

    /// Whether the provider does these atomics on words: fetch-and-add, and compare-and-swap.
    pub fn has_atomics(&self) -> bool {
        let endpoint = self.objects.endpoint.as_ptr();
        let mut count = 0;
        // SAFETY: an endpoint with FI_ATOMIC has the table, and `count` is a place for the answer.
        unsafe {
            let Some(atomic) = (*endpoint).atomic.as_ref() else { return false };
            let word = sys::FI_UINT64;
            (atomic.readwritevalid)(endpoint, word, sys::FI_SUM, &mut count) == 0
                && (atomic.compwritevalid)(endpoint, word, sys::FI_CSWAP, &mut count) == 0
        }
    }

    /// Posts a request with this number.
    pub fn post(&mut self, number: u64, request: &Request, level: Level) -> Result<(), PostError> {
        let count = request.words as usize;
        let local = self.memory.place(request.local, count).ok_or(PostError::Outside)?;
        let slot = *self.free.last().ok_or(PostError::Again)?;
        let fence = if request.fence { sys::FI_FENCE } else { 0 };
        let flags = sys::FI_COMPLETION | fence;
        let (call, result) = match request.kind {
            RequestKind::Write if request.immediate.is_none() => {
                let level = match level {
                    Level::Transmit => sys::FI_TRANSMIT_COMPLETE,
                    Level::Delivery => sys::FI_DELIVERY_COMPLETE,
                };
                let inject = if request.inline { sys::FI_INJECT } else { 0 };
                ("fi_writemsg", self.move_words(slot, local, request, flags | level | inject))
            }
            RequestKind::Read => ("fi_readmsg", self.move_words(slot, local, request, flags)),
            RequestKind::CompareAndSwap { expected, desired } => {
                let result = self.change(slot, local, request, (desired, Some(expected)), flags);
                ("fi_compare_atomicmsg", result)
            }
            RequestKind::FetchAndAdd { addend } => {
                ("fi_fetch_atomicmsg", self.change(slot, local, request, (addend, None), flags))
            }
            RequestKind::Write
            | RequestKind::Send
            | RequestKind::AtomicWrite
            | RequestKind::Flush { .. } => return Err(PostError::Unknown),
        };
        match i32::try_from(result).unwrap_or(i32::MIN).wrapping_neg() {
            0 => {
                self.numbers[slot] = number;
                self.free.pop();
                Ok(())
            }
            libc::EAGAIN => Err(PostError::Again),
            errno => Err(PostError::Call(CallError { call, errno })),
        }
    }

    /// A write from local words, or a read into them.
    fn move_words(&self, slot: usize, local: *mut c_void, request: &Request, flags: u64) -> isize {
        let len = request.words as usize * WORD_BYTES;
        let iov = libc::iovec { iov_base: local, iov_len: len };
        let remote = sys::RmaIov { addr: request.remote.0, len, key: request.remote.1 };
        let mut descriptor = self.memory.descriptor();
        let message = sys::MsgRma {
            msg_iov: &iov,
            desc: &mut descriptor,
            iov_count: 1,
            addr: self.peer,
            rma_iov: &remote,
            rma_iov_count: 1,
            context: self.slots[slot].context.get().cast(),
            data: 0,
        };
        let endpoint = self.objects.endpoint.as_ptr();
        // SAFETY: the endpoint is enabled. The local words are in registered memory, which `self` keeps alive
        // until the endpoint is closed; the slot is free. The provider copies the message.
        unsafe {
            let rma = &*(*endpoint).rma;
            match request.kind {
                RequestKind::Read => (rma.readmsg)(endpoint, &message, flags),
                _ => (rma.writemsg)(endpoint, &message, flags),
            }
        }
    }

    /// An atomic, which writes a value, if the word has another one; the old value goes to a local word.
    fn change(
        &self,
        slot: usize,
        local: *mut c_void,
        request: &Request,
        (value, compared): (u64, Option<u64>),
        flags: u64,
    ) -> isize {
        let place = |word| self.operands.place(word, 1).unwrap_or(null_mut());
        let words = self.operands.words();
        words[2 * slot].store(value, Ordering::Relaxed);
        words[2 * slot + 1].store(compared.unwrap_or(0), Ordering::Relaxed);
        let operand = sys::Ioc { addr: place(2 * slot), count: 1 };
        let compare = sys::Ioc { addr: place(2 * slot + 1), count: 1 };
        let mut result = sys::Ioc { addr: local, count: 1 };
        let remote = sys::RmaIoc { addr: request.remote.0, count: 1, key: request.remote.1 };
        let mut of_operand = self.operands.descriptor();
        let (mut of_compare, mut of_result) = (of_operand, self.memory.descriptor());
        let message = sys::MsgAtomic {
            msg_iov: &operand,
            desc: &mut of_operand,
            iov_count: 1,
            addr: self.peer,
            rma_iov: &remote,
            rma_iov_count: 1,
            datatype: sys::FI_UINT64,
            op: if compared.is_some() { sys::FI_CSWAP } else { sys::FI_SUM },
            context: self.slots[slot].context.get().cast(),
            data: 0,
        };
        let endpoint = self.objects.endpoint.as_ptr();
        // SAFETY: as for `move_words`. The operands are the slot's own, which is free.
        unsafe {
            let Some(atomic) = (*endpoint).atomic.as_ref() else {
                return -(libc::EOPNOTSUPP as isize);
            };
            match compared {
                None => {
                    (atomic.readwritemsg)(endpoint, &message, &mut result, &mut of_result, 1, flags)
                }
                Some(_) => (atomic.compwritemsg)(
                    endpoint,
                    &message,
                    &compare,
                    &mut of_compare,
                    1,
                    &mut result,
                    &mut of_result,
                    1,
                    flags,
                ),
            }
        }
    }

    /// Lets the provider work, and appends the numbers of requests that have completed. Reports a failure if
    /// there is one.
    pub fn poll(&mut self, done: &mut Vec<u64>) -> Result<Option<Failure>, CallError> {
        let mut contexts = [null_mut::<c_void>(); TAKEN];
        let cq = self.objects.completions.0.as_ptr();
        // SAFETY: the queue is open, its entries are contexts, and there is place for that many.
        let result =
            unsafe { ((*(*cq).ops).read)(cq, contexts.as_mut_ptr().cast(), contexts.len()) };
        if let Ok(count) = usize::try_from(result) {
            for context in contexts.iter().take(count) {
                done.extend(self.finished(*context));
            }
            return Ok(None);
        }
        match i32::try_from(result).unwrap_or(i32::MIN).wrapping_neg() {
            libc::EAGAIN => Ok(None),
            sys::FI_EAVAIL => self.failure().map(Some),
            errno => Err(CallError { call: "fi_cq_read", errno }),
        }
    }

    /// The number of the request with this context, whose slot is free again.
    fn finished(&mut self, context: *mut c_void) -> Option<u64> {
        let offset = (context as usize).checked_sub(self.slots.as_ptr() as usize)?;
        let slot = offset / size_of::<Slot>();
        let number = *self.numbers.get(slot)?;
        self.free.push(slot);
        Some(number)
    }

    fn failure(&mut self) -> Result<Failure, CallError> {
        let cq = self.objects.completions.0.as_ptr();
        // SAFETY: all of it is numbers and pointers, for which 0 is a value.
        let mut space: sys::CqErrSpace = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open, and the entry is a place for the answer. The text lives in the library
        // or in the entry's data, until the queue is read again.
        unsafe {
            let result = ((*(*cq).ops).readerr)(cq, (&raw mut space).cast(), 0);
            if result < 0 {
                let errno = i32::try_from(result).unwrap_or(i32::MIN).wrapping_neg();
                return Err(CallError { call: "fi_cq_readerr", errno });
            }
            let entry = &space.entry;
            let own = entry.prov_errno;
            let said = ((*(*cq).ops).strerror)(cq, own, entry.err_data, null_mut(), 0);
            let provider = (own, text(said));
            Ok(Failure { number: self.finished(entry.op_context), errno: entry.err, provider })
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Nobody may work on what is closed.
        self.progress.remove(self.objects.completions);
    }
}

impl Objects {
    fn new(domain: &Arc<Domain>, depth: usize) -> Result<Self, CallError> {
        let (own, info) = (domain.raw.as_ptr(), &domain.info);
        let mut attributes = sys::CqAttr {
            size: 2 * depth,
            flags: 0,
            format: sys::FI_CQ_FORMAT_CONTEXT,
            wait_obj: sys::FI_WAIT_NONE,
            signaling_vector: 0,
            wait_cond: 0,
            wait_set: null_mut(),
        };
        let mut cq = null_mut();
        // SAFETY: the domain is open, the attributes are complete, and `cq` is a place for the answer.
        let result = unsafe { ((*(*own).ops).cq_open)(own, &mut attributes, &mut cq, null_mut()) };
        let completions = Completions(made("fi_cq_open", result, cq)?);
        // SAFETY: as above.
        let addresses = unsafe {
            let kind = match (*info.raw.as_ref().domain_attr).av_type {
                sys::FI_AV_MAP => sys::FI_AV_MAP,
                _ => sys::FI_AV_TABLE,
            };
            let mut attributes = sys::AvAttr {
                r#type: kind,
                rx_ctx_bits: 0,
                count: 1,
                ep_per_node: 0,
                name: null(),
                map_addr: null_mut(),
                flags: 0,
            };
            let mut av = null_mut();
            let result = ((*(*own).ops).av_open)(own, &mut attributes, &mut av, null_mut());
            made("fi_av_open", result, av)
        };
        let addresses = addresses.inspect_err(|_| close(completions.0.as_ptr().cast()))?;
        let mut endpoint = null_mut();
        // SAFETY: as above; the description is the one that the domain was opened with.
        let result =
            unsafe { ((*(*own).ops).endpoint)(own, info.raw.as_ptr(), &mut endpoint, null_mut()) };
        let endpoint = made("fi_endpoint", result, endpoint).inspect_err(|_| {
            close(completions.0.as_ptr().cast());
            close(addresses.as_ptr().cast());
        })?;
        let objects = Self { endpoint, completions, addresses };
        objects.bind()?;
        Ok(objects)
    }

    /// Binds the endpoint to the others, and enables it.
    fn bind(&self) -> Result<(), CallError> {
        let fid: *mut sys::Fid = self.endpoint.as_ptr().cast();
        // SAFETY: all three objects are open, and of one domain.
        unsafe {
            let ops = &*(*fid).ops;
            let both = sys::FI_TRANSMIT | sys::FI_RECV;
            let queue = (ops.bind)(fid, self.completions.0.as_ptr().cast(), both);
            CallError::check("fi_ep_bind", queue)?;
            let addresses = (ops.bind)(fid, self.addresses.as_ptr().cast(), 0);
            CallError::check("fi_ep_bind", addresses)?;
            CallError::check("fi_enable", (ops.control)(fid, sys::FI_ENABLE, null_mut()))
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        close(self.endpoint.as_ptr().cast());
        close(self.completions.0.as_ptr().cast());
        close(self.addresses.as_ptr().cast());
    }
}

/// What a call has made.
fn made<T>(call: &'static str, result: c_int, object: *mut T) -> Result<NonNull<T>, CallError> {
    CallError::check(call, result)?;
    NonNull::new(object).ok_or(CallError { call, errno: libc::EIO })
}
