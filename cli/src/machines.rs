//! Which machines, and which device on each: the options of all commands that talk to agents.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use executor::nodes::{Cluster, ClusterOptions, Launch, Node, Secret, Selection, host_and_port};
use executor::rdma::{Completion, Interface, Provider};

use crate::commands::agent;

/// Machines and devices, as in perftest where it has a name for them.
#[derive(Args)]
pub struct MachineOptions {
    /// The machines, each with an agent; the tests' nodes take turns on them [default: this machine]
    ///
    /// HOST or HOST:PORT, and behind a `/` the machine's own device, and optionally port and GID index:
    /// `a/mlx5_0:1:3,b/mlx5_1`. Two devices of one host take an agent each: `a:18515/mlx5_0,a:18516/mlx5_1`.
    #[arg(
        long,
        value_name = "HOST[/DEV],…",
        value_parser = node,
        value_delimiter = ',',
        env = "LITMUS_NODES",
        hide_env_values = true
    )]
    nodes: Vec<Node>,
    /// What starts the agents; `none` if they run already [default: none with --nodes, else local]
    #[arg(long, value_name = "HOW")]
    launch: Option<LaunchName>,
    /// The file with the secret that the agents know
    #[arg(long, value_name = "FILE", env = "LITMUS_SECRET_FILE", hide_env_values = true)]
    secret_file: Option<PathBuf>,
    /// Device on each machine, as in perftest; for libfabric, the domain
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

/// How libfabric is used.
#[derive(Args)]
pub struct OfiOptions {
    /// Provider of libfabric, as `fi_info -p` takes it [default: the first that can run tests]
    #[arg(long, value_name = "NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    provider: Option<String>,
    /// When puts over libfabric are complete [default: transmit, or delivery if reads may overtake puts]
    #[arg(long, value_name = "LEVEL")]
    completion: Option<CompletionName>,
    /// Ask libfabric for atomics too, even if the provider promises less then
    #[arg(long)]
    atomics: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompletionName {
    /// Once the source may be used again (FI_TRANSMIT_COMPLETE)
    Transmit,
    /// Once they are in the peer's memory (FI_DELIVERY_COMPLETE)
    Delivery,
}

impl OfiOptions {
    /// The provider that is asked for, and how.
    pub fn provider(&self) -> Provider {
        let completion = self.completion.map(|level| match level {
            CompletionName::Transmit => Completion::Transmit,
            CompletionName::Delivery => Completion::Delivery,
        });
        Provider { name: self.provider.clone(), completion, atomics: self.atomics }
    }
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
    pub fn connect(&self, interface: &Interface) -> Result<Cluster, String> {
        self.connect_to(self.nodes.clone(), interface)
    }

    /// Connects to each machine alone where agents run already, so that one that is broken does not hide the
    /// others. Agents that are to be started are started together.
    pub fn connect_to_each(&self, interface: &Interface) -> Vec<(String, Result<Cluster, String>)> {
        if self.launch() != Launch::None {
            return vec![("launch".to_owned(), self.connect(interface))];
        }
        let one = |node: &Node| (node.name.clone(), self.connect_to(vec![node.clone()], interface));
        self.nodes.iter().map(one).collect()
    }

