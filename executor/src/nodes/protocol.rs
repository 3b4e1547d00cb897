//! The messages between coordinator and agents, after the handshake.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::cores::Place;
pub use crate::rdma::Selection;
use crate::rdma::{Address, DeviceInfo, RdmaErrorKind, RegionKey};
use crate::rounds::Parameters;
use evidence::record::Host;

/// The default port of agents. It is also perftest's.
pub const DEFAULT_PORT: u16 = 18515;

/// The version of the messages. Whoever changes one of them raises it; a test notices that they changed.
pub(super) const PROTOCOL: u32 = 10;

/// The most bytes of a message.
const LONGEST: u32 = 32 << 20;

/// A coordinator's questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Describe the machine and its device.
    Describe(Selection),
    /// Prepare a program.
    Prepare(Box<Program>),
    /// Connect to the other machines.
    Connect(Box<Wiring>),
    /// Run a batch.
    Run {
        /// The number of the batch.
        batch: u64,
        /// The seed of random choices.
        seed: u64,
    },
    /// Stop the batch that runs.
    Stop,
    /// Forget the program.
    Release,
}

/// An agent's answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The answer to [`Ask::Describe`].
    Described(Box<DeviceInfo>, Host, Place),
    /// The answer to [`Ask::Prepare`]: how to reach this machine's ends.
    Prepared(Box<Wiring>),
    /// The answer to [`Ask::Connect`] and [`Ask::Release`].
    Done,
    /// The agent works on its answer.
    Alive,
    /// The answer to [`Ask::Run`].
    Seen(Seen),
    /// The answer to any question that failed: the kind of error, and the message.
    Failed(Option<RdmaErrorKind>, String),
}

/// A program, and which machine runs which node of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The name of the litmus file.
    pub name: String,
    /// The text of the litmus file.
    pub text: String,
    /// The [`plan_hash`] of the program's plan.
    pub hash: u64,
    /// For each node of the program, the index of its machine.
    pub machines: Vec<u16>,
    /// The index of this agent's machine.
    pub own: u16,
    /// The number of machines that take part.
    pub count: u16,
    /// The core of each thread with statements on this machine, if threads are pinned.
    pub cores: Vec<u32>,
    /// Whether waiting threads must yield the CPU, because its host has more threads than cores.
    pub crowded: bool,
    /// The parameters of the run.
    pub parameters: Parameters,
    /// The user's own libraries: names and texts. Shipped libraries are not sent.
    pub libraries: Vec<(String, String)>,
}

/// How to reach the ends of connections. Each machine fills in its own part; the coordinator merges the
/// parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wiring {
    /// By node of the program, from 1: its memory.
    pub memories: Vec<(u32, RegionKey)>,
    /// By queue pair of the plan: its requesting end.
    pub requesters: Vec<(u32, Address)>,
    /// By queue pair of the plan: its responding end.
    pub responders: Vec<(u32, Address)>,
    /// By machine: the region for arrivals at barriers.
    pub arrivals: Vec<(u16, RegionKey)>,
    /// By thread and target machine: the sending end for arrivals.
    pub senders: Vec<((u32, u16), Address)>,
    /// By thread and target machine: the receiving end for arrivals.
    pub receivers: Vec<((u32, u16), Address)>,
    /// By machine: the region for background traffic.
    pub grounds: Vec<(u16, RegionKey)>,
    /// By stream and source machine: the sending end of background traffic.
    pub sources: Vec<((u32, u16), Address)>,
    /// By stream and source machine: the receiving end of background traffic.
    pub sinks: Vec<((u32, u16), Address)>,
}

/// The observations of one machine in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// By thread index: how each instance ended.
    pub ends: Vec<(u32, Vec<u8>)>,
    /// By observable index: its value in each instance.
    pub values: Vec<(u32, Vec<u64>)>,
}

impl Wiring {
    /// Adds the part of another machine.
    pub fn add(&mut self, other: Self) {
        self.memories.extend(other.memories);
        self.requesters.extend(other.requesters);
        self.responders.extend(other.responders);
        self.arrivals.extend(other.arrivals);
        self.senders.extend(other.senders);
        self.receivers.extend(other.receivers);
        self.grounds.extend(other.grounds);
        self.sources.extend(other.sources);
        self.sinks.extend(other.sinks);
    }
}

/// Finds the entry with a key.
pub(super) fn entry<K: PartialEq, V: Clone>(list: &[(K, V)], key: &K) -> Result<V, String> {
    let found = list.iter().find(|(candidate, _)| candidate == key);
    found
        .map(|(_, value)| value.clone())
        .ok_or_else(|| "an end of a connection is missing".to_owned())
}

/// A hash of the plan. Coordinator and agents must agree on it to run a program together.
pub(super) fn plan_hash(plan: &compiler::plan::Plan) -> u64 {
    evidence::record::fnv1a(&[&format!("{plan:?}")])
}

/// Writes a message: its length in 4 bytes, little-endian, then the message in postcard's format.
pub(super) fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("a message is too long"))?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&bytes)?;
    stream.flush()
}

/// Reads a message. Memory grows as bytes arrive, so a wrong length allocates nothing.
pub(super) fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(invalid(format!(
            "expected at most {LONGEST} bytes in a message, found {length}"
        )));
    }
    let mut bytes = Vec::new();
    stream.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes)
        .map_err(|error| invalid(format!("a message makes no sense: {error}")))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
