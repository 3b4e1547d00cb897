//! Completion channels and completion queues.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::device::{self, limit};
use crate::ffi::Bell;
use crate::ffi::abi::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_cq_ex, ibv_cq_init_attr_ex, ibv_wc,
};
use crate::ffi::objects::{
    ChannelObject, ContextObject, Cq, CqObject, guard, guard_code, guard_new,
};
use crate::nic::config;
use crate::queues::{Channel, CompletionQueue, lock};
use crate::request::Completion;

/// `ibv_create_comp_channel`
///
/// # Safety
/// The context is null or an open one.
pub unsafe extern "C" fn create_comp_channel(context: *mut ibv_context) -> *mut ibv_comp_channel {
    guard_new(|| {
        // SAFETY: by the contract.
        let own = unsafe { ContextObject::own(context) }.ok_or(libc::EINVAL)?;
        let bell = Bell::new(true).map_err(|_| libc::EMFILE)?;
        own.objects.fetch_add(1, Ordering::SeqCst);
        let c = ibv_comp_channel { context, fd: bell.fd(), refcnt: 0 };
        Ok(ChannelObject { c, own: Arc::new(Channel::new(bell)) }.give())
    })
}

/// `ibv_destroy_comp_channel`
///
/// # Safety
/// The channel is null or not destroyed.
pub unsafe extern "C" fn destroy_comp_channel(channel: *mut ibv_comp_channel) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { ChannelObject::own(channel) }) else { return libc::EINVAL };
        if Arc::strong_count(own) > 1 {
            return libc::EBUSY;
        }
        // SAFETY: the channel is there, and its context is open.
        if let Some(context) = unsafe { ContextObject::own((*channel).context) } {
            context.objects.fetch_sub(1, Ordering::SeqCst);
        }
        // SAFETY: by the contract, and no completion queue uses it.
        drop(unsafe { ChannelObject::take(channel) });
        0
    })
}

/// Creates a completion queue.
unsafe fn create(
    context: *mut ibv_context,
    cqe: u32,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: u32,
    single_threaded: bool,
) -> Result<*mut ibv_cq, c_int> {
    // SAFETY: by the callers' contract.
    let own = unsafe { ContextObject::own(context) }.ok_or(libc::EINVAL)?;
    if !(1..=limit::COMPLETIONS).contains(&cqe) || vector != 0 {
        return Err(libc::EINVAL);
    }
    // SAFETY: all of it may be zero: integers, null pointers, absent functions.
    let mut c: ibv_cq_ex = unsafe { zeroed() };
    (c.base.context, c.base.channel, c.base.cq_context) = (context, channel, cq_context);
    c.base.cqe = cqe as c_int;
    c.base.mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    c.base.cond = libc::PTHREAD_COND_INITIALIZER;
    // SAFETY: by the callers' contract.
    let channel = unsafe { ChannelObject::own(channel) };
    let queue = CompletionQueue::new(cqe as usize, channel.map(Arc::clone));
    let queue = Arc::new(if single_threaded { queue.for_one_thread() } else { queue });
    let polled = (!single_threaded).then(AtomicBool::default);
    let known = Cq { queue: Arc::clone(&queue), current: Mutex::new(None), polled };
    let cq = CqObject { c, own: known }.give();
    queue.belongs_to(cq.expose_provenance());
    own.objects.fetch_add(1, Ordering::SeqCst);
    Ok(cq)
}

/// `ibv_create_cq`
///
/// # Safety
/// The context is null or open, the channel null or not destroyed.
pub unsafe extern "C" fn create_cq(
    context: *mut ibv_context,
    cqe: c_int,
    cq_context: *mut c_void,
    channel: *mut ibv_comp_channel,
    vector: c_int,
) -> *mut ibv_cq {
    // SAFETY: by the contract.
    guard_new(|| unsafe {
        create(context, cqe.try_into().unwrap_or(0), cq_context, channel, vector as u32, false)
    })
}

/// The supported fields of an extended completion queue's entries: all except time stamps and fields of other
/// transports.
const READABLE: u64 = 0x7f;

/// `IBV_CREATE_CQ_ATTR_SINGLE_THREADED`
const SINGLE_THREADED: u32 = 1;

