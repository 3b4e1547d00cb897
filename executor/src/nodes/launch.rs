//! Starts agents with the tools of a site.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::link::host_and_port;
use super::secret::Secret;

/// The environment variable that passes the secret to agents.
const SECRET_VARIABLE: &str = "LITMUS_SECRET";
/// The environment variable that names a file with a secret. It takes precedence, so it must be unset.
const SECRET_FILE_VARIABLE: &str = "LITMUS_SECRET_FILE";

/// How agents are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Launch {
    /// They are not started: they run already.
    None,
    /// As processes on this machine, on loopback, one for each node.
    Local,
    /// With `ssh` to each node.
    Ssh,
    /// With `srun`, inside a Slurm allocation.
    Slurm,
    /// With `mpirun`.
    Mpirun,
}

/// The reason why an agent was not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError(pub String);

/// The agents that were started. Dropping this value ends them.
pub(super) struct Launched {
    children: Vec<Child>,
    /// The addresses that the agents listen on. The port of an agent on this machine is a new one each time,
    /// so an address is not a name: a run that goes on with a record has the same nodes.
    pub addresses: Vec<String>,
}

impl Drop for Launched {
    fn drop(&mut self) {
        // Agents end by themselves when their coordinator disconnects. Agents without a coordinator must be
        // killed.
        std::thread::sleep(Duration::from_millis(20));
        for child in &mut self.children {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

impl Launch {
    /// Starts agents on the nodes.
    pub(super) fn start(self, nodes: &[String], secret: &Secret) -> Result<Launched, LaunchError> {
        let mut launched = Launched { children: Vec::new(), addresses: nodes.to_vec() };
        match self {
            Self::None => {}
            Self::Local => {
                for node in &mut launched.addresses {
                    let (child, address) = start_here(secret)?;
                    launched.children.push(child);
                    *node = address;
                }
            }
            Self::Ssh | Self::Slurm | Self::Mpirun => {
                for line in self.commands(nodes) {
                    launched.children.push(start_there(&line, secret)?);
                }
            }
        }
        Ok(launched)
    }

    /// The command lines that start the agents.
    fn commands(self, nodes: &[String]) -> Vec<Vec<String>> {
        let split = |node: &String| {
            let (host, port) = host_and_port(node);
            (host, format!("0.0.0.0:{port}"))
        };
        let hosts: Vec<String> = nodes.iter().map(|node| split(node).0).collect();
        let listen = nodes.first().map_or_else(String::new, |node| split(node).1);
        let count = nodes.len().to_string();
        let agent = |listen: &str| {
            ["litmus", "agent", "--once", "--listen", listen].map(str::to_owned).to_vec()
        };
        let words =
            |start: &[&str]| start.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match self {
            Self::None | Self::Local => Vec::new(),
            Self::Ssh => nodes
                .iter()
                .map(|node| {
                    let (host, listen) = split(node);
                    let mut line = words(&["ssh", "-oBatchMode=yes", &host]);
                    line.extend(agent(&listen));
                    line.extend(words(&["--secret-file", "-"]));
                    line
                })
                .collect(),
            Self::Slurm => {
                let hosts = format!("--nodelist={}", hosts.join(","));
                let mut line = words(&["srun", "--ntasks-per-node=1", "--nodes", &count]);
                line.extend([hosts]);
                line.extend(agent(&listen));
                vec![line]
            }
            Self::Mpirun => {
                let mut line = words(&["mpirun", "-np", &count, "--host", &hosts.join(",")]);
                line.extend(words(&["--map-by", "node", "-x", SECRET_VARIABLE]));
                line.extend(agent(&listen));
                vec![line]
            }
        }
    }
}

fn start_here(secret: &Secret) -> Result<(Child, String), LaunchError> {
    let failed = |what: &str| LaunchError(format!("no agent can be started here: {what}"));
    let program: PathBuf = std::env::current_exe().map_err(|error| failed(&error.to_string()))?;
    let mut child = Command::new(program)
        .args(["agent", "--once", "--listen", "127.0.0.1:0"])
        .env(SECRET_VARIABLE, secret.text())
        .env_remove(SECRET_FILE_VARIABLE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(&error.to_string()))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        drop(BufReader::new(stdout).read_line(&mut line));
    }
    match line.trim().rsplit_once(' ') {
        Some((_, address)) => Ok((child, address.to_owned())),
        None => {
            drop(child.kill());
            drop(child.wait());
            Err(failed("it says nothing"))
        }
    }
}

fn start_there(line: &[String], secret: &Secret) -> Result<Child, LaunchError> {
    let failed = |error: std::io::Error| {
        LaunchError(format!("`{}` cannot be started: {error}", line.join(" ")))
    };
    let program = line.first().map_or("", String::as_str);
    let mut child = Command::new(program)
        .args(line.iter().skip(1))
        .env(SECRET_VARIABLE, secret.text())
        .env_remove(SECRET_FILE_VARIABLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // An agent that does not read the secret reports that itself.
        drop(writeln!(stdin, "{}", secret.text()));
    }
    Ok(child)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(launch: Launch) -> Vec<String> {
        let nodes = ["a".to_owned(), "b:7000".to_owned()];
        launch.commands(&nodes).into_iter().map(|line| line.join(" ")).collect()
    }

    #[test]
    fn command_lines() {
        assert_eq!(
            lines(Launch::Ssh),
            [
                "ssh -oBatchMode=yes a litmus agent --once --listen 0.0.0.0:18515 --secret-file -",
                "ssh -oBatchMode=yes b litmus agent --once --listen 0.0.0.0:7000 --secret-file -",
            ]
        );
        assert_eq!(
            lines(Launch::Slurm),
            [
                "srun --ntasks-per-node=1 --nodes 2 --nodelist=a,b litmus agent --once --listen 0.0.0.0:18515"
            ]
        );
        assert_eq!(
            lines(Launch::Mpirun),
            [
                "mpirun -np 2 --host a,b --map-by node -x LITMUS_SECRET litmus agent --once --listen 0.0.0.0:18515"
            ]
        );
        assert!(lines(Launch::Local).is_empty());
    }
}
