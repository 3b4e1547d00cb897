//! What coordinator and agents say to each other, after the handshake.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::rdma::verbs::Selection;
use crate::rdma::{Address, DeviceInfo, RdmaErrorKind, RegionKey};
use crate::rounds::Parameters;
use evidence::record::Host;

/// The port that agents listen on if nobody says; perftest's.
pub const DEFAULT_PORT: u16 = 18515;

/// The longest message, in bytes.
const LONGEST: u32 = 32 << 20;

/// What a coordinator asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// What the machine and its device are.
    Describe(Selection),
    /// Make ready for a program.
    Prepare(Box<Program>),
    /// Connect to the others.
    Connect(Box<Wiring>),
    /// Run a batch.
    Run {
        /// Its number.
        batch: u64,
        /// What random choices derive from.
        seed: u64,
    },
    /// Stop the batch that runs.
    Stop,
    /// Forget the program.
    Release,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Ask::Describe`].
    Described(Box<DeviceInfo>, Host),
    /// To [`Ask::Prepare`]: how this machine's ends are reached.
    Prepared(Box<Wiring>),
    /// To [`Ask::Connect`] and [`Ask::Release`].
    Done,
    /// While a batch runs: so many instances have ended.
    Progress(u64),
    /// To [`Ask::Run`].
    Seen(Seen),
    /// To any question.
    Failed(Option<RdmaErrorKind>, String),
}

/// A program, and who runs what of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The file's name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// [`plan_hash`] of its plan.
    pub hash: u64,
    /// Per node of the program, the machine.
    pub machines: Vec<u16>,
    /// Which machine the agent is.
    pub own: u16,
    /// How many machines take part.
    pub count: u16,
    /// How to run it.
    pub parameters: Parameters,
    /// The libraries that are not shipped: names and texts.
    pub libraries: Vec<(String, String)>,
}

/// How ends of connections are reached. Each machine fills in its own part; the coordinator puts the parts together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wiring {
    /// By node of the program (from 1), its memory.
    pub memories: Vec<(u32, RegionKey)>,
    /// By queue pair of the plan, its requesting end.
    pub requesters: Vec<(u32, Address)>,
    /// By queue pair of the plan, its responding end.
    pub responders: Vec<(u32, Address)>,
    /// By machine, where arrivals at barriers are written.
    pub arrivals: Vec<(u16, RegionKey)>,
    /// By thread and the machine that it leads to, the sending end for arrivals.
    pub senders: Vec<((u32, u16), Address)>,
    /// The same, the receiving end.
    pub receivers: Vec<((u32, u16), Address)>,
    /// By machine, what background traffic writes and reads.
    pub grounds: Vec<(u16, RegionKey)>,
    /// By number of the stream and the machine that it comes from, the sending end of background traffic.
    pub sources: Vec<((u32, u16), Address)>,
    /// The same, the receiving end.
    pub sinks: Vec<((u32, u16), Address)>,
}

/// What a machine saw in a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Per thread (by index), how each instance ended.
    pub ends: Vec<(u32, Vec<u8>)>,
    /// Per observable (by index), its value in each instance.
    pub values: Vec<(u32, Vec<u64>)>,
}

impl Wiring {
    /// Adds another machine's part.
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

/// The entry with a key.
pub(super) fn entry<K: PartialEq, V: Copy>(list: &[(K, V)], key: &K) -> Result<V, String> {
    let found = list.iter().find(|(candidate, _)| candidate == key);
    found.map(|(_, value)| *value).ok_or_else(|| "an end of a connection is missing".to_owned())
}

/// What two versions of litmus must agree on to run a program together.
pub(super) fn plan_hash(plan: &compiler::plan::Plan) -> u64 {
    evidence::record::fnv1a(&[&format!("{plan:?}")])
}

/// Writes a message: its length in 4 bytes, little-endian, and then itself in postcard's format.
pub(super) fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).ok().filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| io::Error::other("a message is too long"))?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&bytes)?;
    stream.flush()
}

/// Reads a message. Memory is taken as bytes arrive, so a length that is a lie takes none.
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
