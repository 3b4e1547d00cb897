//! Work on many things at once, within the limits of the process: a panic is a result, and so is a limit.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use campaign::ordered::{self, caught};
use lang::limits::Reached;

use crate::exit::Exit;
use crate::memory;

/// Why work has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It panicked, with this message: a bug.
    Panic(String),
    /// It was given up.
    Limit(Reached),
}

impl Broken {
    /// Why there is no result; if that is a bug, the command ends as bugs do.
    pub fn why(&self, exit: &mut Exit) -> String {
        match self {
            Self::Limit(reached) => reached.to_string(),
            Self::Panic(message) => {
                exit.raise(Exit::Internal);
                format!("internal error: {message}")
            }
        }
    }
}

/// As [`ordered::map_in_order`]. A panic of `work` is a result like others, and so is that it was given up:
/// the limit of memory holds for it.
pub fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&T) -> R + Sync,
    each: impl FnMut(&T, Result<R, Broken>) -> ControlFlow<()>,
) {
    ordered::map_in_order(items, jobs, stop, |item| guard(|| work(item)), each);
}

/// The result of some work, or why there is none.
pub fn guard<R>(work: impl FnOnce() -> R) -> Result<R, Broken> {
    let done = caught(|| memory::limits().within(work)).map_err(Broken::Panic)?;
    done.map_err(Broken::Limit)
}
