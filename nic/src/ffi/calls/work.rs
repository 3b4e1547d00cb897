//! `ibv_wr_*`: requests that several calls build up. Each thread has its own list until it completes it.

use std::ffi::{c_int, c_void};
use std::mem::take;

use crate::ffi::abi::{ibv_ah, ibv_data_buf, ibv_qp_ex, ibv_sge};
use crate::ffi::objects::{Qp, QpObject, WORK, guard};
use crate::request::{Operation, Payload, Remote, SendRequest, Sge, access, total};

use super::pair::DATAGRAMS;
use super::post::{check, copy, destination, flag, hand_over, sges};

/// The supported bits of `ibv_qp_create_send_ops_flags`.
pub const OPERATIONS: u64 = 0x7f | WITH_FLUSH | WITH_ATOMIC_WRITE;

/// `IBV_QP_EX_WITH_FLUSH`
const WITH_FLUSH: u64 = 1 << 11;
/// `IBV_QP_EX_WITH_ATOMIC_WRITE`
const WITH_ATOMIC_WRITE: u64 = 1 << 12;
/// The operations that no queue pair for datagrams has.
pub const CONNECTED: u64 = WITH_FLUSH | WITH_ATOMIC_WRITE;

/// Stores the functions in a new queue pair.
pub fn install(qp: &mut ibv_qp_ex) {
    qp.wr_start = Some(start);
    qp.wr_complete = Some(complete);
    qp.wr_abort = Some(abort);
    qp.wr_rdma_write = Some(write);
    qp.wr_rdma_write_imm = Some(write_imm);
    qp.wr_rdma_read = Some(read);
    qp.wr_send = Some(send);
    qp.wr_send_imm = Some(send_imm);
    qp.wr_atomic_cmp_swp = Some(compare_and_swap);
    qp.wr_atomic_fetch_add = Some(fetch_and_add);
    qp.wr_atomic_write = Some(atomic_write);
    qp.wr_flush = Some(flush);
    qp.wr_set_ud_addr = Some(set_ud_addr);
    qp.wr_set_sge = Some(set_sge);
    qp.wr_set_sge_list = Some(set_sge_list);
    qp.wr_set_inline_data = Some(set_inline_data);
    qp.wr_set_inline_data_list = Some(set_inline_data_list);
}

/// Forgets what this thread has collected for a queue pair that is destroyed.
pub fn forget(queue_pair: u32) {
    WORK.with_borrow_mut(|work| work.remove(&queue_pair));
}

unsafe fn own<'a>(qp: *mut ibv_qp_ex) -> Option<&'a Qp> {
    // SAFETY: programs have these functions from a queue pair that is there.
    unsafe { QpObject::own(qp.cast()) }
}

unsafe extern "C" fn start(qp: *mut ibv_qp_ex) {
    // SAFETY: programs have this function from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return };
    guard(|| (), || WORK.with_borrow_mut(|work| drop(work.insert(own.number, (Vec::new(), 0)))));
}

unsafe fn add(qp: *mut ibv_qp_ex, operation: Operation) {
    // SAFETY: as for `add_with`.
    unsafe { add_with(qp, operation, Payload::Memory(Vec::new())) }
}

unsafe fn add_with(qp: *mut ibv_qp_ex, operation: Operation, payload: Payload) {
    // SAFETY: programs have these functions from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return };
    if own.operations & made_for(&operation) == 0 {
        // SAFETY: as above.
        return unsafe { refuse(qp) };
    }
    // SAFETY: as above; the program sets these fields before it calls.
    let (id, flags) = unsafe { ((*qp).wr_id, (*qp).wr_flags) };
    let request = SendRequest {
        id,
        operation,
        payload,
        fence: flags & flag::FENCE != 0,
        signaled: flags & flag::SIGNALED != 0 || own.made_from.sq_sig_all != 0,
        solicited: flags & flag::SOLICITED != 0,
    };
    let push = || {
        WORK.with_borrow_mut(|work| work.entry(own.number).or_default().0.push(request));
    };
    guard(|| (), push);
}

