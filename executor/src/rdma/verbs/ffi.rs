//! libibverbs behind a safe interface. All `unsafe` for it is in this file and those below it.
//!
//! It is safe to use for these reasons. Every object keeps alive the object that it was made from (queue pair
//! → memory → domain → context), and is destroyed before it. The NIC gets only memory that consists of atomic
//! words, and that stays in place until it is deregistered. Local addresses come from checked indices, never
//! from a caller.
//!
//! This module makes no decisions and no messages. Those are in `endpoint`, `choose` and `errors`.

#![allow(unsafe_code, reason = "libibverbs is a C library")]

mod completions;
mod memory;
mod placement;
mod queue;

use std::ffi::{CStr, c_char};
use std::io;
use std::mem::zeroed;
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(all(feature = "dlopen", not(feature = "rdma-sys")))]
use rdma_mummy_sys as sys;
#[cfg(all(feature = "rdma-sys", not(feature = "dlopen")))]
use rdma_sys as sys;

#[cfg(all(feature = "rdma-sys", feature = "dlopen"))]
compile_error!("the bindings exclude each other: `--no-default-features --features rdma-sys`");
#[cfg(not(any(feature = "rdma-sys", feature = "dlopen")))]
compile_error!("one of the features `dlopen` and `rdma-sys` is needed");

pub use memory::{Domain, Memory, NO_HUGE_PAGES};
pub use queue::{Failure, INLINE_BYTES, Peer, PostError, QueuePair, Step, Timing};

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The name of the function.
    pub call: &'static str,
    /// The error number that it reported.
    pub errno: i32,
}

