//! `litmus watch` hears of every change, wherever its folder was meanwhile.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::common::MP;
use crate::scratch::Scratch;

/// How long a change may take to be heard.
const PATIENCE: Duration = Duration::from_secs(60);

/// `litmus watch`, and what it has said that nobody has waited for yet.
struct Watch {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Watch {
    fn new(scratch: &Scratch, arguments: &str) -> Self {
        // Both outputs in one, so that they are read in the order in which they are said.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("exec \"$LITMUS\" watch {arguments} 2>&1"));
        command.env("LITMUS", env!("CARGO_BIN_EXE_litmus")).current_dir(&scratch.0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let said: Arc<Mutex<String>> = Arc::default();
        let mut pipe = child.stdout.take().unwrap();
        std::thread::spawn({
            let said = Arc::clone(&said);
            move || {
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                    said.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
                }
            }
        });
        Self { child, said }
    }

    /// Waits until it says something, and forgets what it said before.
    fn until(&self, words: &str) {
        let begin = Instant::now();
        loop {
            let mut said = self.said.lock().unwrap();
            if let Some(at) = said.find(words) {
                said.drain(..at + words.len());
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "`{words}` was not said: {said}");
            drop(said);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// It has checked, and waits.
    fn waits(&self) {
        self.until("waiting for changes");
    }

    fn end(mut self) {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn wrong() -> String {
    MP.replace('✗', "✓")
}

#[test]
fn a_saved_file_is_checked_again() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    let watch = Watch::new(&scratch, "MP.litmus");
    watch.until("— ok");
    watch.waits();
    // Beside its place first, as editors do.
    scratch.write("MP.new", wrong());
    std::fs::rename(scratch.0.join("MP.new"), scratch.0.join("MP.litmus")).unwrap();
    watch.until("FAIL");
    watch.waits();
    scratch.write("MP.litmus", MP);
    watch.until("— ok");
    watch.end();
    assert_eq!(scratch.run("watch nothing.litmus").0, 64);
}

/// What a path stands for is watched, and not what it stood for: a folder, one below it, one above it.
#[test]
fn a_folder_that_comes_back_is_heard() {
    for (watched, moved) in [("a/b", "a/b"), ("a", "a/b"), ("a/b", "a"), ("a/b/MP.litmus", "a/b")] {
        let scratch = Scratch::new();
        let folder = scratch.0.join("a/b");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("MP.litmus"), MP).unwrap();
        let watch = Watch::new(&scratch, watched);
        watch.until("— ok");
        watch.waits();
        let (here, away) = (scratch.0.join(moved), scratch.0.join("away"));
        std::fs::rename(&here, &away).unwrap();
        // It says that nothing is there.
        watch.waits();
        std::fs::rename(&away, &here).unwrap();
        watch.until("— ok");
        watch.waits();
        std::fs::write(folder.join("MP.litmus"), wrong()).unwrap();
        watch.until("FAIL");
        watch.waits();
        // Another folder takes its name.
        std::fs::rename(&here, &away).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("MP.litmus"), MP).unwrap();
        watch.until("— ok");
        watch.waits();
        std::fs::write(folder.join("MP.litmus"), wrong()).unwrap();
        watch.until("FAIL");
        watch.end();
    }
}
