//! Commands that an editor may run on a text: `litmus` itself does them, as on a command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use lsp_server::RequestId;
use serde::Serialize;

use crate::copies::Files;
use crate::server::Done;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How often it is looked whether one is done.
const ROUND: Duration = Duration::from_millis(10);

/// The variable that tells a command to end when its standard input does: if the server is killed, nobody
/// else would end it.
pub const WHILE_OPEN: &str = "LITMUS_WHILE_OPEN";

/// A command.
pub struct Offered {
    /// What the protocol calls it.
    pub name: &'static str,
    /// What editors show.
    pub title: &'static str,
    /// What the command line says before the file.
    pub arguments: &'static [&'static str],
    /// Whether it is of programs only.
    pub is_of_programs: bool,
}

/// All of them.
pub const ALL: [Offered; 4] = [
    Offered { name: "litmus.check", title: "check", arguments: &["check"], is_of_programs: false },
    Offered {
        name: "litmus.explain",
        title: "explain",
        arguments: &["explain"],
        is_of_programs: true,
    },
    Offered {
        name: "litmus.run",
        title: "run on sim",
        arguments: &["run", "--backend", "sim"],
        is_of_programs: true,
    },
    Offered {
        name: "litmus.repair",
        title: "repair",
        arguments: &["repair", "--diff"],
        is_of_programs: true,
    },
];

/// What a command is run on.
pub enum Subject {
    /// A file, which is stored as the editor has it, and so is all that it names.
    Stored(PathBuf),
    /// Texts that are not.
    Edited(Files),
}

/// What came of a command.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The command line.
    pub command: String,
    /// The exit code; `None` if it was ended.
    pub exit: Option<i32>,
    /// What it printed.
    pub output: String,
}

/// A command that runs; it is ended when this is dropped, and is gone then.
pub struct Running {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked runs no command.
            let _ = thread.join();
        }
    }
}

/// Runs a command, and sends what came of it.
///
/// # Errors
/// If what it is run on cannot be written.
pub fn start(
    id: RequestId,
    litmus: &Path,
    offered: &Offered,
    subject: &Subject,
    done: Sender<Done>,
) -> std::io::Result<Running> {
    let stop = Arc::new(AtomicBool::new(false));
    let (path, copies) = match subject {
        Subject::Stored(path) => (path.clone(), None),
        Subject::Edited(files) => {
            let copies = files.write()?;
            (copies.main.clone(), Some(copies))
        }
    };
    let mut command = Command::new(litmus);
    command.args(["--color", "never"]).args(offered.arguments).arg(&path);
    let in_truth = move |output: &str| match &copies {
        Some(copies) => copies.in_truth(output),
        None => output.to_owned(),
    };
    let shown = format!("litmus {} {}", offered.arguments.join(" "), path.display());
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        let outcome = run(command, &stopped).map_err(|error| error.to_string());
        let outcome = outcome.map(|(exit, output)| Outcome {
            command: in_truth(&shown),
            exit,
            output: in_truth(&output),
        });
        // If nobody waits for it any more, nothing is lost.
        let _ = done.send(Done::Command { id, outcome });
    });
    Ok(Running { stop, thread: Some(thread) })
}

fn run(mut command: Command, stop: &AtomicBool) -> std::io::Result<(Option<i32>, String)> {
    command.env(WHILE_OPEN, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // Nothing is written to it. It is open as long as this process is there.
    let _open = child.stdin.take();
    let output = child.stdout.take();
    let errors = child.stderr.take();
    let (output, errors) = (reader(output), reader(errors));
    let begin = Instant::now();
    let exit = loop {
        if let Some(status) = child.try_wait()? {
            break status.code();
        }
        if stop.load(Ordering::Relaxed) || begin.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(ROUND);
    };
    let [output, errors] = [output, errors].map(|reader| reader.join().unwrap_or_default());
    Ok((exit, output + &errors))
}

fn reader(from: Option<impl std::io::Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What was read before an error is shown.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
