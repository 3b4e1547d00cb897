//! Reliable connected queue pairs, each with a completion queue of its own.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::{MaybeUninit, forget, transmute, zeroed};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use compiler::plan::Placements;

use crate::rdma::{Arrival, LONGEST_LIST, Request, RequestKind};

use super::completions;
use super::memory::{Memory, access};
use super::placement::{self, PlacementRequest};
use super::{CallError, sys};
use crate::rdma::lines::WORD_BYTES;

/// The most bytes of an inline request, if inline data is requested.
pub const INLINE_BYTES: usize = 64;
/// The most completions that one poll takes.
const BATCH: usize = 16;

/// A queue pair, which works on one memory.
pub struct QueuePair {
    raw: NonNull<sys::ibv_qp>,
    completions: NonNull<sys::ibv_cq>,
    memory: Arc<Memory>,
    inline_bytes: usize,
}

// SAFETY: libibverbs objects may be used by any thread.
unsafe impl Send for QueuePair {}

/// The states of a queue pair, in the order in which they are entered.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// From reset to initialized: the port, and what peers may do beside reads and writes.
    Initialize { port: u8, atomics: bool, placements: Placements, pkey_index: u16 },
    /// Ready to answer the peer's requests.
    ReceiveReady(Peer),
    /// Ready to send requests: the first packet sequence number, and the timing.
    SendReady { sequence: u32, timing: Timing },
}

/// The other end, and how to reach it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are named as in rdma::Address, where they have docs")]
pub struct Peer {
    pub port: u8,
    pub queue_pair: u32,
    pub sequence: u32,
    pub lid: u16,
    /// The peer's GID, and the index of our own GID, if packets are addressed globally.
    pub gid: Option<([u8; 16], u8)>,
    /// The path MTU in bytes.
    pub mtu: u32,
    /// How many reads and atomics of the peer are served at once.
    pub responder_reads: u8,
    /// As in [`crate::rdma::Settings`].
    pub service_level: u8,
    /// As in [`crate::rdma::Settings`].
    pub traffic_class: u8,
}

/// How a queue pair sends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "fields are named as in rdma::Settings, where they have docs")]
pub struct Timing {
    pub timeout: u8,
    pub retries: u8,
    pub rnr_retries: u8,
    pub initiator_reads: u8,
}

/// The reason why a request was not posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// Its local words are not all in the memory.
    Outside,
    /// It has too much data to be inline, or its kind cannot be inline.
    Inline,
    /// The library call failed.
    Call(CallError),
}

/// A completion with an error.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The id that was given to [`QueuePair::post`] or [`QueuePair::post_receive`].
    pub id: u64,
    /// The status, as in `ibv_wc_status`.
    pub status: u32,
    /// The vendor's error code.
    pub vendor: u32,
}

impl QueuePair {
    /// Creates a queue pair for up to `depth` requests in flight and `receives` posted receives. With
    /// `inline`, it must accept [`INLINE_BYTES`]; and flushes and atomic writes, if `placements` has them.
    pub fn new(
        memory: &Arc<Memory>,
        depth: u32,
        receives: u32,
        inline: bool,
        placements: Placements,
    ) -> Result<Self, CallError> {
        let domain = &memory.domain;
        let context = domain.context.raw;
        // SAFETY: the context is open, because the domain holds its Arc.
        let completions = unsafe { completions::create(context, depth.saturating_add(receives))? };
        // SAFETY: all fields are numbers and pointers that may be null.
        let mut initial: sys::ibv_qp_init_attr = unsafe { zeroed() };
        initial.send_cq = completions.as_ptr();
        initial.recv_cq = completions.as_ptr();
        initial.qp_type = sys::ibv_qp_type::IBV_QPT_RC;
        initial.sq_sig_all = 0;
        initial.cap.max_send_wr = depth;
        initial.cap.max_recv_wr = receives.max(1);
        initial.cap.max_send_sge = 1;
        initial.cap.max_recv_sge = 1;
        initial.cap.max_inline_data = if inline { INLINE_BYTES as u32 } else { 0 };
        // SAFETY: the domain, its context and the completion queue are alive. `initial` is filled in, and the
        // call may write to it.
        let (call, raw) = unsafe {
            if placements.any() {
                let made =
                    placement::create(domain.context.raw, domain.raw, &mut initial, placements);
                ("ibv_create_qp_ex", made)
            } else {
                ("ibv_create_qp", sys::ibv_create_qp(domain.raw.as_ptr(), &mut initial))
            }
        };
        let Some(raw) = NonNull::new(raw) else {
            let error = CallError::last(call);
            // SAFETY: it was made above, and nothing uses it.
            unsafe { sys::ibv_destroy_cq(completions.as_ptr()) };
            return Err(error);
        };
        let granted = if inline { initial.cap.max_inline_data as usize } else { 0 };
        let inline_bytes = granted.min(INLINE_BYTES);
        Ok(Self { raw, completions, memory: Arc::clone(memory), inline_bytes })
    }