/// What a program asks for when it creates the queue pair, to use this operation: a bit of
/// `ibv_qp_create_send_ops_flags`.
fn made_for(operation: &Operation) -> u64 {
    match operation {
        Operation::Write { immediate: None, .. } => 1,
        Operation::Write { .. } => 1 << 1,
        Operation::Send { immediate: None } | Operation::Datagram { immediate: None, .. } => 1 << 2,
        Operation::Send { .. } | Operation::Datagram { .. } => 1 << 3,
        Operation::Read { .. } => 1 << 4,
        Operation::CompareAndSwap { .. } => 1 << 5,
        Operation::FetchAndAdd { .. } => 1 << 6,
        Operation::Flush { .. } => WITH_FLUSH,
        Operation::AtomicWrite { .. } => WITH_ATOMIC_WRITE,
    }
}

/// Sets the payload of the last request that was added.
unsafe fn set(qp: *mut ibv_qp_ex, payload: impl FnOnce(&Qp) -> Option<Payload>) {
    // SAFETY: programs have these functions from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return };
    let act = || {
        let payload = payload(own);
        WORK.with_borrow_mut(|work| {
            let (requests, code) = work.entry(own.number).or_default();
            let last = requests.last_mut().filter(|last| {
                !matches!(last.operation, Operation::AtomicWrite { .. } | Operation::Flush { .. })
            });
            match (last, payload) {
                (Some(last), Some(payload)) => last.payload = payload,
                _ => *code = libc::EINVAL,
            }
        });
    };
    guard(|| (), act);
}

unsafe extern "C" fn complete(qp: *mut ibv_qp_ex) -> c_int {
    // SAFETY: programs have this function from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return libc::EINVAL };
    let act = || {
        let work = WORK.with_borrow_mut(|work| work.get_mut(&own.number).map(take));
        let Some((requests, code)) = work else { return libc::EINVAL };
        if code != 0 {
            return code;
        }
        let datagrams = own.made_from.qp_type == DATAGRAMS;
        let fits = |request: &SendRequest| {
            matches!(request.operation, Operation::Datagram { .. }) == datagrams
        };
        if !requests.iter().all(fits) {
            return libc::EINVAL;
        }
        match requests.into_iter().map(check).collect() {
            Ok(requests) => hand_over(own, qp.cast(), requests),
            Err(code) => code,
        }
    };
    guard(|| libc::EIO, act)
}

unsafe extern "C" fn abort(qp: *mut ibv_qp_ex) {
    // SAFETY: as for `start`.
    unsafe { start(qp) }
}

unsafe extern "C" fn write(qp: *mut ibv_qp_ex, key: u32, address: u64) {
    let remote = Remote { address, key };
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::Write { remote, immediate: None }) }
}

unsafe extern "C" fn write_imm(qp: *mut ibv_qp_ex, key: u32, address: u64, immediate: u32) {
    let remote = Remote { address, key };
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::Write { remote, immediate: Some(immediate) }) }
}

unsafe extern "C" fn read(qp: *mut ibv_qp_ex, key: u32, address: u64) {
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::Read { remote: Remote { address, key } }) }
}

unsafe extern "C" fn send(qp: *mut ibv_qp_ex) {
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::Send { immediate: None }) }
}

unsafe extern "C" fn send_imm(qp: *mut ibv_qp_ex, immediate: u32) {
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::Send { immediate: Some(immediate) }) }
}

unsafe extern "C" fn compare_and_swap(
    qp: *mut ibv_qp_ex,
    key: u32,
    address: u64,
    compare: u64,
    swap: u64,
) {
    let remote = Remote { address, key };
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::CompareAndSwap { remote, compare, swap }) }
}

unsafe extern "C" fn fetch_and_add(qp: *mut ibv_qp_ex, key: u32, address: u64, value: u64) {
    let remote = Remote { address, key };
    // SAFETY: as for `add`.
    unsafe { add(qp, Operation::FetchAndAdd { remote, add: value }) }
}

unsafe extern "C" fn atomic_write(qp: *mut ibv_qp_ex, key: u32, address: u64, word: *const c_void) {
    if word.is_null() {
        // SAFETY: as for `set`.
        return unsafe { refuse(qp) };
    }
    // SAFETY: the program's word has 8 bytes.
    let bytes = unsafe { word.cast::<[u8; 8]>().read_unaligned() };
    let operation = Operation::AtomicWrite { remote: Remote { address, key } };
    // SAFETY: as for `add_with`.
    unsafe { add_with(qp, operation, Payload::Inline(bytes.to_vec())) }
}

