//! The objects that programs hold: C structures, each followed by our own data.
//!
//! A program reads and writes the C part while the NIC works. So the C part is accessed only through
//! pointers, and references are made only to our own part.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::ffi::cancel::Uncanceled;
use crate::nic::{AsyncEvent, Nic};
use crate::queues::{Channel, CompletionQueue, Receives, Sends};
use crate::request::{Completion, Destination, SendRequest};

use super::abi::{
    ibv_ah, ibv_comp_channel, ibv_context, ibv_cq, ibv_cq_ex, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr,
    ibv_qp_ex, ibv_qp_init_attr, ibv_srq, verbs_context,
};

/// An object that consists of a C structure and our own data.
pub trait Object {
    /// The C structure that programs know.
    type C;
    /// The offset of the pointer that C has from the start of the object.
    const OFFSET: usize = 0;
}

macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $c:ty, $known:ty, $rust:ty) => {
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            /// The C part.
            pub c: $c,
            /// Our own part.
            pub own: $rust,
        }
        impl $name {
            /// Our own part of an object. `None` for null.
            ///
            /// # Safety
            /// The pointer is null, or this library gave it to the program, and the object is not destroyed.
            pub unsafe fn own<'a>(known: *mut $known) -> Option<&'a $rust> {
                // SAFETY: by the contract, there is a whole object, and it lives during the caller's call.
                unsafe { Self::whole(known).map(|whole| &(*whole).own) }
            }

            /// The whole object. `None` for null.
            ///
            /// # Safety
            /// As for `own`.
            pub unsafe fn whole(known: *mut $known) -> Option<*mut Self> {
                // SAFETY: the C pointer has this offset in every object that this library made.
                (!known.is_null()).then(|| unsafe { known.byte_sub(<Self as Object>::OFFSET).cast() })
            }

            /// The object, to be dropped. `None` for null.
            ///
            /// # Safety
            /// As for `own`. Nothing uses the object afterwards.
            pub unsafe fn take(known: *mut $known) -> Option<Box<Self>> {
                // SAFETY: `give` made it, so it is a box.
                unsafe { Self::whole(known).map(|whole| Box::from_raw(whole)) }
            }

            /// Puts the object on the heap, where it stays until `take`.
            pub fn give(self) -> *mut $known {
                let whole = Box::into_raw(Box::new(self));
                // SAFETY: the C part is inside the box.
                unsafe { whole.byte_add(<Self as Object>::OFFSET).cast() }
            }
        }
    };
}

object!(
    /// A context.
    ContextObject, verbs_context, ibv_context, Context
);
impl Object for ContextObject {
    type C = ibv_context;
    const OFFSET: usize = offset_of!(verbs_context, context);
}
object!(
    /// A protection domain.
    DomainObject, ibv_pd, ibv_pd, Domain
);
impl Object for DomainObject {
    type C = ibv_pd;
}
object!(
    /// A memory region.
    RegionObject, ibv_mr, ibv_mr, u32
);
impl Object for RegionObject {
    type C = ibv_mr;
}
object!(
    /// A completion channel.
    ChannelObject, ibv_comp_channel, ibv_comp_channel, Arc<Channel<usize>>
);
impl Object for ChannelObject {
    type C = ibv_comp_channel;
}
object!(
    /// A completion queue.
    CqObject, ibv_cq_ex, ibv_cq, Cq
);
impl Object for CqObject {
    type C = ibv_cq;
}
object!(
    /// An address handle.
    AhObject, ibv_ah, ibv_ah, Destination
);
impl Object for AhObject {
    type C = ibv_ah;
}
object!(
    /// A shared receive queue.
    SrqObject, ibv_srq, ibv_srq, Arc<Receives>
);
impl Object for SrqObject {
    type C = ibv_srq;
}
object!(
    /// A queue pair.
    QpObject, ibv_qp_ex, ibv_qp, Qp
);
impl Object for QpObject {
    type C = ibv_qp;
}

/// Our data of a context.
pub struct Context {
    /// The NIC of the process.
    pub nic: &'static Nic,
    /// The index of the device.
    pub device: u16,
    /// The channel for asynchronous events.
    pub channel: Arc<Channel<AsyncEvent>>,
    /// The number of objects that were made in it and are not destroyed.
    pub objects: AtomicUsize,
}

/// Our data of a protection domain.
pub struct Domain {
    /// The number of the domain.
    pub number: u32,
    /// The number of queue pairs, shared receive queues and address handles in it.
    pub users: AtomicUsize,
}

/// Our data of a completion queue.
pub struct Cq {
    /// The queue.
    pub queue: Arc<CompletionQueue>,
    /// The completion that `start_poll` or `next_poll` found last.
    pub current: Mutex<Option<Completion>>,
    /// From `start_poll` to `end_poll`, if several threads may poll: the others wait.
    pub polled: Option<AtomicBool>,
}

/// Our data of a queue pair.
pub struct Qp {
    /// The queue pair number.
    pub number: u32,
    /// The posted send requests.
    pub sends: Arc<Sends>,
    /// The posted receive requests.
    pub receives: Arc<Receives>,
    /// The last state that the program set. The NIC may have moved it to the error state since.
    pub state: AtomicI32,
    /// The attributes that were set last.
    pub attributes: Mutex<ibv_qp_attr>,
    /// The attributes it was created with.
    pub made_from: ibv_qp_init_attr,
    /// Whether the program may use `ibv_wr_*`.
    pub extended: bool,
    /// For which of its operations, as in `ibv_qp_create_send_ops_flags`.
    pub operations: u64,
}

thread_local! {
    /// For each queue pair, the requests that this thread has collected with `ibv_wr_*`, and the first error.
    pub static WORK: RefCell<HashMap<u32, (Vec<SendRequest>, c_int)>> = RefCell::new(HashMap::new());
}

/// Sets errno.
pub fn set_errno(code: c_int) {
    // SAFETY: the place of errno is always there for the calling thread.
    unsafe { *libc::__errno_location() = code }
}

/// The result of a function that fails to create an object: null, with errno set.
pub fn none<T>(code: c_int) -> *mut T {
    set_errno(code);
    ptr::null_mut()
}

/// Calls `act`, and returns `otherwise` if it panics: a panic must not unwind into C. The thread is not
/// canceled meanwhile.
pub fn guard<T>(otherwise: impl FnOnce() -> T, act: impl FnOnce() -> T) -> T {
    let _uncanceled = Uncanceled::new();
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| otherwise())
}

/// Like `guard`, for a function that returns an error number.
pub fn guard_code(act: impl FnOnce() -> c_int) -> c_int {
    guard(|| libc::EIO, act)
}

/// Like `guard`, for a function that creates an object.
pub fn guard_new<T>(act: impl FnOnce() -> Result<*mut T, c_int>) -> *mut T {
    guard(|| Err(libc::EIO), act).unwrap_or_else(none)
}
