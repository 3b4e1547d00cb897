//! Commands that end in time, or are ended with all that they have started.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that marks the processes of a command. Children inherit the environment; a parent can end
/// before them, and MPICH's ranks have sessions of their own.
const MARK: &str = "LITMUS_COMMAND";
/// How long something may take that is under way already.
const GRACE: Duration = Duration::from_secs(5);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

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

/// Why a command is waited for no longer.
enum Wait {
    Exited(Option<i32>),
    Stopped,
    Late,
    Failed(io::Error),
}

/// Runs a command to its end, or until it is over. Nothing that it has started on this host outlives it, if
/// it fails or is ended.
///
/// # Errors
/// It could not be started, or took too long.
pub fn run(
    command: &mut Command,
    patience: Duration,
    is_over: &dyn Fn() -> bool,
) -> Result<Ended, String> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mark = format!("{}.{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    command.env(MARK, &mark);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let readers = [read(child.stdout.take()), read(child.stderr.take())];
    let is_read = || readers.iter().all(JoinHandle::is_finished);
    let waited = wait(&mut child, patience, is_over);
    if matches!(waited, Wait::Exited(Some(0))) {
        until(is_read);
    }
    if !matches!(waited, Wait::Exited(Some(0))) || !is_read() {
        end(&mut child, &mark);
        until(is_read);
    }
    let is_whole = is_read();
    let text = |reader: JoinHandle<String>| match reader.is_finished() {
        true => reader.join().unwrap_or_default(),
        // Its pipe is held open by a process of somebody else.
        false => String::new(),
    };
    let [output, errors] = readers.map(text);
    let (code, is_stopped) = match waited {
        Wait::Exited(code) if is_whole || code != Some(0) => (code, false),
        Wait::Exited(_) => return Err("it has ended, and its output has not".to_owned()),
        Wait::Stopped => (None, true),
        Wait::Late => return Err(format!("it has not ended within {} s", patience.as_secs())),
        Wait::Failed(error) => return Err(format!("it cannot be waited for: {error}")),
    };
    Ok(Ended { code, output, errors, is_stopped })
}

fn wait(child: &mut Child, patience: Duration, is_over: &dyn Fn() -> bool) -> Wait {
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Wait::Exited(status.code()),
            Ok(None) if is_over() => return Wait::Stopped,
            Ok(None) if began.elapsed() > patience => return Wait::Late,
            Ok(None) => thread::sleep(PAUSE),
            Err(error) => return Wait::Failed(error),
        }
    }
}

/// Waits for something that should come soon, and not for ever.
fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < GRACE {
        thread::sleep(PAUSE);
    }
}

/// Ends a command and all that it has started. A launcher ends its ranks, also on other hosts, if it is asked
/// to, and not if it is killed.
fn end(child: &mut Child, mark: &str) {
    if let Ok(None) = child.try_wait() {
        // Each may end meanwhile, here and below. A launcher may be started by a script, which passes
        // nothing on.
        for process in marked(|value| value == mark).into_iter().chain([Pid::from_child(child)]) {
            let _ = kill_process(process, Signal::TERM);
        }
        until(|| !matches!(child.try_wait(), Ok(None)));
    }
    let _ = child.kill();
    until(|| {
        let left = marked(|value| value == mark);
        for process in &left {
            let _ = kill_process(*process, Signal::KILL);
        }
        left.is_empty()
    });
    // It is dead: this does not block.
    let _ = child.wait();
}

/// Kills all that this process has started by [`run`], when it must end at once.
pub fn kill_all() {
    let own = format!("{}.", std::process::id());
    for process in marked(|value| value.starts_with(&own)) {
        // It may have ended.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// The processes of this host with a mark. None where the system does not say.
fn marked(is_wanted: impl Fn(&str) -> bool) -> Vec<Pid> {
    let is_marked = |process: &i32| {
        let variables = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut variables = variables.split(|byte| *byte == 0);
        variables.any(|variable| {
            let variable = std::str::from_utf8(variable).ok();
            let value = variable.and_then(|text| text.strip_prefix(MARK)?.strip_prefix('='));
            value.is_some_and(&is_wanted)
        })
    };
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_marked).filter_map(Pid::from_raw).collect()
}

/// Reads all that comes, whatever its encoding.
fn read(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // What came before an error counts.
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
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

    /// A child in a session of its own, with the pipes of its parent, as MPICH's ranks are.
    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let child = "setsid sh -c 'echo $$; exec sleep 61'";
        let lives = |said: &str| {
            let environment = format!("/proc/{}/environ", said.trim());
            assert!(!said.is_empty(), "the child was not started");
            std::fs::read(environment).is_ok_and(|text| !text.is_empty())
        };
        let began = Instant::now();
        let late = sh(&format!("{child}; true"), 300, false).expect_err("it is late");
        assert!(late.starts_with("it has not ended within"), "{late}");
        for (code, rest) in [(3, "sleep 1; exit 3"), (0, "exit 0")] {
            let ended = sh(&format!("{child} & {rest}"), 60_000, false).unwrap();
            assert_eq!(ended.code, Some(code));
            assert!(!lives(&ended.output), "{} is left", ended.output);
        }
        assert!(began.elapsed() < Duration::from_secs(50), "something was waited for");
    }

    #[test]
    fn a_command_that_will_not_end_is_killed() {
        let late = sh("trap '' TERM; while :; do sleep 0.1; done", 100, false);
        assert!(late.is_err_and(|why| why.starts_with("it has not ended within")));
    }
}
