//! Rules 3, 4, 6 and 9 to 13: how a queue pair performs its peer's requests on the memory of this process.

use std::mem::take;

use crate::fault::Fault;
use crate::request::{
    Completion, RECEIVED, RECEIVED_WITH_WRITE, Remote, Sge, Status, access, total,
};
use crate::spare;
use crate::trace::{Step as Traced, value};
use crate::wire::{Body, Request};

use super::node::{Delay, Event, Lock, Node};
use super::pair::{Arrived, Pair, RemoteAction, RemoteEntry};
use super::tear::{cut, part};
use super::{Step, Steps, datagram, placement, relaxed};

/// How many requests are examined for one that may overtake the others.
const WINDOW: usize = 16;

/// Adds the responder's rules that may be applied.
pub fn enabled(pair: &Pair, node: &Node, steps: &mut Steps) {
    let any = node.knobs.has(Fault::RemoteBufferNotFifo);
    let most = if any { WINDOW } else { 1 };
    for (index, entry) in pair.responder.wb_remote.iter().enumerate().take(most) {
        steps.push(Step::Visible(index), entry.due);
    }
    if node.keys.has_relaxed() && !any {
        for index in relaxed::visible(pair, node) {
            steps.push(Step::Visible(index), pair.responder.wb_remote[index].due);
        }
    }
    let mut before = Before::default();
    for (index, arrived) in pair.responder.arrived.iter().enumerate().take(WINDOW) {
        if arrived.refused.is_some() {
            if index == 0 {
                steps.push(Step::Remote(index), arrived.due);
            }
            return;
        }
        if let Some(due) = may_step(pair, node, arrived, before) {
            steps.push(Step::Remote(index), due);
        }
        match arrived.request {
            Request::Read { .. } => {}
            Request::Flush { .. } => before.flush = true,
            Request::Write { immediate: None, .. } | Request::AtomicWrite { .. } => {
                before.write = true;
            }
            Request::Write { .. } | Request::Send { .. } | Request::Datagram { .. } => return,
            Request::CompareAndSwap { .. } | Request::FetchAndAdd { .. } => before.rmw = true,
        }
        if (before.write || before.rmw) && node.knobs.fault.is_none() {
            return;
        }
    }
}

/// The kinds of requests before a request, except gets that have not read yet.
#[derive(Clone, Copy, Default)]
struct Before {
    write: bool,
    rmw: bool,
    /// Atomic writes wait for it, and nothing else.
    flush: bool,
}

/// The time at which a request may take its next step. `None` if an earlier request blocks it. Rules 3, 6 and
/// 9 to 12 may overtake gets that have not read yet, and nothing else that can be in the queue.
fn may_step(pair: &Pair, node: &Node, arrived: &Arrived, before: Before) -> Option<u64> {
    let has = |fault| node.knobs.has(fault);
    let flushed = pair.responder.wb_remote.is_empty();
    let may_write = (!before.write || has(Fault::PutsReordered))
        && (!before.rmw || has(Fault::PutOvertakesRmw));
    let ready = match &arrived.request {
        Request::Write { immediate: None, .. } => may_write,
        Request::Write { retries, .. } | Request::Send { retries, .. } => {
            let waiting = arrived.waiting_since.is_some() && pair.receives.is_empty();
            if waiting && may_write {
                return give_up(pair, arrived, *retries);
            }
            may_write
        }
        Request::AtomicWrite { .. } => may_write && !before.flush,
        Request::Datagram { .. } => !before.write && !before.rmw,
        Request::Read { remote, length } => {
            let flushed = flushed || may_read_past(pair, node, *remote, u64::from(*length));
            (has(Fault::GetsDoNotFlush) || flushed && !before.write) && !before.rmw
        }
        Request::Flush { .. } => {
            (has(Fault::GetsDoNotFlush) || flushed && !before.write) && !before.rmw
        }
        _ if arrived.rmw_write.is_some() => !before.write && !before.rmw,
        Request::CompareAndSwap { remote, .. } | Request::FetchAndAdd { remote, .. } => {
            let free = || {
                let host = node.keys.remote(pair.domain, *remote, 8, 0);
                node.is_free(pair.device, remote.key, host) || has(Fault::RmwNotExclusive)
            };
            let flushed = flushed || may_read_past(pair, node, *remote, 8);
            let flushes = has(Fault::RmwDoesNotFlush) || flushed && !before.write;
            flushes && !before.rmw && free()
        }
    };
    ready.then_some(arrived.due)
}

