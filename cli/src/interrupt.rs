//! Ctrl-C: work that keeps what it has. And work that nobody waits for any more.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
