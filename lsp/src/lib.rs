//! The language server: what editors ask about programs, models and libraries, and the answers.
//!
//! [`serve`] talks with one editor until it says that it is done. It does one thing after the other
//! (`server`); what takes longer than an editor waits, verdicts (`verdicts`) and commands (`commands`), is
//! done by other threads, and can be canceled. Commands see the texts of the editor (`copies`). What is known
//! of a text is computed once after each change (`documents`): by `program`, `models` or `library`, as its
//! language is. Where names stand (`names`) is the same for all three, so that references, definitions and
//! renaming are.

mod actions;
mod commands;
mod completion;
mod copies;
mod documents;
mod events;
mod hover;
mod library;
mod models;
mod names;
mod paths;
mod program;
mod protocol;
mod rename;
mod requests;
mod server;
mod shipped;
mod symbols;
mod text;
mod transport;
mod verdicts;
mod wire;
mod workspace;

use std::path::PathBuf;

pub use commands::WHILE_OPEN;
use lsp_server::Connection;
use transport::Transport;

/// Why a server ends before its editor said so.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Answers the editor at the other end of standard input and output. `litmus` is the program that runs
/// commands.
///
/// # Errors
/// If the editor goes away, or what it sends is no message.
pub fn serve_stdio(litmus: PathBuf) -> Result<(), Error> {
    let (connection, writer, why) = Transport::stdio().parts();
    let served = serve(connection, litmus);
    Transport::join(writer, &why)?;
    served
}

/// Answers the editor at the other end of a connection.
///
/// # Errors
/// As [`serve_stdio`].
pub fn serve(connection: Connection, litmus: PathBuf) -> Result<(), Error> {
    let (id, asked) = match connection.initialize_start() {
        // Nobody has asked anything.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        started => started?,
    };
    let client = protocol::Client::of(&asked);
    connection.initialize_finish(id, protocol::offered(&client))?;
    server::Server::new(connection, client, litmus).run()
}
