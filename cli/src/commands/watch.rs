//! `litmus watch`: `litmus allowed` again whenever a file is saved.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use notify::{Event, RecursiveMode, Watcher};

use super::allowed;
use crate::exit::Exit;
use crate::interrupt::stop_on_signal;
use crate::terminal::Terminal;

/// Check tests as `litmus allowed` does, and again whenever one, a model or a library is saved
///
/// Ctrl-C ends it.
#[derive(Args)]
#[group(id = "watch")]
pub struct Arguments {
    #[command(flatten)]
    allowed: allowed::Arguments,
}

/// Editors write in several steps: what comes within this time is one change.
const QUIET: Duration = Duration::from_millis(50);
/// How soon Ctrl-C is heard.
const PATIENCE: Duration = Duration::from_millis(200);

/// Checks until a signal comes.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let stop = stop_on_signal();
    let paths = arguments.allowed.files();
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return terminal.usage_error("standard input cannot be watched; name a file or folder");
    }
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return terminal.usage_error(&format!("{}: expected a file or folder", missing.display()));
    }
    let (sender, changes) = mpsc::channel();
    let watched = notify::recommended_watcher(sender).and_then(|mut watcher| {
        paths.iter().try_for_each(|path| watch(&mut watcher, path)).map(|()| watcher)
    });
    // Watching ends when the watcher is dropped.
    let _watcher = match watched {
        Ok(watcher) => watcher,
        Err(error) => return terminal.usage_error(&format!("files cannot be watched: {error}")),
    };
    while !stop.load(Ordering::Relaxed) && !terminal.is_closed() {
        // No change of a file mends the command line.
        if allowed::run(&arguments.allowed, terminal) == Exit::Usage {
            return Exit::Usage;
        }
        terminal.note("waiting for changes; Ctrl-C ends");
        if !wait(&changes, &paths, &stop) {
            break;
        }
    }
    Exit::Fine
}

/// A folder with all below it; of a file, its folder, since editors replace files.
fn watch(watcher: &mut impl Watcher, path: &Path) -> notify::Result<()> {
    if path.is_dir() {
        return watcher.watch(path, RecursiveMode::Recursive);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    watcher.watch(folder.unwrap_or(Path::new(".")), RecursiveMode::NonRecursive)
}

/// Waits until something that is read has changed; not so if a signal came or nothing can be told any more.
fn wait(changes: &Receiver<notify::Result<Event>>, paths: &[PathBuf], stop: &AtomicBool) -> bool {
    loop {
        match changes.recv_timeout(PATIENCE) {
            Ok(Ok(event)) if is_of_interest(&event, paths) => break,
            Err(RecvTimeoutError::Disconnected) => return false,
            _ if stop.load(Ordering::Relaxed) => return false,
            _ => {}
        }
    }
    while changes.recv_timeout(QUIET).is_ok() {}
    true
}

/// Whether an event changes a file that is named, or one of a kind that is read. Reading is none.
fn is_of_interest(event: &Event, paths: &[PathBuf]) -> bool {
    let is_read = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("litmus" | "cat" | "lib"))
            || paths.iter().any(|own| own.file_name() == path.file_name())
    };
    !event.kind.is_access() && event.paths.iter().any(|path| is_read(path))
}
