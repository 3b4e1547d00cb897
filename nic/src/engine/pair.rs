//! A queue pair: the queues of the operational semantics, and what connects it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::queues::{CompletionQueue, Receives, Sends};
use crate::request::{Completion, Payload, ReceiveRequest, Remote, SendRequest, Sge, Status};
use crate::states::State;
use crate::trace::Name;
use crate::wire;

/// A reliable-connection queue pair.
pub struct Pair {
    /// Its number.
    pub number: u32,
    /// Its protection domain.
    pub domain: u32,
    /// Its device.
    pub device: u16,
    /// What the program posted to send.
    pub sends: Arc<Sends>,
    /// What the program posted to receive.
    pub receives: Arc<Receives>,
    /// Where requests complete.
    pub send_cq: Arc<CompletionQueue>,
    /// Where receive requests complete.
    pub receive_cq: Arc<CompletionQueue>,
    /// Its state.
    pub state: State,
    /// How it is connected.
    pub path: Path,
    /// Its own requests.
    pub requester: Requester,
    /// Its peer's requests.
    pub responder: Responder,
    /// Whether it is among those that the scheduler looks at.
    pub active: bool,
    /// Whether a program that waits for it to drain has been told.
    pub drained: bool,
}

/// Attributes of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The own port, by its number in the network.
    pub port: u16,
    /// The peer's port, by its number in the network; `None` if no such port is known.
    pub peer_port: Option<u16>,
    /// The peer's queue pair.
    pub peer: u32,
    /// `ibv_access_flags` for the peer.
    pub access: u32,
    /// Exponent of the time until an unacknowledged request is sent again; 0 for never.
    pub timeout: u8,
    /// How often it is sent again.
    pub retries: u8,
    /// How often a request is tried again if there is no receive request; 7 for ever.
    pub rnr_retries: u8,
    /// Code of the time between such tries.
    pub rnr_timer: u8,
    /// Reads and atomics under way.
    pub most_fetches: u8,
}

/// The queues of the pair's own requests: `pipe` and `wbL`.
#[derive(Default)]
pub struct Requester {
    /// Tells its requests from those of an earlier life.
    pub session: u32,
    /// Whether the peer answers.
    pub link: Link,
    /// Requests in the order in which they were posted.
    pub pipe: VecDeque<Entry>,
    /// So many entries at the head of `pipe` have been sent.
    pub sent: usize,
    /// Writes pending here, and completion notices.
    pub wb_local: VecDeque<LocalEntry>,
    /// The number of the next request.
    pub next: u64,
    /// Reads and atomics that the peer has not answered.
    pub fetching: usize,
    /// Bytes that were read and have not arrived.
    pub carried: usize,
}

/// Whether the peer answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It was not asked.
    #[default]
    Unknown,
    /// It was asked, or is gone: when to ask again, and when to give up.
    Asking {
        /// Nanoseconds.
        next: u64,
        /// Nanoseconds; `u64::MAX` for never.
        until: u64,
        /// Whether requests that were sent may be lost.
        lost: bool,
    },
    /// It does.
    Ready,
}

/// A request in `pipe`.
pub struct Entry {
    /// Its number in the session.
    pub number: u64,
    /// What was posted.
    pub request: SendRequest,
    /// An rfence stands before it.
    pub fence: bool,
    /// How far it is.
    pub stage: Stage,
    /// When the next rule may be applied to it.
    pub due: u64,
}

/// How far a request is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A put (or send): its local read is to be done.
    Put,
    /// `x := v`: its remote write is to be done.
    RemoteWrite(Vec<u8>),
    /// A get or RMW: its remote read is to be done.
    Get,
    /// It is with the peer, or on its way.
    Sent,
    /// The peer has done a put.
    Ack,
    /// `y := v`: its local write is to be done.
    LocalWrite(Vec<u8>),
    /// It failed.
    Failed(Status),
}

