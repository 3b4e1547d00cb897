//! Ctrl-C: work that keeps what it has. And work that nobody waits for any more.

use std::io::{IsTerminal, Read};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lang::mutex::lock;

/// A flag that the first Ctrl-C sets; the second ends the process.
pub fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            executor::mpi::abandon();
            std::process::exit(130);
        }
    };
    // Without a handler, Ctrl-C ends the process at once; what was written is kept.
    drop(ctrlc::set_handler(handler));
    stop
}

/// Runs a command to its end. Ctrl-C is for the command, which has it from the terminal; what it did is to be
/// printed all the same. Other signals are sent by a program, to this process alone, so it passes them on.
///
/// # Errors
/// The command cannot be started.
pub fn run(command: &mut Command) -> std::io::Result<ExitStatus> {
    let child = Arc::new(Mutex::new(None));
    let (known, is_again) = (Arc::clone(&child), AtomicBool::new(false));
    let has_terminal = std::io::stdin().is_terminal();
    let handler = move || {
        if (is_again.swap(true, Ordering::Relaxed) || !has_terminal)
            && let Some(id) = *lock(&known)
        {
            terminate(id);
        }
    };
    drop(ctrlc::set_handler(handler));
    let mut running = command.spawn()?;
    *lock(&child) = Some(running.id());
    let status = running.wait();
    *lock(&child) = None;
    status
}

/// Runs a command to its end, in a process that has a flag of [`stop_on_signal`]. If Ctrl-C sets the flag,
/// the command has it from the terminal, too, and ends soon; if another signal does, it is passed on.
///
/// # Errors
/// The command cannot be started.
pub fn run_unless_stopped(command: &mut Command, stop: &AtomicBool) -> std::io::Result<ExitStatus> {
    const SOON: Duration = Duration::from_secs(2);
    let mut running = command.spawn()?;
    if let Some(status) = wait_while(&mut running, || !stop.load(Ordering::Relaxed))? {
        return Ok(status);
    }
    let stopped = Instant::now();
    if let Some(status) = wait_while(&mut running, || stopped.elapsed() < SOON)? {
        return Ok(status);
    }
    terminate(running.id());
    running.wait()
}

/// Waits for a process, as long as a condition holds.
fn wait_while(
    running: &mut Child,
    holds: impl Fn() -> bool,
) -> std::io::Result<Option<ExitStatus>> {
    while holds() {
        if let Some(status) = running.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(None)
}

/// Asks a process to end.
fn terminate(id: u32) {
    #[cfg(unix)]
    if let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// For a command of `litmus lsp`: ends the process with its standard input, which the server keeps open.
pub fn end_with_server() {
    if std::env::var_os(lsp::WHILE_OPEN).is_none() {
        return;
    }
    std::thread::spawn(|| {
        let mut input = std::io::stdin().lock();
        while input.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        std::process::exit(130);
    });
}
