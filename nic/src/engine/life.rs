//! The ends of a queue pair's life: errors, flushing and reset.

use std::mem::take;

use crate::request::Status;
use crate::states::State;
use crate::wire::Body;

use super::node::{Event, Node};
use super::pair::{Entry, Link, LocalEntry, Pair, RemoteAction, Requester, Responder, Stage};
use super::{requester, responder};

/// Puts the queue pair into the error state, for another reason than the failure of a request of its own.
pub fn fail(pair: &mut Pair, node: &mut Node) {
    let failed = |entry: &Entry| matches!(entry.stage, Stage::Failed(_));
    // All earlier requests have succeeded, so this one keeps its own status.
    if pair.requester.pipe.front().is_some_and(failed) {
        requester::answer(pair, node, 0);
    }
    if pair.state != State::Error {
        flush(pair, node);
    }
}

/// Puts the queue pair into the error state. Its requests are flushed, in order. Effects of earlier requests
/// still reach memory and completion.
pub fn flush(pair: &mut Pair, node: &mut Node) {
    pair.state = State::Error;
    settle(pair, node);
    pair.responder.arrived.clear();
    pair.responder.session = None;
    end_session(pair, node);
    flush_begun(pair, node);
    flush_posted(pair, node);
}

/// After a send request for datagrams has failed: the later ones are flushed, and datagrams still come.
pub fn fail_sends(pair: &mut Pair, node: &mut Node) {
    pair.state = State::SendQueueError;
    flush_begun(pair, node);
    flush_sends(pair, node);
}

/// Flushes requests that have begun.
fn flush_begun(pair: &mut Pair, node: &Node) {
    (pair.requester.sent, pair.requester.carried, pair.requester.fetching) = (0, 0, 0);
    for entry in take(&mut pair.requester.pipe) {
        let completion = Some(pair.completion(&entry.request, Status::Flushed, 0));
        let notice = LocalEntry::Notice { number: entry.number, completion, due: node.now };
        pair.requester.wb_local.push_back(notice);
    }
}

/// Tells the peer that nothing is sent again.
fn end_session(pair: &Pair, node: &mut Node) {
    if pair.requester.link == Link::Ready && !pair.datagrams {
        node.outbox.push(pair.ask(Body::Ended));
    }
}

/// Flushes posted send requests.
pub fn flush_sends(pair: &mut Pair, node: &Node) {
    for request in pair.sends.take(usize::MAX) {
        let completion = Some(pair.completion(&request, Status::Flushed, 0));
        let (number, due) = (pair.requester.next, node.now);
        pair.requester.next += 1;
        let notice = LocalEntry::Notice { number, completion, due };
        pair.requester.wb_local.push_back(notice);
    }
}

/// Flushes posted requests in the error state.
pub fn flush_posted(pair: &mut Pair, node: &mut Node) {
    flush_sends(pair, node);
    if pair.receives.is_shared() {
        if !pair.told_last {
            pair.told_last = true;
            node.events.push((pair.number, Event::LastReached));
        }
        return;
    }
    for request in pair.receives.take_all() {
        let completion = pair.received(&request, Status::Flushed);
        responder::received(pair, node, completion);
    }
}

/// Applies at once everything that was acknowledged to the peer, and frees A(n).
pub fn settle(pair: &mut Pair, node: &mut Node) {
    for entry in take(&mut pair.responder.wb_remote) {
        responder::take_effect(pair, node, entry.number, entry.action);
    }
    node.unlock(pair.number);
}

/// Resets the queue pair to its initial state.
pub fn reset(pair: &mut Pair, node: &mut Node) {
    settle(pair, node);
    settle_local(pair, node);
    end_session(pair, node);
    pair.state = State::Reset;
    node.overran.retain(|number| *number != pair.number);
    (pair.tells_drained, pair.told_last) = (false, false);
    pair.requester = Requester::default();
    pair.responder = Responder::default();
    pair.sends.clear();
    if !pair.receives.is_shared() {
        pair.receives.take_all();
    }
    pair.send_cq.forget(pair.number);
    pair.receive_cq.forget(pair.number);
}

/// Applies at once everything that is pending in `wbL`.
pub fn settle_local(pair: &mut Pair, node: &mut Node) {
    for entry in take(&mut pair.requester.wb_local) {
        requester::take_effect(pair, node, entry);
    }
}

/// Applies the pending writes to a region before the region is removed or changed.
pub fn settle_region(pair: &mut Pair, node: &mut Node, key: u32) {
    let remote = pair.responder.wb_remote.iter().any(|entry| match &entry.action {
        RemoteAction::Write { remote, .. } => remote.key == key,
        RemoteAction::Scatter { sges, .. } => sges.iter().any(|sge| sge.key == key),
        RemoteAction::Received(_) => false,
    });
    if remote {
        for entry in take(&mut pair.responder.wb_remote) {
            responder::take_effect(pair, node, entry.number, entry.action);
        }
    }
    let local = pair.requester.wb_local.iter().any(|entry| match entry {
        LocalEntry::Write { sges, .. } => sges.iter().any(|sge| sge.key == key),
        LocalEntry::Notice { .. } => false,
    });
    if local {
        settle_local(pair, node);
    }
}