/// `IBV_FLUSH_GLOBAL` and `IBV_FLUSH_PERSISTENT`, and the rights that they take.
const PLACEMENTS: [(u8, u32); 2] = [(1, access::FLUSH_GLOBAL), (2, access::FLUSH_PERSISTENT)];

unsafe extern "C" fn flush(
    qp: *mut ibv_qp_ex,
    key: u32,
    address: u64,
    length: usize,
    placements: u8,
    level: u8,
) {
    let taken = PLACEMENTS.iter().filter(|(placement, _)| placements & placement != 0);
    let needs = taken.fold(0, |needs, (_, right)| needs | right);
    let length = match level {
        0 => Some(length as u64),
        _ => None,
    };
    // SAFETY: as for `set`.
    unsafe {
        match placements {
            1..=3 if level <= 1 => {
                let remote = Remote { address, key };
                add(qp, Operation::Flush { remote, length, needs });
            }
            _ => refuse(qp),
        }
    }
}

/// Lets the requests of this list fail.
unsafe fn refuse(qp: *mut ibv_qp_ex) {
    // SAFETY: programs have these functions from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return };
    let act = || WORK.with_borrow_mut(|work| work.entry(own.number).or_default().1 = libc::EINVAL);
    guard(|| (), act);
}

unsafe extern "C" fn set_ud_addr(qp: *mut ibv_qp_ex, ah: *mut ibv_ah, number: u32, key: u32) {
    // SAFETY: programs have this function from a queue pair that is there.
    let Some(own) = (unsafe { own(qp) }) else { return };
    // SAFETY: a program that names an address handle has it.
    let to = unsafe { destination(ah, (*qp).qp_base.pd, number, key) };
    let act = || {
        WORK.with_borrow_mut(|work| {
            let (requests, code) = work.entry(own.number).or_default();
            match (requests.last_mut().map(|last| &mut last.operation), to) {
                (Some(operation), Some(to)) if own.made_from.qp_type == DATAGRAMS => {
                    let Operation::Send { immediate } = *operation else {
                        return *code = libc::EINVAL;
                    };
                    *operation = Operation::Datagram { to, immediate };
                }
                _ => *code = libc::EINVAL,
            }
        });
    };
    guard(|| (), act);
}

unsafe extern "C" fn set_sge(qp: *mut ibv_qp_ex, key: u32, address: u64, length: u32) {
    let pieces = vec![Sge { address, length, key }];
    // SAFETY: as for `set`.
    unsafe { set(qp, |_| Some(Payload::Memory(pieces))) }
}

unsafe extern "C" fn set_sge_list(qp: *mut ibv_qp_ex, count: usize, list: *const ibv_sge) {
    // SAFETY: as for `set`; the program's list has this many entries.
    unsafe {
        set(qp, |own| sges(list, count, own.made_from.cap.max_send_sge).map(Payload::Memory));
    }
}

/// A payload that is copied now (inline).
unsafe fn inline(own: &Qp, pieces: &[Sge]) -> Option<Payload> {
    let fits = total(pieces) <= u64::from(own.made_from.cap.max_inline_data);
    // SAFETY: a program that posts data inline may read it.
    fits.then(|| Payload::Inline(unsafe { copy(pieces) }))
}

fn piece(address: *mut c_void, length: usize) -> Sge {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    Sge { address: address.expose_provenance() as u64, length, key: 0 }
}

unsafe extern "C" fn set_inline_data(qp: *mut ibv_qp_ex, address: *mut c_void, length: usize) {
    // SAFETY: as for `set` and `inline`.
    unsafe { set(qp, |own| inline(own, &[piece(address, length)])) }
}

unsafe extern "C" fn set_inline_data_list(
    qp: *mut ibv_qp_ex,
    count: usize,
    list: *const ibv_data_buf,
) {
    if list.is_null() && count > 0 {
        // SAFETY: as for `set`.
        return unsafe { set(qp, |_| None) };
    }
    let pieces = (0..count).map(|index| {
        // SAFETY: the program's list has this many entries.
        let buffer = unsafe { *list.add(index) };
        piece(buffer.addr, buffer.length)
    });
    let pieces: Vec<Sge> = pieces.collect();
    // SAFETY: as for `set` and `inline`.
    unsafe { set(qp, |own| inline(own, &pieces)) }
}
