//! Functions that post requests.

use std::ffi::c_int;
use std::ptr;
use std::slice;
use std::sync::atomic::Ordering;

use crate::device::limit;
use crate::ffi::abi::{ibv_ah, ibv_pd, ibv_qp, ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_srq};
use crate::ffi::objects::{AhObject, ContextObject, Qp, QpObject, SrqObject, guard};
use crate::queues::Receives;
use crate::request::{
    Destination, Operation, Payload, ReceiveRequest, Remote, SendRequest, Sge, total,
};
use crate::states::State;

use super::pair::DATAGRAMS;

/// The bits of `ibv_send_flags`.
pub mod flag {
    /// Wait for all earlier reads and atomics.
    pub const FENCE: u32 = 1;
    /// Show the completion to the program.
    pub const SIGNALED: u32 = 1 << 1;
    /// Wake the receiver.
    pub const SOLICITED: u32 = 1 << 2;
    /// Copy the data when the request is posted.
    pub const INLINE: u32 = 1 << 3;
}

/// The pieces of a list. `None` if the list is too long, or missing.
///
/// # Safety
/// The list is null or has `count` entries.
pub unsafe fn sges(list: *const ibv_sge, count: usize, most: u32) -> Option<Vec<Sge>> {
    if count > most as usize || list.is_null() && count > 0 {
        return None;
    }
    let list = match count {
        0 => &[],
        // SAFETY: by the contract.
        _ => unsafe { slice::from_raw_parts(list, count) },
    };
    let sge = |sge: &ibv_sge| Sge { address: sge.addr, length: sge.length, key: sge.lkey };
    Some(list.iter().map(sge).collect())
}

/// Copies the bytes of inline pieces. They need no key.
///
/// # Safety
/// The program may read the pieces.
pub unsafe fn copy(sges: &[Sge]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(total(sges) as usize);
    for sge in sges.iter().filter(|sge| sge.length > 0) {
        let place = ptr::with_exposed_provenance(sge.address as usize);
        // SAFETY: by the contract.
        bytes.extend_from_slice(unsafe { slice::from_raw_parts(place, sge.length as usize) });
    }
    bytes
}

/// Converts a request of C.
unsafe fn send_request(own: &Qp, pd: *mut ibv_pd, wr: &ibv_send_wr) -> Result<SendRequest, c_int> {
    if own.made_from.qp_type == DATAGRAMS {
        // SAFETY: by the callers' contract.
        return unsafe { datagram(own, pd, wr) };
    }
    let immediate = Some(wr.imm_data);
    let address = wr.wr.remote_addr;
    let remote = Remote { address, key: wr.wr.compare_add_or_rkey as u32 };
    let word = Remote { address, key: wr.wr.atomic_rkey };
    let operation = match wr.opcode {
        0 => Operation::Write { remote, immediate: None },
        1 => Operation::Write { remote, immediate },
        2 => Operation::Send { immediate: None },
        3 => Operation::Send { immediate },
        4 => Operation::Read { remote },
        5 => {
            let (compare, swap) = (wr.wr.compare_add_or_rkey, wr.wr.swap);
            Operation::CompareAndSwap { remote: word, compare, swap }
        }
        6 => Operation::FetchAndAdd { remote: word, add: wr.wr.compare_add_or_rkey },
        7..=15 => return Err(libc::EOPNOTSUPP),
        _ => return Err(libc::EINVAL),
    };
    // SAFETY: by the callers' contract.
    unsafe { with_payload(own, wr, operation) }
}

/// Converts a request on a queue pair for datagrams.
unsafe fn datagram(own: &Qp, pd: *mut ibv_pd, wr: &ibv_send_wr) -> Result<SendRequest, c_int> {
    let immediate = match wr.opcode {
        2 => None,
        3 => Some(wr.imm_data),
        _ => return Err(libc::EINVAL),
    };
    let handle = ptr::with_exposed_provenance_mut(wr.wr.remote_addr as usize);
    let key = (wr.wr.compare_add_or_rkey >> 32) as u32;
    // SAFETY: by the callers' contract, it is an address handle that is not destroyed.
    let to = unsafe { destination(handle, pd, wr.wr.compare_add_or_rkey as u32, key) };
    let to = to.ok_or(libc::EINVAL)?;
    // SAFETY: by the callers' contract.
    unsafe { with_payload(own, wr, Operation::Datagram { to, immediate }) }
}

/// The receiver of a datagram. `None` if there is no address, or if it is of another protection domain than
/// the queue pair.
///
/// # Safety
/// The handle is null or not destroyed.
pub unsafe fn destination(
    ah: *mut ibv_ah,
    pd: *mut ibv_pd,
    queue_pair: u32,
    key: u32,
) -> Option<Destination> {
    // SAFETY: by the contract.
    let known = unsafe { AhObject::own(ah).filter(|_| (*ah).pd == pd) }?;
    Some(Destination { queue_pair, key, ..*known })
}

/// Converts the local part of a request of C.
unsafe fn with_payload(
    own: &Qp,
    wr: &ibv_send_wr,
    operation: Operation,
) -> Result<SendRequest, c_int> {
    let count = usize::try_from(wr.num_sge).map_err(|_| libc::EINVAL)?;
    // SAFETY: by the callers' contract.
    let pieces = unsafe { sges(wr.sg_list, count, own.made_from.cap.max_send_sge) };
    let pieces = pieces.ok_or(libc::EINVAL)?;
    let payload = if wr.send_flags & flag::INLINE != 0 {
        // Its pieces are targets, so the program may not be able to read them.
        if operation.fetches() {
            return Err(libc::EINVAL);
        }
        if total(&pieces) > u64::from(own.made_from.cap.max_inline_data) {
            return Err(libc::EINVAL);
        }
        // SAFETY: a program that posts data inline may read it.
        Payload::Inline(unsafe { copy(&pieces) })
    } else {
        Payload::Memory(pieces)
    };
    let request = SendRequest {
        id: wr.wr_id,
        operation,
        payload,
        fence: wr.send_flags & flag::FENCE != 0,
        signaled: wr.send_flags & flag::SIGNALED != 0 || own.made_from.sq_sig_all != 0,
        solicited: wr.send_flags & flag::SOLICITED != 0,
    };
    check(request)
}

