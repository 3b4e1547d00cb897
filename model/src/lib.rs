//! What programs mean: the semantics.

pub mod machine;
