//! The names under which programs find the functions, each in libibverbs's version node.
//!
//! Each name is a jump to a function of [`super::calls`], because Rust cannot give a symbol a version.

use std::arch::global_asm;

use super::calls::{
    address, completion, context, device, memory, modify, pair, shared, text, unsupported,
};

/// The instruction that jumps.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp"
    };
}

/// The instruction that jumps.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b"
    };
}

/// Exports names in a version node, each with its function.
macro_rules! export {
    ($($node:literal: $($name:literal => $function:path),+ $(,)?;)+) => { $($(
        global_asm!(
            ".text",
            concat!(".globl at_", $name),
            concat!(".type at_", $name, ", @function"),
            concat!("at_", $name, ": ", jump!(), " {function}"),
            concat!(".size at_", $name, ", . - at_", $name),
            concat!(".symver at_", $name, ", ", $name, "@@@IBVERBS_", $node),
            function = sym $function,
        );
    )+)+ };
}

export! {
    "1.0":
        "ibv_create_comp_channel" => completion::create_comp_channel,
        "ibv_destroy_comp_channel" => completion::destroy_comp_channel,
        "ibv_rate_to_mult" => text::rate_to_mult,
        "mult_to_ibv_rate" => text::mult_to_rate,
        "ibv_read_sysfs_file" => device::read_sysfs_file,
        "ibv_get_sysfs_path" => device::get_sysfs_path,
        "ibv_copy_path_rec_from_kern" => unsupported::nothing,
        "ibv_copy_path_rec_to_kern" => unsupported::nothing,
        "ibv_copy_qp_attr_from_kern" => unsupported::nothing;
    "1.1":
        "ibv_get_device_list" => device::get_device_list,
        "ibv_free_device_list" => device::free_device_list,
        "ibv_get_device_name" => device::get_device_name,
        "ibv_get_device_guid" => device::get_device_guid,
        "ibv_open_device" => context::open_device,
        "ibv_close_device" => context::close_device,
        "ibv_get_async_event" => context::get_async_event,
        "ibv_ack_async_event" => context::ack_async_event,
        "ibv_query_device" => context::query_device,
        "ibv_query_port" => context::query_port,
        "ibv_query_gid" => context::query_gid,
        "ibv_query_pkey" => context::query_pkey,
        "ibv_alloc_pd" => memory::alloc_pd,
        "ibv_dealloc_pd" => memory::dealloc_pd,
        "ibv_reg_mr" => memory::reg_mr,
        "ibv_rereg_mr" => memory::rereg_mr,
        "ibv_dereg_mr" => memory::dereg_mr,
        "ibv_create_cq" => completion::create_cq,
        "ibv_resize_cq" => completion::resize_cq,
        "ibv_destroy_cq" => completion::destroy_cq,
        "ibv_get_cq_event" => completion::get_cq_event,
        "ibv_ack_cq_events" => completion::ack_cq_events,
        "ibv_create_srq" => shared::create_srq,
        "ibv_modify_srq" => shared::modify_srq,
        "ibv_query_srq" => shared::query_srq,
        "ibv_destroy_srq" => shared::destroy_srq,
        "ibv_create_qp" => pair::create_qp,
        "ibv_query_qp" => pair::query_qp,
        "ibv_modify_qp" => modify::modify_qp,
        "ibv_destroy_qp" => pair::destroy_qp,
        "ibv_wc_status_str" => text::wc_status_str,
        "ibv_event_type_str" => text::event_type_str,
        "ibv_port_state_str" => text::port_state_str,
        "ibv_node_type_str" => text::node_type_str,
        "ibv_rate_to_mbps" => text::rate_to_mbps,
        "mbps_to_ibv_rate" => text::mbps_to_rate,
        "ibv_fork_init" => device::fork_init,
        "ibv_create_ah" => address::create_ah,
        "ibv_create_ah_from_wc" => address::create_ah_from_wc,
        "ibv_attach_mcast" => unsupported::code,
        "ibv_detach_mcast" => unsupported::code,
        "ibv_destroy_ah" => address::destroy_ah,
        "ibv_resolve_eth_l2_from_gid" => unsupported::code,
        "ibv_init_ah_from_wc" => address::init_ah_from_wc,
        "ibv_copy_ah_attr_from_kern" => unsupported::nothing,
        "ibv_register_driver" => unsupported::nothing,
        "ibv_dofork_range" => device::fork_init,
        "ibv_dontfork_range" => device::fork_init;
    "1.5":
        "ibv_get_pkey_index" => context::get_pkey_index;
    "1.6":
        "ibv_qp_to_qp_ex" => pair::qp_to_qp_ex;
    "1.7":
        "ibv_reg_mr_iova" => memory::reg_mr_iova;
    "1.8":
        "ibv_reg_mr_iova2" => memory::reg_mr_iova2;
    "1.9":
        "ibv_get_device_index" => device::get_device_index;
    "1.10":
        "ibv_import_device" => unsupported::object,
        "ibv_import_mr" => unsupported::object,
        "ibv_import_pd" => unsupported::object,
        "ibv_query_ece" => unsupported::code,
        "ibv_set_ece" => unsupported::code,
        "ibv_unimport_mr" => unsupported::nothing,
        "ibv_unimport_pd" => unsupported::nothing;
    "1.11":
        "_ibv_query_gid_ex" => context::query_gid_ex,
        "_ibv_query_gid_table" => context::query_gid_table;
    "1.12":
        "ibv_reg_dmabuf_mr" => memory::reg_dmabuf_mr;
    "1.13":
        "ibv_is_fork_initialized" => device::is_fork_initialized,
        "ibv_import_dm" => unsupported::object,
        "ibv_unimport_dm" => unsupported::nothing;
    "1.14":
        "ibv_query_qp_data_in_order" => pair::query_qp_data_in_order;
    // Only the providers of real devices call these, but their libraries do not load without them.
    "PRIVATE_34":
        "ibv_query_gid_type" => context::query_gid_type,
        "_verbs_init_and_alloc_context" => unsupported::object,
        "verbs_open_device" => unsupported::object,
        "__verbs_log" => unsupported::nothing,
        "verbs_init_cq" => unsupported::nothing,
        "verbs_register_driver_34" => unsupported::nothing,
        "verbs_set_ops" => unsupported::nothing,
        "verbs_uninit_context" => unsupported::nothing,
        "__ioctl_final_num_attrs" => unsupported::code,
        "execute_ioctl" => unsupported::code,
        "ibv_cmd_advise_mr" => unsupported::code,
        "ibv_cmd_alloc_dm" => unsupported::code,
        "ibv_cmd_alloc_mw" => unsupported::code,
        "ibv_cmd_alloc_pd" => unsupported::code,
        "ibv_cmd_attach_mcast" => unsupported::code,
        "ibv_cmd_close_xrcd" => unsupported::code,
        "ibv_cmd_create_ah" => unsupported::code,
        "ibv_cmd_create_counters" => unsupported::code,
        "ibv_cmd_create_cq" => unsupported::code,
        "ibv_cmd_create_cq_ex" => unsupported::code,
        "ibv_cmd_create_cq_ex2" => unsupported::code,
        "ibv_cmd_create_flow" => unsupported::code,
        "ibv_cmd_create_flow_action_esp" => unsupported::code,
        "ibv_cmd_create_qp" => unsupported::code,
        "ibv_cmd_create_qp_ex" => unsupported::code,
        "ibv_cmd_create_qp_ex2" => unsupported::code,
        "ibv_cmd_create_rwq_ind_table" => unsupported::code,
        "ibv_cmd_create_srq" => unsupported::code,
        "ibv_cmd_create_srq_ex" => unsupported::code,
        "ibv_cmd_create_wq" => unsupported::code,
        "ibv_cmd_dealloc_mw" => unsupported::code,
        "ibv_cmd_dealloc_pd" => unsupported::code,
        "ibv_cmd_dereg_mr" => unsupported::code,
        "ibv_cmd_destroy_ah" => unsupported::code,
        "ibv_cmd_destroy_counters" => unsupported::code,
        "ibv_cmd_destroy_cq" => unsupported::code,
        "ibv_cmd_destroy_flow" => unsupported::code,
        "ibv_cmd_destroy_flow_action" => unsupported::code,
        "ibv_cmd_destroy_qp" => unsupported::code,
        "ibv_cmd_destroy_rwq_ind_table" => unsupported::code,
        "ibv_cmd_destroy_srq" => unsupported::code,
        "ibv_cmd_destroy_wq" => unsupported::code,
        "ibv_cmd_detach_mcast" => unsupported::code,
        "ibv_cmd_free_dm" => unsupported::code,
        "ibv_cmd_get_context" => unsupported::code,
        "ibv_cmd_modify_cq" => unsupported::code,
        "ibv_cmd_modify_flow_action_esp" => unsupported::code,
        "ibv_cmd_modify_qp" => unsupported::code,
        "ibv_cmd_modify_qp_ex" => unsupported::code,
        "ibv_cmd_modify_srq" => unsupported::code,
        "ibv_cmd_modify_wq" => unsupported::code,
        "ibv_cmd_open_qp" => unsupported::code,
        "ibv_cmd_open_xrcd" => unsupported::code,
        "ibv_cmd_poll_cq" => unsupported::code,
        "ibv_cmd_post_recv" => unsupported::code,
        "ibv_cmd_post_send" => unsupported::code,
        "ibv_cmd_post_srq_recv" => unsupported::code,
        "ibv_cmd_query_context" => unsupported::code,
        "ibv_cmd_query_device_any" => unsupported::code,
        "ibv_cmd_query_mr" => unsupported::code,
        "ibv_cmd_query_port" => unsupported::code,
        "ibv_cmd_query_qp" => unsupported::code,
        "ibv_cmd_query_srq" => unsupported::code,
        "ibv_cmd_read_counters" => unsupported::code,
        "ibv_cmd_reg_dm_mr" => unsupported::code,
        "ibv_cmd_reg_dmabuf_mr" => unsupported::code,
        "ibv_cmd_reg_mr" => unsupported::code,
        "ibv_cmd_req_notify_cq" => unsupported::code,
        "ibv_cmd_rereg_mr" => unsupported::code,
        "ibv_cmd_resize_cq" => unsupported::code,
        "ibv_read_ibdev_sysfs_file" => unsupported::code,
        "ibv_wr_opcode_str" => unsupported::object,
        "verbs_allow_disassociate_destroy" => unsupported::code;
}
