//! Evidence: what was observed, and what it says of a model.
//!
//! A [`record`] keeps [`observation`]s as JSON lines; [`judge`] compares them with what a model allows;
//! [`reports`] says what all of it comes to. Nothing here runs a test on a machine, so a record can be judged
//! again, under another model, without the machine that made it.

pub mod device;
pub mod judge;
pub mod observation;
pub mod record;
pub mod reports;
