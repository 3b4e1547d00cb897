//! Files that are written whole: a crash or a full disk leaves what was there before, or all of the new, and
//! no part of it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of unfinished files end; a process that is killed leaves one of them.
const UNFINISHED: &str = ".litmus-tmp";

/// The longest name of a file that is made of a name in a file.
const LONGEST: usize = 200;

/// Writes a file, in place of the one that is there, if any. Where a path leads to a pipe or a device, it is
/// written to as it is.
///
/// # Errors
/// What the file system says; then the old file is as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut unfinished = match Unfinished::beside(path)? {
        Place::Beside(unfinished) => unfinished,
        Place::Stream(mut file) => return file.write_all(content),
    };
    unfinished.write_all(content)?;
    unfinished.replace()
}

/// Writes files that belong together, in place of those that are there. All are written beside their places
/// before the first old one is removed, and all old ones are removed before the first new one has its place:
/// if the process is killed in between, some file is missing, and none is older than another.
///
/// # Errors
/// The file, and what the file system says about it. If there was no room, the old files are as they were.
pub fn replace_all(files: &[(PathBuf, &[u8])]) -> Result<(), (PathBuf, io::Error)> {
    let mut unfinished = Vec::new();
    for (path, content) in files {
        let of_path = |error| (path.clone(), error);
        match Unfinished::beside(path).map_err(of_path)? {
            Place::Beside(mut file) => {
                file.write_all(content).and_then(|()| file.file.sync_all()).map_err(of_path)?;
                unfinished.push(file);
            }
            Place::Stream(mut file) => file.write_all(content).map_err(of_path)?,
        }
    }
    for file in &unfinished {
        match fs::remove_file(&file.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err((file.target.clone(), error));
            }
            _ => {}
        }
    }
    for file in unfinished {
        let target = file.target.clone();
        file.replace().map_err(|error| (target, error))?;
    }
    Ok(())
}

/// Writes a new file.
///
/// # Errors
/// What the file system says, in particular that there is a file of this name; then there is no new one.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
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
    file: File,
    path: PathBuf,
    target: PathBuf,
}

/// Where something is written.
enum Place {
    Beside(Unfinished),
    /// What holds nothing that could be lost.
    Stream(File),
}

impl Unfinished {
    fn beside(path: &Path) -> io::Result<Place> {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Ok(Place::Stream(OpenOptions::new().write(true).open(path)?))
            }
            Ok(found) => {
                // A link keeps leading where it does.
                let unfinished = Self::new(fs::canonicalize(path)?)?;
                unfinished.file.set_permissions(found.permissions())?;
                Ok(Place::Beside(unfinished))
            }
            Err(_) => Ok(Place::Beside(Self::new(path.to_owned())?)),
        }
    }

    /// Begins a file that is to be at the path.
    ///
    /// # Errors
    /// What the file system says.
    pub fn new(target: PathBuf) -> io::Result<Self> {
        let path = unfinished_beside(&target)?;
        // Who had the number of this process before is dead.
        drop(fs::remove_file(&path));
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(&path)?;
        Ok(Self { file, path, target })
    }

    /// The file, to be written to in its place too. A lock on it goes there with it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// The file goes to its place, where another may be.
    ///
    /// # Errors
    /// What the file system says; then its place is as it was.
    pub fn replace(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.target)?;
        self.sync_folder();
        Ok(())
    }

    /// The file goes to its place, where there must be none.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub fn create(self) -> io::Result<()> {
        self.file.sync_all()?;
        match fs::hard_link(&self.path, &self.target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) => {}
            // Some file systems have no links. Then there is a moment in which another process could make the
            // file.
            Err(_) if fs::symlink_metadata(&self.target).is_ok() => {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            Err(_) => fs::rename(&self.path, &self.target)?,
        }
        self.sync_folder();
        Ok(())
    }

    /// So that the name outlives a loss of power. Where folders cannot be opened, they need no such thing.
    fn sync_folder(&self) {
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        drop(File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()));
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// The path of what is not finished yet, beside the one where it is to be: one that nothing else has.
///
/// # Errors
/// The path has no name.
pub fn unfinished_beside(target: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Names may be as long as the file system allows.
    let name: String = name.to_string_lossy().chars().take(LONGEST / 4).collect();
    Ok(target.with_file_name(format!("{name}.{}-{number}{UNFINISHED}", process::id())))
}

/// Whether a file of this name is what a process left that was killed.
pub fn is_unfinished(name: &OsStr) -> bool {
    name.to_string_lossy().ends_with(UNFINISHED)
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("litmus-files-{}-{name}", process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn files_are_replaced_and_nothing_is_left() {
        let scratch = Scratch::new("replace");
        let path = scratch.0.join("a");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(create(&path, b"three").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        create(&scratch.0.join("b"), b"four").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(scratch.names(), ["a", "b"]);
    }

    #[test]
    fn files_that_belong_together_are_replaced_together_or_not_at_all() {
        let scratch = Scratch::new("together");
        let (one, two) = (scratch.0.join("one"), scratch.0.join("two"));
        let old: [(PathBuf, &[u8]); 2] = [(one.clone(), b"old"), (two.clone(), b"old")];
        replace_all(&old).unwrap();
        // The second one cannot be written, so the first one stays.
        let missing = scratch.0.join("missing").join("two");
        let (path, _) =
            replace_all(&[(one.clone(), b"new"), (missing.clone(), b"new")]).unwrap_err();
        assert_eq!((path, fs::read(&one).unwrap()), (missing, b"old".to_vec()));
        replace_all(&[(one.clone(), b"new"), (two.clone(), b"new")]).unwrap();
        assert_eq!([fs::read(&one).unwrap(), fs::read(&two).unwrap()], [b"new", b"new"]);
        assert_eq!(scratch.names(), ["one", "two"]);
    }

    #[test]
    fn what_is_given_up_leaves_the_old_file() {
        let scratch = Scratch::new("given-up");
        let path = scratch.0.join("a");
        replace(&path, b"one").unwrap();
        let mut unfinished = Unfinished::new(path.clone()).unwrap();
        unfinished.write_all(b"tw").unwrap();
        assert!(scratch.names().iter().any(|name| is_unfinished(OsStr::new(name))));
        drop(unfinished);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(scratch.names(), ["a"]);
        assert!(replace(&scratch.0.join("none/a"), b"").is_err());
        assert!(replace(&scratch.0, b"").is_err(), "a folder is no file");
    }

    #[test]
    #[cfg(unix)]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let scratch = Scratch::new("links");
        let (path, link) = (scratch.0.join("a"), scratch.0.join("link"));
        replace(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        replace(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("SB+put-wait", "litmus").unwrap(), "SB+put-wait.litmus");
        assert_eq!(file_name("a..b c", "litmus").unwrap(), "a..b c.litmus");
        let long = "x".repeat(LONGEST + 1);
        for wrong in ["", ".", "..", "../pwn", "a/b", "/etc/pwn", "a\\b", "a\0b", "a\nb", &long] {
            assert!(file_name(wrong, "litmus").is_err(), "{wrong}");
        }
    }
}