impl CallError {
    /// The error of a call that has just set `errno`.
    fn last(call: &'static str) -> Self {
        Self { call, errno: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
    }

    /// Checks a call that returns 0 or an error number. Some old providers return -1 and set `errno`.
    fn check(call: &'static str, result: i32) -> Result<(), Self> {
        match result {
            0 => Ok(()),
            errno if errno > 0 => Err(Self { call, errno }),
            _ => Err(Self::last(call)),
        }
    }
}

/// Sets an environment variable if this is the only thread of the process. Returns `false` if there are other
/// threads, or if that is not known.
pub fn set_variable(name: &str, value: &str) -> bool {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads == 1 {
        // SAFETY: there is no other thread that could access the environment, and only this thread could
        // start one.
        unsafe { std::env::set_var(name, value) };
    }
    threads == 1
}

/// libibverbs's text for a completion status.
pub fn status_text(status: u32) -> String {
    // SAFETY: takes any number, and returns a constant text, or null if the library is missing.
    text(unsafe { sys::ibv_wc_status_str(status) })
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: callers pass texts from libibverbs, which end in 0 and live at least until the caller returns.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The devices of this machine.
pub struct DeviceList {
    list: NonNull<*mut sys::ibv_device>,
    count: usize,
}

impl DeviceList {
    /// Gets the list from libibverbs.
    pub fn get() -> Result<Self, CallError> {
        let mut count = 0;
        // SAFETY: `count` is a valid place for the number of entries.
        let list = unsafe { sys::ibv_get_device_list(&mut count) };
        let list = NonNull::new(list).ok_or_else(|| CallError::last("ibv_get_device_list"))?;
        Ok(Self { list, count: usize::try_from(count).unwrap_or(0) })
    }

    /// The names of the devices.
    pub fn names(&self) -> Vec<String> {
        // SAFETY: the entries are devices of the list, and the list is alive.
        let name = |device: &*mut sys::ibv_device| unsafe { sys::ibv_get_device_name(*device) };
        self.entries().iter().map(|device| text(name(device))).collect()
    }

    /// Opens the device with this index in [`Self::names`].
    pub fn open(&self, index: usize) -> Result<Arc<Context>, CallError> {
        let missing = CallError { call: "ibv_open_device", errno: libc::ENODEV };
        let device = *self.entries().get(index).ok_or(missing)?;
        // SAFETY: the device is in the list, and the list is alive. An open context keeps its device alive by
        // itself.
        let context = unsafe { sys::ibv_open_device(device) };
        let raw = NonNull::new(context).ok_or_else(|| CallError::last("ibv_open_device"))?;
        Ok(Arc::new(Context { raw }))
    }

    fn entries(&self) -> &[*mut sys::ibv_device] {
        // SAFETY: libibverbs returned this number of entries, and they live until `drop` frees the list.
        unsafe { std::slice::from_raw_parts(self.list.as_ptr(), self.count) }
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: the list is from ibv_get_device_list, and is freed once.
        unsafe { sys::ibv_free_device_list(self.list.as_ptr()) };
    }
}

/// An opened device.
pub struct Context {
    raw: NonNull<sys::ibv_context>,
}

// SAFETY: libibverbs is documented to be thread-safe: any thread may call with any object.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// A device's description of itself, in libibverbs's terms.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "fields are named as in rdma::DeviceInfo, where they have docs")]
pub struct DeviceAttributes {
    pub firmware: String,
    pub node_guid: u64,
    pub vendor_id: u32,
    pub part_id: u32,
    pub hardware_version: u32,
    pub transport: i32,
    pub atomics: u32,
    /// Supported sizes over PCIe, as bit masks: fetch-and-add, swap, compare-and-swap.
    pub pci_atomics: [u16; 3],
    /// On-demand paging: whether it is known at all, and the bits of what reliable connections support.
    pub on_demand_paging: (bool, u32),
    /// The flags of `ib_uverbs_device_cap_flags`.
    pub capabilities: u64,
    pub responder_reads: u32,
    pub initiator_reads: u32,
    pub queue_depth: u32,
    pub queue_pairs: u32,
    /// The number of ports.
    pub ports: u8,
}

/// A port's description of itself.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "fields are named as in rdma::PortInfo, where they have docs")]
pub struct PortAttributes {
    pub state: u32,
    pub link_layer: u8,
    pub mtu: u32,
    pub lid: u16,
    /// The flags of `IBV_QPF_…`.
    pub flags: u8,
    /// The length of the GID table.
    pub gids: u32,
}

impl Context {
    /// Queries the device.
    ///
    /// `pci_atomics`, `on_demand_paging` and `capabilities` are 0 if the provider does not know
    /// `ibv_query_device_ex`.
    pub fn attributes(&self) -> Result<DeviceAttributes, CallError> {
        let context = self.raw.as_ptr();
        // SAFETY: all fields are numbers.
        let mut all: sys::ibv_device_attr_ex = unsafe { zeroed() };
        // SAFETY: the context is open, `all` is a valid place for the answer, and the bindings pass its size.
        let result = unsafe { sys::ibv_query_device_ex(context, std::ptr::null(), &mut all) };
        CallError::check("ibv_query_device_ex", result)?;
        // SAFETY: an open context has a device.
        let transport = unsafe { (*(*context).device).transport_type };
        let plain = &all.orig_attr;
        let count = |number: i32| u32::try_from(number).unwrap_or(0);
        // The text ends in 0, or fills the array.
        let firmware = plain.fw_ver.iter().take_while(|c| **c != 0);
        let firmware: Vec<u8> = firmware.map(|c| c.to_ne_bytes()[0]).collect();
        let pci = &all.pci_atomic_caps;
        Ok(DeviceAttributes {
            firmware: String::from_utf8_lossy(&firmware).into_owned(),
            node_guid: u64::from_be(plain.node_guid),
            vendor_id: plain.vendor_id,
            part_id: plain.vendor_part_id,
            hardware_version: plain.hw_ver,
            transport,
            atomics: plain.atomic_cap,
            pci_atomics: [pci.fetch_add, pci.swap, pci.compare_swap],
            on_demand_paging: (
                all.odp_caps.general_caps & 1 != 0,
                all.odp_caps.per_transport_caps.rc_odp_caps,
            ),
            capabilities: all.device_cap_flags_ex,
            responder_reads: count(plain.max_qp_rd_atom),
            initiator_reads: count(plain.max_qp_init_rd_atom),
            queue_depth: count(plain.max_qp_wr),
            queue_pairs: count(plain.max_qp),
            ports: plain.phys_port_cnt,
        })
    }

    /// Queries a port.
    pub fn port(&self, number: u8) -> Result<PortAttributes, CallError> {
        #[cfg(feature = "rdma-sys")]
        use sys::___ibv_query_port as query_port;
        #[cfg(not(feature = "rdma-sys"))]
        use sys::ibv_query_port as query_port;
        // SAFETY: all fields are numbers.
        let mut port: sys::ibv_port_attr = unsafe { zeroed() };
        // SAFETY: the context is open, and `port` is a valid place for the answer.
        let result = unsafe { query_port(self.raw.as_ptr(), number, &mut port) };
        CallError::check("ibv_query_port", result)?;
        Ok(PortAttributes {
            state: port.state,
            link_layer: port.link_layer,
            mtu: if (1..=5).contains(&port.active_mtu) { 128 << port.active_mtu } else { 0 },
            lid: port.lid,
            flags: port.flags,
            gids: u32::try_from(port.gid_tbl_len).unwrap_or(0),
        })
    }

    /// An entry of a port's GID table. `None` if it cannot be read.
    pub fn gid(&self, port: u8, index: u32) -> Option<[u8; 16]> {
        let index = i32::try_from(index).ok()?;
        let mut gid = sys::ibv_gid { raw: [0; 16] };
        // SAFETY: the context is open, and `gid` is a valid place for the answer.
        let result = unsafe { sys::ibv_query_gid(self.raw.as_ptr(), port, index, &mut gid) };
        // SAFETY: every variant of the union is also an array of bytes, and it was initialized as one.
        (result == 0).then_some(unsafe { gid.raw })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it is open, and is closed once. Everything made from it holds an Arc of it, so nothing is
        // left.
        unsafe { sys::ibv_close_device(self.raw.as_ptr()) };
    }
}
