//! Devices: the list, and queries that need no open device.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::OnceLock;

use crate::device;
use crate::ffi::abi::ibv_device;
use crate::ffi::objects::{none, set_errno};
use crate::nic::config;

/// A device, with zeros after it. The providers of real devices look there for a device of their own, and
/// find none.
#[repr(C)]
struct DeviceObject {
    c: ibv_device,
    nobody: [usize; 64],
    number: u16,
}

/// The list of devices. Its entries stay in place until the process ends.
struct Devices(Vec<*mut DeviceObject>);

// SAFETY: the devices never change after they are made.
unsafe impl Send for Devices {}
// SAFETY: as above.
unsafe impl Sync for Devices {}

fn devices() -> &'static [*mut DeviceObject] {
    static DEVICES: OnceLock<Devices> = OnceLock::new();
    let make = |number: u16| {
        let name = device::name(number);
        let c = ibv_device {
            ops: [ptr::null(); 2],
            node_type: 1,
            transport_type: 0,
            name: text(&name),
            dev_name: text(&format!("uverbs-{name}")),
            dev_path: text(&format!("/sys/class/infiniband_verbs/uverbs-{name}")),
            ibdev_path: text(&format!("/sys/class/infiniband/{name}")),
        };
        Box::into_raw(Box::new(DeviceObject { c, nobody: [0; 64], number }))
    };
    &DEVICES.get_or_init(|| Devices((0..config().devices).map(make).collect())).0
}

/// Copies a text into a C array, cut off if it is too long.
pub fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut out = [0; N];
    for (place, byte) in out.iter_mut().take(N - 1).zip(text.bytes()) {
        *place = byte as c_char;
    }
    out
}

/// The index of a device, if this library made it.
pub fn number(device: *mut ibv_device) -> Option<u16> {
    let known = devices().iter().find(|known| ptr::eq(known.cast::<ibv_device>(), device))?;
    // SAFETY: it is in the list, so it exists.
    Some(unsafe { (**known).number })
}

/// `ibv_get_device_list`
///
/// # Safety
/// `count` is null or can be written.
pub unsafe extern "C" fn get_device_list(count: *mut c_int) -> *mut *mut ibv_device {
    let devices = devices();
    // SAFETY: the call takes no pointers. The array has one more entry, for the final null.
    let list: *mut *mut ibv_device = unsafe { libc::calloc(devices.len() + 1, 8) }.cast();
    if list.is_null() {
        return none(libc::ENOMEM);
    }
    for (index, device) in devices.iter().enumerate() {
        // SAFETY: the array has this many entries.
        unsafe { *list.add(index) = device.cast() };
    }
    if !count.is_null() {
        // SAFETY: by the contract.
        unsafe { *count = devices.len() as c_int };
    }
    list
}

/// `ibv_free_device_list`
///
/// # Safety
/// The list is null or comes from `ibv_get_device_list`.
pub unsafe extern "C" fn free_device_list(list: *mut *mut ibv_device) {
    // SAFETY: by the contract; the devices themselves stay.
    unsafe { libc::free(list.cast()) }
}

/// `ibv_get_device_name`
pub extern "C" fn get_device_name(device: *mut ibv_device) -> *const c_char {
    if number(device).is_none() {
        return none::<c_char>(libc::EINVAL);
    }
    // SAFETY: this library made the device; only the address of a field is taken.
    unsafe { (&raw const (*device).name).cast() }
}

/// `ibv_get_device_guid`
pub extern "C" fn get_device_guid(device: *mut ibv_device) -> u64 {
    number(device).map_or(0, |number| u64::from_ne_bytes(device::guid(config().host, number)))
}

/// `ibv_get_device_index`
pub extern "C" fn get_device_index(device: *mut ibv_device) -> c_int {
    number(device).map_or(-1, c_int::from)
}

/// `ibv_read_sysfs_file`: the system has no files about these devices.
pub extern "C" fn read_sysfs_file(
    _folder: *const c_char,
    _file: *const c_char,
    _out: *mut c_char,
    _size: usize,
) -> c_int {
    set_errno(libc::ENOENT);
    -1
}

/// `ibv_get_sysfs_path`
pub extern "C" fn get_sysfs_path() -> *const c_char {
    c"/sys".as_ptr()
}

/// `ibv_fork_init`: nothing is pinned, so there is nothing to prepare.
pub extern "C" fn fork_init() -> c_int {
    0
}

/// `ibv_is_fork_initialized`: `IBV_FORK_UNNEEDED`.
pub extern "C" fn is_fork_initialized() -> c_int {
    2
}
