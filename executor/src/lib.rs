//! Runs tests on backends, and makes records of it.
//!
//! A [`backend::Backend`] turns a test into raw observations. [`backend::measure`] makes a line of a record
//! of them. The crate `evidence` says what records mean, and under which model. It knows no backend.

pub mod backend;
pub mod mpi;
pub mod nodes;
pub mod rdma;
pub mod rounds;
pub mod sim;
pub mod temporary;
pub mod tune;