/// Whether relaxed ordering lets a read of this memory pass the writes in `wbR`.
fn may_read_past(pair: &Pair, node: &Node, remote: Remote, length: u64) -> bool {
    let place = || {
        let host = node.keys.remote(pair.domain, remote, length, 0)?;
        Some((host, host + length))
    };
    node.keys.has_relaxed() && relaxed::may_read(pair, node, remote.key, place())
}

/// The time at which the sender gives up because there is no receive request. (If one is posted earlier, the
/// rule becomes possible then.)
fn give_up(pair: &Pair, arrived: &Arrived, retries: u8) -> Option<u64> {
    let tries = u64::from(retries);
    let since = arrived.waiting_since?;
    (retries < 7).then(|| since.saturating_add(tries * super::time::rnr(pair.path.rnr_timer)))
}

/// Applies rules 3, 6 and 9 to 12 to one request.
pub fn remote(pair: &mut Pair, node: &mut Node, index: usize) {
    let Some(mut arrived) = pair.responder.arrived.remove(index) else { return };
    let number = arrived.number;
    let (early, has_read) = (index > 0, arrived.rmw_write.is_some());
    let since = &mut arrived.waiting_since;
    let result = match &mut arrived.request {
        _ if let Some(status) = arrived.refused => Outcome::Failed(status),
        Request::Write { remote, bytes, immediate, solicited, retries } => {
            let delivery =
                Delivery { immediate: *immediate, solicited: *solicited, retries: *retries };
            node.counts.early_writes += u64::from(early);
            write(pair, node, number, since, *remote, bytes, delivery)
        }
        Request::Send { bytes, immediate, solicited, retries } => {
            let delivery =
                Delivery { immediate: *immediate, solicited: *solicited, retries: *retries };
            node.counts.early_writes += u64::from(early);
            send(pair, node, number, since, bytes, delivery)
        }
        Request::Datagram { .. } => {
            datagram::receive(pair, node, number, arrived.request);
            return;
        }
        Request::Read { remote, length } => {
            let (remote, length) = (*remote, *length as usize);
            node.counts.early_reads += u64::from(early && arrived.partial.is_none());
            read(pair, node, &mut arrived, remote, length)
        }
        Request::AtomicWrite { remote, value } => {
            node.counts.early_writes += u64::from(early);
            let (remote, value) = (*remote, *value);
            placement::write_word(pair, node, number, remote, value)
        }
        Request::Flush { remote, length, needs } => {
            let (remote, length, needs) = (*remote, *length, *needs);
            node.counts.early_reads += u64::from(early);
            placement::flush(pair, node, remote, length, needs)
        }
        Request::CompareAndSwap { remote, .. } | Request::FetchAndAdd { remote, .. } => {
            let remote = *remote;
            node.counts.early_reads += u64::from(early);
            rmw(pair, node, &mut arrived, remote)
        }
    };
    // An RMW counts as done when it has read. Its write is traced when it becomes visible.
    let is_done = match result {
        Outcome::Done(_) => !has_read,
        Outcome::Again => arrived.rmw_write.is_some(),
        Outcome::Failed(_) => false,
    };
    if is_done {
        let value = read_value(&arrived, &result);
        node.note(pair.peers(number), || Traced::Done { value, early });
    }
    match result {
        Outcome::Done(bytes) => node.outbox.push(pair.answer(Body::Done { number, bytes })),
        // Nobody sends it again.
        Outcome::Again if arrived.waiting_since.is_some() && pair.responder.has_ended => {
            pair.responder.arrived.truncate(index);
        }
        Outcome::Again => pair.responder.arrived.insert(index, arrived),
        // Requests before it are still performed.
        Outcome::Failed(status) if early => {
            arrived.refused = Some(status);
            pair.responder.arrived.insert(index, arrived);
        }
        Outcome::Failed(status) => {
            node.outbox.push(pair.answer(Body::Failed { number, status }));
            node.counts.failures += 1;
            let event = match status {
                Status::RemoteAccess => Some(Event::AccessError),
                Status::RemoteInvalidRequest => Some(Event::InvalidRequest),
                _ => None,
            };
            node.events.extend(event.map(|event| (pair.number, event)));
            match status {
                // The sender fails, and not this end, which drops what was sent behind it.
                Status::ReceiverNotReadyExceeded => pair.responder.drop_all(),
                _ => super::life::fail(pair, node),
            }
        }
    }
}

