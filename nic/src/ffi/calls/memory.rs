//! Protection domains and memory regions.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::ffi::abi::{ibv_context, ibv_mr, ibv_pd};
use crate::ffi::objects::{
    Context, ContextObject, Domain, DomainObject, RegionObject, guard_code, guard_new, none,
};
use crate::ffi::{mapped, page_size};
use crate::keys::Region;
use crate::request::access;

/// `ibv_alloc_pd`
///
/// # Safety
/// The context is null or an open one.
pub unsafe extern "C" fn alloc_pd(context: *mut ibv_context) -> *mut ibv_pd {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    guard_new(|| {
        // SAFETY: by the contract.
        let own = unsafe { ContextObject::own(context) }.ok_or(libc::EINVAL)?;
        own.objects.fetch_add(1, Ordering::SeqCst);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let c = ibv_pd { context, handle: number };
        Ok(DomainObject { c, own: Domain { number, users: AtomicUsize::new(0) } }.give())
    })
}

/// `ibv_dealloc_pd`
///
/// # Safety
/// The domain is null or one that is not deallocated.
pub unsafe extern "C" fn dealloc_pd(pd: *mut ibv_pd) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some((own, context)) = (unsafe { domain(pd) }) else { return libc::EINVAL };
        let has_regions = context.nic.with(|engine| engine.node.keys.uses(own.number));
        if has_regions || own.users.load(Ordering::SeqCst) > 0 {
            return libc::EBUSY;
        }
        context.objects.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: by the contract, and it contains no objects.
        drop(unsafe { DomainObject::take(pd) });
        0
    })
}

/// A domain and its context; `None` for null.
///
/// # Safety
/// The domain is null or one that is not deallocated.
pub unsafe fn domain<'a>(pd: *mut ibv_pd) -> Option<(&'a Domain, &'a Context)> {
    // SAFETY: by the contract; a domain's context is open.
    unsafe { Some((DomainObject::own(pd)?, ContextObject::own((*pd).context)?)) }
}

/// The flags that are accepted: the known ones, and all optional ones.
const KNOWN: u32 = 0xff | access::FLUSH_GLOBAL | access::FLUSH_PERSISTENT | 0x3ff0_0000;
/// `IBV_ACCESS_ON_DEMAND`
const ON_DEMAND: u32 = 1 << 6;

fn check(host: u64, length: u64, flags: u32) -> Result<(), c_int> {
    let remote_change = flags & (access::REMOTE_WRITE | access::REMOTE_ATOMIC) != 0;
    if flags & !KNOWN != 0 || length == 0 || remote_change && flags & access::LOCAL_WRITE == 0 {
        return Err(libc::EINVAL);
    }
    if flags & (ON_DEMAND | access::ZERO_BASED) != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    if !mapped(host, length, flags & access::LOCAL_WRITE != 0) {
        return Err(libc::EFAULT);
    }
    Ok(())
}

unsafe fn register(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    start: u64,
    flags: u32,
) -> Result<*mut ibv_mr, c_int> {
    // SAFETY: by the callers' contract.
    let (own, context) = unsafe { domain(pd) }.ok_or(libc::EINVAL)?;
    let host = addr.expose_provenance() as u64;
    check(host, length as u64, flags)?;
    // The kernel demands that the address of a region begins as far into its page as the memory does.
    if !(host ^ start).is_multiple_of(page_size()) {
        return Err(libc::EINVAL);
    }
    let region = Region { domain: own.number, start, host, length: length as u64, access: flags };
    let key = context.nic.with(|engine| engine.node.keys.insert(region)).ok_or(libc::ENOMEM)?;
    context.objects.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the domain is there.
    let context = unsafe { (*pd).context };
    let c = ibv_mr { context, pd, addr, length, handle: key, lkey: key, rkey: key };
    Ok(RegionObject { c, own: key }.give())
}

