//! Checks whether peers are there, with hello and welcome messages, and handles peers that do not answer.

use crate::request::Status;
use crate::states::State;
use crate::wire::{Body, Message, Request};

use super::node::{Event, Node};
use super::pair::{Link, Pair, Stage};
use super::{arrival, datagram, life, requester, time};

/// The time between two hello messages, in nanoseconds.
const AGAIN: u64 = 1_000_000;

/// Asks the peer whether it is there, as long as requests wait for it. Returns the time of the next check, if
/// one is needed.
pub fn keep(pair: &mut Pair, node: &mut Node) -> Option<u64> {
    if pair.requester.pipe.is_empty() {
        return None;
    }
    if pair.datagrams {
        pair.requester.link = Link::Ready;
        return None;
    }
    if pair.requester.link == Link::Unknown {
        let until = node.now.saturating_add(time::patience(pair.path.timeout, pair.path.retries));
        pair.requester.link = Link::Asking { next: node.now, until, lost: false };
    }
    let Link::Asking { next, until, lost } = pair.requester.link else { return None };
    if node.now >= until {
        give_up(pair, node);
        return None;
    }
    if node.now < next || lost {
        return Some(if lost { until } else { next.min(until) });
    }
    let next = node.now + AGAIN;
    pair.requester.link = Link::Asking { next, until, lost };
    if let Some(port) = pair.path.peer_port {
        let sequence = pair.path.sends_from;
        node.outbox.push(pair.ask(Body::Hello { port, sequence }));
    }
    Some(next.min(until))
}

/// Gives up: the first request that is not done fails. Earlier requests complete.
fn give_up(pair: &mut Pair, node: &mut Node) {
    let waits =
        |stage: &Stage| !matches!(stage, Stage::Ack | Stage::LocalWrite(_) | Stage::Failed(_));
    if let Some(entry) = pair.requester.pipe.iter_mut().find(|entry| waits(&entry.stage)) {
        entry.stage = Stage::Failed(Status::RetryExceeded);
        entry.fence = false;
        entry.due = node.now;
    }
}

/// Handles a peer that is gone.
pub fn part(pair: &mut Pair, node: &Node) {
    pair.responder.end();
    lose(pair, node);
}

/// Handles a peer that is gone, or that does not know this session: requests that were sent may be lost.
fn lose(pair: &mut Pair, node: &Node) {
    let patience = time::patience(pair.path.timeout, pair.path.retries);
    match pair.requester.link {
        Link::Ready => {
            let (next, until) = (node.now, node.now.saturating_add(patience));
            pair.requester.link = Link::Asking { next, until, lost: true };
        }
        Link::Unknown | Link::Asking { .. } => {}
    }
}

/// Handles a message for a queue pair.
pub fn receive(pair: &mut Pair, node: &mut Node, message: Message) {
    let connected = pair.path.peer == message.from;
    if let Body::Request { request: Request::Datagram { .. }, .. } = message.body {
        return datagram::arrive(pair, node, message);
    }
    if pair.datagrams {
        node.outbox.extend(refuse(&message));
        return;
    }
    match message.body {
        Body::Hello { port, sequence } => {
            // A receiver drops packets with other numbers than it expects.
            let expected = port == pair.path.port && sequence == pair.path.expects_from;
            let ready = connected && pair.state.receives() && expected;
            let known = pair.responder.session == Some(message.session);
            let body = if ready { Body::Welcome } else { Body::Absent };
            if ready && !known {
                // Nobody waits for the answers to the last session's requests. One of them may hold A(n).
                life::settle(pair, node);
                pair.responder.session = Some(message.session);
                pair.responder.arrived.clear();
                if pair.state == State::ReadyToReceive {
                    node.events.push((pair.number, Event::Established));
                }
            }
            // It has not sent a request yet, even if the link to its host was lost meanwhile.
            pair.responder.has_ended &= !ready;
            node.outbox.push(reply(&message, body));
        }
        Body::Ended => {
            if connected && pair.responder.session == Some(message.session) {
                pair.responder.end();
            }
        }
        Body::Request { number, request } => {
            let known = connected
                && pair.state.receives()
                && pair.responder.session == Some(message.session);
            if known && !pair.responder.has_ended {
                arrival::arrive(pair, node, number, request);
            } else {
                let (to, from, session) = (message.from, message.to, message.session);
                node.outbox.push(Message { to, from, session, body: Body::Absent });
            }
        }
        _ if !connected || message.session != pair.requester.session => {}
        Body::Welcome => {
            if let Link::Asking { lost: false, .. } = pair.requester.link {
                pair.requester.link = Link::Ready;
            }
        }
        Body::Absent => lose(pair, node),
        Body::Done { number, bytes } => requester::done(pair, node, number, bytes),
        Body::Failed { number, status } => requester::failed(pair, number, status),
    }
}

/// The answer to a message for a queue pair that does not exist, or that has no connection.
pub fn refuse(message: &Message) -> Option<Message> {
    let asks = match &message.body {
        Body::Hello { .. } => true,
        Body::Request { request, .. } => !matches!(request, Request::Datagram { .. }),
        _ => false,
    };
    asks.then(|| reply(message, Body::Absent))
}

fn reply(message: &Message, body: Body) -> Message {
    Message { to: message.from, from: message.to, session: message.session, body }
}
