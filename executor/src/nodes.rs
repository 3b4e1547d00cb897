//! The backends `verbs` and `ofi`: an agent on each machine, and a coordinator that connects the agents, runs
//! the tests, and collects the observations.
//!
//! The coordinator sends every agent the program and the placement of its nodes (`protocol`). Each agent
//! makes the plan itself, registers memory and queue pairs (`session`), and reports how to reach them. The
//! coordinator passes this on to the other agents. Then batches run ([`crate::rounds`]), and the observations
//! of all machines are merged (`collect`).

mod agent;
mod backend;
mod bridge;
mod cluster;
mod collect;
mod cores;
mod ends;
mod handshake;
mod launch;
mod link;
mod protocol;
mod records;
mod secret;
mod session;

pub use agent::{Agent, AgentEvent, AgentOptions, OpenDevice};
pub use backend::Verbs;
pub use bridge::{Bridge, BridgeEvent, BridgeOptions};
pub use cluster::{Cluster, ClusterOptions, Node};
pub use launch::{Launch, LaunchError};
pub use link::host_and_port;
pub use protocol::{DEFAULT_PORT, Selection};
pub use secret::Secret;
pub use session::Limits;

#[cfg(test)]
mod tests;
