//! Contexts: opening a device, queries, and asynchronous events.

use std::ffi::{c_int, c_void};
use std::mem::{offset_of, zeroed};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::device::{self, limit};
use crate::ffi::Bell;
use crate::ffi::abi::{
    ibv_async_event, ibv_context, ibv_device, ibv_device_attr, ibv_device_attr_ex, ibv_gid,
    ibv_gid_entry, ibv_port_attr, verbs_context,
};
use crate::ffi::objects::{Context, ContextObject, guard, guard_code, guard_new, set_errno};
use crate::nic::{config, nic};
use crate::queues::Channel;

use super::device::{number, text};
use super::{completion, pair, post, shared};

/// `ibv_open_device`
pub extern "C" fn open_device(device: *mut ibv_device) -> *mut ibv_context {
    guard_new(|| {
        let number = number(device).ok_or(libc::EINVAL)?;
        let nic = nic().ok_or(libc::ENODEV)?;
        let bell = Bell::new(true).map_err(|_| libc::EMFILE)?;
        // SAFETY: all of it may be zero: integers, null pointers, absent functions.
        let mut verbs: verbs_context = unsafe { zeroed() };
        verbs.sz = size_of::<verbs_context>();
        verbs.query_port = Some(query_port_ex);
        verbs.query_device_ex = Some(query_device_ex);
        verbs.create_cq_ex = Some(completion::create_cq_ex);
        verbs.create_qp_ex = Some(pair::create_qp_ex);
        verbs.create_srq_ex = Some(shared::create_srq_ex);
        let context = &mut verbs.context;
        context.device = device;
        context.cmd_fd = -1;
        context.async_fd = bell.fd();
        context.num_comp_vectors = 1;
        context.mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        context.abi_compat = ptr::without_provenance_mut(usize::MAX);
        context.ops.poll_cq = Some(completion::poll_cq);
        context.ops.req_notify_cq = Some(completion::req_notify_cq);
        context.ops.post_send = Some(post::post_send);
        context.ops.post_recv = Some(post::post_recv);
        context.ops.post_srq_recv = Some(post::post_srq_recv);
        let channel = Arc::new(Channel::new(bell));
        let own = Context { nic, device: number, channel, objects: AtomicUsize::new(0) };
        Ok(ContextObject { c: verbs, own }.give())
    })
}

/// `ibv_close_device`
///
/// # Safety
/// The context is null or an open one.
pub unsafe extern "C" fn close_device(context: *mut ibv_context) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { ContextObject::own(context) }) else { return libc::EINVAL };
        // Objects that the program has not destroyed may still be used, and they refer to the context.
        if own.objects.load(Ordering::SeqCst) == 0 {
            // SAFETY: by the contract, and nothing refers to it.
            drop(unsafe { ContextObject::take(context) });
        }
        0
    })
}

fn attributes(device: u16) -> ibv_device_attr {
    let most = c_int::MAX >> 8;
    let guid = u64::from_ne_bytes(device::guid(config().host, device));
    // SAFETY: all integers.
    let mut attr: ibv_device_attr = unsafe { zeroed() };
    attr.fw_ver = text(env!("CARGO_PKG_VERSION"));
    (attr.node_guid, attr.sys_image_guid) = (guid, guid);
    attr.max_mr_size = u64::MAX;
    attr.page_size_cap = 0xffff_f000;
    attr.vendor_id = device::VENDOR_ID;
    attr.vendor_part_id = 1;
    attr.max_qp = limit::QUEUE_PAIRS as c_int;
    attr.max_qp_wr = limit::REQUESTS as c_int;
    // IBV_DEVICE_CURR_QP_STATE_MOD, IBV_DEVICE_SYS_IMAGE_GUID, IBV_DEVICE_RC_RNR_NAK_GEN,
    // IBV_DEVICE_SRQ_RESIZE
    attr.device_cap_flags = 1 << 7 | 1 << 11 | 1 << 12;
    (attr.max_sge, attr.max_sge_rd) = (limit::PIECES as c_int, limit::PIECES as c_int);
    (attr.max_cq, attr.max_cqe) = (most, limit::COMPLETIONS as c_int);
    (attr.max_mr, attr.max_pd) = (most, most);
    let fetches = c_int::from(limit::FETCHES);
    (attr.max_qp_rd_atom, attr.max_qp_init_rd_atom) = (fetches, fetches);
    attr.max_res_rd_atom = fetches * attr.max_qp;
    attr.atomic_cap = 1; // IBV_ATOMIC_HCA
    (attr.max_srq, attr.max_ah) = (most, most);
    attr.max_srq_wr = limit::REQUESTS as c_int;
    attr.max_srq_sge = limit::PIECES as c_int;
    attr.max_pkeys = 1;
    attr.local_ca_ack_delay = 15;
    attr.phys_port_cnt = config().ports as u8;
    attr
}