    /// The queue pair's number.
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair lives as long as `self`.
        unsafe { self.raw.as_ref() }.qp_num
    }

    /// How many bytes it accepts inline, at most [`INLINE_BYTES`].
    pub fn inline_bytes(&self) -> usize {
        self.inline_bytes
    }

    /// Enters the next state.
    pub fn advance(&mut self, step: &Step) -> Result<(), CallError> {
        use sys::ibv_qp_attr_mask as mask;
        // SAFETY: all fields are numbers, or arrays of numbers.
        let mut to: sys::ibv_qp_attr = unsafe { zeroed() };
        let (call, given) = match *step {
            Step::Initialize { port, atomics, placements, pkey_index } => {
                to.qp_state = sys::ibv_qp_state::IBV_QPS_INIT;
                to.port_num = port;
                to.pkey_index = pkey_index;
                to.qp_access_flags = access(atomics, placements).0;
                let given = mask::IBV_QP_PKEY_INDEX | mask::IBV_QP_PORT | mask::IBV_QP_ACCESS_FLAGS;
                ("ibv_modify_qp (to INIT)", given)
            }
            Step::ReceiveReady(peer) => {
                ready_to_receive(&mut to, &peer);
                let path = mask::IBV_QP_AV | mask::IBV_QP_PATH_MTU | mask::IBV_QP_DEST_QPN;
                let serve = mask::IBV_QP_MAX_DEST_RD_ATOMIC | mask::IBV_QP_MIN_RNR_TIMER;
                ("ibv_modify_qp (to RTR)", path | mask::IBV_QP_RQ_PSN | serve)
            }
            Step::SendReady { sequence, timing } => {
                to.qp_state = sys::ibv_qp_state::IBV_QPS_RTS;
                to.sq_psn = sequence;
                to.timeout = timing.timeout;
                to.retry_cnt = timing.retries;
                to.rnr_retry = timing.rnr_retries;
                to.max_rd_atomic = timing.initiator_reads;
                let tries = mask::IBV_QP_TIMEOUT | mask::IBV_QP_RETRY_CNT | mask::IBV_QP_RNR_RETRY;
                let given = tries | mask::IBV_QP_SQ_PSN | mask::IBV_QP_MAX_QP_RD_ATOMIC;
                ("ibv_modify_qp (to RTS)", given)
            }
        };
        let given = (mask::IBV_QP_STATE | given).0.cast_signed();
        // SAFETY: the queue pair is alive, and the fields that the mask names are filled in.
        CallError::check(call, unsafe { sys::ibv_modify_qp(self.raw.as_ptr(), &mut to, given) })
    }

    /// Whether the device promises that the data of a write arrives in order. `None` if libibverbs does not
    /// have this query. The bindings may lack it too, so the function is looked up by name.
    pub fn data_in_order(&self) -> Option<bool> {
        type Query = unsafe extern "C" fn(*mut sys::ibv_qp, c_uint, u32) -> c_int;
        // SAFETY: the names are C strings. The library is already loaded; this only gets its handle. Its
        // function of this name has this type, according to its manual page.
        let query = unsafe {
            let library =
                libc::dlopen(c"libibverbs.so.1".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            let found = NonNull::new(library).map(|library| {
                libc::dlsym(library.as_ptr(), c"ibv_query_qp_data_in_order".as_ptr())
            })?;
            transmute::<*mut c_void, Option<Query>>(found)?
        };
        // SAFETY: the queue pair is alive.
        Some(unsafe { query(self.raw.as_ptr(), sys::ibv_wr_opcode::IBV_WR_RDMA_WRITE, 0) } == 1)
    }

    /// Posts up to [`LONGEST_LIST`] requests by one call, with ids from this one on. One that is not signaled
    /// has no completion unless it fails. An error comes with the index of the request.
    pub fn post(&mut self, first: u64, requests: &[Request]) -> Result<(), (usize, PostError)> {
        match requests {
            // Most requests are posted alone. That is as fast as it can be.
            [alone] if !alone.is_placement() => self.post_some::<1>(first, requests),
            _ => {
                let mut at = 0;
                for part in requests.chunk_by(|one, next| one.is_placement() == next.is_placement())
                {
                    let from = first + at as u64;
                    let posted = match part[0].is_placement() {
                        true => self.post_placements(from, part),
                        false => self.post_some::<LONGEST_LIST>(from, part),
                    };
                    posted.map_err(|(index, error)| (at + index, error))?;
                    at += part.len();
                }
                Ok(())
            }
        }
    }

    /// Posts flushes and atomic writes, each by calls of its own.
    fn post_placements(
        &mut self,
        first: u64,
        requests: &[Request],
    ) -> Result<(), (usize, PostError)> {
        for (at, request) in requests.iter().enumerate() {
            let kind = match request.kind {
                RequestKind::Flush { is_persistent } => PlacementRequest::Flush { is_persistent },
                _ => {
                    let word = self.memory.words().get(request.local);
                    let value = word.ok_or((at, PostError::Outside))?.load(Ordering::Relaxed);
                    PlacementRequest::AtomicWrite(value)
                }
            };
            let (address, key) = (request.remote.0, request.remote.1 as u32);
            let name = (first + at as u64, send_flags(request));
            // SAFETY: the queue pair is alive. If it was not made for the request, it has no function for it,
            // and the call fails.
            let posted = unsafe { placement::post(self.raw, kind, name, (address, key)) };
            posted.map_err(|error| (at, PostError::Call(error)))?;
        }
        Ok(())
    }

    fn post_some<const N: usize>(
        &mut self,
        first: u64,
        requests: &[Request],
    ) -> Result<(), (usize, PostError)> {
        let requests = &requests[..requests.len().min(N)];
        let mut copies = [[0_u64; INLINE_BYTES / WORD_BYTES]; N];
        // SAFETY: all fields are numbers.
        let mut pieces: [sys::ibv_sge; N] = unsafe { zeroed() };
        // SAFETY: all fields are numbers, pointers that may be null, and unions of such.
        let mut works: [sys::ibv_send_wr; N] = unsafe { zeroed() };
        for (at, request) in requests.iter().enumerate() {
            pieces[at] = self.piece(request, &mut copies[at]).map_err(|error| (at, error))?;
            let work = work_request(first + at as u64, request, &mut pieces[at]);
            works[at] = work.ok_or((at, PostError::Outside))?;
        }
        // Each leads to the next one. The last leads nowhere, as it was made.
        let mut next = null_mut();
        for work in works[..requests.len()].iter_mut().rev() {
            work.next = next;
            next = work;
        }
        if next.is_null() {
            return Ok(());
        }
        let mut bad = null_mut();
        // SAFETY: the queue pair is alive, and the call copies the requests and their pieces, which stay in
        // place until it returns. The data is in the memory, which lives as long as the queue pair, or, if
        // inline, the call copies it from `copies`.
        let result = unsafe { sys::ibv_post_send(self.raw.as_ptr(), next, &mut bad) };
        CallError::check("ibv_post_send", result).map_err(|error| (0, PostError::Call(error)))
    }

    /// Posts a receive with this id, whose buffer is a word of the memory.
    pub fn post_receive(&mut self, id: u64, word: usize) -> Result<(), PostError> {
        let buffer = self.memory.words().get(word).ok_or(PostError::Outside)?;
        // SAFETY: the registration lives as long as the memory.
        let lkey = unsafe { self.memory.registration.as_ref() }.lkey;
        let mut piece =
            sys::ibv_sge { addr: buffer.as_ptr() as u64, length: WORD_BYTES as u32, lkey };
        let mut work =
            sys::ibv_recv_wr { wr_id: id, next: null_mut(), sg_list: &mut piece, num_sge: 1 };
        let mut bad = null_mut();
        // SAFETY: the queue pair is alive, and the call copies the receive and its piece. The buffer is in
        // the memory, which lives as long as the queue pair.
        let result = unsafe { sys::ibv_post_recv(self.raw.as_ptr(), &mut work, &mut bad) };
        CallError::check("ibv_post_recv", result).map_err(PostError::Call)
    }

    /// The local piece of a request: in the memory, or, if it is inline, in the copy that is made of it.
    fn piece(
        &self,
        request: &Request,
        copy: &mut [u64; INLINE_BYTES / WORD_BYTES],
    ) -> Result<sys::ibv_sge, PostError> {
        let words = if request.is_atomic() { 1 } else { request.words as usize };
        if request.is_empty() {
            // The work request does not name the piece.
            return Ok(sys::ibv_sge { addr: 0, length: 0, lkey: 0 });
        }
        // A request without words would have length 0, which some devices treat as 2 GB.
        let end = request.local.checked_add(words).filter(|end| *end > request.local);
        let end = end.ok_or(PostError::Outside)?;
        let local = self.memory.words().get(request.local..end).ok_or(PostError::Outside)?;
        let bytes = u32::try_from(words * WORD_BYTES).map_err(|_| PostError::Outside)?;
        let mut address = local.as_ptr() as u64;
        if request.inline {
            let copies = matches!(request.kind, RequestKind::Write | RequestKind::Send);
            if !copies || bytes as usize > self.inline_bytes {
                return Err(PostError::Inline);
            }
            // The words are read here, one by one, so that the provider's copy cannot tear them.
            for (to, from) in copy.iter_mut().zip(local) {
                *to = from.load(Ordering::Relaxed);
            }
            address = copy.as_ptr() as u64;
        }
        // SAFETY: the registration lives as long as the memory.
        let lkey = unsafe { self.memory.registration.as_ref() }.lkey;
        Ok(sys::ibv_sge { addr: address, length: bytes, lkey })
    }

    /// Takes some completions, up to the first failure, which it returns. Passes the ids of the others to
    /// `each`, with what arrived if they are receives.
    ///
    /// It stores little: a program's write may still be in the CPU's store buffer, and those that come after
    /// it take places there, too.
    #[inline]
    pub fn poll(
        &mut self,
        mut each: impl FnMut(u64, Option<Arrival>),
    ) -> Result<Option<Failure>, CallError> {
        let mut taken = [const { MaybeUninit::<sys::ibv_wc>::uninit() }; BATCH];
        let first = taken.as_mut_ptr().cast();
        // SAFETY: the completion queue is alive, and there is space for this number of completions.
        let count = unsafe { sys::ibv_poll_cq(self.completions.as_ptr(), BATCH as i32, first) };
        let count =
            usize::try_from(count).map_err(|_| CallError { call: "ibv_poll_cq", errno: -count })?;
        for completion in taken.iter().take(count) {
            // SAFETY: the call has filled in this entry. If it reports an error, these fields are still
            // valid.
            let completion = unsafe { completion.assume_init_ref() };
            if completion.status != sys::ibv_wc_status::IBV_WC_SUCCESS {
                return Ok(Some(Failure {
                    id: completion.wr_id,
                    status: completion.status,
                    vendor: completion.vendor_err,
                }));
            }
            each(completion.wr_id, arrival(completion));
        }
        Ok(None)
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: it was made by ibv_create_qp or its like, and is destroyed once, before what it uses.
        if unsafe { sys::ibv_destroy_qp(self.raw.as_ptr()) } == 0 {
            // SAFETY: it was made with the queue pair, and is destroyed once; its only queue pair is gone.
            unsafe { sys::ibv_destroy_cq(self.completions.as_ptr()) };
        } else {
            // The NIC may still use the memory, so the memory is leaked.
            forget(Arc::clone(&self.memory));
        }
    }
}

