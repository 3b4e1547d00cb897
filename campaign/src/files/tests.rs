//! Tests of files that are written whole.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("litmus-files-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
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
    let (path, _) = replace_all(&[(one.clone(), b"new"), (missing.clone(), b"new")]).unwrap_err();
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

/// What a process leaves that is killed: a file without a lock.
#[test]
fn what_killed_writers_left_is_removed_by_the_next_and_nothing_else_is() {
    let scratch = Scratch::new("killed");
    let path = scratch.0.join("a");
    let mut living = Unfinished::new(path.clone()).unwrap();
    living.write_all(b"living").unwrap();
    let second = Unfinished::new(path.clone()).unwrap();
    let names = ["a.1.litmus-tmp", "a.litmus-tmp"];
    assert_eq!(scratch.names(), names);
    drop(second);
    fs::write(scratch.0.join("a.1.litmus-tmp"), "dead").unwrap();
    fs::write(scratch.0.join("a.2.litmus-tmp"), "dead").unwrap();
    fs::write(scratch.0.join("b.litmus-tmp"), "another file's").unwrap();
    replace(&path, b"next").unwrap();
    assert_eq!(scratch.names(), ["a", "a.litmus-tmp", "b.litmus-tmp"]);
    living.replace().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"living");
    // A name is free for others once its file has its place.
    fs::write(scratch.0.join("a.litmus-tmp"), "dead").unwrap();
    assert!(create(&path, b"").is_err());
    assert_eq!(scratch.names(), ["a", "b.litmus-tmp"]);
}

#[test]
fn folders_are_whole_or_not_there() {
    let scratch = Scratch::new("folder");
    let place = scratch.0.join("new/f");
    fs::create_dir_all(scratch.0.join("new/f.litmus-tmp/dead")).unwrap();
    let fill = |folder: &Path| fs::write(folder.join("x"), "");
    let same = |error: io::Error| error;
    let failing = |folder: &Path| fill(folder).and(Err(io::ErrorKind::Other.into()));
    assert!(new_folder::<(), _>(&place, same, failing).is_err());
    assert_eq!(fs::read_dir(scratch.0.join("new")).unwrap().count(), 0);
    new_folder(&place, same, fill).unwrap();
    assert!(place.join("x").is_file());
    assert_eq!(fs::read_dir(scratch.0.join("new")).unwrap().count(), 1);
}

/// Many write one file at once, while files of dead writers appear.
#[test]
fn writers_do_not_take_each_other_for_dead() {
    let scratch = Scratch::new("many");
    let path = scratch.0.join("a");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|_| replace(&path, b"whole").unwrap()));
        }
    });
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(scratch.names(), ["a"]);
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

/// Who reads several pipes reads them one after another, and to open one waits for that.
#[test]
#[cfg(unix)]
fn pipes_are_opened_when_their_turn_comes() {
    let scratch = Scratch::new("pipes");
    let paths = ["first", "second"].map(|name| scratch.0.join(name));
    for path in &paths {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let written = paths.each_ref().map(|path| Written::beside(path, b"whole").unwrap());
    let reader = std::thread::spawn(move || paths.map(|path| fs::read(path).unwrap()));
    Written::place(written.into()).unwrap();
    assert_eq!(reader.join().unwrap(), [b"whole", b"whole"]);
}
