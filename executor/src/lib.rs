//! Runs tests on backends, and makes records of it.
//!
//! A [`backend::Backend`] turns a test into raw observations, of which [`backend::measure`] makes a line of a record. What
//! records say, and of which model, is for the crate `evidence`: it knows no backend.

pub mod backend;
pub mod nodes;
pub mod rdma;
pub mod rounds;
pub mod sim;
pub mod tune;