fn ready_to_receive(to: &mut sys::ibv_qp_attr, peer: &Peer) {
    to.qp_state = sys::ibv_qp_state::IBV_QPS_RTR;
    to.path_mtu = match peer.mtu {
        0..512 => sys::ibv_mtu::IBV_MTU_256,
        512..1024 => sys::ibv_mtu::IBV_MTU_512,
        1024..2048 => sys::ibv_mtu::IBV_MTU_1024,
        2048..4096 => sys::ibv_mtu::IBV_MTU_2048,
        _ => sys::ibv_mtu::IBV_MTU_4096,
    };
    to.dest_qp_num = peer.queue_pair;
    to.rq_psn = peer.sequence;
    to.max_dest_rd_atomic = peer.responder_reads;
    // 0.01 ms until the sender of a message tries again for which no receive is posted.
    to.min_rnr_timer = 1;
    to.ah_attr.port_num = peer.port;
    to.ah_attr.dlid = peer.lid;
    to.ah_attr.sl = peer.service_level;
    if let Some((gid, own)) = peer.gid {
        to.ah_attr.is_global = 1;
        to.ah_attr.grh.dgid = sys::ibv_gid { raw: gid };
        to.ah_attr.grh.sgid_index = own;
        to.ah_attr.grh.hop_limit = 64;
        to.ah_attr.grh.traffic_class = peer.traffic_class;
    }
}