/// The value that a read or atomic has read.
fn read_value(arrived: &Arrived, result: &Outcome) -> Option<u64> {
    match (arrived.rmw_write, &arrived.request, result) {
        (Some((_, old)), ..) => Some(old),
        (None, Request::Read { .. }, Outcome::Done(bytes)) => Some(value(bytes)),
        (None, Request::CompareAndSwap { .. }, Outcome::Done(bytes)) => Some(value(bytes)),
        (None, ..) => None,
    }
}

/// The result of a step of a request.
pub enum Outcome {
    /// The request leaves. The requester gets these bytes.
    Done(Vec<u8>),
    /// The request stays in its place.
    Again,
    /// The request failed. It leaves, and the requester gets the status.
    Failed(Status),
}

/// How a message is delivered to the program.
#[derive(Clone, Copy)]
struct Delivery {
    immediate: Option<u32>,
    solicited: bool,
    retries: u8,
}

/// Rule 3: the write enters `wbR`; the answer is the ack.
fn write(
    pair: &mut Pair,
    node: &mut Node,
    number: u64,
    waiting_since: &mut Option<u64>,
    remote: Remote,
    bytes: &mut Vec<u8>,
    delivery: Delivery,
) -> Outcome {
    let length = bytes.len();
    if length > 0 && resolve(pair, node, remote, length, access::REMOTE_WRITE).is_none() {
        return Outcome::Failed(Status::RemoteAccess);
    }
    // A message that has waited for a receive has written its data already.
    let is_written = waiting_since.is_some();
    let mut received = None;
    if delivery.immediate.is_some() {
        let Some((request, limit)) = pair.receives.take() else {
            if !is_written {
                push_pieces(pair, node, number, remote, bytes.clone());
            }
            return not_ready(pair, node, waiting_since, delivery.retries);
        };
        node.events.extend(limit.then_some((pair.number, Event::LimitReached)));
        let completion = pair.received(&request, Status::Success);
        received = Some(Completion {
            opcode: RECEIVED_WITH_WRITE,
            bytes: length as u32,
            immediate: delivery.immediate,
            solicited: delivery.solicited,
            ..completion
        });
    }
    if !is_written {
        push_pieces(pair, node, number, remote, take(bytes));
    }
    if let Some(completion) = received {
        push(pair, node, number, RemoteAction::Received(completion));
    }
    Outcome::Done(Vec::new())
}

/// Adds what a write writes to `wbR`.
fn push_pieces(pair: &mut Pair, node: &mut Node, number: u64, remote: Remote, bytes: Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let pieces = node.pieces_of_write(&[memory(remote, bytes.len())]);
    for (piece, bytes) in cut(bytes, pieces) {
        let remote = Remote { address: remote.address + piece.start as u64, ..remote };
        push(pair, node, number, RemoteAction::Write { remote, bytes, atomic: false });
    }
}

