//! `litmus nic --listen` and `--peer`: programs of several hosts.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use clap::Args;
use executor::nodes::{Bridge, BridgeEvent, BridgeOptions};

use crate::commands::agent;
use crate::exit::Exit;
use crate::output::Failure;
use crate::terminal::Terminal;

/// Which hosts are connected with this one.
#[derive(Args)]
pub struct HostOptions {
    /// Let hosts that know the secret connect, here; the port is 18517 if not given
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    listen: Option<String>,
    /// Connect to a host that listens; the port is 18517 if not given
    #[arg(long = "peer", value_name = "HOST[:PORT]")]
    peers: Vec<String>,
    /// The file with the secret that all hosts share, as for `litmus agent`
    #[arg(long, value_name = "FILE", env = "LITMUS_SECRET_FILE", hide_env_values = true)]
    secret_file: Option<PathBuf>,
}

/// The connections with other hosts, and the folder for the sockets of this one's processes.
pub struct Hosts {
    bridge: Bridge,
    folder: PathBuf,
}

impl Hosts {
    /// Connects, if that is asked for.
    pub fn new(
        options: &HostOptions,
        ports: (u16, u16),
        parent: &Path,
        terminal: &mut Terminal,
    ) -> Result<Option<Self>, Exit> {
        if options.listen.is_none() && options.peers.is_empty() {
            return Ok(None);
        }
        let secret = agent::secret(options.secret_file.as_deref())
            .map_err(|message| terminal.usage_error(&message))?;
        // In a folder that only this user can enter.
        let folder = parent.join("hosts");
        std::fs::create_dir(&folder)
            .map_err(|error| Failure::unwritable(&folder, error).tell(terminal))?;
        let (listen, peers) = (options.listen.clone(), options.peers.clone());
        let options = BridgeOptions { folder: folder.clone(), listen, peers, secret, ports };
        let quiet = terminal.look.quiet;
        let bridge = Bridge::new(options, Arc::new(move |event| tell(event, quiet)));
        let bridge = bridge.map_err(|message| {
            terminal.err(&format!("error: {message}\n"));
            Exit::Unknown
        })?;
        Ok(Some(Self { bridge, folder }))
    }

    /// Lets a command, and all that it starts, be of this host.
    pub fn set_environment(&self, command: &mut Command) {
        command.env("LITMUS_NIC_HOST", self.bridge.host().to_string());
        command.env("LITMUS_NIC_FOLDER", &self.folder);
    }

    /// Ends the connections when the command has ended.
    pub fn finish(&self) {
        self.bridge.finish();
    }
}

/// Other threads say it, while the command runs.
fn tell(event: BridgeEvent, quiet: bool) {
    let (text, is_trouble) = match event {
        BridgeEvent::Listening(address) => (format!("listens on {address}"), false),
        BridgeEvent::Met(host) => (format!("connected with {host}"), false),
        BridgeEvent::Refused(host, reason) => (format!("refused {host}: {reason}"), true),
        BridgeEvent::Lost(host) => (format!("lost {host}"), false),
        BridgeEvent::Away(host, reason) => (format!("{host} is called again: {reason}"), false),
    };
    if is_trouble || !quiet {
        // Nobody can be told that stderr does not work.
        drop(io::stderr().write_all(format!("litmus: nic: {text}\n").as_bytes()));
    }
}