/// `create_cq_ex` of a context.
///
/// # Safety
/// The context is null or open; the attributes are null or as in the header.
pub unsafe extern "C" fn create_cq_ex(
    context: *mut ibv_context,
    attr: *mut ibv_cq_init_attr_ex,
) -> *mut ibv_cq_ex {
    guard_new(|| {
        // SAFETY: by the contract.
        let attr = unsafe { attr.as_ref() }.ok_or(libc::EINVAL)?;
        let flags = if attr.comp_mask & 1 != 0 { attr.flags } else { 0 };
        if attr.wc_flags & !READABLE != 0 || attr.comp_mask & !1 != 0 || flags & !3 != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let single_threaded = flags & SINGLE_THREADED != 0;
        let (cqe, cq_context, channel) = (attr.cqe, attr.cq_context, attr.channel);
        // SAFETY: by the contract.
        let cq = unsafe {
            create(context, cqe, cq_context, channel, attr.comp_vector, single_threaded)?
        };
        let cq: *mut ibv_cq_ex = cq.cast();
        // SAFETY: it was just made, and nothing else has it yet.
        let c = unsafe { &mut *cq };
        c.start_poll = Some(start_poll);
        c.next_poll = Some(next_poll);
        c.end_poll = Some(end_poll);
        c.read_opcode = Some(read_opcode);
        c.read_vendor_err = Some(read_nothing);
        c.read_byte_len = Some(read_byte_len);
        c.read_imm_data = Some(read_imm_data);
        c.read_qp_num = Some(read_qp_num);
        c.read_src_qp = Some(read_src_qp);
        c.read_wc_flags = Some(read_wc_flags);
        c.read_slid = Some(read_slid);
        c.read_sl = Some(read_no_byte);
        c.read_dlid_path_bits = Some(read_no_byte);
        Ok(cq)
    })
}

/// `ibv_destroy_cq`
///
/// # Safety
/// The queue is null or not destroyed.
pub unsafe extern "C" fn destroy_cq(cq: *mut ibv_cq) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { CqObject::own(cq) }) else { return libc::EINVAL };
        if Arc::strong_count(&own.queue) > 1 {
            return libc::EBUSY;
        }
        // SAFETY: the queue is there; its context is open, and its channel null or not destroyed.
        unsafe {
            if let Some(context) = ContextObject::own((*cq).context) {
                context.objects.fetch_sub(1, Ordering::SeqCst);
                context.channel.forget(|event| event.object == cq.addr());
            }
            if let Some(channel) = ChannelObject::own((*cq).channel) {
                channel.forget(|object| *object == cq.addr());
            }
            drop(CqObject::take(cq));
        }
        0
    })
}

/// `ibv_resize_cq`
///
/// # Safety
/// The queue is null or not destroyed.
pub unsafe extern "C" fn resize_cq(cq: *mut ibv_cq, cqe: c_int) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { CqObject::own(cq) }) else { return libc::EINVAL };
    let asked = u32::try_from(cqe).ok().filter(|cqe| (1..=limit::COMPLETIONS).contains(cqe));
    match asked {
        Some(asked) if own.queue.resize(asked as usize) => {
            // SAFETY: the queue is there.
            unsafe { (*cq).cqe = cqe };
            0
        }
        _ => libc::EINVAL,
    }
}

fn entry(completion: Completion) -> ibv_wc {
    ibv_wc {
        wr_id: completion.id,
        status: completion.status as c_int,
        opcode: completion.opcode,
        vendor_err: 0,
        byte_len: completion.bytes,
        imm_data: completion.immediate.unwrap_or(0),
        qp_num: completion.queue_pair,
        src_qp: completion.sender.map_or(0, |sender| sender.queue_pair),
        wc_flags: flags(&completion),
        pkey_index: 0,
        slid: lid(&completion),
        sl: 0,
        dlid_path_bits: 0,
    }
}

/// `IBV_WC_GRH` and `IBV_WC_WITH_IMM`
fn flags(completion: &Completion) -> u32 {
    let global = completion.sender.is_some_and(|sender| sender.global);
    u32::from(global) | u32::from(completion.immediate.is_some()) << 1
}

/// The local identifier of a datagram's sender.
fn lid(completion: &Completion) -> u16 {
    completion.sender.map_or(0, |sender| device::lid(config(), sender.port))
}

/// Called if there is no completion: the NIC and other threads may need the core.
fn wait(context: *mut ibv_context) {
    // SAFETY: callers have it from a completion queue that is there.
    if let Some(own) = unsafe { ContextObject::own(context) } {
        guard(|| (), || own.nic.help());
    }
}

/// `poll_cq` of a context. If there is no completion, the thread helps the NIC, which may need the core.
///
/// # Safety
/// The queue is null or not destroyed; `out` has `most` entries.
pub unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, most: c_int, out: *mut ibv_wc) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { CqObject::own(cq) }) else { return -libc::EINVAL };
    let Ok(most) = usize::try_from(most) else { return -libc::EINVAL };
    if out.is_null() && most > 0 {
        return -libc::EINVAL;
    }
    // SAFETY: there are `most` entries, and `index` is smaller.
    let write = |index, completion| unsafe { out.add(index).write(entry(completion)) };
    let found = own.queue.poll(most, write);
    if found == 0 {
        // SAFETY: the queue is there, and its context is open.
        wait(unsafe { (*cq).context });
    }
    found as c_int
}

/// `req_notify_cq` of a context.
///
/// # Safety
/// The queue is null or not destroyed.
pub unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { CqObject::own(cq) }) else { return libc::EINVAL };
    own.queue.arm(solicited_only != 0);
    0
}

