//! Commands that end in time, or are ended.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How a command ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
    /// Whether it was ended because somebody asked for that.
    pub is_stopped: bool,
}

/// Runs a command to its end, or until it is over.
///
/// # Errors
/// It could not be started, or took too long.
pub fn run(
    command: &mut Command,
    patience: Duration,
    is_over: &dyn Fn() -> bool,
) -> Result<Ended, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let began = Instant::now();
    thread::scope(|scope| {
        let output = scope.spawn(|| all(output));
        let errors = scope.spawn(|| all(errors));
        let mut is_stopped = false;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status.code()),
                Ok(None) if is_over() => {
                    is_stopped = true;
                    end(&mut child);
                    break Ok(None);
                }
                Ok(None) if began.elapsed() > patience => {
                    end(&mut child);
                    break Err(format!("it has not ended within {} s", patience.as_secs()));
                }
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Err(error) => break Err(format!("it cannot be waited for: {error}")),
            }
        };
        let text = |reader: thread::ScopedJoinHandle<'_, String>| reader.join().unwrap_or_default();
        let (output, errors) = (text(output), text(errors));
        status.map(|code| Ended { code, output, errors, is_stopped })
    })
}

/// Ends a command. A launcher ends its processes if it is asked to, and not if it is killed.
fn end(child: &mut Child) {
    let asked = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    let began = Instant::now();
    while asked.as_ref().is_ok_and(|status| status.success())
        && began.elapsed() < Duration::from_secs(5)
    {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
}

/// All that comes, whatever its encoding.
fn all(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // What came before an error counts.
        let _ = from.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(text: &str, patience: u64, stop: bool) -> Result<Ended, String> {
        let patience = Duration::from_millis(patience);
        run(Command::new("sh").args(["-c", text]), patience, &|| stop)
    }

    #[test]
    fn what_a_command_says_is_kept() {
        let ended = sh("echo a; echo b >&2; exit 3", 10_000, false).unwrap();
        let expected =
            Ended { code: Some(3), output: "a\n".into(), errors: "b\n".into(), is_stopped: false };
        assert_eq!(ended, expected);
    }

    #[test]
    fn commands_that_take_too_long_are_ended() {
        let late = sh("exec sleep 60", 50, false).expect_err("it is late");
        assert!(late.starts_with("it has not ended within"), "{late}");
        let stopped = sh("exec sleep 60", 60_000, true).unwrap();
        assert!(stopped.is_stopped && stopped.code.is_none());
        let missing = run(&mut Command::new("/nowhere"), Duration::ZERO, &|| false);
        assert!(missing.is_err_and(|why| why.starts_with("it cannot be run: ")));
    }
}
