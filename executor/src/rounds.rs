//! Runs a plan on real RDMA: rounds of many instances, each on its own words.
//!
//! An *instance* is one run of the program. All instances of a *round* start after a barrier of all threads
//! and are then in flight together; a *batch* of rounds shares the memory that is laid out for it, and only
//! at its end does every thread wait for all that it has posted. So the pipe stays full, no instance uses
//! words that another one has used before (a source that is reused too early fakes weak outcomes), and weak
//! outcomes get their chance.

mod backlog;
mod barrier;
mod layout;
mod pace;
mod parameters;
mod stress;
mod thread;

pub use barrier::{ARRIVAL_DEPTH, ARRIVAL_WORDS, Barrier, Signal};
pub use layout::{Batch, Layout, places, round_sizes};
pub use parameters::{Parameters, Preset};
pub use stress::{STREAM_DEPTH, STREAM_WORDS, Stream};
pub use thread::{
    Connection, End, Ending, Fold, Receiver, SharedConnection, Stop, ThreadResult, ThreadRun,
    receives_at_once,
};