/// `ibv_get_cq_event`
///
/// # Safety
/// The channel is null or not destroyed; the others are null or can be written.
pub unsafe extern "C-unwind" fn get_cq_event(
    channel: *mut ibv_comp_channel,
    cq: *mut *mut ibv_cq,
    cq_context: *mut *mut c_void,
) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ChannelObject::own(channel) }) else { return -1 };
    if cq.is_null() || cq_context.is_null() {
        return -1;
    }
    loop {
        if !own.bell.hear() {
            return -1;
        }
        if let Some(object) = guard(|| None, || own.next()) {
            let object: *mut ibv_cq = ptr::with_exposed_provenance_mut(object);
            // SAFETY: events of a destroyed queue are forgotten, so this one is there.
            unsafe {
                *cq = object;
                *cq_context = (*object).cq_context;
            }
            return 0;
        }
    }
}

/// `ibv_ack_cq_events`: does nothing, because nothing waits for acknowledgements.
pub extern "C" fn ack_cq_events(_cq: *mut ibv_cq, _count: u32) {}

/// `ibv_start_poll`
unsafe extern "C" fn start_poll(cq: *mut ibv_cq_ex, attr: *mut u32) -> c_int {
    // SAFETY: the header's structure is one mask.
    if unsafe { attr.as_ref() }.is_some_and(|mask| *mask != 0) {
        return libc::EINVAL;
    }
    // SAFETY: the program has the queue from `create_cq_ex`.
    let Some(own) = (unsafe { CqObject::own(cq.cast()) }) else { return libc::EINVAL };
    if let Some(polled) = &own.polled {
        while polled.swap(true, Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
    // SAFETY: as for `next_poll`.
    let found = unsafe { next(cq, own) };
    if !found {
        end(own);
        // SAFETY: as above.
        wait(unsafe { (*cq).base.context });
        return libc::ENOENT;
    }
    0
}

/// Lets other threads poll.
fn end(own: &Cq) {
    if let Some(polled) = &own.polled {
        polled.store(false, Ordering::Release);
    }
}

/// `ibv_next_poll`
unsafe extern "C" fn next_poll(cq: *mut ibv_cq_ex) -> c_int {
    // SAFETY: the program has the queue from `create_cq_ex`.
    let Some(own) = (unsafe { CqObject::own(cq.cast()) }) else { return libc::EINVAL };
    // SAFETY: as above.
    let found = unsafe { next(cq, own) };
    // Others may wait for the end of this poll, so it does not wait.
    if found { 0 } else { libc::ENOENT }
}

/// Takes the next completion. Returns false if there is none.
unsafe fn next(cq: *mut ibv_cq_ex, own: &Cq) -> bool {
    let mut current = None;
    own.queue.poll(1, |_, completion| current = Some(completion));
    let Some(completion) = current else { return false };
    *lock(&own.current) = current;
    // SAFETY: the queue is there; these fields belong to the thread that polls.
    unsafe {
        (*cq).status = completion.status as c_int;
        (*cq).wr_id = completion.id;
    }
    true
}

/// `ibv_end_poll`
unsafe extern "C" fn end_poll(cq: *mut ibv_cq_ex) {
    // SAFETY: the program has the queue from `create_cq_ex`.
    if let Some(own) = unsafe { CqObject::own(cq.cast()) } {
        end(own);
    }
}

unsafe fn current(cq: *mut ibv_cq_ex) -> Option<Completion> {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { CqObject::own(cq.cast()) }.and_then(|own| *lock(&own.current))
}

unsafe extern "C" fn read_opcode(cq: *mut ibv_cq_ex) -> c_int {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.map_or(0, |completion| completion.opcode)
}

unsafe extern "C" fn read_byte_len(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.map_or(0, |completion| completion.bytes)
}

unsafe extern "C" fn read_imm_data(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.and_then(|completion| completion.immediate).unwrap_or(0)
}

unsafe extern "C" fn read_qp_num(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.map_or(0, |completion| completion.queue_pair)
}

unsafe extern "C" fn read_src_qp(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    let sender = unsafe { current(cq) }.and_then(|completion| completion.sender);
    sender.map_or(0, |sender| sender.queue_pair)
}

unsafe extern "C" fn read_slid(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.map_or(0, |completion| u32::from(lid(&completion)))
}

unsafe extern "C" fn read_wc_flags(cq: *mut ibv_cq_ex) -> u32 {
    // SAFETY: the program has the queue from `create_cq_ex`.
    unsafe { current(cq) }.map_or(0, |completion| flags(&completion))
}

unsafe extern "C" fn read_nothing(_cq: *mut ibv_cq_ex) -> u32 {
    0
}

unsafe extern "C" fn read_no_byte(_cq: *mut ibv_cq_ex) -> u8 {
    0
}

/// The queue of a program's completion queue object. `None` for null.
///
/// # Safety
/// The queue is null or not destroyed.
pub unsafe fn queue(cq: *mut ibv_cq) -> Option<Arc<CompletionQueue>> {
    // SAFETY: by the contract.
    unsafe { CqObject::own(cq) }.map(|own| Arc::clone(&own.queue))
}
