//! Queue pairs: creation, queries and destruction.

use std::ffi::c_int;
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use crate::device::limit;
use crate::engine::pair::{Pair, Path, Requester, Responder};
use crate::ffi::abi::{
    ibv_context, ibv_pd, ibv_qp, ibv_qp_attr, ibv_qp_cap, ibv_qp_ex, ibv_qp_init_attr,
    ibv_qp_init_attr_ex,
};
use crate::ffi::objects::{ContextObject, Qp, QpObject, SrqObject, guard_code, guard_new};
use crate::nic::Owner;
use crate::queues::{Receives, Sends, lock};
use crate::states::State;

use super::memory::domain;
use super::{completion, work};

/// `IBV_QPT_RC`
const RELIABLE_CONNECTION: c_int = 2;
/// `IBV_QPT_UD`
pub const DATAGRAMS: c_int = 4;
/// `IBV_QP_INIT_ATTR_PD`
const WITH_DOMAIN: u32 = 1;
/// `IBV_QP_INIT_ATTR_CREATE_FLAGS`
const WITH_FLAGS: u32 = 1 << 2;
/// `IBV_QP_INIT_ATTR_SEND_OPS_FLAGS`
const WITH_OPERATIONS: u32 = 1 << 6;

/// The capacities that a queue pair gets for the requested ones.
fn capacities(asked: &ibv_qp_cap, shared: bool) -> Result<ibv_qp_cap, c_int> {
    let too_much = asked.max_send_wr > limit::REQUESTS
        || asked.max_recv_wr > limit::REQUESTS
        || asked.max_send_sge > limit::PIECES
        || asked.max_recv_sge > limit::PIECES
        || asked.max_inline_data > limit::INLINE;
    if too_much {
        return Err(libc::EINVAL);
    }
    Ok(ibv_qp_cap {
        max_send_sge: asked.max_send_sge.max(1),
        max_recv_wr: if shared { 0 } else { asked.max_recv_wr },
        max_recv_sge: if shared { 0 } else { asked.max_recv_sge },
        ..*asked
    })
}

unsafe fn create(
    pd: *mut ibv_pd,
    attr: &mut ibv_qp_init_attr,
    operations: Option<u64>,
) -> Result<*mut ibv_qp, c_int> {
    // SAFETY: by the callers' contract.
    let (own, context) = unsafe { domain(pd) }.ok_or(libc::EINVAL)?;
    if ![RELIABLE_CONNECTION, DATAGRAMS].contains(&attr.qp_type) {
        return Err(libc::EOPNOTSUPP);
    }
    // SAFETY: by the callers' contract.
    let cqs = unsafe { (completion::queue(attr.send_cq), completion::queue(attr.recv_cq)) };
    let (Some(send_cq), Some(receive_cq)) = cqs else { return Err(libc::EINVAL) };
    // SAFETY: by the callers' contract.
    let shared = unsafe { SrqObject::own(attr.srq) };
    attr.cap = capacities(&attr.cap, shared.is_some())?;
    let sends = Arc::new(Sends::new(attr.cap.max_send_wr as usize, Arc::clone(&send_cq)));
    let receives = shared.map_or_else(
        || {
            let (requests, pieces) = (attr.cap.max_recv_wr as usize, attr.cap.max_recv_sge);
            Arc::new(Receives::new(requests, pieces, None))
        },
        Arc::clone,
    );
    let (domain, device) = (own.number, context.device);
    let number = context.nic.with(|engine| {
        let number = context.nic.number(engine)?;
        engine.add(Pair {
            number,
            domain,
            device,
            sends: Arc::clone(&sends),
            receives: Arc::clone(&receives),
            send_cq,
            receive_cq,
            datagrams: attr.qp_type == DATAGRAMS,
            state: State::Reset,
            path: Path::default(),
            requester: Requester::default(),
            responder: Responder::default(),
            active: false,
            tells_drained: false,
            told_last: false,
        });
        Some(number)
    });
    let number = number.ok_or(libc::ENOMEM)?;
    // SAFETY: all of it may be zero: integers, null pointers, absent functions.
    let mut c: ibv_qp_ex = unsafe { zeroed() };
    let (extended, operations) = (operations.is_some(), operations.unwrap_or(0));
    if extended {
        work::install(&mut c);
    }
    let base = &mut c.qp_base;
    // SAFETY: the domain is there.
    base.context = unsafe { (*pd).context };
    (base.pd, base.qp_context) = (pd, attr.qp_context);
    (base.send_cq, base.recv_cq, base.srq) = (attr.send_cq, attr.recv_cq, attr.srq);
    (base.handle, base.qp_num, base.qp_type) = (number, number, attr.qp_type);
    base.mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    base.cond = libc::PTHREAD_COND_INITIALIZER;
    // SAFETY: all integers.
    let attributes = Mutex::new(unsafe { zeroed() });
    let state = AtomicI32::new(0);
    let made_from = *attr;
    let qp = Qp { number, sends, receives, state, attributes, made_from, extended, operations };
    let qp = QpObject { c, own: qp }.give();
    let objects = [
        qp.expose_provenance(),
        attr.send_cq.expose_provenance(),
        attr.recv_cq.expose_provenance(),
        attr.srq.expose_provenance(),
    ];
    let owner = Owner { channel: Arc::clone(&context.channel), objects };
    lock(&context.nic.owners).insert(number, owner);
    own.users.fetch_add(1, Ordering::SeqCst);
    context.objects.fetch_add(1, Ordering::SeqCst);
    Ok(qp)
}

