//! What of libfabric's headers is used here, as Rust sees it. libfabric keeps old layouts under old symbol
//! versions; these are of `FABRIC_1.3` (since 1.9).
//!
//! Most calls go through tables of functions. The places of those that are not called here are only kept.

#![allow(missing_docs, reason = "names are those of libfabric's manual pages")]

use std::ffi::{c_char, c_int, c_void};

/// The layouts of this file, by the version of the symbols that take them.
pub const ABI: &std::ffi::CStr = c"FABRIC_1.3";
/// The version of the interface that is asked for: 1.11, of 2020.
pub const API_VERSION: u32 = (1 << 16) | 11;

/// Constants, with their names in C.
macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr,)*) => {
        $(pub const $name: $type = $value;)*

        #[cfg(test)]
        fn constants() -> Vec<String> {
            vec![$(format!("{} {}", stringify!($name), $name)),*]
        }
    };
}

/// Structures, with their names in C. Fields have the names that they have there.
macro_rules! layouts {
    ($($(#[$about:meta])* struct $name:ident = $c:ident { $($field:ident: $type:ty,)* })*) => {
        $($(#[$about])* #[repr(C)] pub struct $name { $(pub $field: $type,)* })*

        /// The place and the size of each field.
        #[cfg(test)]
        fn layouts() -> Vec<String> {
            vec![$($(format!(
                "{} {} {} {}",
                stringify!($c),
                stringify!($field).trim_start_matches("r#"),
                std::mem::offset_of!($name, $field),
                size_of::<$type>(),
            )),*),*]
        }
    };
}

constants! {
    FI_RMA: u64 = 1 << 2,
    FI_ATOMIC: u64 = 1 << 4,
    FI_READ: u64 = 1 << 8,
    FI_WRITE: u64 = 1 << 9,
    FI_RECV: u64 = 1 << 10,
    FI_TRANSMIT: u64 = 1 << 11,
    FI_REMOTE_READ: u64 = 1 << 12,
    FI_REMOTE_WRITE: u64 = 1 << 13,
    FI_FENCE: u64 = 1 << 21,
    FI_COMPLETION: u64 = 1 << 24,
    FI_INJECT: u64 = 1 << 25,
    FI_TRANSMIT_COMPLETE: u64 = 1 << 27,
    FI_DELIVERY_COMPLETE: u64 = 1 << 28,
    FI_CONTEXT2: u64 = 1 << 52,
    FI_CONTEXT: u64 = 1 << 59,

    FI_MR_LOCAL: c_int = 1 << 2,
    FI_MR_VIRT_ADDR: c_int = 1 << 4,
    FI_MR_ALLOCATED: c_int = 1 << 5,
    FI_MR_PROV_KEY: c_int = 1 << 6,

    FI_EP_RDM: c_int = 3,
    FI_THREAD_SAFE: c_int = 1,
    FI_PROGRESS_AUTO: c_int = 1,
    FI_RM_ENABLED: c_int = 2,
    FI_AV_MAP: c_int = 1,
    FI_AV_TABLE: c_int = 2,
    FI_CQ_FORMAT_CONTEXT: c_int = 1,
    FI_WAIT_NONE: c_int = 0,
    FI_ENABLE: c_int = 6,
    FI_UINT64: c_int = 7,
    FI_SUM: c_int = 2,
    FI_CSWAP: c_int = 12,
    FI_EAVAIL: i32 = 259,
}

pub type FiAddr = u64;
type Unused = *const c_void;

layouts! {
    struct TxAttr = fi_tx_attr {
        caps: u64,
        mode: u64,
        op_flags: u64,
        msg_order: u64,
        comp_order: u64,
        inject_size: usize,
        size: usize,
        iov_limit: usize,
        rma_iov_limit: usize,
        tclass: u32,
    }

    struct RxAttr = fi_rx_attr {
        caps: u64,
        mode: u64,
        op_flags: u64,
        msg_order: u64,
        comp_order: u64,
        total_buffered_recv: usize,
        size: usize,
        iov_limit: usize,
    }

    struct EpAttr = fi_ep_attr {
        r#type: c_int,
        protocol: u32,
        protocol_version: u32,
        max_msg_size: usize,
        msg_prefix_size: usize,
        max_order_raw_size: usize,
        max_order_war_size: usize,
        max_order_waw_size: usize,
        mem_tag_format: u64,
        tx_ctx_cnt: usize,
        rx_ctx_cnt: usize,
        auth_key_size: usize,
        auth_key: *mut u8,
    }

    struct DomainAttr = fi_domain_attr {
        domain: *mut FidDomain,
        name: *mut c_char,
        threading: c_int,
        control_progress: c_int,
        data_progress: c_int,
        resource_mgmt: c_int,
        av_type: c_int,
        mr_mode: c_int,
        mr_key_size: usize,
        cq_data_size: usize,
        cq_cnt: usize,
        ep_cnt: usize,
    }

    struct FabricAttr = fi_fabric_attr {
        fabric: *mut FidFabric,
        name: *mut c_char,
        prov_name: *mut c_char,
        prov_version: u32,
        api_version: u32,
    }

    struct FiInfo = fi_info {
        next: *mut FiInfo,
        caps: u64,
        mode: u64,
        addr_format: u32,
        src_addrlen: usize,
        dest_addrlen: usize,
        src_addr: *mut c_void,
        dest_addr: *mut c_void,
        handle: *mut Fid,
        tx_attr: *mut TxAttr,
        rx_attr: *mut RxAttr,
        ep_attr: *mut EpAttr,
        domain_attr: *mut DomainAttr,
        fabric_attr: *mut FabricAttr,
    }

    struct Fid = fid {
        fclass: usize,
        context: *mut c_void,
        ops: *const FidOps,
    }

    struct FidOps = fi_ops {
        size: usize,
        close: unsafe extern "C" fn(*mut Fid) -> c_int,
        bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
        control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
    }

    struct FidFabric = fid_fabric {
        fid: Fid,
        ops: *const FabricOps,
        api_version: u32,
    }

    struct FabricOps = fi_ops_fabric {
        size: usize,
        domain: unsafe extern "C" fn(
            *mut FidFabric,
            *mut FiInfo,
            *mut *mut FidDomain,
            *mut c_void,
        ) -> c_int,
    }

    struct FidDomain = fid_domain {
        fid: Fid,
        ops: *const DomainOps,
        mr: *const MrOps,
    }

    struct DomainOps = fi_ops_domain {
        size: usize,
        av_open:
            unsafe extern "C" fn(*mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void) -> c_int,
        cq_open:
            unsafe extern "C" fn(*mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void) -> c_int,
        endpoint:
            unsafe extern "C" fn(*mut FidDomain, *mut FiInfo, *mut *mut FidEp, *mut c_void) -> c_int,
    }

    struct MrOps = fi_ops_mr {
        size: usize,
        reg: unsafe extern "C" fn(
            fid: *mut Fid,
            buf: *const c_void,
            len: usize,
            access: u64,
            offset: u64,
            requested_key: u64,
            flags: u64,
            mr: *mut *mut FidMr,
            context: *mut c_void,
        ) -> c_int,
    }

    struct FidMr = fid_mr {
        fid: Fid,
        mem_desc: *mut c_void,
        key: u64,
    }

    struct AvAttr = fi_av_attr {
        r#type: c_int,
        rx_ctx_bits: c_int,
        count: usize,
        ep_per_node: usize,
        name: *const c_char,
        map_addr: *mut c_void,
        flags: u64,
    }

    struct FidAv = fid_av {
        fid: Fid,
        ops: *const AvOps,
    }

    struct AvOps = fi_ops_av {
        size: usize,
        insert: unsafe extern "C" fn(
            *mut FidAv,
            *const c_void,
            usize,
            *mut FiAddr,
            u64,
            *mut c_void,
        ) -> c_int,
    }

    struct CqAttr = fi_cq_attr {
        size: usize,
        flags: u64,
        format: c_int,
        wait_obj: c_int,
        signaling_vector: c_int,
        wait_cond: c_int,
        wait_set: *mut c_void,
    }

    struct FidCq = fid_cq {
        fid: Fid,
        ops: *const CqOps,
    }

    struct CqOps = fi_ops_cq {
        size: usize,
        read: unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize,
        readfrom: Unused,
        readerr: unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize,
        sread: Unused,
        sreadfrom: Unused,
        signal: Unused,
        strerror:
            unsafe extern "C" fn(*mut FidCq, c_int, *const c_void, *mut c_char, usize) -> *const c_char,
    }

    struct CqErrEntry = fi_cq_err_entry {
        op_context: *mut c_void,
        flags: u64,
        len: usize,
        buf: *mut c_void,
        data: u64,
        tag: u64,
        olen: usize,
        err: c_int,
        prov_errno: c_int,
        err_data: *mut c_void,
        err_data_size: usize,
    }

    struct FidEp = fid_ep {
        fid: Fid,
        ops: Unused,
        cm: *const CmOps,
        msg: Unused,
        rma: *const RmaOps,
        tagged: Unused,
        atomic: *const AtomicOps,
    }

    struct CmOps = fi_ops_cm {
        size: usize,
        setname: Unused,
        getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
    }

    struct RmaOps = fi_ops_rma {
        size: usize,
        read: Unused,
        readv: Unused,
        readmsg: unsafe extern "C" fn(*mut FidEp, *const MsgRma, u64) -> isize,
        write: Unused,
        writev: Unused,
        writemsg: unsafe extern "C" fn(*mut FidEp, *const MsgRma, u64) -> isize,
    }

    struct AtomicOps = fi_ops_atomic {
        size: usize,
        write: Unused,
        writev: Unused,
        writemsg: Unused,
        inject: Unused,
        readwrite: Unused,
        readwritev: Unused,
        readwritemsg: unsafe extern "C" fn(
            *mut FidEp,
            *const MsgAtomic,
            *mut Ioc,
            *mut *mut c_void,
            usize,
            u64,
        ) -> isize,
        compwrite: Unused,
        compwritev: Unused,
        compwritemsg: unsafe extern "C" fn(
            *mut FidEp,
            *const MsgAtomic,
            *const Ioc,
            *mut *mut c_void,
            usize,
            *mut Ioc,
            *mut *mut c_void,
            usize,
            u64,
        ) -> isize,
        writevalid: Unused,
        readwritevalid: unsafe extern "C" fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int,
        compwritevalid: unsafe extern "C" fn(*mut FidEp, c_int, c_int, *mut usize) -> c_int,
    }

    struct RmaIov = fi_rma_iov {
        addr: u64,
        len: usize,
        key: u64,
    }

    struct MsgRma = fi_msg_rma {
        msg_iov: *const libc::iovec,
        desc: *mut *mut c_void,
        iov_count: usize,
        addr: FiAddr,
        rma_iov: *const RmaIov,
        rma_iov_count: usize,
        context: *mut c_void,
        data: u64,
    }

    struct Ioc = fi_ioc {
        addr: *mut c_void,
        count: usize,
    }

    /// `fi_rma_ioc`: as [`RmaIov`], with a count of data for a length.
    struct RmaIoc = fi_rma_ioc {
        addr: u64,
        count: usize,
        key: u64,
    }

    struct MsgAtomic = fi_msg_atomic {
        msg_iov: *const Ioc,
        desc: *mut *mut c_void,
        iov_count: usize,
        addr: FiAddr,
        rma_iov: *const RmaIoc,
        rma_iov_count: usize,
        datatype: c_int,
        op: c_int,
        context: *mut c_void,
        data: u64,
    }
}

/// `fi_cq_err_entry` with place behind it: later versions have more fields.
#[repr(C)]
pub struct CqErrSpace {
    pub entry: CqErrEntry,
    pub later: [u64; 4],
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `fabrics/test` compares the file with libfabric's headers.
    #[test]
    fn layouts_are_those_of_the_headers() {
        let lines = constants().into_iter().chain(layouts());
        let text: String = lines.map(|line| line + "\n").collect();
        expect_test::expect_file!["layouts.txt"].assert_eq(&text);
    }
}
