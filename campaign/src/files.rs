//! Files that are written whole: a crash or a full disk leaves what was there before, or all of the new, and
//! no part of it.

mod beside;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use beside::Claim;
pub(crate) use beside::is_at;

/// The longest name of a file that is made of a name in a file.
const LONGEST: usize = 200;

/// Writes a file, in place of the one that is there, if any. Where a path leads to a pipe or a device, it is
/// written to as it is.
///
/// # Errors
/// What the file system says; then the old file is as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if is_stream(path) {
        return stream(path, content);
    }
    let mut unfinished = Unfinished::over(path)?;
    unfinished.write_all(content)?;
    unfinished.replace()
}

/// Writes files that belong together, in place of those that are there, as [`Written::place`] does.
///
/// # Errors
/// The file, and what the file system says about it. If there was no room, the old files are as they were.
pub fn replace_all(files: &[(PathBuf, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    let written = files.iter().map(|(path, content)| Written::beside(path, content));
    Written::place(written.collect::<Result<_, _>>()?)
}

/// A file that is written, and not in its place yet.
pub enum Written {
    /// It is beside its place.
    Beside(Unfinished),
    /// Its place is a pipe or a device, which is written to when its turn comes: to open a pipe waits for who
    /// reads it.
    Stream(PathBuf, Vec<u8>),
}

impl Written {
    /// Writes a file beside its place.
    ///
    /// # Errors
    /// The file, and what the file system says about it.
    pub fn beside(path: &Path, content: &[u8]) -> Result<Self, (PathBuf, io::Error)> {
        if is_stream(path) {
            return Ok(Self::Stream(path.to_owned(), content.to_owned()));
        }
        let write = || {
            let mut file = Unfinished::over(path)?;
            file.write_all(content)?;
            file.claim.file.sync_all()?;
            Ok(Self::Beside(file))
        };
        write().map_err(|error| (path.to_owned(), error))
    }

    /// Files that belong together go to their places, in this order. All old ones are removed before the
    /// first new one has its place: if the process is killed in between, some file is missing, and none is
    /// older than another. Streams are written to first.
    ///
    /// # Errors
    /// The file, and what the file system says about it.
    pub fn place(written: Vec<Self>) -> Result<(), (PathBuf, io::Error)> {
        let mut files = Vec::new();
        for one in written {
            match one {
                Self::Beside(file) => files.push(file),
                Self::Stream(path, content) => {
                    stream(&path, &content).map_err(|error| (path, error))?;
                }
            }
        }
        for file in &files {
            match fs::remove_file(&file.target) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err((file.target.clone(), error));
                }
                _ => {}
            }
        }
        for file in files {
            let target = file.target.clone();
            file.replace().map_err(|error| (target, error))?;
        }
        Ok(())
    }
}

/// Whether a path leads to a pipe or a device, which hold nothing that could be lost.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn stream(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(content)
}

/// Writes a new file.
///
/// # Errors
/// What the file system says, in particular that there is a file of this name; then there is no new one.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        beside::tidy(path, 0);
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut unfinished = Unfinished::new(path.to_owned())?;
    unfinished.write_all(content)?;
    unfinished.create()
}

/// A file that is being written beside its place, and goes there when it is whole; it is removed if it never
/// is.
#[derive(Debug)]
pub struct Unfinished {
    claim: Claim,
    target: PathBuf,
    /// Whether its name beside the place is free for others.
    is_gone: bool,
}

impl Unfinished {
    /// Begins a file that is to be where one may be. A link keeps leading where it does.
    fn over(path: &Path) -> io::Result<Self> {
        let Ok(found) = fs::metadata(path) else { return Self::new(path.to_owned()) };
        let unfinished = Self::new(fs::canonicalize(path)?)?;
        unfinished.claim.file.set_permissions(found.permissions())?;
        Ok(unfinished)
    }

    /// Begins a file that is to be at the path.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(target: PathBuf) -> io::Result<Self> {
        Ok(Self { claim: Claim::file(&target)?, target, is_gone: false })
    }

    /// The file, to be written to in its place too. A lock on it goes there with it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn file(&self) -> io::Result<File> {
        self.claim.file.try_clone()
    }

    /// The file goes to its place, where another may be.
    ///
    /// # Errors
    /// What the file system says; then its place is as it was.
    pub fn replace(mut self) -> io::Result<()> {
        self.claim.file.sync_all()?;
        self.rename()?;
        self.sync_folder();
        Ok(())
    }

    /// The file goes to its place, where another may be. It need not outlive a loss of power, which saves
    /// time.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn replace_unsynced(mut self) -> io::Result<()> {
        self.rename()
    }

    fn rename(&mut self) -> io::Result<()> {
        fs::rename(&self.claim.path, &self.target)?;
        self.is_gone = true;
        Ok(())
    }

    /// The file goes to its place, where there must be none.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn create(mut self) -> io::Result<()> {
        self.claim.file.sync_all()?;
        match fs::hard_link(&self.claim.path, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) => self.remove(),
            // Some file systems have no links. Then there is a moment in which another process could make the
            // file.
            Err(_) if fs::symlink_metadata(&self.target).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => self.rename()?,
        }
        self.sync_folder();
        Ok(())
    }

    fn remove(&mut self) {
        // The lock is still held: nobody else has the name.
        if !self.is_gone {
            drop(fs::remove_file(&self.claim.path));
        }
        self.is_gone = true;
    }

    /// So that the name outlives a loss of power. Where folders cannot be opened, they need no such thing.
    fn sync_folder(&self) {
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        drop(File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()));
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.claim.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.claim.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Fills a folder beside the place, which it takes when it is whole; there must be none, or an empty one.
///
/// # Errors
/// The error of `fill`, or the file system's, through `unwritable`. Then there is no folder.
pub fn new_folder<T, E>(
    place: &Path,
    unwritable: impl Fn(io::Error) -> E,
    fill: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(&unwritable)?;
    }
    let claim = Claim::folder(place).map_err(&unwritable)?;
    let filled = fill(&claim.path);
    let renamed = filled.and_then(|filled| {
        // A folder takes the place of one that is empty.
        fs::rename(&claim.path, place).map_err(&unwritable)?;
        Ok(filled)
    });
    if renamed.is_err() {
        drop(fs::remove_dir_all(&claim.path));
    }
    renamed
}

/// Removes what processes that were killed left of this file.
pub fn tidy(path: &Path) {
    beside::tidy(path, 0);
}

/// Whether a file of this name is what a process left that was killed.
pub fn is_unfinished(name: &OsStr) -> bool {
    beside::is_name(&name.to_string_lossy())
}

/// A name that a file gives, as the name of a file with this ending in a folder.
///
/// # Errors
/// Why it is none: it would lead elsewhere, or would not be seen.
pub fn file_name(name: &str, ending: &str) -> Result<String, String> {
    let is_odd = |c: char| c.is_control() || matches!(c, '/' | '\\');
    let wrong = match () {
        () if name.is_empty() => "it is empty",
        () if name.starts_with('.') => "it begins with a dot",
        () if name.contains(is_odd) => "it has a character that names of files must not have",
        () if name.len() > LONGEST => "it is too long",
        () => return Ok(format!("{name}.{ending}")),
    };
    Err(format!("the name `{}` cannot be that of a file: {wrong}", name.escape_debug()))
}

#[cfg(test)]
mod tests;
