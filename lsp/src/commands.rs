//! Commands that an editor may run on a text: `litmus` itself does them, as on a command line.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use lsp_server::RequestId;
use serde::Serialize;

use crate::server::Done;

/// How long a command may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How often it is looked whether one is done.
const ROUND: Duration = Duration::from_millis(10);

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
pub struct Subject {
    /// The file.
    pub path: Option<PathBuf>,
    /// Its text, if that is not what is stored.
    pub text: Option<String>,
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

/// A command that runs; it is ended when this is dropped.
pub struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs a command, and sends what came of it.
pub fn start(
    id: RequestId,
    litmus: &Path,
    offered: &Offered,
    subject: Subject,
    done: Sender<Done>,
) -> Running {
    let stop = Arc::new(AtomicBool::new(false));
    let running = Running(Arc::clone(&stop));
    let mut command = Command::new(litmus);
    command.args(["--color", "never"]).args(offered.arguments);
    let file = match (&subject.path, &subject.text) {
        (Some(path), None) => path.to_string_lossy().into_owned(),
        _ => "-".to_owned(),
    };
    command.arg(&file);
    if let Some(folder) = subject.path.as_deref().and_then(Path::parent).filter(|it| it.is_dir()) {
        command.current_dir(folder);
    }
    let shown = format!("litmus {} {file}", offered.arguments.join(" "));
    std::thread::spawn(move || {
        let outcome = run(command, subject.text, &stop);
        let outcome = outcome.map(|(exit, output)| Outcome { command: shown, exit, output });
        let outcome = outcome.map_err(|error| error.to_string());
        // If nobody waits for it any more, nothing is lost.
        let _ = done.send(Done::Command { id, outcome });
    });
    running
}

fn run(
    mut command: Command,
    text: Option<String>,
    stop: &AtomicBool,
) -> std::io::Result<(Option<i32>, String)> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut input = child.stdin.take();
    let output = child.stdout.take();
    let errors = child.stderr.take();
    let (output, errors) = (reader(output), reader(errors));
    if let (Some(input), Some(text)) = (&mut input, text) {
        // A command that does not read it says by its exit what is wrong.
        let _ = input.write_all(text.as_bytes());
    }
    drop(input);
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

fn reader(from: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What was read before an error is shown.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
