//! What programs hold: C's structures, each with what belongs to it behind them.
//!
//! A program reads and writes its part while the NIC works, so C's part is only ever accessed through pointers, and
//! references are made to the other part alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_int;
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::nic::{AsyncEvent, Nic};
use crate::queues::{Channel, CompletionQueue, Receives, Sends};
use crate::request::{Completion, SendRequest};

use super::abi::{
    ibv_comp_channel, ibv_context, ibv_cq, ibv_cq_ex, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr,
    ibv_qp_ex, ibv_qp_init_attr, ibv_srq, verbs_context,
};

/// What of an object is not C's.
pub trait Object {
    /// The structure by which C knows it.
    type C;
    /// How far C's structure is behind the start.
    const OFFSET: usize = 0;
}

macro_rules! object {
    ($(#[$doc:meta])* $name:ident, $c:ty, $known:ty, $rust:ty) => {
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            /// C's part.
            pub c: $c,
            /// The other part.
            pub own: $rust,
        }
        impl $name {
            /// The part that is not C's; `None` for null.
            ///
            /// # Safety
            /// The pointer is null, or this library gave it to the program, and the object is not destroyed.
            pub unsafe fn own<'a>(known: *mut $known) -> Option<&'a $rust> {
                // SAFETY: by the contract there is a whole object there, and it lives as long as the caller's call.
                unsafe { Self::whole(known).map(|whole| &(*whole).own) }
            }

            /// The whole object; `None` for null.
            ///
            /// # Safety
            /// As for `own`.
            pub unsafe fn whole(known: *mut $known) -> Option<*mut Self> {
                // SAFETY: C's part is at this distance in an object that this library made.
                (!known.is_null()).then(|| unsafe { known.byte_sub(<Self as Object>::OFFSET).cast() })
            }

            /// The object, to be dropped; `None` for null.
            ///
            /// # Safety
            /// As for `own`; and nobody uses the object afterwards.
            pub unsafe fn take(known: *mut $known) -> Option<Box<Self>> {
                // SAFETY: it was made by `give`, so it is a box.
                unsafe { Self::whole(known).map(|whole| Box::from_raw(whole)) }
            }

            /// Puts the object where it stays until `take`.
            pub fn give(self) -> *mut $known {
                let whole = Box::into_raw(Box::new(self));
                // SAFETY: C's part is inside of the box.
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

/// What belongs to a context.
pub struct Context {
    /// The NIC.
    pub nic: &'static Nic,
    /// Which device.
    pub device: u16,
    /// Asynchronous events.
    pub channel: Arc<Channel<AsyncEvent>>,
    /// Objects that were made in it and are not destroyed.
    pub objects: AtomicUsize,
}

/// What belongs to a protection domain.
pub struct Domain {
    /// Its number.
    pub number: u32,
    /// Queue pairs and shared receive queues in it.
    pub users: AtomicUsize,
}

/// What belongs to a completion queue.
pub struct Cq {
    /// The queue.
    pub queue: Mutex<Arc<CompletionQueue>>,
    /// What `start_poll` and `next_poll` have found.
    pub current: Mutex<Option<Completion>>,
}

/// What belongs to a queue pair.
pub struct Qp {
    /// Its number.
    pub number: u32,
    /// Requests to send.
    pub sends: Arc<Sends>,
    /// Requests to receive.
    pub receives: Arc<Receives>,
    /// The state that the program brought it to; the NIC may have brought it to the error state.
    pub state: AtomicI32,
    /// Attributes as they were set last.
    pub attributes: Mutex<ibv_qp_attr>,
    /// What it was made from.
    pub made_from: ibv_qp_init_attr,
    /// Whether `ibv_wr_*` may be used.
    pub extended: bool,
}

thread_local! {
    /// What this thread has collected by `ibv_wr_*` for which queue pair, and what was wrong with it.
    pub static WORK: RefCell<HashMap<u32, (Vec<SendRequest>, c_int)>> = RefCell::new(HashMap::new());
}

/// Sets errno.
pub fn set_errno(code: c_int) {
    // SAFETY: the place of errno is always there for the calling thread.
    unsafe { *libc::__errno_location() = code }
}

/// What a function that makes something gives when it cannot.
pub fn none<T>(code: c_int) -> *mut T {
    set_errno(code);
    ptr::null_mut()
}

/// Calls something that must not unwind into C.
pub fn guard<T>(otherwise: impl FnOnce() -> T, act: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| otherwise())
}

/// As `guard`, for a function that gives an error number.
pub fn guard_code(act: impl FnOnce() -> c_int) -> c_int {
    guard(|| libc::EIO, act)
}

/// As `guard`, for a function that makes something.
pub fn guard_new<T>(act: impl FnOnce() -> Result<*mut T, c_int>) -> *mut T {
    guard(|| Err(libc::EIO), act).unwrap_or_else(none)
}