/// Refuses requests that no NIC would accept.
pub fn check(mut request: SendRequest) -> Result<SendRequest, c_int> {
    let fetches = request.operation.fetches();
    match &mut request.payload {
        Payload::Inline(_) if fetches => return Err(libc::EINVAL),
        Payload::Inline(_) => {}
        Payload::Memory(pieces) => {
            let length = total(pieces);
            let most = match request.operation {
                Operation::Datagram { .. } => limit::DATAGRAM,
                _ => limit::MESSAGE,
            };
            if length > u64::from(most) {
                return Err(libc::EINVAL);
            }
            if request.operation.is_atomic() {
                if length < 8 || pieces[0].length < 8 {
                    return Err(libc::EINVAL);
                }
                pieces.truncate(1);
                pieces[0].length = 8;
            }
        }
    }
    Ok(request)
}

/// Hands all requests to the NIC, or none. Returns an error number.
pub fn hand_over(own: &Qp, qp: *mut ibv_qp, requests: Vec<SendRequest>) -> c_int {
    let state = State::from_code(own.state.load(Ordering::Relaxed));
    // In the error states, requests are flushed.
    use State::{Error, ReadyToSend, SendQueueDrained, SendQueueError};
    let takes = [ReadyToSend, SendQueueDrained, SendQueueError, Error].map(Some);
    if !takes.contains(&state) {
        return libc::EINVAL;
    }
    if !own.sends.post(requests) {
        return libc::ENOMEM;
    }
    // SAFETY: the queue pair exists, because `own` is a part of it, and its context is open.
    if let Some(context) = unsafe { ContextObject::own((*qp).context) } {
        context.nic.ring(own.number);
    }
    0
}

/// `post_send` of a context.
///
/// # Safety
/// The queue pair is null or not destroyed; requests are as in the header; `bad` is null or can be written.
pub unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad: *mut *mut ibv_send_wr,
) -> c_int {
    let mut at = wr;
    let act = || {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { QpObject::own(qp) }) else { return libc::EINVAL };
        // SAFETY: by the contract.
        while let Some(request) = unsafe { at.as_ref() } {
            // SAFETY: by the contract.
            let code = match unsafe { send_request(own, (*qp).pd, request) } {
                Ok(request) => hand_over(own, qp, vec![request]),
                Err(code) => code,
            };
            if code != 0 {
                return code;
            }
            at = request.next;
        }
        0
    };
    let code = guard(|| libc::EIO, act);
    if code != 0 && !bad.is_null() {
        // SAFETY: by the contract.
        unsafe { *bad = at };
    }
    code
}

unsafe fn receive(receives: &Receives, wr: *mut ibv_recv_wr, bad: *mut *mut ibv_recv_wr) -> c_int {
    let mut at = wr;
    let mut code = 0;
    // SAFETY: by the callers' contract.
    while let Some(request) = unsafe { at.as_ref() } {
        let count = usize::try_from(request.num_sge).unwrap_or(usize::MAX);
        // SAFETY: by the callers' contract.
        let sges = unsafe { sges(request.sg_list, count, receives.pieces) };
        let posted = sges.map(|sges| receives.post(ReceiveRequest { id: request.wr_id, sges }));
        code = match posted {
            Some(true) => 0,
            Some(false) => libc::ENOMEM,
            None => libc::EINVAL,
        };
        if code != 0 {
            break;
        }
        at = request.next;
    }
    if code != 0 && !bad.is_null() {
        // SAFETY: by the callers' contract.
        unsafe { *bad = at };
    }
    code
}

/// `post_recv` of a context.
///
/// # Safety
/// As for `post_send`.
pub unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    let act = || {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { QpObject::own(qp) }) else { return libc::EINVAL };
        let state = State::from_code(own.state.load(Ordering::Relaxed));
        if own.receives.is_shared() || state == Some(State::Reset) {
            if !bad.is_null() {
                // SAFETY: by the contract.
                unsafe { *bad = wr };
            }
            return libc::EINVAL;
        }
        // SAFETY: by the contract.
        let code = unsafe { receive(&own.receives, wr, bad) };
        // SAFETY: the queue pair is there, and its context is open.
        if let Some(context) = unsafe { ContextObject::own((*qp).context) } {
            context.nic.ring(own.number);
        }
        code
    };
    guard(|| libc::EIO, act)
}

/// `post_srq_recv` of a context.
///
/// # Safety
/// The queue is null or not destroyed; the others as for `post_send`.
pub unsafe extern "C" fn post_srq_recv(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    let act = || {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { SrqObject::own(srq) }) else { return libc::EINVAL };
        // SAFETY: by the contract.
        let code = unsafe { receive(own, wr, bad) };
        // SAFETY: the queue exists, and its context is open.
        if let Some(context) = unsafe { ContextObject::own((*srq).context) } {
            // Queue pairs that wait for a receive request are examined all the time, so it is enough to wake
            // the NIC. No queue pair has the number 0.
            context.nic.ring(0);
        }
        code
    };
    guard(|| libc::EIO, act)
}