/// An entry of `wbL`.
pub enum LocalEntry {
    /// A pending write.
    Write {
        /// The request's number in the session.
        number: u64,
        /// Where to.
        sges: Vec<Sge>,
        /// What.
        bytes: Vec<u8>,
        /// When it may be done.
        due: u64,
    },
    /// `cn`: a completion, if it is shown.
    Notice {
        /// The request's number in the session.
        number: u64,
        /// What the program will see.
        completion: Option<Completion>,
        /// When it may be shown.
        due: u64,
    },
}

/// The queues of the peer's requests: those that arrived, and `wbR`.
#[derive(Default)]
pub struct Responder {
    /// The requester's session, once it has said hello.
    pub session: Option<u32>,
    /// Requests in the order in which they were sent: the part of the peer's `pipe` that is here.
    pub arrived: VecDeque<Arrived>,
    /// Writes pending here.
    pub wb_remote: VecDeque<RemoteEntry>,
}

/// A request of the peer.
pub struct Arrived {
    /// Its number in the session.
    pub number: u64,
    /// What is asked.
    pub request: wire::Request,
    /// An RMW that was read and has to write: what to write, and the old value.
    pub atomic_write: Option<(u64, u64)>,
    /// When the next rule may be applied to it.
    pub due: u64,
    /// When it was found that there is no receive request for it.
    pub waiting_since: Option<u64>,
}

/// An entry of `wbR`.
pub struct RemoteEntry {
    /// The request's number in the session.
    pub number: u64,
    /// What it does.
    pub action: RemoteAction,
    /// When it may be done.
    pub due: u64,
}

/// What an entry of `wbR` does.
pub enum RemoteAction {
    /// Writes what a put carried, or an RMW; then A(n) is free again.
    Write {
        /// Where to.
        remote: Remote,
        /// What.
        bytes: Vec<u8>,
        /// Whether it is an RMW's.
        atomic: bool,
    },
    /// Writes what a send carried.
    Scatter {
        /// Where to.
        sges: Vec<Sge>,
        /// What.
        bytes: Vec<u8>,
    },
    /// Completes a receive request.
    Received(Completion),
}

impl Pair {
    /// Whether there is nothing that the NIC could do for it.
    pub fn is_idle(&self) -> bool {
        self.requester.pipe.is_empty()
            && self.requester.wb_local.is_empty()
            && self.responder.arrived.is_empty()
            && self.responder.wb_remote.is_empty()
    }

    /// One of the own requests, for the trace.
    pub fn own(&self, request: u64) -> Name {
        Name { queue_pair: self.number, session: self.requester.session, request }
    }

    /// One of the peer's requests, for the trace.
    pub fn peers(&self, request: u64) -> Name {
        let session = self.responder.session.unwrap_or(0);
        Name { queue_pair: self.path.peer, session, request }
    }

    /// A message to the peer about the own requests.
    pub fn ask(&self, body: wire::Body) -> wire::Message {
        let session = self.requester.session;
        wire::Message { to: self.path.peer, from: self.number, session, body }
    }

    /// A message to the peer about its requests.
    pub fn answer(&self, body: wire::Body) -> wire::Message {
        let session = self.responder.session.unwrap_or(0);
        wire::Message { to: self.path.peer, from: self.number, session, body }
    }

    /// The completion of one of the own requests.
    pub fn completion(&self, request: &SendRequest, status: Status, bytes: u32) -> Completion {
        Completion {
            id: request.id,
            status,
            opcode: request.operation.completion_code(),
            bytes,
            immediate: None,
            queue_pair: self.number,
            solicited: false,
        }
    }

    /// The completion of a receive request.
    pub fn received(&self, request: &ReceiveRequest, status: Status) -> Completion {
        Completion {
            id: request.id,
            status,
            opcode: crate::request::RECEIVED,
            bytes: 0,
            immediate: None,
            queue_pair: self.number,
            solicited: false,
        }
    }
}

/// The pieces of a request that are in registered memory.
pub fn pieces(payload: &Payload) -> &[Sge] {
    match payload {
        Payload::Memory(sges) => sges,
        Payload::Inline(_) => &[],
    }
}
