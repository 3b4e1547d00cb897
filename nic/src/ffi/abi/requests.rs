//! Work requests and completions.
#![allow(missing_docs, reason = "named and documented in verbs.h")]

use std::ffi::{c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_sge {
    pub addr: u64,
    pub length: u32,
    pub lkey: u32,
}

/// The union `wr`. `rdma` uses the first word and the low half of the second. `atomic` uses all words. `ud`
/// uses the first word as a pointer, and the halves of the second.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_send_wr_target {
    pub remote_addr: u64,
    pub compare_add_or_rkey: u64,
    pub swap: u64,
    pub atomic_rkey: u32,
}

#[repr(C)]
pub struct ibv_send_wr {
    pub wr_id: u64,
    pub next: *mut ibv_send_wr,
    pub sg_list: *mut ibv_sge,
    pub num_sge: c_int,
    pub opcode: c_int,
    pub send_flags: u32,
    pub imm_data: u32,
    pub wr: ibv_send_wr_target,
    pub xrc_remote_srqn: u32,
    pub bind_mw: [*mut c_void; 6],
}

#[repr(C)]
pub struct ibv_recv_wr {
    pub wr_id: u64,
    pub next: *mut ibv_recv_wr,
    pub sg_list: *mut ibv_sge,
    pub num_sge: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ibv_wc {
    pub wr_id: u64,
    pub status: c_int,
    pub opcode: c_int,
    pub vendor_err: u32,
    pub byte_len: u32,
    pub imm_data: u32,
    pub qp_num: u32,
    pub src_qp: u32,
    pub wc_flags: u32,
    pub pkey_index: u16,
    pub slid: u16,
    pub sl: u8,
    pub dlid_path_bits: u8,
}