/// What arrived, if the completion is one of a receive.
fn arrival(completion: &sys::ibv_wc) -> Option<Arrival> {
    use sys::ibv_wc_opcode as opcode;
    let of_send = completion.opcode == opcode::IBV_WC_RECV;
    if !of_send && completion.opcode != opcode::IBV_WC_RECV_RDMA_WITH_IMM {
        return None;
    }
    let has_immediate = completion.wc_flags & sys::ibv_wc_flags::IBV_WC_WITH_IMM.0 != 0;
    // SAFETY: both fields of the union are numbers of 32 bits.
    let immediate = unsafe { completion.imm_data_invalidated_rkey_union.imm_data };
    let immediate = has_immediate.then(|| u32::from_be(immediate));
    let (number, empty) = (completion.wr_id, of_send && completion.byte_len == 0);
    Some(Arrival { number, immediate, empty })
}

fn send_flags(request: &Request) -> u32 {
    use sys::ibv_send_flags as flags;
    let given = [
        (request.fence, flags::IBV_SEND_FENCE),
        (request.inline, flags::IBV_SEND_INLINE),
        (request.signaled, flags::IBV_SEND_SIGNALED),
    ];
    given.iter().filter(|(is_given, _)| *is_given).fold(0, |all, (_, flag)| all | flag.0)
}

