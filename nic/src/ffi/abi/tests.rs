use std::mem::offset_of;
use std::process::Command;

use super::*;

/// Generates lines of C. Each compiles only if the header agrees with Rust on a size or an offset.
macro_rules! agree {
    ($($structure:ident { $($field:ident $(= $known:literal)?),* $(,)? })*) => {{
        let mut lines = Vec::new();
        $(
            let name = stringify!($structure);
            lines.push(format!("_Static_assert(sizeof(struct {name}) == {}, \"{name}\");", size_of::<$structure>()));
            $(
                #[allow(unused_mut, unused_assignments, reason = "not all fields have another name")]
                let mut field = stringify!($field);
                $( field = $known; )?
                let offset = offset_of!($structure, $field);
                lines.push(format!(
                    "_Static_assert(offsetof(struct {name}, {field}) == {offset}, \"{name}.{field}\");"
                ));
            )*
        )*
        lines
    }};
}

#[test]
fn structures_are_laid_out_as_the_header_says() {
    let lines = agree! {
        ibv_device { node_type, transport_type, name, dev_name, dev_path, ibdev_path }
        ibv_context_ops { alloc_mw, poll_cq, req_notify_cq, post_srq_recv, post_send, post_recv }
        ibv_context { device, ops, cmd_fd, async_fd, num_comp_vectors, mutex, abi_compat }
        verbs_context { query_port, create_cq_ex, query_device_ex, open_qp, create_qp_ex, get_srq_num, create_srq_ex, sz, context }
        ibv_device_attr { node_guid, max_mr_size, vendor_id, max_qp, max_sge, atomic_cap, max_srq_sge, max_pkeys, phys_port_cnt }
        ibv_device_attr_ex { comp_mask, completion_timestamp_mask, max_dm_size, pci_atomic_caps, xrc_odp_caps, phys_port_cnt_ex }
        ibv_port_attr { gid_tbl_len, port_cap_flags, lid, lmc, active_width, link_layer, flags, port_cap_flags2 }
        ibv_gid_entry { gid_index, port_num, gid_type, ndev_ifindex }
        ibv_async_event { event_type }
        ibv_pd { context, handle }
        ibv_ah { context, pd, handle }
        ibv_mr { pd, addr, length, handle, lkey, rkey }
        ibv_comp_channel { fd, refcnt }
        ibv_cq { channel, cq_context, handle, cqe, mutex, cond, comp_events_completed, async_events_completed }
        ibv_cq_ex { comp_mask, status, wr_id, start_poll, end_poll, read_opcode, read_wc_flags, read_completion_ts, read_completion_wallclock_ns }
        ibv_cq_init_attr_ex { cqe, cq_context, channel, comp_vector, wc_flags, comp_mask, flags, parent_domain }
        ibv_srq_init_attr { srq_context, attr }
        ibv_srq_init_attr_ex { comp_mask, srq_type, pd, xrcd, cq, tm_cap }
        ibv_srq { srq_context, pd, handle, mutex, cond, events_completed }
        ibv_srq_attr { max_wr, max_sge, srq_limit }
        ibv_qp_cap { max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data }
        ibv_qp_init_attr { send_cq, recv_cq, srq, cap, qp_type, sq_sig_all }
        ibv_qp_init_attr_ex { comp_mask, pd, xrcd, create_flags, max_tso_header, rwq_ind_tbl, source_qpn, send_ops_flags }
        ibv_qp { pd, send_cq, recv_cq, srq, handle, qp_num, state, qp_type, mutex, cond, events_completed }
        ibv_qp_ex { comp_mask, wr_id, wr_flags, wr_atomic_cmp_swp, wr_rdma_write, wr_send_tso, wr_set_ud_addr, wr_set_sge, wr_start, wr_complete, wr_abort, wr_atomic_write, wr_flush }
        ibv_data_buf { addr, length }
        ibv_global_route { dgid, flow_label, sgid_index, hop_limit, traffic_class }
        ibv_ah_attr { dlid, sl, src_path_bits, static_rate, is_global, port_num }
        ibv_qp_attr { path_mtu, dest_qp_num, qp_access_flags, cap, ah_attr, alt_ah_attr, pkey_index, max_rd_atomic, timeout, rnr_retry, rate_limit }
        ibv_sge { addr, length, lkey }
        ibv_send_wr { next, sg_list, num_sge, opcode, send_flags, imm_data, wr, xrc_remote_srqn = "qp_type", bind_mw }
        ibv_recv_wr { next, sg_list, num_sge }
        ibv_wc { status, opcode, vendor_err, byte_len, imm_data, qp_num, src_qp, wc_flags, pkey_index, slid, sl, dlid_path_bits }
    };
    // Headers before rdma-core 45 end with the function before `wr_flush`.
    let flush = offset_of!(ibv_qp_ex, wr_flush);
    let lines = lines.into_iter().map(|line| match line.as_str() {
        line if line.contains("struct ibv_qp_ex)") => {
            let size = size_of::<ibv_qp_ex>();
            format!("enum {{ SIZE = sizeof(struct ibv_qp_ex) }};\n_Static_assert(SIZE == {flush} || SIZE == {size}, \"ibv_qp_ex\");")
        }
        line if line.contains("wr_flush") => {
            let before = "offsetof(struct ibv_qp_ex, wr_atomic_write)";
            format!("_Static_assert({before} + sizeof(void *) == {flush}, \"wr_flush\");")
        }
        _ => line,
    });
    let lines: Vec<String> = lines.collect();
    let path = std::env::temp_dir().join(format!("litmus-nic-abi-{}.c", std::process::id()));
    let text =
        format!("#include <infiniband/verbs.h>\n#include <stddef.h>\n{}\n", lines.join("\n"));
    std::fs::write(&path, text).expect("temporary files can be written");
    let output = Command::new("cc").arg("-fsyntax-only").arg(&path).output();
    let output = output.expect("./setup installs a compiler and libibverbs-dev");
    let _ = std::fs::remove_file(&path);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
