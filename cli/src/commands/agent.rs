//! `litmus agent`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use evidence::record::iso8601;
use executor::nodes::{Agent, AgentEvent, AgentOptions, DEFAULT_PORT, Limits, Secret};

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Wait on this machine for a coordinator (`litmus run --backend verbs --nodes …`, or ofi), and run its tests
///
/// Only who knows the secret is served. Make one with `head -c 32 /dev/urandom | base64 > secret`, and copy
/// it to all machines. Agents and the coordinator encrypt what they send. What RDMA itself sends is not
/// encrypted: use networks that you trust.
#[derive(Args)]
pub struct Arguments {
    /// Where to listen; port 0 for any
    #[arg(long, value_name = "HOST:PORT", default_value_t = format!("127.0.0.1:{DEFAULT_PORT}"))]
    listen: String,
    /// The file with the secret, or - for the first line of standard input; LITMUS_SECRET in the environment
    /// serves too
    #[arg(long, value_name = "FILE", env = "LITMUS_SECRET_FILE", hide_env_values = true)]
    secret_file: Option<PathBuf>,
    /// The most memory for a test, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=65536))]
    memory: u64,
    /// The most queue pairs for a test
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65536))]
    queue_pairs: u32,
    /// End with the first coordinator, or if none comes for a minute
    #[arg(long)]
    once: bool,
}

/// Serves until it is killed.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let secret = match secret(arguments.secret_file.as_deref()) {
        Ok(secret) => secret,
        Err(message) => return terminal.usage_error(&message),
    };
    let options = AgentOptions {
        listen: arguments.listen.clone(),
        secret,
        limits: Limits {
            bytes: arguments.memory << 20,
            queue_pairs: arguments.queue_pairs as usize,
        },
        once: arguments.once,
    };
    let open = Arc::new(executor::rdma::open);
    match Agent::new(options, open, Arc::new(log)) {
        Ok(agent) => {
            agent.serve();
            Exit::Fine
        }
        Err(error) => {
            let listen = &arguments.listen;
            terminal.err(&format!("error: {listen} cannot be listened on: {error}\n"));
            Exit::Unknown
        }
    }
}

/// The secret from a file, standard input or the environment.
pub fn secret(file: Option<&Path>) -> Result<Secret, String> {
    match file {
        Some(path) if path.as_os_str() == "-" => {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
            Secret::from_text(&line)
        }
        Some(path) => Secret::read(path),
        None => match std::env::var("LITMUS_SECRET") {
            Ok(text) => Secret::from_text(&text),
            Err(_) => Err("expected --secret-file FILE, found none; make a secret with \
                `head -c 32 /dev/urandom | base64 > secret`, the same for all machines"
                .to_owned()),
        },
    }
}

/// Where it listens goes to stdout, for whoever started it; all else is a log on stderr.
fn log(event: AgentEvent) {
    let text = match event {
        AgentEvent::Listening(address) => {
            // Nobody can be told that stdout does not work.
            drop(writeln!(io::stdout(), "listening on {address}"));
            return;
        }
        AgentEvent::Refused(peer, reason) => format!("refused {peer}: {reason}"),
        AgentEvent::Flooded(number) => format!("refused {number} more: too many at once"),
        AgentEvent::Begun(peer) => format!("coordinator {peer} came"),
        AgentEvent::Prepared(test) => format!("test {test}"),
        AgentEvent::Failed(reason) => format!("failed: {reason}"),
        AgentEvent::Ended(peer) => format!("coordinator {peer} went"),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    drop(writeln!(io::stderr(), "{} {text}", iso8601(now)));
}
