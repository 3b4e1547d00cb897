//! Address handles: where datagrams go.

use std::ffi::c_int;
use std::mem::zeroed;
use std::sync::atomic::Ordering;

use crate::device;
use crate::ffi::abi::{ibv_ah, ibv_ah_attr, ibv_context, ibv_pd, ibv_wc};
use crate::ffi::objects::{AhObject, guard, guard_code, guard_new, set_errno};
use crate::nic::config;
use crate::request::{Destination, HEADER};

use super::memory::domain;
use super::modify::{may_be_address, port_at};

/// `ibv_create_ah`
///
/// # Safety
/// The domain is null or not deallocated; the attributes are null or as in the header.
pub unsafe extern "C" fn create_ah(pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah {
    guard_new(|| {
        // SAFETY: by the contract.
        let (own, context) = unsafe { domain(pd) }.ok_or(libc::EINVAL)?;
        // SAFETY: by the contract.
        let attr = unsafe { attr.as_ref() }.ok_or(libc::EINVAL)?;
        let port = device::port_number(config(), context.device, u32::from(attr.port_num));
        if port.is_none() || !may_be_address(config(), attr) {
            return Err(libc::EINVAL);
        }
        let (host, port) = port_at(config(), attr).unzip();
        let (host, global) = (host.unwrap_or(0), attr.is_global != 0);
        own.users.fetch_add(1, Ordering::SeqCst);
        context.objects.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the domain is there.
        let c = ibv_ah { context: unsafe { (*pd).context }, pd, handle: 0 };
        let own = Destination { host, port, global, ..Destination::default() };
        Ok(AhObject { c, own }.give())
    })
}

/// `ibv_destroy_ah`
///
/// # Safety
/// The handle is null or not destroyed.
pub unsafe extern "C" fn destroy_ah(ah: *mut ibv_ah) -> c_int {
    guard_code(|| {
        if ah.is_null() {
            return libc::EINVAL;
        }
        // SAFETY: the handle is there, and so is its domain.
        if let Some((domain, context)) = unsafe { domain((*ah).pd) } {
            domain.users.fetch_sub(1, Ordering::SeqCst);
            context.objects.fetch_sub(1, Ordering::SeqCst);
        }
        // SAFETY: by the contract. Requests have a copy of the address.
        drop(unsafe { AhObject::take(ah) });
        0
    })
}

/// The address of a datagram's sender.
unsafe fn sender(port: u8, wc: &ibv_wc, header: *const [u8; HEADER]) -> Option<ibv_ah_attr> {
    // SAFETY: all integers.
    let mut attr: ibv_ah_attr = unsafe { zeroed() };
    (attr.dlid, attr.sl, attr.port_num) = (wc.slid, wc.sl, port);
    attr.src_path_bits = wc.dlid_path_bits;
    if wc.wc_flags & 1 != 0 {
        // SAFETY: by the callers' contract.
        let header = unsafe { header.as_ref() }?;
        attr.is_global = 1;
        attr.grh.dgid.raw.copy_from_slice(&header[8..24]);
        attr.grh.hop_limit = 255;
    }
    Some(attr)
}

/// `ibv_init_ah_from_wc`
///
/// # Safety
/// All are null or as in the header.
pub unsafe extern "C" fn init_ah_from_wc(
    _context: *mut ibv_context,
    port: u8,
    wc: *mut ibv_wc,
    header: *mut [u8; HEADER],
    out: *mut ibv_ah_attr,
) -> c_int {
    let act = || {
        // SAFETY: by the contract.
        let attr = unsafe { wc.as_ref().and_then(|wc| sender(port, wc, header)) };
        let Some(attr) = attr.filter(|_| !out.is_null()) else {
            set_errno(libc::EINVAL);
            return -1;
        };
        // SAFETY: by the contract.
        unsafe { out.write(attr) };
        0
    };
    guard(|| -1, act)
}

/// `ibv_create_ah_from_wc`
///
/// # Safety
/// All are null or as in the header, and the domain is not deallocated.
pub unsafe extern "C" fn create_ah_from_wc(
    pd: *mut ibv_pd,
    wc: *mut ibv_wc,
    header: *mut [u8; HEADER],
    port: u8,
) -> *mut ibv_ah {
    // SAFETY: by the contract.
    let attr = unsafe { wc.as_ref().and_then(|wc| sender(port, wc, header)) };
    let Some(mut attr) = attr else {
        return crate::ffi::objects::none(libc::EINVAL);
    };
    // SAFETY: by the contract.
    unsafe { create_ah(pd, &mut attr) }
}
