//! The functions of libibverbs, grouped by the kind of object.

pub mod address;
pub mod completion;
pub mod context;
pub mod device;
pub mod memory;
pub mod modify;
pub mod pair;
pub mod post;
pub mod shared;
pub mod text;
pub mod unsupported;
mod work;
