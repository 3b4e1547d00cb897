//! What all tests here need: folders of their own, and the program.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::scratch::Scratch;

/// Message passing over RDMA, whose verdict holds.
pub const MP: &str = "\
litmus MP
model rdma-tso

            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x

  (a, b) = (1, 0) ✗
";

impl Scratch {
    /// Writes this many tests, `T0.litmus` and so on.
    pub fn tests(&self, count: usize) {
        for index in 0..count {
            let text = MP.replace("litmus MP", &format!("litmus T{index}"));
            self.write(&format!("T{index}.litmus"), text);
        }
    }

    /// The names of all files, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs it: exit code, standard output, standard error.
    pub fn run(&self, arguments: &str) -> (i32, String, String) {
        told(&self.command(arguments).output().unwrap())
    }

    /// A line of the shell, in which `$LITMUS` is the program.
    pub fn shell(&self, line: &str) -> (i32, String, String) {
        let mut command = Command::new("bash");
        command.current_dir(&self.0).args(["-c", line]).stdin(Stdio::null());
        command.env("LITMUS", env!("CARGO_BIN_EXE_litmus")).env("SOURCE_DATE_EPOCH", "1");
        told(&command.output().unwrap())
    }
}

fn told(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The suite of the project.
pub fn suite(folder: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite").join(folder);
    path.to_str().unwrap().to_owned()
}