    fn connect_to(&self, mut nodes: Vec<Node>, interface: &Interface) -> Result<Cluster, String> {
        let launch = self.launch();
        if nodes.is_empty() {
            nodes.push(node("local")?);
        }
        each_has_an_agent(&nodes, launch)?;
        for Node { selection, .. } in &mut nodes {
            selection.interface.clone_from(interface);
            if selection.device.is_none() {
                selection.device.clone_from(&self.device);
            }
            selection.port = selection.port.or(self.port);
            selection.gid_index = selection.gid_index.or(self.gid);
        }
        let secret = match launch {
            Launch::None => agent::secret(self.secret_file.as_deref())?,
            _ => Secret::random()?,
        };
        let options = ClusterOptions { nodes, launch, secret };
        Cluster::new(options).map_err(|trouble| trouble.to_string())
    }
}

/// `HOST[:PORT][/DEVICE[:PORT[:GID]]]`.
fn node(text: &str) -> Result<Node, String> {
    let (address, device) = match text.split_once('/') {
        Some((address, device)) => (address, Some(device)),
        None => (text, None),
    };
    let mut selection = Selection::default();
    if let Some(device) = device {
        let mut parts = device.split(':');
        let expected = "expected HOST/DEVICE, HOST/DEVICE:PORT or HOST/DEVICE:PORT:GID";
        let name = parts.next().filter(|name| !name.is_empty() && !name.contains('/'));
        selection.device = Some(name.ok_or(expected)?.to_owned());
        selection.port = parts.next().map(str::parse).transpose().map_err(|_| expected)?;
        selection.gid_index = parts.next().map(str::parse).transpose().map_err(|_| expected)?;
        if parts.next().is_some() {
            return Err(expected.to_owned());
        }
    }
    if address.is_empty() {
        return Err("expected the name of a machine, found none".to_owned());
    }
    Ok(Node { name: text.to_owned(), address: address.to_owned(), selection })
}

/// An agent uses one device, for one coordinator. Two devices of a host take two agents there.
fn each_has_an_agent(nodes: &[Node], launch: Launch) -> Result<(), String> {
    // Slurm and mpirun start one agent on each host.
    let is_one_a_host = matches!(launch, Launch::Slurm | Launch::Mpirun);
    let agent = |node: &Node| {
        let (host, port) = host_and_port(&node.address);
        if is_one_a_host { host } else { format!("{host}:{port}") }
    };
    let mut seen = HashSet::new();
    let again = nodes.iter().find(|node| !seen.insert(agent(node)));
    let Some(node) = again.filter(|_| launch != Launch::Local) else { return Ok(()) };
    let (name, agent) = (&node.name, agent(node));
    Err(if is_one_a_host {
        format!(
            "{name} is the second node on {agent}, and this launcher starts one agent on each host; start \
             agents by hand or with --launch ssh, on two ports"
        )
    } else {
        format!(
            "{name} has the address of another node; each needs an agent on a port of its own: \
             HOST:18515/DEVICE,HOST:18516/DEVICE"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_name_its_device() {
        let read = |text: &str| {
            let Node { address, selection, .. } = node(text).expect(text);
            (address, selection.device, selection.port, selection.gid_index)
        };
        let device = |name: &str| Some(name.to_owned());
        assert_eq!(read("a"), ("a".to_owned(), None, None, None));
        assert_eq!(read("a:7"), ("a:7".to_owned(), None, None, None));
        assert_eq!(read("a/mlx5_0"), ("a".to_owned(), device("mlx5_0"), None, None));
        assert_eq!(read("a:7/rxe0:1"), ("a:7".to_owned(), device("rxe0"), Some(1), None));
        assert_eq!(
            read("[::1]:7/rxe0:1:3"),
            ("[::1]:7".to_owned(), device("rxe0"), Some(1), Some(3))
        );
        for wrong in
            ["", "/rxe0", "a/", "a/:1", "a/rxe0:x", "a/rxe0:1:", "a/rxe0:1:2:3", "a/b/c", "a/b:300"]
        {
            assert!(node(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nodes_do_not_share_an_agent() {
        let check = |texts: &[&str], launch| {
            let nodes: Vec<Node> = texts.iter().map(|text| node(text).expect(text)).collect();
            each_has_an_agent(&nodes, launch).is_ok()
        };
        assert!(check(&["a/x", "b/x"], Launch::None));
        assert!(!check(&["a/x", "a/y"], Launch::None));
        assert!(!check(&["a/x", "a:18515/y"], Launch::None));
        assert!(check(&["a:1/x", "a:2/y"], Launch::Ssh));
        assert!(!check(&["a:1/x", "a:2/y"], Launch::Slurm));
        assert!(check(&["a/x", "a/y"], Launch::Local));
    }
}
