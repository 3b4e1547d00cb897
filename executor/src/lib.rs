//! Runs tests on backends, records what was seen, and judges it.
//!
//! A [`backend::Backend`] turns a test into raw observations ([`observation`]); a [`record`] keeps them as JSON
//! lines; [`judge`] compares them with what a model allows. The three know nothing of each other's insides, so a
//! record can be judged again, under another model, without the machine that made it.

pub mod backend;
pub mod judge;
pub mod nodes;
pub mod observation;
pub mod rdma;
pub mod record;
pub mod reports;
pub mod rounds;
pub mod sim;
pub mod tune;
