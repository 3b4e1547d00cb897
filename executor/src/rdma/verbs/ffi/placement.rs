//! FLUSH and ATOMIC_WRITE, which only `ibv_wr_*` has, on queue pairs that are made for it.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::zeroed;
use std::ptr::NonNull;

use compiler::plan::Placements;

use super::{CallError, sys};

/// `IBV_QP_EX_WITH_FLUSH`, since rdma-core 45.
const WITH_FLUSH: u64 = 1 << 11;
/// `IBV_QP_EX_WITH_ATOMIC_WRITE`, since rdma-core 44.
const WITH_ATOMIC_WRITE: u64 = 1 << 12;
/// What `ibv_post_send` is used for on such a queue pair as well: writes and sends, with and without an
/// immediate, reads, and both atomics.
const WITH_OTHERS: u64 = 0b111_1111;

/// `ibv_qp_ex`. Bindings to older headers end before the last function, which libibverbs fills in for queue
/// pairs that are made with [`WITH_FLUSH`].
#[repr(C)]
struct Builder {
    base: sys::ibv_qp,
    comp_mask: u64,
    wr_id: u64,
    wr_flags: c_uint,
    /// From `wr_atomic_cmp_swp` to `wr_set_sge_list`.
    others: [*const c_void; 17],
    start: Option<unsafe extern "C" fn(*mut Self)>,
    complete: Option<unsafe extern "C" fn(*mut Self) -> c_int>,
    abort: *const c_void,
    atomic_write: Option<unsafe extern "C" fn(*mut Self, u32, u64, *const c_void)>,
    flush: Option<unsafe extern "C" fn(*mut Self, u32, u64, usize, u8, u8)>,
}

/// A request that `ibv_post_send` does not have.
#[derive(Clone, Copy)]
pub enum PlacementRequest {
    /// `ibv_wr_atomic_write` of this value.
    AtomicWrite(u64),
    /// `ibv_wr_flush` of the whole region, for visibility, and for persistence too if so.
    Flush { is_persistent: bool },
}

/// Creates a queue pair that takes them. What it may do follows from `initial`.
///
/// # Safety
/// The domain is one of the context, both are alive, and so are the queues that `initial` names.
pub unsafe fn create(
    context: NonNull<sys::ibv_context>,
    domain: NonNull<sys::ibv_pd>,
    initial: &mut sys::ibv_qp_init_attr,
    placements: Placements,
) -> *mut sys::ibv_qp {
    use sys::ibv_qp_init_attr_mask as mask;
    // SAFETY: all fields are numbers, and pointers that may be null.
    let mut all: sys::ibv_qp_init_attr_ex = unsafe { zeroed() };
    (all.send_cq, all.recv_cq) = (initial.send_cq, initial.recv_cq);
    (all.cap, all.qp_type, all.sq_sig_all) = (initial.cap, initial.qp_type, initial.sq_sig_all);
    all.pd = domain.as_ptr();
    all.comp_mask = mask::IBV_QP_INIT_ATTR_PD.0 | mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS.0;
    all.send_ops_flags = WITH_OTHERS
        | if placements.flush { WITH_FLUSH } else { 0 }
        | if placements.atomic_write { WITH_ATOMIC_WRITE } else { 0 };
    // SAFETY: by the contract; the call may write to `all`.
    let made = unsafe { sys::ibv_create_qp_ex(context.as_ptr(), &mut all) };
    #[cfg(feature = "rdma-sys")]
    let made = made.unwrap_or_else(|| {
        // A provider without this call.
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = libc::EOPNOTSUPP };
        std::ptr::null_mut()
    });
    initial.cap = all.cap;
    made
}

/// Posts a request, with an id and `ibv_send_flags`.
///
/// # Safety
/// The queue pair is alive, and [`create`] made it for this kind of request.
pub unsafe fn post(
    queue_pair: NonNull<sys::ibv_qp>,
    request: PlacementRequest,
    (id, flags): (u64, u32),
    (address, key): (u64, u32),
) -> Result<(), CallError> {
    const NAME: &str = "ibv_wr_complete";
    let lacking = CallError { call: "ibv_qp_to_qp_ex", errno: libc::EOPNOTSUPP };
    // SAFETY: the queue pair is alive.
    let builder: *mut Builder = unsafe { sys::ibv_qp_to_qp_ex(queue_pair.as_ptr()) }.cast();
    if builder.is_null() {
        return Err(lacking);
    }
    // SAFETY: the queue pair was made for `ibv_wr_*`, so it is such a structure, at least up to the functions
    // that it was made for. No other thread uses it. The value is copied before the call returns.
    unsafe {
        let (Some(start), Some(complete)) = ((*builder).start, (*builder).complete) else {
            return Err(lacking);
        };
        match request {
            PlacementRequest::AtomicWrite(value) => {
                let atomic_write = (*builder).atomic_write.ok_or(lacking)?;
                start(builder);
                ((*builder).wr_id, (*builder).wr_flags) = (id, flags);
                atomic_write(builder, key, address, (&raw const value).cast());
            }
            PlacementRequest::Flush { is_persistent } => {
                let flush = (*builder).flush.ok_or(lacking)?;
                // IBV_FLUSH_GLOBAL, with IBV_FLUSH_PERSISTENT; IBV_FLUSH_MR.
                let (placement, level) = (if is_persistent { 0b11 } else { 0b01 }, 1);
                start(builder);
                ((*builder).wr_id, (*builder).wr_flags) = (id, flags);
                flush(builder, key, address, 0, placement, level);
            }
        }
        CallError::check(NAME, complete(builder))
    }
}
