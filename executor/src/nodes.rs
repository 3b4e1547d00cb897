//! The backend `verbs`: an agent on each machine, and a coordinator that wires them up, runs, and collects.
//!
//! The coordinator sends every agent the program and where its nodes are (`protocol`); each agent makes the plan itself,
//! registers memory and queue pairs (`session`), and tells how they are reached; the coordinator passes that on.
//! Then batches run ([`crate::rounds`]), and what each machine saw is put together (`collect`).

mod agent;
mod backend;
mod cluster;
mod collect;
mod handshake;
mod launch;
mod link;
mod protocol;
mod session;

pub use agent::{Agent, AgentEvent, AgentOptions, OpenDevice};
pub use backend::Verbs;
pub use cluster::{Cluster, ClusterOptions};
pub use handshake::Secret;
pub use launch::{Launch, LaunchError};
pub use protocol::{DEFAULT_PORT, Selection};
pub use session::Limits;

#[cfg(test)]
mod tests;