/// `None` if `ibv_post_send` has no such request.
fn work_request(id: u64, request: &Request, local: *mut sys::ibv_sge) -> Option<sys::ibv_send_wr> {
    use sys::ibv_wr_opcode as opcode;
    // SAFETY: all fields are numbers, pointers that may be null, and unions of such.
    let mut work: sys::ibv_send_wr = unsafe { zeroed() };
    work.wr_id = id;
    work.sg_list = local;
    work.num_sge = i32::from(!request.is_empty());
    work.send_flags = send_flags(request);
    if let Some(immediate) = request.immediate {
        work.imm_data_invalidated_rkey_union.imm_data = immediate.to_be();
    }
    let (remote_addr, rkey) = (request.remote.0, request.remote.1 as u32);
    let (compare_add, swap);
    (work.opcode, compare_add, swap) = match request.kind {
        RequestKind::Write if request.immediate.is_some() => {
            (opcode::IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0)
        }
        RequestKind::Write => (opcode::IBV_WR_RDMA_WRITE, 0, 0),
        RequestKind::Send if request.immediate.is_some() => (opcode::IBV_WR_SEND_WITH_IMM, 0, 0),
        RequestKind::Send => (opcode::IBV_WR_SEND, 0, 0),
        RequestKind::Read => (opcode::IBV_WR_RDMA_READ, 0, 0),
        RequestKind::CompareAndSwap { expected, desired } => {
            (opcode::IBV_WR_ATOMIC_CMP_AND_SWP, expected, desired)
        }
        RequestKind::FetchAndAdd { addend } => (opcode::IBV_WR_ATOMIC_FETCH_AND_ADD, addend, 0),
        RequestKind::AtomicWrite | RequestKind::Flush { .. } => return None,
    };
    if request.is_atomic() {
        work.wr.atomic = sys::atomic_t { remote_addr, compare_add, swap, rkey };
    } else {
        work.wr.rdma = sys::rdma_t { remote_addr, rkey };
    }
    Some(work)
}
