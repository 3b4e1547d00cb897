//! `litmus lsp`.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Answer an editor, as its language server, on standard input and output
///
/// Editors start this by themselves. docs/editors.md says how to set them up.
#[derive(Args)]
pub struct Arguments {
    /// What editors say to mean standard input and output; there is nothing else
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Answers until the editor says that it is done.
pub fn run(_: &Arguments, terminal: &mut Terminal) -> Exit {
    // Commands are run by this program itself.
    let litmus = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("litmus"));
    match lsp::serve_stdio(litmus) {
        Ok(()) => Exit::Fine,
        Err(error) => {
            terminal.note(&format!("the editor is gone: {error}"));
            Exit::BadInput
        }
    }
}
