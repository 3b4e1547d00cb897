//! Shared receive queues.

use std::ffi::c_int;
use std::mem::zeroed;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::device::limit;
use crate::ffi::abi::{
    ibv_context, ibv_pd, ibv_srq, ibv_srq_attr, ibv_srq_init_attr, ibv_srq_init_attr_ex,
};
use crate::ffi::objects::{SrqObject, guard_code, guard_new, none};
use crate::queues::Receives;

use super::memory::domain;

/// `ibv_create_srq`
///
/// # Safety
/// The domain is null or not deallocated; the attributes are null or as in the header.
pub unsafe extern "C" fn create_srq(pd: *mut ibv_pd, attr: *mut ibv_srq_init_attr) -> *mut ibv_srq {
    guard_new(|| {
        // SAFETY: by the contract.
        let (own, context) = unsafe { domain(pd) }.ok_or(libc::EINVAL)?;
        // SAFETY: by the contract.
        let attr = unsafe { attr.as_mut() }.ok_or(libc::EINVAL)?;
        let asked = &mut attr.attr;
        if asked.max_wr > limit::REQUESTS || asked.max_sge > limit::PIECES {
            return Err(libc::EINVAL);
        }
        asked.max_wr = asked.max_wr.max(1);
        let receives = Receives::new(asked.max_wr as usize, asked.max_sge, Some(own.number));
        // SAFETY: all of it may be zero: integers and null pointers.
        let mut c: ibv_srq = unsafe { zeroed() };
        // SAFETY: the domain is there.
        c.context = unsafe { (*pd).context };
        (c.pd, c.srq_context) = (pd, attr.srq_context);
        c.mutex = libc::PTHREAD_MUTEX_INITIALIZER;
        c.cond = libc::PTHREAD_COND_INITIALIZER;
        own.users.fetch_add(1, Ordering::SeqCst);
        context.objects.fetch_add(1, Ordering::SeqCst);
        Ok(SrqObject { c, own: Arc::new(receives) }.give())
    })
}

/// `create_srq_ex` of a context. Programs reach it only for kinds that are not supported.
pub unsafe extern "C" fn create_srq_ex(
    _context: *mut ibv_context,
    _attr: *mut ibv_srq_init_attr_ex,
) -> *mut ibv_srq {
    none(libc::EOPNOTSUPP)
}

/// `ibv_modify_srq`
///
/// # Safety
/// The queue is null or not destroyed; the attributes are null or as in the header.
pub unsafe extern "C" fn modify_srq(
    srq: *mut ibv_srq,
    attr: *mut ibv_srq_attr,
    mask: c_int,
) -> c_int {
    // SAFETY: by the contract.
    let (own, attr) = unsafe { (SrqObject::own(srq), attr.as_ref()) };
    let (Some(own), Some(attr)) = (own, attr) else { return libc::EINVAL };
    // IBV_SRQ_MAX_WR is 1, IBV_SRQ_LIMIT 2.
    if mask & 1 != 0 {
        return libc::EOPNOTSUPP;
    }
    if mask & !3 != 0 || attr.srq_limit as usize > own.capacity {
        return libc::EINVAL;
    }
    if mask & 2 != 0 {
        own.limit.store(attr.srq_limit, Ordering::Relaxed);
    }
    0
}

/// `ibv_query_srq`
///
/// # Safety
/// The queue is null or not destroyed; `out` is null or can be written.
pub unsafe extern "C" fn query_srq(srq: *mut ibv_srq, out: *mut ibv_srq_attr) -> c_int {
    // SAFETY: by the contract.
    let Some(own) = (unsafe { SrqObject::own(srq) }) else { return libc::EINVAL };
    if out.is_null() {
        return libc::EINVAL;
    }
    let srq_limit = own.limit.load(Ordering::Relaxed);
    // SAFETY: by the contract.
    unsafe {
        out.write(ibv_srq_attr { max_wr: own.capacity as u32, max_sge: own.pieces, srq_limit });
    }
    0
}

/// `ibv_destroy_srq`
///
/// # Safety
/// The queue is null or not destroyed.
pub unsafe extern "C" fn destroy_srq(srq: *mut ibv_srq) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(own) = (unsafe { SrqObject::own(srq) }) else { return libc::EINVAL };
        if Arc::strong_count(own) > 1 {
            return libc::EBUSY;
        }
        // SAFETY: the queue is there, and so is its domain.
        if let Some((domain, context)) = unsafe { domain((*srq).pd) } {
            domain.users.fetch_sub(1, Ordering::SeqCst);
            context.objects.fetch_sub(1, Ordering::SeqCst);
            context.channel.forget(|event| event.object == srq.addr());
        }
        // SAFETY: by the contract, and no queue pair uses it.
        drop(unsafe { SrqObject::take(srq) });
        0
    })
}
