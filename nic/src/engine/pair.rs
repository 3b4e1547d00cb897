//! A queue pair: the queues of the operational semantics, and its connection.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::queues::{CompletionQueue, Receives, Sends};
use crate::request::{Completion, Payload, ReceiveRequest, Remote, SendRequest, Sge, Status};
use crate::states::State;
use crate::trace::Name;
use crate::wire;

use super::tear::Partial;

/// A queue pair: of a reliable connection, or for datagrams.
pub struct Pair {
    /// The queue pair number.
    pub number: u32,
    /// The number of its protection domain.
    pub domain: u32,
    /// The index of its device.
    pub device: u16,
    /// The send requests that the program has posted.
    pub sends: Arc<Sends>,
    /// The receive requests that the program has posted.
    pub receives: Arc<Receives>,
    /// The queue for completions of send requests.
    pub send_cq: Arc<CompletionQueue>,
    /// The queue for completions of receive requests.
    pub receive_cq: Arc<CompletionQueue>,
    /// Whether it sends and receives datagrams, and has no peer.
    pub datagrams: bool,
    /// The current state.
    pub state: State,
    /// The attributes of its connection.
    pub path: Path,
    /// The queues of its own requests.
    pub requester: Requester,
    /// The queues of its peer's requests.
    pub responder: Responder,
    /// Whether the scheduler examines it.
    pub active: bool,
    /// Whether the program is to be told when the send queue has drained.
    pub tells_drained: bool,
    /// Whether the program has been told that no more shared receive requests are taken.
    pub told_last: bool,
}

/// The attributes of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The number of its own port in the network.
    pub port: u16,
    /// The number of the peer's port in the network. `None` if no such port is known.
    pub peer_port: Option<u16>,
    /// The number of its own host.
    pub host: u32,
    /// The peer's queue pair.
    pub peer: wire::Address,
    /// The key of datagrams that it receives (Q_Key).
    pub key: u32,
    /// The peer's access rights, as in `ibv_access_flags`.
    pub access: u32,
    /// Exponent of the time until an unacknowledged request is sent again; 0 means never.
    pub timeout: u8,
    /// How often a request is sent again.
    pub retries: u8,
    /// How often a request is tried again if there is no receive request; 7 means forever.
    pub rnr_retries: u8,
    /// The code of the time between such tries.
    pub rnr_timer: u8,
    /// The most reads and atomics in flight.
    pub most_fetches: u8,
    /// The most reads, atomics and flushes that the peer may have in flight.
    pub most_served: u8,
    /// The first sequence number of what it sends (`sq_psn`), of 24 bits.
    pub sends_from: u32,
    /// The first sequence number that it expects of the peer (`rq_psn`), of 24 bits.
    pub expects_from: u32,
}

/// The queues of the queue pair's own requests: `pipe` and `wbL`.
#[derive(Default)]
pub struct Requester {
    /// The session number. It distinguishes requests from those before the last reset.
    pub session: u32,
    /// The state of the link to the peer.
    pub link: Link,
    /// The requests in progress, in the order in which they were posted.
    pub pipe: VecDeque<Entry>,
    /// How many entries at the head of `pipe` have been sent.
    pub sent: usize,
    /// wbL: pending local writes, and completion notices.
    pub wb_local: VecDeque<LocalEntry>,
    /// The number of the next request in the session.
    pub next: u64,
    /// How many reads and atomics the peer has not answered.
    pub fetching: usize,
    /// How many bytes were read from sources and are not acknowledged.
    pub carried: usize,
}

/// The state of the link to the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// The peer has not been asked whether it is there.
    #[default]
    Unknown,
    /// The peer has been asked, or is gone. Says when to ask again, and when to give up.
    Asking {
        /// The time of the next question, in nanoseconds.
        next: u64,
        /// The time to give up, in nanoseconds; `u64::MAX` means never.
        until: u64,
        /// Whether requests that were sent may be lost.
        lost: bool,
    },
    /// The peer answers.
    Ready,
}

/// A request in `pipe`.
pub struct Entry {
    /// The number of the request in the session.
    pub number: u64,
    /// The request as it was posted.
    pub request: SendRequest,
    /// Whether an rfence stands before it.
    pub fence: bool,
    /// Whether it is sent once more before it completes.
    pub again: bool,
    /// The progress of the request.
    pub stage: Stage,
    /// The earliest time at which the next rule may be applied to it.
    pub due: u64,
}

/// The progress of a request in `pipe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A put (or send) that has not read its source.
    Put,
    /// A put (or send) that has read a part of its source.
    Reading(Box<Partial>),
    /// `x := v`: a put whose source is read (or inline), and that has not been sent.
    RemoteWrite(Vec<u8>),
    /// A get or RMW that has not been sent.
    Get,
    /// It is on its way to the peer, or with the peer.
    Sent,
    /// The peer has performed the put.
    Ack,
    /// `y := v`: the local write of a get or RMW.
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
        /// The pieces of memory to write to.
        sges: Vec<Sge>,
        /// The bytes to write.
        bytes: Vec<u8>,
        /// The earliest time at which the write may be performed.
        due: u64,
    },
    /// `cn`: a completion. The program sees it only if it was requested.
    Notice {
        /// The request's number in the session.
        number: u64,
        /// The completion for the program, if any.
        completion: Option<Completion>,
        /// The earliest time at which it may become visible.
        due: u64,
    },
}

