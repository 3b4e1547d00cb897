//! `litmus man`.

use clap::{Args, Command};
use clap_mangen::Man;

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Print a manual page, for `man -l -`
#[derive(Args)]
pub struct Arguments {
    /// The command that the page is about; litmus itself by default
    command: Option<String>,
}

/// Prints the page.
pub fn run(arguments: &Arguments, mut command: Command, terminal: &mut Terminal) -> Exit {
    command.build();
    let page = match &arguments.command {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => return terminal.usage_error(&format!("there is no command `{name}`")),
        },
    };
    let mut text = Vec::new();
    match Man::new(page).render(&mut text) {
        Ok(()) => terminal.out(&String::from_utf8_lossy(&text)),
        // Writing into memory does not fail.
        Err(_) => return Exit::Internal,
    }
    Exit::Fine
}