/// `ibv_create_qp`
///
/// # Safety
/// The domain is null or not deallocated; the attributes are null or as in the header, and what they name is
/// there.
pub unsafe extern "C" fn create_qp(pd: *mut ibv_pd, attr: *mut ibv_qp_init_attr) -> *mut ibv_qp {
    guard_new(|| {
        // SAFETY: by the contract.
        let attr = unsafe { attr.as_mut() }.ok_or(libc::EINVAL)?;
        // SAFETY: by the contract.
        unsafe { create(pd, attr, None) }
    })
}

/// `create_qp_ex` of a context.
///
/// # Safety
/// The attributes are null or as in the header, and what they name is there.
pub unsafe extern "C" fn create_qp_ex(
    _context: *mut ibv_context,
    attr: *mut ibv_qp_init_attr_ex,
) -> *mut ibv_qp {
    guard_new(|| {
        // SAFETY: by the contract.
        let attr = unsafe { attr.as_mut() }.ok_or(libc::EINVAL)?;
        let extended = attr.comp_mask & WITH_OPERATIONS != 0;
        if attr.comp_mask & !(WITH_DOMAIN | WITH_FLAGS | WITH_OPERATIONS) != 0
            || attr.comp_mask & WITH_FLAGS != 0 && attr.create_flags != 0
            || extended && attr.send_ops_flags & !work::OPERATIONS != 0
            || extended && attr.qp_type == DATAGRAMS && attr.send_ops_flags & work::CONNECTED != 0
        {
            return Err(libc::EOPNOTSUPP);
        }
        if attr.comp_mask & WITH_DOMAIN == 0 {
            return Err(libc::EINVAL);
        }
        let mut base = ibv_qp_init_attr {
            qp_context: attr.qp_context,
            send_cq: attr.send_cq,
            recv_cq: attr.recv_cq,
            srq: attr.srq,
            cap: attr.cap,
            qp_type: attr.qp_type,
            sq_sig_all: attr.sq_sig_all,
        };
        // SAFETY: by the contract.
        let operations = extended.then_some(attr.send_ops_flags);
        let qp = unsafe { create(attr.pd, &mut base, operations)? };
        attr.cap = base.cap;
        Ok(qp)
    })
}

/// `ibv_qp_to_qp_ex`
///
/// # Safety
/// The queue pair is null or not destroyed.
pub unsafe extern "C" fn qp_to_qp_ex(qp: *mut ibv_qp) -> *mut ibv_qp_ex {
    // SAFETY: by the contract.
    match unsafe { QpObject::own(qp) } {
        Some(own) if own.extended => qp.cast(),
        _ => ptr::null_mut(),
    }
}

/// `ibv_query_qp`
///
/// # Safety
/// The queue pair is null or not destroyed; the others are null or can be written.
pub unsafe extern "C" fn query_qp(
    qp: *mut ibv_qp,
    out: *mut ibv_qp_attr,
    _mask: c_int,
    made_from: *mut ibv_qp_init_attr,
) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { QpObject::own(qp) }) else { return libc::EINVAL };
        // SAFETY: the queue pair is there, and its context is open.
        let Some(context) = (unsafe { ContextObject::own((*qp).context) }) else {
            return libc::EINVAL;
        };
        if out.is_null() || made_from.is_null() {
            return libc::EINVAL;
        }
        let look = |pair: &Pair| (pair.state, !pair.has_drained());
        let found = context.nic.with(|engine| engine.look(own.number).map(look));
        let Some((state, busy)) = found else { return libc::EINVAL };
        let mut attr = *lock(&own.attributes);
        (attr.qp_state, attr.cur_qp_state) = (state as c_int, state as c_int);
        attr.sq_draining = u8::from(state == State::SendQueueDrained && busy);
        attr.cap = own.made_from.cap;
        // SAFETY: by the contract.
        unsafe {
            out.write(attr);
            made_from.write(own.made_from);
            (*qp).state = state as c_int;
        }
        0
    })
}

/// `ibv_destroy_qp`
///
/// # Safety
/// The queue pair is null or not destroyed.
pub unsafe extern "C" fn destroy_qp(qp: *mut ibv_qp) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { QpObject::own(qp) }) else { return libc::EINVAL };
        // SAFETY: the queue pair is there, and so is its domain.
        let Some((domain, context)) = (unsafe { domain((*qp).pd) }) else { return libc::EINVAL };
        context.nic.with(|engine| {
            engine.remove(own.number);
            context.nic.tell(engine);
        });
        lock(&context.nic.owners).remove(&own.number);
        context.channel.forget(|event| event.object == qp.addr());
        work::forget(own.number);
        domain.users.fetch_sub(1, Ordering::SeqCst);
        context.objects.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: by the contract, and the NIC no longer uses it.
        drop(unsafe { QpObject::take(qp) });
        0
    })
}

/// `ibv_query_qp_data_in_order`: words of a write may become visible in any order.
pub extern "C" fn query_qp_data_in_order(
    _qp: *mut ibv_qp,
    _operation: c_int,
    _flags: u32,
) -> c_int {
    0
}
