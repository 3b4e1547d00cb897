//! Completion queues.

use std::ffi::c_int;
use std::mem::zeroed;
use std::ptr::{NonNull, null_mut};

use super::{CallError, sys};

/// Creates a completion queue that one thread at a time uses, and says so. Then a provider need not lock it
/// in `ibv_poll_cq`, which would drain the store buffer of the thread that polls. Our NIC in software does
/// not. The flag of mlx5 is for `ibv_start_poll` alone, and some providers know nothing of it.
///
/// # Safety
/// The context is open.
pub unsafe fn create(
    context: NonNull<sys::ibv_context>,
    entries: u32,
) -> Result<NonNull<sys::ibv_cq>, CallError> {
    // SAFETY: by the contract. There is no channel, and no context of ours.
    let plain = || unsafe {
        let entries = c_int::try_from(entries).unwrap_or(c_int::MAX);
        sys::ibv_create_cq(context.as_ptr(), entries, null_mut(), null_mut(), 0)
    };
    // SAFETY: by the contract.
    let made = unsafe { for_one_thread(context, entries) };
    let made = made.or_else(|| NonNull::new(plain()));
    made.ok_or_else(|| CallError::last("ibv_create_cq"))
}

/// Creates an extended completion queue, which is also a plain one. `None` if the provider refuses.
unsafe fn for_one_thread(
    context: NonNull<sys::ibv_context>,
    entries: u32,
) -> Option<NonNull<sys::ibv_cq>> {
    // SAFETY: all fields are numbers, and pointers that may be null.
    let mut wanted: sys::ibv_cq_init_attr_ex = unsafe { zeroed() };
    wanted.cqe = entries;
    wanted.comp_mask = sys::ibv_cq_init_attr_mask::IBV_CQ_INIT_ATTR_MASK_FLAGS.0;
    wanted.flags = sys::ibv_create_cq_attr_flags::IBV_CREATE_CQ_ATTR_SINGLE_THREADED.0;
    // SAFETY: the context is open, and the attributes are filled in.
    let made = unsafe { sys::ibv_create_cq_ex(context.as_ptr(), &mut wanted) };
    #[cfg(feature = "rdma-sys")]
    let made = made.unwrap_or(null_mut());
    // The first fields of an extended one are those of a plain one (`ibv_cq_ex_to_cq`).
    NonNull::new(made.cast())
}
