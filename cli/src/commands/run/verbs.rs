//! The options of the backend verbs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use executor::nodes::{Cluster, ClusterOptions, Launch, Secret, Selection, Verbs};
use executor::rounds::{Parameters, Preset};

use crate::commands::agent;

/// Where and how tests are run on real RDMA.
#[derive(Args)]
#[command(next_help_heading = "Real RDMA (--backend verbs)")]
pub struct VerbsOptions {
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
    #[arg(short = 'd', long = "ib-dev", value_name = "DEV")]
    device: Option<String>,
    /// Port of the device
    #[arg(short = 'i', long = "ib-port", value_name = "PORT")]
    port: Option<u8>,
    /// Index into the port's table of GIDs
    #[arg(short = 'x', long = "gid-index", value_name = "INDEX")]
    gid: Option<u32>,
    /// Values of the options below, as a set
    #[arg(long, value_name = "NAME", default_value = "default")]
    preset: PresetName,
    /// Instances that are in flight together after each barrier
    #[arg(long, value_name = "N")]
    instances: Option<u32>,
    /// Barriers between two times that everything is waited for
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// The longest random delay between two statements
    #[arg(long, value_name = "NS")]
    delay: Option<u32>,
    /// In how many of 100 rounds a thread flushes its words from the caches first
    #[arg(long, value_name = "PERCENT")]
    flush: Option<u32>,
    /// Pin threads to cores
    #[arg(long)]
    pin: bool,
    /// Distance between two words in memory; 64 gives each its own cache line
    #[arg(long, value_name = "BYTES")]
    stride: Option<u32>,
    /// How long an instance may wait for other threads
    #[arg(long, value_name = "MS")]
    patience: Option<u32>,
    /// Requests under way per queue pair
    #[arg(short = 't', long = "tx-depth", value_name = "N")]
    depth: Option<u32>,
    /// Reads and atomics under way per queue pair [default: as many as the devices can]
    #[arg(short = 'o', long = "outs", value_name = "N")]
    outstanding: Option<u8>,
    /// Time until a packet is sent again: 4.096 µs times 2 to the power of this
    #[arg(short = 'u', long = "qp-timeout", value_name = "N")]
    ack_timeout: Option<u8>,
    /// Post puts inline: their sources are then read by the CPU, so another machine is tested
    #[arg(long)]
    inline: bool,
    /// Register memory with relaxed ordering: another machine is tested
    #[arg(long)]
    relaxed_ordering: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LaunchName {
    None,
    Local,
    Ssh,
    Slurm,
    Mpirun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PresetName {
    Default,
    Calm,
    Storm,
}

impl VerbsOptions {
    /// How tests are run.
    ///
    /// # Errors
    /// A number that is not in its range.
    pub fn parameters(&self) -> Result<Parameters, String> {
        let preset = match self.preset {
            PresetName::Default => Preset::Default,
            PresetName::Calm => Preset::Calm,
            PresetName::Storm => Preset::Storm,
        };
        let mut parameters = preset.parameters();
        let stride = self.stride.map(|bytes| bytes.div_ceil(8));
        let settings = &mut parameters.settings;
        let choices = [
            (&mut parameters.instances, self.instances),
            (&mut parameters.rounds, self.rounds),
            (&mut parameters.delay, self.delay),
            (&mut parameters.flush, self.flush),
            (&mut parameters.stride, stride),
            (&mut parameters.patience, self.patience),
            (&mut settings.depth, self.depth),
        ];
        for (parameter, choice) in choices {
            *parameter = choice.unwrap_or(*parameter);
        }
        settings.outstanding_reads = self.outstanding.or(settings.outstanding_reads);
        settings.timeout = self.ack_timeout.unwrap_or(settings.timeout);
        parameters.pin |= self.pin;
        parameters.inline |= self.inline;
        parameters.relaxed_ordering |= self.relaxed_ordering;
        parameters.check()?;
        Ok(parameters)
    }

    /// Connects to the machines.
    ///
    /// # Errors
    /// What keeps tests from being run.
    pub fn connect(&self, parameters: Parameters) -> Result<Verbs, String> {
        let launch = match self.launch {
            None if self.nodes.is_empty() => Launch::Local,
            None | Some(LaunchName::None) => Launch::None,
            Some(LaunchName::Local) => Launch::Local,
            Some(LaunchName::Ssh) => Launch::Ssh,
            Some(LaunchName::Slurm) => Launch::Slurm,
            Some(LaunchName::Mpirun) => Launch::Mpirun,
        };
        let secret = match launch {
            Launch::None => agent::secret(self.secret_file.as_deref())?,
            _ => Secret::random()?,
        };
        let mut nodes = self.nodes.clone();
        if nodes.is_empty() {
            nodes.push("local".to_owned());
        }
        let selection =
            Selection { device: self.device.clone(), port: self.port, gid_index: self.gid };
        let options = ClusterOptions { nodes, launch, secret, selection };
        let cluster = Cluster::new(options).map_err(|trouble| trouble.to_string())?;
        Ok(Verbs::new(cluster, parameters))
    }
}
