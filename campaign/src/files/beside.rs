//! Names beside the places of files, for what is not finished yet. Each is locked as long as the process that
//! writes there lives. So the next one that writes to the same place can tell what a process left that was
//! killed, and removes it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::LONGEST;

/// How the names of unfinished files and folders end.
const ENDING: &str = ".litmus-tmp";

/// The most processes that write to one place at once.
const MOST: usize = 1000;

/// A name beside a place, and what this process made there. Whoever has it must remove or rename it before it
/// is closed: then it is free for others.
#[derive(Debug)]
pub(super) struct Claim {
    pub path: PathBuf,
    /// Locked.
    pub file: File,
}

impl Claim {
    /// Makes a file beside the place where it is to be.
    ///
    /// # Errors
    /// What the file system says.
    pub fn file(target: &Path) -> io::Result<Self> {
        let make =
            |path: &Path| OpenOptions::new().read(true).append(true).create_new(true).open(path);
        Self::new(target, make)
    }

    /// Makes a folder beside the place where it is to be.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub fn folder(target: &Path) -> io::Result<Self> {
        Self::new(target, |path| fs::create_dir(path).and_then(|()| File::open(path)))
    }

    fn new(target: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<Self> {
        for number in 0..MOST {
            let path = named(target, number)?;
            let made = match make(&path) {
                Err(error) if is_taken(&error) && remove_if_dead(&path) => make(&path),
                made => made,
            };
            match made {
                Ok(file) if is_held(&file, &path) => {
                    tidy(target, number + 1);
                    return Ok(Self { path, file });
                }
                // Another process took it for dead, in the moment before it was locked.
                Ok(_) => {}
                Err(error) if is_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// Removes what killed processes left beside a place, from the name with this number on.
pub(super) fn tidy(target: &Path, from: usize) {
    let names = (from..MOST).map_while(|number| named(target, number).ok());
    let found = names.take_while(|path| fs::symlink_metadata(path).is_ok());
    found.for_each(|path| {
        remove_if_dead(&path);
    });
}

/// Whether a file or folder of this name is, or was, being written.
pub(super) fn is_name(name: &str) -> bool {
    name.ends_with(ENDING)
}

fn named(target: &Path, number: usize) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    // Names may be as long as the file system allows.
    let name: String = name.to_string_lossy().chars().take(LONGEST / 4).collect();
    let number = if number == 0 { String::new() } else { format!(".{number}") };
    Ok(target.with_file_name(format!("{name}{number}{ENDING}")))
}

fn is_taken(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AlreadyExists
}

/// Locks what was just made. Where the file system has no locks, nobody takes it for dead either.
fn is_held(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes a file or folder whose writer is dead, as its lock shows; whether it is gone.
fn remove_if_dead(path: &Path) -> bool {
    // Some network file systems lock only what is open for writing, and folders cannot be opened so.
    let opened = OpenOptions::new().read(true).append(true).open(path);
    let file = match opened.or_else(|_| File::open(path)) {
        Ok(file) => file,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    if file.try_lock().is_err() || !is_at(&file, path) {
        return false;
    }
    let is_folder = file.metadata().is_ok_and(|found| found.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.is_ok()
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(open), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

/// Elsewhere, what is open cannot be removed.
#[cfg(not(unix))]
pub(crate) fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}
