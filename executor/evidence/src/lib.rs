//! Evidence: what was observed, and what it says about a model.
//!
//! A [`record`] keeps [`observation`]s as JSON lines; [`judge`] compares them with what a model allows;
//! [`reports`] computes a report from all of it. Nothing here runs a test on a machine, so a record can be
//! judged again, under another model, without the machine that made it.

pub mod device;
pub mod judge;
pub mod observation;
pub mod record;
pub mod reports;