/// `ibv_query_device`
///
/// # Safety
/// The context is null or an open one; `out` is null or can be written.
pub unsafe extern "C" fn query_device(
    context: *mut ibv_context,
    out: *mut ibv_device_attr,
) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return libc::EINVAL };
    if out.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: by the contract.
    unsafe { out.write(attributes(own.device)) };
    0
}

/// `query_device_ex` of a context.
///
/// # Safety
/// As for `query_device`; `out` has `size` bytes.
pub unsafe extern "C" fn query_device_ex(
    context: *mut ibv_context,
    _input: *const c_void,
    out: *mut ibv_device_attr_ex,
    size: usize,
) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return libc::EINVAL };
    if out.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: all integers.
    let mut attr: ibv_device_attr_ex = unsafe { zeroed() };
    attr.orig_attr = attributes(own.device);
    attr.phys_port_cnt_ex = u32::from(config().ports);
    // IB_UVERBS_DEVICE_FLUSH_GLOBAL, IB_UVERBS_DEVICE_FLUSH_PERSISTENT, IB_UVERBS_DEVICE_ATOMIC_WRITE
    attr.device_cap_flags_ex = u64::from(attr.orig_attr.device_cap_flags) | 0b111 << 38;
    let size = size.min(size_of::<ibv_device_attr_ex>());
    // SAFETY: both have this many bytes.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&attr).cast::<u8>(), out.cast(), size) };
    0
}

fn port(device: u16, port: u32) -> Option<ibv_port_attr> {
    let number = device::port_number(config(), device, port)?;
    let ethernet = config().ethernet;
    // SAFETY: all integers.
    let mut attr: ibv_port_attr = unsafe { zeroed() };
    attr.state = 4; // IBV_PORT_ACTIVE
    (attr.max_mtu, attr.active_mtu) = (5, 5); // IBV_MTU_4096
    attr.gid_tbl_len = limit::GIDS as c_int;
    attr.max_msg_sz = limit::MESSAGE;
    attr.pkey_tbl_len = 1;
    attr.lid = device::lid(config(), number);
    attr.sm_lid = u16::from(!ethernet);
    attr.max_vl_num = 1;
    attr.subnet_timeout = 18;
    attr.active_width = 2; // 4X
    attr.active_speed = 32; // EDR
    attr.phys_state = 5; // LinkUp
    attr.link_layer = if ethernet { 2 } else { 1 };
    attr.flags = u8::from(ethernet); // IBV_QPF_GRH_REQUIRED
    Some(attr)
}

unsafe fn copy_port(context: *mut ibv_context, number: u8, out: *mut u8, size: usize) -> c_int {
    // SAFETY: by the callers' contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return libc::EINVAL };
    let Some(attr) = port(own.device, u32::from(number)) else { return libc::EINVAL };
    if out.is_null() {
        return libc::EINVAL;
    }
    let size = size.min(size_of::<ibv_port_attr>());
    // SAFETY: both have this many bytes.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&attr).cast(), out, size) };
    0
}

/// `query_port` of a context.
///
/// # Safety
/// The context is null or an open one; `out` is null or has `size` bytes.
pub unsafe extern "C" fn query_port_ex(
    context: *mut ibv_context,
    number: u8,
    out: *mut ibv_port_attr,
    size: usize,
) -> c_int {
    // SAFETY: by the contract.
    unsafe { copy_port(context, number, out.cast(), size) }
}

/// `ibv_query_port`, the function. Programs compiled with old headers have a shorter structure, without the
/// last two fields.
///
/// # Safety
/// As for `query_port_ex`, with the shorter structure.
pub unsafe extern "C" fn query_port(
    context: *mut ibv_context,
    number: u8,
    out: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: by the contract.
    unsafe { copy_port(context, number, out.cast(), offset_of!(ibv_port_attr, flags)) }
}

/// `ibv_query_gid`
///
/// # Safety
/// The context is null or an open one; `out` is null or can be written.
pub unsafe extern "C" fn query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    out: *mut ibv_gid,
) -> c_int {
    // SAFETY: by the contract.
    let own = unsafe { ContextObject::own(context) };
    let number = own.and_then(|own| device::port_number(config(), own.device, u32::from(port)));
    let Some(number) = number.filter(|_| index == 0 && !out.is_null()) else {
        set_errno(libc::EINVAL);
        return -1;
    };
    // SAFETY: by the contract.
    unsafe { out.write(ibv_gid { raw: device::gid(config(), config().host, number) }) };
    0
}

