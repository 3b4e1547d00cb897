//! `litmus watch`: `litmus allowed` again whenever a file is saved.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use clap::Args;
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

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
    let mut watched = match Watched::new(&paths) {
        Ok(watched) => watched,
        Err(error) => return cannot_watch(&error, terminal),
    };
    let mut is_first = true;
    while !stop.load(Ordering::Relaxed) && !terminal.is_closed() {
        // No change of a file mends the command line; later, a folder may only be away.
        if allowed::run(&arguments.allowed, terminal) == Exit::Usage && is_first {
            return Exit::Usage;
        }
        is_first = false;
        terminal.note("waiting for changes; Ctrl-C ends");
        match watched.wait(&paths, &stop) {
            Change::Content => {}
            // Before the check, so that no change after it is missed.
            Change::Place => match Watched::new(&paths) {
                Ok(anew) => watched = anew,
                Err(error) => return cannot_watch(&error, terminal),
            },
            Change::End => break,
        }
    }
    Exit::Fine
}

fn cannot_watch(error: &notify::Error, terminal: &mut Terminal) -> Exit {
    terminal.usage_error(&format!("files cannot be watched: {error}"))
}

/// What ended a wait.
enum Change {
    /// Something that is read has changed.
    Content,
    /// A path stands for another folder now, or for none: what was watched is elsewhere.
    Place,
    /// A signal came, or nothing can be told any more.
    End,
}

/// Paths that are watched.
struct Watched {
    changes: Receiver<notify::Result<Event>>,
    /// The folder that each path stood for.
    folders: Vec<Option<Identity>>,
    /// Watching ends when it is dropped.
    _watcher: RecommendedWatcher,
}

impl Watched {
    /// Those of the paths that are there.
    fn new(paths: &[PathBuf]) -> notify::Result<Self> {
        let (sender, changes) = mpsc::channel();
        let mut watcher = notify::recommended_watcher(sender)?;
        let folders: Vec<_> = paths.iter().map(|path| identity(folder(path))).collect();
        for path in paths.iter().filter(|path| folder(path).exists()) {
            let mode =
                if path.is_dir() { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            match watcher.watch(folder(path), mode) {
                // It has gone meanwhile, which the next look at the folders shows.
                Err(_) if !folder(path).exists() => {}
                done => done?,
            }
        }
        Ok(Self { changes, folders, _watcher: watcher })
    }

    fn wait(&self, paths: &[PathBuf], stop: &AtomicBool) -> Change {
        let has_moved = || {
            let now = paths.iter().map(|path| identity(folder(path)));
            !now.eq(self.folders.iter().copied())
        };
        loop {
            match self.changes.recv_timeout(PATIENCE) {
                Ok(Ok(event)) if is_of_interest(&event, paths) => break,
                Err(RecvTimeoutError::Disconnected) => return Change::End,
                _ if stop.load(Ordering::Relaxed) => return Change::End,
                Err(RecvTimeoutError::Timeout) if has_moved() => break,
                _ => {}
            }
        }
        while self.changes.recv_timeout(QUIET).is_ok() {}
        if has_moved() { Change::Place } else { Change::Content }
    }
}

/// A folder itself; of a file, its folder, since editors replace files.
fn folder(path: &Path) -> &Path {
    if path.is_dir() {
        return path;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// What tells a folder from another that has taken its name.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(folder: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let metadata = folder.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(folder: &Path) -> Option<Identity> {
    let created = folder.metadata().ok()?.created().ok()?;
    let since = created.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((since.as_secs(), since.subsec_nanos().into()))
}

/// Whether an event changes a file that is named, or one of a kind that is read, or moves a folder. Reading
/// is none.
fn is_of_interest(event: &Event, paths: &[PathBuf]) -> bool {
    let is_move = matches!(
        event.kind,
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
    );
    let is_read = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("litmus" | "cat" | "lib"))
            // A folder that has gone can be told by its name only.
            || is_move && (extension.is_none() || path.is_dir())
            || paths.iter().any(|own| own.file_name() == path.file_name())
    };
    !event.kind.is_access() && event.paths.iter().any(|path| is_read(path))
}
