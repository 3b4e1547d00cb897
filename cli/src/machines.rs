//! Which machines, and which device on each: the options of all commands that talk to agents.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use executor::nodes::{Cluster, ClusterOptions, Launch, Secret, Selection};

use crate::commands::agent;

/// Machines and devices, as in perftest where it has a name for them.
#[derive(Args)]
pub struct MachineOptions {
    /// The machines, each with an agent; the tests' nodes take turns on them [default: this machine]
    #[arg(
        long,
        value_name = "HOST[:PORT],…",
        value_delimiter = ',',
        env = "LITMUS_NODES",
        hide_env_values = true
    )]
    nodes: Vec<String>,
    /// What starts the agents; `none` if they run already [default: none with --nodes, else local]
    #[arg(long, value_name = "HOW")]
    launch: Option<LaunchName>,
    /// The file with the secret that the agents know
    #[arg(long, value_name = "FILE", env = "LITMUS_SECRET_FILE", hide_env_values = true)]
    secret_file: Option<PathBuf>,
    /// Device on each machine, as in perftest
    #[arg(short = 'd', long = "ib-dev", visible_alias = "device", value_name = "DEV")]
    device: Option<String>,
    /// Port of the device
    #[arg(short = 'i', long = "ib-port", value_name = "PORT")]
    port: Option<u8>,
    /// Index into the port's table of GIDs
    #[arg(long = "gid-index", value_name = "INDEX")]
    gid: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LaunchName {
    None,
    Local,
    Ssh,
    Slurm,
    Mpirun,
}

impl MachineOptions {
    /// Whether other machines than this one, or agents on it, are asked for.
    pub fn is_remote(&self) -> bool {
        !self.nodes.is_empty() || self.launch.is_some()
    }

    /// The device that was named.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    fn launch(&self) -> Launch {
        match self.launch {
            None if self.nodes.is_empty() => Launch::Local,
            None | Some(LaunchName::None) => Launch::None,
            Some(LaunchName::Local) => Launch::Local,
            Some(LaunchName::Ssh) => Launch::Ssh,
            Some(LaunchName::Slurm) => Launch::Slurm,
            Some(LaunchName::Mpirun) => Launch::Mpirun,
        }
    }

    /// Connects to all machines.
    ///
    /// # Errors
    /// What keeps tests from being run there.
    pub fn connect(&self) -> Result<Cluster, String> {
        self.connect_to(self.nodes.clone())
    }

    /// Connects to each machine alone where agents run already, so that one that is broken does not hide the
    /// others. Agents that are to be started are started together.
    pub fn connect_to_each(&self) -> Vec<(String, Result<Cluster, String>)> {
        if self.launch() != Launch::None {
            return vec![("launch".to_owned(), self.connect())];
        }
        let one = |node: &String| (node.clone(), self.connect_to(vec![node.clone()]));
        self.nodes.iter().map(one).collect()
    }

    fn connect_to(&self, mut nodes: Vec<String>) -> Result<Cluster, String> {
        let launch = self.launch();
        let secret = match launch {
            Launch::None => agent::secret(self.secret_file.as_deref())?,
            _ => Secret::random()?,
        };
        if nodes.is_empty() {
            nodes.push("local".to_owned());
        }
        let selection =
            Selection { device: self.device.clone(), port: self.port, gid_index: self.gid };
        let options = ClusterOptions { nodes, launch, secret, selection };
        Cluster::new(options).map_err(|trouble| trouble.to_string())
    }
}
