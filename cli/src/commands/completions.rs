//! `litmus completions`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Print a script that completes commands and options in a shell
#[derive(Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments, mut command: Command, terminal: &mut Terminal) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "litmus", &mut script);
    terminal.out(&String::from_utf8_lossy(&script));
    Exit::Fine
}