/// The queues of the peer's requests: those that have arrived, and `wbR`.
#[derive(Default)]
pub struct Responder {
    /// The session of the requester, after it has said hello.
    pub session: Option<u32>,
    /// The requests in the order in which they were sent: the part of the peer's `pipe` that is at this end.
    pub arrived: VecDeque<Arrived>,
    /// Whether the requester sends nothing again in this session. Then a message is lost without a receive
    /// request, with all that is behind it.
    pub has_ended: bool,
    /// wbR: the pending remote writes.
    pub wb_remote: VecDeque<RemoteEntry>,
}

impl Responder {
    /// A message was given up: what comes behind it is not what is expected.
    pub fn drop_all(&mut self) {
        self.has_ended = true;
        self.arrived.clear();
    }

    /// The requester has gone, or gives up: it sends nothing again.
    pub fn end(&mut self) {
        self.has_ended = true;
        let waits = |arrived: &Arrived| arrived.waiting_since.is_some();
        let kept = self.arrived.iter().position(waits).unwrap_or(self.arrived.len());
        self.arrived.truncate(kept);
    }
}

/// A request of the peer that has arrived.
pub struct Arrived {
    /// The number of the request in the session.
    pub number: u64,
    /// The request.
    pub request: wire::Request,
    /// For an RMW that has read, and still has to write: the new value, and the old value.
    pub rmw_write: Option<(u64, u64)>,
    /// For a read that is torn: the bytes read so far, and the pieces that it still has to read.
    pub partial: Option<Partial>,
    /// The earliest time at which the next rule may be applied to it.
    pub due: u64,
    /// The time at which a receive request was first missing for it.
    pub waiting_since: Option<u64>,
    /// How it fails, as soon as it is the first. Nothing behind it is performed.
    pub refused: Option<Status>,
}

/// An entry of `wbR`.
pub struct RemoteEntry {
    /// The request's number in the session.
    pub number: u64,
    /// The effect of the entry.
    pub action: RemoteAction,
    /// The earliest time at which it may take effect.
    pub due: u64,
}

/// The effect of an entry of `wbR`.
pub enum RemoteAction {
    /// Writes the data of a put, or the result of an RMW. After an RMW, A(n) is free.
    Write {
        /// The memory to write to.
        remote: Remote,
        /// The bytes to write.
        bytes: Vec<u8>,
        /// Whether an RMW writes it.
        atomic: bool,
    },
    /// Writes the data of a send.
    Scatter {
        /// The pieces of memory to write to.
        sges: Vec<Sge>,
        /// The bytes to write.
        bytes: Vec<u8>,
    },
    /// Completes a receive request.
    Received(Completion),
}

impl Pair {
    /// The protection domain of the memory that receive requests name.
    pub fn receive_domain(&self) -> u32 {
        self.receives.domain.unwrap_or(self.domain)
    }

    /// Whether all requests that have begun are finished.
    pub fn has_drained(&self) -> bool {
        self.requester.pipe.is_empty() && self.requester.wb_local.is_empty()
    }

    /// Whether the NIC has nothing to do for the queue pair.
    pub fn is_idle(&self) -> bool {
        self.has_drained()
            && self.responder.arrived.is_empty()
            && self.responder.wb_remote.is_empty()
    }

    /// The trace's name of one of its own requests.
    pub fn own(&self, request: u64) -> Name {
        Name { queue_pair: self.number, session: self.requester.session, request }
    }

    /// The trace's name of one of the peer's requests.
    pub fn peers(&self, request: u64) -> Name {
        let session = self.responder.session.unwrap_or(0);
        Name { queue_pair: self.path.peer.queue_pair, session, request }
    }

    /// Where it is.
    pub fn address(&self) -> wire::Address {
        wire::Address { host: self.path.host, queue_pair: self.number }
    }

    /// A message to the peer about its own requests.
    pub fn ask(&self, body: wire::Body) -> wire::Message {
        let session = self.requester.session;
        wire::Message { to: self.path.peer, from: self.address(), session, body }
    }

    /// A message to the peer about the peer's requests.
    pub fn answer(&self, body: wire::Body) -> wire::Message {
        let session = self.responder.session.unwrap_or(0);
        wire::Message { to: self.path.peer, from: self.address(), session, body }
    }

    /// The completion of one of its own requests.
    pub fn completion(&self, request: &SendRequest, status: Status, bytes: u32) -> Completion {
        Completion {
            id: request.id,
            status,
            opcode: request.operation.completion_code(),
            bytes,
            immediate: None,
            queue_pair: self.number,
            solicited: false,
            sender: None,
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
            sender: None,
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
