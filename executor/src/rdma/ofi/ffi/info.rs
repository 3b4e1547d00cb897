//! What providers offer.

use std::ffi::CString;
use std::ptr::{NonNull, null, null_mut};

use super::{CallError, Library, sys, text};

/// What is asked of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its name, as in `fi_info -p`.
    pub provider: Option<String>,
    /// The name of its domain: a network interface, a NIC.
    pub domain: Option<String>,
    /// Whether with atomics.
    pub atomics: bool,
    /// Whether with `FI_FENCE`.
    pub fence: bool,
    /// The bits of `FI_ORDER_…` between requests that are sent, and between those that are received.
    pub order: [u64; 2],
}

/// One way to use a provider.
pub struct Info {
    pub(super) raw: NonNull<sys::FiInfo>,
    library: &'static Library,
}

// SAFETY: nobody else has the structure, and nothing changes it.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// A provider's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in libfabric's fi_info")]
pub struct Attributes {
    pub provider: String,
    pub provider_version: u32,
    pub fabric: String,
    pub domain: String,
    pub caps: u64,
    pub mode: u64,
    pub protocol: u32,
    pub mr_mode: i32,
    pub data_progress: i32,
    /// Of sent and of received requests.
    pub msg_order: [u64; 2],
    pub comp_order: u64,
    /// `max_order_raw_size`, `max_order_war_size` and `max_order_waw_size`.
    pub max_order: [usize; 3],
    pub inject_size: usize,
    pub requests: usize,
    pub endpoints: usize,
    pub key_size: usize,
}

impl Library {
    /// All that fits a wish, best first.
    ///
    /// # Errors
    /// That of the library: `ENODATA` if nothing fits.
    pub fn infos(&'static self, wish: &Wish) -> Result<Vec<Info>, CallError> {
        // SAFETY: without a template, it makes an empty structure with empty attributes.
        let hints = NonNull::new(unsafe { (self.dupinfo)(null()) });
        let none = CallError { call: "fi_allocinfo", errno: libc::ENOMEM };
        let hints = Info { raw: hints.ok_or(none)?, library: self };
        hints.set(wish);
        let mut list = null_mut();
        // SAFETY: the hints are complete, and `list` is a valid place for the answer.
        let result = unsafe {
            (self.getinfo)(sys::API_VERSION, null(), null(), 0, hints.raw.as_ptr(), &mut list)
        };
        CallError::check("fi_getinfo", result)?;
        let mut infos = Vec::new();
        let mut next = list;
        while let Some(entry) = NonNull::new(next) {
            // SAFETY: an entry of the list, which is freed below. The copies are not linked.
            let copy = unsafe { (self.dupinfo)(entry.as_ptr()) };
            infos.extend(NonNull::new(copy).map(|raw| Info { raw, library: self }));
            // SAFETY: as above.
            next = unsafe { entry.as_ref() }.next;
        }
        // SAFETY: it is from fi_getinfo, and is freed once.
        unsafe { (self.freeinfo)(list) };
        Ok(infos)
    }
}

impl Info {
    /// Fills in hints.
    fn set(&self, wish: &Wish) {
        let rma = sys::FI_RMA | sys::FI_READ | sys::FI_WRITE;
        let caps = rma | sys::FI_REMOTE_READ | sys::FI_REMOTE_WRITE;
        let copy = |name: &Option<String>| {
            let name = name.as_ref().and_then(|name| CString::new(name.as_str()).ok());
            // SAFETY: a text that ends in 0. fi_freeinfo frees the copy.
            name.map_or(null_mut(), |name| unsafe { libc::strdup(name.as_ptr()) })
        };
        // SAFETY: the structure is our own, and fi_dupinfo gives it these attributes.
        unsafe {
            let info = &mut *self.raw.as_ptr();
            info.caps = caps
                | if wish.atomics { sys::FI_ATOMIC } else { 0 }
                | if wish.fence { sys::FI_FENCE } else { 0 };
            info.mode = sys::FI_CONTEXT | sys::FI_CONTEXT2;
            (*info.tx_attr).msg_order = wish.order[0];
            (*info.rx_attr).msg_order = wish.order[1];
            (*info.ep_attr).r#type = sys::FI_EP_RDM;
            let domain = &mut *info.domain_attr;
            domain.threading = sys::FI_THREAD_SAFE;
            domain.resource_mgmt = sys::FI_RM_ENABLED;
            domain.mr_mode = sys::FI_MR_LOCAL
                | sys::FI_MR_VIRT_ADDR
                | sys::FI_MR_ALLOCATED
                | sys::FI_MR_PROV_KEY;
            domain.name = copy(&wish.domain);
            (*info.fabric_attr).prov_name = copy(&wish.provider);
        }
    }

    /// What the provider says of itself.
    pub fn attributes(&self) -> Attributes {
        // SAFETY: libfabric fills in all attributes of what it offers, and they live as long as `self`.
        unsafe {
            let info = self.raw.as_ref();
            let (tx, rx, ep) = (&*info.tx_attr, &*info.rx_attr, &*info.ep_attr);
            let (domain, fabric) = (&*info.domain_attr, &*info.fabric_attr);
            Attributes {
                provider: text(fabric.prov_name),
                provider_version: fabric.prov_version,
                fabric: text(fabric.name),
                domain: text(domain.name),
                caps: info.caps,
                mode: info.mode,
                protocol: ep.protocol,
                mr_mode: domain.mr_mode,
                data_progress: domain.data_progress,
                msg_order: [tx.msg_order, rx.msg_order],
                comp_order: tx.comp_order,
                max_order: [ep.max_order_raw_size, ep.max_order_war_size, ep.max_order_waw_size],
                inject_size: tx.inject_size,
                requests: tx.size,
                endpoints: domain.ep_cnt,
                key_size: domain.mr_key_size,
            }
        }
    }

    /// Whether remote addresses are those of the owner, and not offsets into its memory.
    pub(super) fn has_addresses(&self) -> bool {
        self.attributes().mr_mode & sys::FI_MR_VIRT_ADDR != 0
    }

    /// Whether the provider chooses the keys of memory.
    pub(super) fn chooses_keys(&self) -> bool {
        self.attributes().mr_mode & sys::FI_MR_PROV_KEY != 0
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: it is from fi_dupinfo, and is freed once.
        unsafe { (self.library.freeinfo)(self.raw.as_ptr()) };
    }
}
