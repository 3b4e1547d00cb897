//! Datagrams: requests without a connection. They come late, and nobody answers them. A datagram is lost if
//! its receiver is not there, has another key, or has no receive request.

use crate::request::{Completion, Destination, HEADER, RECEIVED, Sender, Status, total};
use crate::wire::{Address, Body, Message, Request};

use super::node::{Event, Node};
use super::pair::{Pair, RemoteAction};
use super::{arrival, responder};

/// What the receiver gets.
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// Whether the receiver asked to be woken by it.
    pub solicited: bool,
}

/// Sends a datagram.
pub fn send(pair: &Pair, node: &mut Node, to: Destination, content: Content) {
    let Some(port) = to.port else { return };
    let Content { bytes, immediate, solicited } = content;
    // With the highest bit set, the sender's own key counts.
    let key = if to.key >> 31 == 1 { pair.path.key } else { to.key };
    let header = to
        .global
        .then(|| header(node, bytes.len(), (pair.path.host, pair.path.port), (to.host, port)));
    let from_port = pair.path.port;
    let request = Request::Datagram { key, port, from_port, header, bytes, immediate, solicited };
    let body = Body::Request { number: 0, request };
    let to = Address { host: to.host, queue_pair: to.queue_pair };
    node.outbox.push(Message { to, from: pair.address(), session: 0, body });
}

/// The global route header of a datagram.
fn header(node: &Node, length: usize, from: (u32, u16), to: (u32, u16)) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = 0x60;
    header[4..6].copy_from_slice(&(length as u16).to_be_bytes());
    // The next header is InfiniBand's base transport header.
    (header[6], header[7]) = (0x1b, 64);
    header[8..24].copy_from_slice(&(node.gid)(from.0, from.1));
    header[24..].copy_from_slice(&(node.gid)(to.0, to.1));
    header
}

/// Handles a datagram that comes from the network.
pub fn arrive(pair: &mut Pair, node: &mut Node, message: Message) {
    let Body::Request { request, .. } = message.body else { return };
    let Request::Datagram { key, port, .. } = &request else { return };
    let fits = pair.datagrams && *key == pair.path.key && *port == pair.path.port;
    if fits && pair.state.receives() {
        // The number tells who sent it.
        let Address { host, queue_pair } = message.from;
        arrival::arrive(pair, node, u64::from(host) << 32 | u64::from(queue_pair), request);
    }
}

/// Delivers a datagram to the program.
pub fn receive(pair: &mut Pair, node: &mut Node, number: u64, request: Request) {
    let Request::Datagram { header, bytes, immediate, solicited, from_port, .. } = request else {
        return;
    };
    let Some((request, limit)) = pair.receives.take() else { return };
    node.events.extend(limit.then_some((pair.number, Event::LimitReached)));
    let length = HEADER + bytes.len();
    let refused = if length as u64 > total(&request.sges) {
        Some(Status::LocalLength)
    } else if !node.keys.all_local(pair.receive_domain(), &request.sges, true) {
        Some(Status::LocalProtection)
    } else {
        None
    };
    if let Some(status) = refused {
        let completion = pair.received(&request, status);
        responder::push(pair, node, number, RemoteAction::Received(completion));
        super::life::fail(pair, node);
        return;
    }
    let sender = Sender { queue_pair: number as u32, port: from_port, global: header.is_some() };
    let completion = Completion {
        opcode: RECEIVED,
        bytes: length as u32,
        immediate,
        solicited,
        sender: Some(sender),
        ..pair.received(&request, Status::Success)
    };
    let mut all = header.unwrap_or([0; HEADER]).to_vec();
    all.extend(bytes);
    let sges = request.sges;
    responder::push(pair, node, number, RemoteAction::Scatter { sges, bytes: all });
    responder::push(pair, node, number, RemoteAction::Received(completion));
}