/// Like rule 3, into the memory that a receive request names.
fn send(
    pair: &mut Pair,
    node: &mut Node,
    number: u64,
    waiting_since: &mut Option<u64>,
    bytes: &mut Vec<u8>,
    delivery: Delivery,
) -> Outcome {
    let Some((request, limit)) = pair.receives.take() else {
        return not_ready(pair, node, waiting_since, delivery.retries);
    };
    node.events.extend(limit.then_some((pair.number, Event::LimitReached)));
    let refused = if bytes.len() as u64 > total(&request.sges) {
        Some((Status::LocalLength, Status::RemoteInvalidRequest))
    } else if !bytes.is_empty() && !node.keys.all_local(pair.receive_domain(), &request.sges, true)
    {
        Some((Status::LocalProtection, Status::RemoteOperation))
    } else {
        None
    };
    if let Some((here, there)) = refused {
        let completion = pair.received(&request, here);
        push(pair, node, number, RemoteAction::Received(completion));
        return Outcome::Failed(there);
    }
    let completion = Completion {
        opcode: RECEIVED,
        bytes: bytes.len() as u32,
        immediate: delivery.immediate,
        solicited: delivery.solicited,
        ..pair.received(&request, Status::Success)
    };
    if !bytes.is_empty() {
        let memory = part(&request.sges, &(0..bytes.len()));
        let pieces = node.pieces(&memory);
        for (piece, bytes) in cut(take(bytes), pieces) {
            let sges = part(&memory, &piece);
            push(pair, node, number, RemoteAction::Scatter { sges, bytes });
        }
    }
    push(pair, node, number, RemoteAction::Received(completion));
    Outcome::Done(Vec::new())
}

/// The result if there is no receive request: the sender tries again as long as it has retries.
fn not_ready(pair: &Pair, node: &Node, waiting_since: &mut Option<u64>, retries: u8) -> Outcome {
    let since = *waiting_since.get_or_insert(node.now);
    let patience = u64::from(retries) * super::time::rnr(pair.path.rnr_timer);
    if retries < 7 && node.now >= since.saturating_add(patience) {
        return Outcome::Failed(Status::ReceiverNotReadyExceeded);
    }
    Outcome::Again
}

/// Rule 6: reads memory for the peer. A read that is torn reads its pieces one after the other.
fn read(
    pair: &Pair,
    node: &mut Node,
    arrived: &mut Arrived,
    remote: Remote,
    length: usize,
) -> Outcome {
    if length == 0 {
        return Outcome::Done(Vec::new());
    }
    let Some(host) = resolve(pair, node, remote, length, access::REMOTE_READ) else {
        return Outcome::Failed(Status::RemoteAccess);
    };
    let (mut bytes, mut pieces) =
        arrived.partial.take().unwrap_or_else(|| node.unread(&[memory(remote, length)]));
    if let Some(piece) = pieces.pop() {
        node.memory.read(host + piece.start as u64, &mut bytes[piece]);
    }
    if pieces.is_empty() {
        return Outcome::Done(bytes);
    }
    arrived.partial = Some((bytes, pieces));
    arrived.due = node.due(pair.number, Delay::Remote);
    Outcome::Again
}

/// Rules 9, 10 and 11, and then 12.
fn rmw(pair: &mut Pair, node: &mut Node, arrived: &mut Arrived, remote: Remote) -> Outcome {
    if let Some((new, old)) = arrived.rmw_write {
        let number = arrived.number;
        let bytes = new.to_le_bytes().to_vec();
        push(pair, node, number, RemoteAction::Write { remote, bytes, atomic: true });
        return Outcome::Done(old.to_le_bytes().to_vec());
    }
    if !remote.address.is_multiple_of(8) {
        return Outcome::Failed(Status::RemoteInvalidRequest);
    }
    let Some(host) = resolve(pair, node, remote, 8, access::REMOTE_ATOMIC) else {
        return Outcome::Failed(Status::RemoteAccess);
    };
    let mut word = [0; 8];
    node.memory.read(host, &mut word);
    let old = u64::from_le_bytes(word);
    let new = match arrived.request {
        Request::CompareAndSwap { compare, swap, .. } => {
            let broken = node.knobs.has(Fault::FailedCasWrites);
            node.counts.faults += u64::from(broken && old != compare);
            (old == compare || broken).then_some(swap)
        }
        Request::FetchAndAdd { add, .. } => {
            let twice = node.knobs.has(Fault::RmwTwice) && node.random.percent(50);
            node.counts.faults += u64::from(twice);
            Some(old.wrapping_add(if twice { add.wrapping_mul(2) } else { add }))
        }
        _ => None,
    };
    let Some(new) = new else { return Outcome::Done(word.to_vec()) };
    let (number, device, key) = (pair.number, pair.device, remote.key);
    node.locks.push(Lock { pair: number, device, key, host });
    arrived.rmw_write = Some((new, old));
    arrived.due = node.due(pair.number, Delay::Remote);
    Outcome::Again
}

