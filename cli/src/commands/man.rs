//! `litmus man`.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::{Man, generate_to};

use crate::exit::Exit;
use crate::output::Failure;
use crate::terminal::Terminal;

/// Print a manual page, for `man -l -`
#[derive(Args)]
pub struct Arguments {
    /// The command that the page is about; litmus itself by default
    command: Option<String>,
    /// Write the pages of all commands to a folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

/// Prints the page.
pub fn run(arguments: &Arguments, mut command: Command, terminal: &mut Terminal) -> Exit {
    if let Some(folder) = &arguments.output {
        let written = write_all(command, folder);
        return written.map_or_else(|failure| failure.tell(terminal), |()| Exit::Fine);
    }
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

/// Writes a page for each command: a page names those of the commands below its own.
fn write_all(command: Command, folder: &Path) -> Result<(), Failure> {
    let unwritable = |error| Failure::unwritable(folder, error);
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    generate_to(command, folder).map_err(unwritable)
}