fn gid_entry(device: u16, port: u32) -> Option<ibv_gid_entry> {
    let number = device::port_number(config(), device, port)?;
    Some(ibv_gid_entry {
        gid: ibv_gid { raw: device::gid(config(), config().host, number) },
        gid_index: 0,
        port_num: port,
        gid_type: gid_type(),
        ndev_ifindex: 0,
    })
}

/// `IBV_GID_TYPE_IB` or `IBV_GID_TYPE_ROCE_V2`.
fn gid_type() -> u32 {
    if config().ethernet { 2 } else { 0 }
}

/// `_ibv_query_gid_ex`
///
/// # Safety
/// The context is null or an open one; `out` is null or has `size` bytes.
pub unsafe extern "C" fn query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    out: *mut ibv_gid_entry,
    flags: u32,
    size: usize,
) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return libc::EINVAL };
    if out.is_null() || flags != 0 || size < size_of::<ibv_gid_entry>() {
        return libc::EINVAL;
    }
    match gid_entry(own.device, port) {
        Some(entry) if index == 0 => {
            // SAFETY: by the contract.
            unsafe { out.write(entry) };
            0
        }
        Some(_) => libc::ENODATA,
        None => libc::EINVAL,
    }
}

/// `_ibv_query_gid_table`
///
/// # Safety
/// The context is null or an open one; `out` has `most` entries of `size` bytes.
pub unsafe extern "C" fn query_gid_table(
    context: *mut ibv_context,
    out: *mut ibv_gid_entry,
    most: usize,
    flags: u32,
    size: usize,
) -> isize {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return -libc::EINVAL as isize };
    let ports = usize::from(config().ports);
    if out.is_null() || flags != 0 || size < size_of::<ibv_gid_entry>() || most < ports {
        return -libc::EINVAL as isize;
    }
    for (index, entry) in
        (1..=ports as u32).filter_map(|port| gid_entry(own.device, port)).enumerate()
    {
        // SAFETY: there are at least as many entries as ports.
        unsafe { out.byte_add(index * size).write(entry) };
    }
    ports as isize
}

/// `ibv_query_gid_type`, used by the tools of libibverbs.
///
/// # Safety
/// `out` is null or can be written.
pub unsafe extern "C" fn query_gid_type(
    _context: *mut ibv_context,
    _port: u8,
    index: u32,
    out: *mut u32,
) -> c_int {
    if index != 0 || out.is_null() {
        set_errno(libc::EINVAL);
        return -1;
    }
    // In this function, RoCE versions are 0 for "IB or version 1" and 1 for version 2.
    // SAFETY: by the contract.
    unsafe { *out = u32::from(config().ethernet) };
    0
}

/// `ibv_query_pkey`: there is only the default partition.
///
/// # Safety
/// `out` is null or can be written.
pub unsafe extern "C" fn query_pkey(
    _context: *mut ibv_context,
    port: u8,
    index: c_int,
    out: *mut u16,
) -> c_int {
    if index != 0 || out.is_null() || device::port_number(config(), 0, u32::from(port)).is_none() {
        set_errno(libc::EINVAL);
        return -1;
    }
    // SAFETY: by the contract.
    unsafe { *out = u16::MAX };
    0
}

/// `ibv_get_pkey_index`
pub extern "C" fn get_pkey_index(_context: *mut ibv_context, _port: u8, key: u16) -> c_int {
    if key == u16::MAX { 0 } else { -1 }
}

/// `ibv_get_async_event`
///
/// # Safety
/// The context is null or an open one; `out` is null or can be written.
pub unsafe extern "C-unwind" fn get_async_event(
    context: *mut ibv_context,
    out: *mut ibv_async_event,
) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { ContextObject::own(context) }) else { return -1 };
    if out.is_null() {
        return -1;
    }
    loop {
        if !own.channel.bell.hear() {
            return -1;
        }
        if let Some(event) = guard(|| None, || own.channel.next()) {
            let element = ptr::with_exposed_provenance_mut(event.object);
            // SAFETY: by the contract.
            unsafe { out.write(ibv_async_event { element, event_type: event.code }) };
            return 0;
        }
    }
}

/// `ibv_ack_async_event`: does nothing, because nothing waits for acknowledgements.
pub extern "C" fn ack_async_event(_event: *mut ibv_async_event) {}