/// The address of the memory that the peer names. `None` if the peer has no right to this access.
pub fn resolve(pair: &Pair, node: &Node, remote: Remote, length: usize, needs: u32) -> Option<u64> {
    if pair.path.access & needs != needs {
        return None;
    }
    node.keys.remote(pair.domain, remote, length as u64, needs)
}

/// The memory that the peer names, as a piece of a message's memory.
fn memory(remote: Remote, length: usize) -> Sge {
    Sge { address: remote.address, length: length as u32, key: remote.key }
}

/// Adds an entry to `wbR`.
pub fn push(pair: &mut Pair, node: &mut Node, number: u64, action: RemoteAction) {
    let due = node.due(pair.number, Delay::Visible);
    pair.responder.wb_remote.push_back(RemoteEntry { number, action, due });
}

/// Rules 4 and 13: the head of `wbR` takes effect.
pub fn visible(pair: &mut Pair, node: &mut Node, index: usize) {
    let Some(entry) = pair.responder.wb_remote.remove(index) else { return };
    let passes = u64::from(index > 0);
    match node.knobs.has(Fault::RemoteBufferNotFifo) {
        true => node.counts.faults += passes,
        false => node.counts.relaxed += passes,
    }
    take_effect(pair, node, entry.number, entry.action);
    if node.mood.bursts {
        burst(pair, node, entry.number);
    }
}

/// Applies the rules that have become possible for later requests, one right after the other. Some outcomes
/// show only if several of them are applied while a CPU's write is in its store buffer. The pieces of one
/// message stay apart.
fn burst(pair: &mut Pair, node: &mut Node, last: u64) {
    let (mut last, now) = (last, node.now);
    while let Some(entry) = pair.responder.wb_remote.front()
        && entry.due <= now
        && entry.number != last
        && let Some(entry) = pair.responder.wb_remote.pop_front()
    {
        last = entry.number;
        take_effect(pair, node, entry.number, entry.action);
    }
    let first = pair.responder.arrived.front();
    let reads = first
        .is_some_and(|first| matches!(first.request, Request::Read { .. } | Request::Flush { .. }));
    let may = first.and_then(|first| may_step(pair, node, first, Before::default()));
    if reads && may.is_some_and(|due| due <= now) {
        remote(pair, node, 0);
    }
}

/// Performs an entry of `wbR`.
pub fn take_effect(pair: &Pair, node: &mut Node, number: u64, action: RemoteAction) {
    let visible = |node: &mut Node, address: u64, bytes: &[u8]| {
        let (length, value) = (bytes.len() as u64, value(bytes));
        node.note(pair.peers(number), || Traced::Visible { address, length, value });
    };
    match action {
        RemoteAction::Write { remote, bytes, atomic } => {
            let needs = if atomic { access::REMOTE_ATOMIC } else { 0 };
            if let Some(host) = node.keys.remote(pair.domain, remote, bytes.len() as u64, needs) {
                node.write(host, &bytes);
                visible(node, remote.address, &bytes);
            }
            spare::give(bytes);
            if atomic {
                node.unlock(pair.number);
            }
        }
        RemoteAction::Scatter { sges, bytes } => {
            node.scatter(pair.receive_domain(), &sges, &bytes);
            visible(node, sges.first().map_or(0, |sge| sge.address), &bytes);
            spare::give(bytes);
        }
        RemoteAction::Received(completion) => received(pair, node, completion),
    }
}

/// Shows the program that a receive request has completed.
pub fn received(pair: &Pair, node: &mut Node, completion: Completion) {
    if let Err(overrun) = pair.receive_cq.push(completion) {
        node.lost(pair.number, overrun, Event::ReceiveCompletionsOverran);
    }
}