/// `ibv_reg_mr`
///
/// # Safety
/// The domain is null or one that is not deallocated.
pub unsafe extern "C" fn reg_mr(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    flags: c_int,
) -> *mut ibv_mr {
    // SAFETY: by the contract.
    guard_new(|| unsafe { register(pd, addr, length, addr.addr() as u64, flags as u32) })
}

/// `ibv_reg_mr_iova`
///
/// # Safety
/// As for `reg_mr`.
pub unsafe extern "C" fn reg_mr_iova(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    start: u64,
    flags: c_int,
) -> *mut ibv_mr {
    // SAFETY: by the contract.
    guard_new(|| unsafe { register(pd, addr, length, start, flags as u32) })
}

/// `ibv_reg_mr_iova2`
///
/// # Safety
/// As for `reg_mr`.
pub unsafe extern "C" fn reg_mr_iova2(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    start: u64,
    flags: u32,
) -> *mut ibv_mr {
    // SAFETY: by the contract.
    guard_new(|| unsafe { register(pd, addr, length, start, flags) })
}

/// `ibv_rereg_mr`
///
/// # Safety
/// The region is null or registered, the domain null or not deallocated; and as for `reg_mr`.
pub unsafe extern "C" fn rereg_mr(
    mr: *mut ibv_mr,
    what: c_int,
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    flags: c_int,
) -> c_int {
    const INVALID: c_int = -1;
    let act = || {
        // SAFETY: by the contract.
        let Some(key) = (unsafe { RegionObject::own(mr) }) else { return INVALID };
        // SAFETY: the region is there, and its context is open.
        let Some(context) = (unsafe { ContextObject::own((*mr).context) }) else { return INVALID };
        let Some(mut region) = context.nic.with(|engine| engine.node.keys.get(*key).copied())
        else {
            return INVALID;
        };
        if what & 1 != 0 {
            (region.host, region.start) = (addr.expose_provenance() as u64, addr.addr() as u64);
            region.length = length as u64;
        }
        if what & 2 != 0 {
            // SAFETY: by the contract.
            let Some((domain, _)) = (unsafe { domain(pd) }) else { return INVALID };
            region.domain = domain.number;
        }
        if what & 4 != 0 {
            region.access = flags as u32;
        }
        let sound = check(region.host, region.length, region.access).is_ok();
        if what & !7 != 0 || what == 0 || !sound {
            return INVALID;
        }
        context.nic.with(|engine| engine.change_region(*key, Some(region)));
        // SAFETY: the region exists, and only its owner changes it.
        unsafe {
            if what & 1 != 0 {
                (*mr).addr = addr;
                (*mr).length = length;
            }
            if what & 2 != 0 {
                (*mr).pd = pd;
            }
        }
        0
    };
    crate::ffi::objects::guard(|| INVALID, act)
}

/// `ibv_dereg_mr`
///
/// # Safety
/// The region is null or registered.
pub unsafe extern "C" fn dereg_mr(mr: *mut ibv_mr) -> c_int {
    guard_code(|| {
        // SAFETY: by the contract.
        let Some(key) = (unsafe { RegionObject::own(mr) }) else { return libc::EINVAL };
        // SAFETY: the region is there, and its context is open.
        let Some(context) = (unsafe { ContextObject::own((*mr).context) }) else {
            return libc::EINVAL;
        };
        if !context.nic.with(|engine| engine.change_region(*key, None)) {
            return libc::EINVAL;
        }
        context.objects.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: by the contract, and the NIC no longer uses it.
        drop(unsafe { RegionObject::take(mr) });
        0
    })
}

/// `ibv_reg_dmabuf_mr`: not supported.
pub extern "C" fn reg_dmabuf_mr(
    _pd: *mut ibv_pd,
    _offset: u64,
    _length: usize,
    _start: u64,
    _fd: c_int,
    _flags: c_int,
) -> *mut ibv_mr {
    none(libc::EOPNOTSUPP)
}
