//! Rules 1, 2, 5, 7 and 8: how a queue pair performs its own requests.
//!
//! Rules 3, 6 and 9 to 12 are applied at the remote memory ([`super::responder`]). A request is sent there as
//! soon as all earlier ones have been sent, and messages keep their order. So the part of `pipe` that matters
//! to these rules has the same order there as here.

use crate::fault::Fault;
use crate::request::{Completion, Operation, Payload, SendRequest, Status};
use crate::spare;
use crate::trace::{self, Step as Traced};
use crate::wire;

use super::node::{Delay, Event, Node};
use super::pair::{Entry, Link, LocalEntry, Pair, Requester, Stage, pieces};
use super::tear::{cut, part};
use super::{Step, Steps, datagram, relaxed};

/// The most bytes of one queue pair that are in flight. A single request may have more.
const MOST_CARRIED: usize = 8 << 20;

/// Adds the requester's rules that may be applied.
pub fn enabled(pair: &Pair, node: &Node, steps: &mut Steps) {
    let requester = &pair.requester;
    if let Some(entry) = requester.pipe.front() {
        let done = matches!(entry.stage, Stage::Ack | Stage::LocalWrite(_) | Stage::Failed(_));
        if entry.fence {
            steps.push(Step::Rfence, node.now);
        } else if done {
            steps.push(Step::Answer(0), entry.due);
        }
    }
    if node.knobs.has(Fault::CompletionsReordered) {
        for (index, entry) in requester.pipe.iter().enumerate().skip(1) {
            if entry.stage == Stage::Ack {
                steps.push(Step::Answer(index), entry.due);
            }
        }
    }
    enabled_sending(pair, node, steps);
    enabled_sources(pair, node, steps);
    enabled_local(pair, node, steps);
}

/// Rule 2: a put's local read may overtake everything except puts that have not read all yet, and rfences. It
/// may not overtake a write in `wbL`.
fn enabled_sources(pair: &Pair, node: &Node, steps: &mut Steps) {
    let requester = &pair.requester;
    let pending = requester.wb_local.iter().any(|entry| matches!(entry, LocalEntry::Write { .. }));
    if pending && !node.knobs.has(Fault::ReadOvertakesLocalWrite) {
        return;
    }
    for (index, entry) in requester.pipe.iter().enumerate().skip(requester.sent) {
        if entry.fence || matches!(entry.stage, Stage::Failed(_)) {
            return;
        }
        if matches!(entry.stage, Stage::Put | Stage::Reading(_)) {
            let room = requester.carried < MOST_CARRIED || index == requester.sent;
            if room {
                steps.push(Step::Source(index), entry.due);
            }
            if !node.knobs.has(Fault::PutReadsReordered) {
                return;
            }
        }
    }
}

/// Adds the sending of the next request, if it is ready.
fn enabled_sending(pair: &Pair, node: &Node, steps: &mut Steps) {
    let requester = &pair.requester;
    let early = node.knobs.has(Fault::GetOvertakesPutRead);
    let next = early.then(|| early_get(requester)).flatten().unwrap_or(requester.sent);
    let Some(entry) = requester.pipe.get(next) else { return };
    let ready = match entry.stage {
        Stage::RemoteWrite(_) => true,
        Stage::Get => requester.fetching < usize::from(pair.path.most_fetches),
        _ => false,
    };
    if ready && !entry.fence && requester.link == Link::Ready {
        steps.push(Step::Send(next), node.now);
    }
}

/// A get that may be sent before puts that have not read their sources, on a NIC with that fault.
fn early_get(requester: &Requester) -> Option<usize> {
    for (index, entry) in requester.pipe.iter().enumerate().skip(requester.sent) {
        let is_read = matches!(entry.request.operation, Operation::Read { .. });
        match entry.stage {
            _ if entry.fence => return None,
            Stage::Get if is_read => return Some(index),
            Stage::Put | Stage::Reading(_) => {}
            _ if is_sent(entry) => {}
            _ => return None,
        }
    }
    None
}

/// Whether the peer has a request, and has not failed to perform it.
fn is_sent(entry: &Entry) -> bool {
    matches!(entry.stage, Stage::Sent | Stage::LocalWrite(_) | Stage::Ack)
}

/// Rule 8: the first write in `wbL` may pass notices. A notice at the head can become visible.
fn enabled_local(pair: &Pair, node: &Node, steps: &mut Steps) {
    let early = node.knobs.has(Fault::PollEarly);
    let any = node.knobs.has(Fault::LocalBufferNotFifo);
    let mut written = false;
    for (index, entry) in pair.requester.wb_local.iter().enumerate() {
        match entry {
            LocalEntry::Notice { due, .. } if index == 0 || early => {
                steps.push(Step::Notice(index), *due);
            }
            LocalEntry::Notice { .. } => {}
            LocalEntry::Write { due, .. } if !written => {
                steps.push(Step::Land(index), *due);
                written = !any;
            }
            LocalEntry::Write { .. } => {}
        }
        if written && !early {
            break;
        }
    }
    if node.keys.has_relaxed() && !any {
        for index in relaxed::landing(pair, node) {
            if let LocalEntry::Write { due, .. } = &pair.requester.wb_local[index] {
                steps.push(Step::Land(index), *due);
            }
        }
    }
}

/// Moves a posted request into `pipe`.
pub fn issue(pair: &mut Pair, node: &mut Node, mut request: SendRequest) {
    match request.operation {
        Operation::Send { .. } | Operation::Datagram { .. } => node.counts.sends += 1,
        Operation::Write { .. } | Operation::AtomicWrite { .. } => node.counts.writes += 1,
        Operation::Read { .. } => node.counts.reads += 1,
        Operation::Flush { .. } => node.counts.flushes += 1,
        Operation::CompareAndSwap { .. } | Operation::FetchAndAdd { .. } => {
            node.counts.atomics += 1
        }
    }
    let number = pair.requester.next;
    pair.requester.next += 1;
    node.note(pair.own(number), || Traced::issued(&request));
    let fetches = request.operation.fetches();
    let stage = match &mut request.payload {
        _ if fetches && pair.path.most_fetches == 0 => Stage::Failed(Status::LocalOperation),
        _ if fetches => Stage::Get,
        Payload::Inline(bytes) => Stage::RemoteWrite(std::mem::take(bytes)),
        Payload::Memory(_) => Stage::Put,
    };
    let fence = request.fence && !node.knobs.has(Fault::RfenceIgnored);
    if node.knobs.has(Fault::CompletionAtIssue) && !fetches {
        if request.signaled {
            let completion = pair.completion(&request, Status::Success, 0);
            complete(pair, node, number, completion);
            node.note(pair.own(number), || Traced::completed(Status::Success));
        }
        request.signaled = false;
        node.counts.faults += 1;
    }
    let due = node.due(pair.number, Delay::Source);
    pair.requester.pipe.push_back(Entry { number, request, fence, again: false, stage, due });
}

/// Rule 1.
pub fn rfence(pair: &mut Pair) {
    if let Some(entry) = pair.requester.pipe.front_mut() {
        entry.fence = false;
    }
}

/// Rule 2: reads the source. One that is torn is read piece by piece.
pub fn source(pair: &mut Pair, node: &mut Node, index: usize) {
    let (own, domain) = (pair.own(0), pair.domain);
    let Some(entry) = pair.requester.pipe.get_mut(index) else { return };
    let memory = pieces(&entry.request.payload);
    let (mut bytes, mut rest) = match std::mem::replace(&mut entry.stage, Stage::Put) {
        Stage::Reading(begun) => *begun,
        _ => {
            node.counts.early_sources += u64::from(index > 0);
            node.unread(memory)
        }
    };
    let piece = rest.pop().unwrap_or_default();
    // Nothing is cut in most messages, and so their list is not copied.
    let is_read = match piece.len() == bytes.len() {
        true => node.gather(domain, memory, &mut bytes),
        false => node.gather(domain, &part(memory, &piece), &mut bytes[piece]),
    };
    if !is_read {
        entry.stage = Stage::Failed(Status::LocalProtection);
        return;
    }
    if !rest.is_empty() {
        entry.due = node.due(pair.number, Delay::Source);
        entry.stage = Stage::Reading(Box::new((bytes, rest)));
        return;
    }
    if node.knobs.has(Fault::PutReadsEarly) && node.random.percent(50) {
        let is_other = node.stale.replace(&node.keys, memory, &mut bytes);
        node.counts.faults += u64::from(is_other);
    }
    let name = trace::Name { request: entry.number, ..own };
    let value = trace::value(&bytes);
    node.note(name, || Traced::SourceRead { value, early: index > 0 });
    pair.requester.carried += bytes.len();
    entry.stage = Stage::RemoteWrite(bytes);
}

/// Sends a request to where rules 3, 6 and 9 to 12 are applied.
pub fn send(pair: &mut Pair, node: &mut Node, index: usize) {
    let (retries, domain) = (pair.path.rnr_retries, pair.domain);
    let Some(entry) = pair.requester.pipe.get_mut(index) else { return };
    let solicited = entry.request.solicited;
    let target = pieces(&entry.request.payload);
    let fits = !entry.request.operation.fetches() || node.keys.all_local(domain, target, true);
    if !fits {
        entry.stage = Stage::Failed(Status::LocalProtection);
        return;
    }
    let length = crate::request::total(target) as u32;
    let bytes = match std::mem::replace(&mut entry.stage, Stage::Sent) {
        Stage::RemoteWrite(bytes) => bytes,
        _ => Vec::new(),
    };
    let request = match entry.request.operation {
        Operation::Datagram { to, immediate } => {
            // Nobody answers it.
            let due = node.due(pair.number, Delay::Answer);
            (entry.stage, entry.due) = (Stage::Ack, due);
            pair.requester.sent += 1;
            pair.requester.carried = pair.requester.carried.saturating_sub(length as usize);
            datagram::send(pair, node, to, datagram::Content { bytes, immediate, solicited });
            return;
        }
        Operation::Send { immediate } => {
            wire::Request::Send { bytes, immediate, solicited, retries }
        }
        Operation::Write { remote, immediate } => {
            wire::Request::Write { remote, bytes, immediate, solicited, retries }
        }
        Operation::Read { remote } => wire::Request::Read { remote, length },
        Operation::CompareAndSwap { remote, compare, swap } => {
            wire::Request::CompareAndSwap { remote, compare, swap }
        }
        Operation::FetchAndAdd { remote, add } => wire::Request::FetchAndAdd { remote, add },
        Operation::AtomicWrite { remote } => {
            wire::Request::AtomicWrite { remote, value: trace::value(&bytes) }
        }
        Operation::Flush { remote, length, needs } => {
            wire::Request::Flush { remote, length, needs }
        }
    };
    let (number, fetches) = (entry.number, entry.request.operation.fetches());
    node.counts.faults += u64::from(index > pair.requester.sent);
    while pair.requester.pipe.get(pair.requester.sent).is_some_and(is_sent) {
        pair.requester.sent += 1;
    }
    pair.requester.fetching += usize::from(fetches);
    node.outbox.push(pair.ask(wire::Body::Request { number, request }));
}

/// The peer has performed a request.
pub fn done(pair: &mut Pair, node: &mut Node, number: u64, bytes: Vec<u8>) {
    let due = node.due(pair.number, Delay::Answer);
    let Some(entry) = pair.requester.pipe.iter_mut().find(|entry| entry.number == number) else {
        return;
    };
    if entry.stage != Stage::Sent {
        return;
    }
    entry.due = due;
    if entry.request.operation.fetches() {
        pair.requester.fetching = pair.requester.fetching.saturating_sub(1);
        entry.stage = Stage::LocalWrite(bytes);
        return;
    }
    entry.stage = Stage::Ack;
    let Payload::Memory(sges) = &entry.request.payload else { return };
    let carried = crate::request::total(sges) as usize;
    pair.requester.carried = pair.requester.carried.saturating_sub(carried);
    let is_write = matches!(entry.request.operation, Operation::Write { immediate: None, .. });
    entry.again = is_write && node.knobs.has(Fault::SourceReadAgain) && node.random.percent(50);
}

/// Acts as if the acknowledgement had been lost: sends a put again, with the current content of its source.
fn resend(pair: &mut Pair, node: &mut Node, index: usize) {
    let domain = pair.domain;
    let Some(entry) = pair.requester.pipe.get_mut(index) else { return };
    entry.again = false;
    let Operation::Write { remote, immediate } = entry.request.operation else { return };
    let memory = pieces(&entry.request.payload);
    let mut bytes = spare::take(crate::request::total(memory) as usize);
    if !node.gather(domain, memory, &mut bytes) {
        return;
    }
    node.counts.faults += 1;
    entry.stage = Stage::Sent;
    let (number, solicited, retries) = (entry.number, false, 0);
    let request = wire::Request::Write { remote, bytes, immediate, solicited, retries };
    node.outbox.push(pair.ask(wire::Body::Request { number, request }));
}

/// The peer failed to perform a request.
pub fn failed(pair: &mut Pair, number: u64, status: Status) {
    let found = pair.requester.pipe.iter_mut().find(|entry| entry.number == number);
    if let Some(entry) = found
        && entry.stage == Stage::Sent
    {
        entry.stage = Stage::Failed(status);
    }
}

/// Rules 5 and 7, and the same for failed requests: a request leaves `pipe`.
pub fn answer(pair: &mut Pair, node: &mut Node, index: usize) {
    if pair.requester.pipe.get(index).is_some_and(|entry| entry.again) {
        return resend(pair, node, index);
    }
    let Some(entry) = pair.requester.pipe.remove(index) else { return };
    let number = entry.number;
    node.note(pair.own(number), || Traced::Answered);
    if index > 0 {
        node.counts.faults += 1;
    }
    if index < pair.requester.sent {
        pair.requester.sent -= 1;
    }
    let target = pieces(&entry.request.payload);
    let (status, fetched) = match entry.stage {
        // Its memory was deregistered meanwhile.
        Stage::LocalWrite(_) if !node.keys.all_local(pair.domain, target, true) => {
            (Status::LocalProtection, 0)
        }
        Stage::LocalWrite(bytes) => {
            let length = bytes.len() as u32;
            let sges = part(target, &(0..bytes.len()));
            let pieces = node.pieces(&sges);
            for (piece, bytes) in cut(bytes, pieces) {
                let sges = part(&sges, &piece);
                let due = node.due(pair.number, Delay::Landing);
                pair.requester.wb_local.push_back(LocalEntry::Write { number, sges, bytes, due });
            }
            (Status::Success, length)
        }
        Stage::Failed(status) => (status, 0),
        _ => (Status::Success, 0),
    };
    let shown = entry.request.signaled || status != Status::Success;
    let completion = shown.then(|| pair.completion(&entry.request, status, fetched));
    let due = node.due(pair.number, Delay::Landing);
    let notice = LocalEntry::Notice { number, completion, due };
    pair.requester.wb_local.push_back(notice);
    if status != Status::Success {
        node.counts.failures += 1;
        // The program sees the failure before what it causes, such as receive requests that are flushed.
        super::life::settle_local(pair, node);
        match pair.datagrams {
            true => super::life::fail_sends(pair, node),
            false => super::life::flush(pair, node),
        }
    }
}

/// Rule 8: the write reaches memory.
pub fn land(pair: &mut Pair, node: &mut Node, index: usize) {
    let mut earlier = pair.requester.wb_local.iter().take(index);
    let passes = earlier.any(|entry| matches!(entry, LocalEntry::Write { .. }));
    if let Some(entry) = pair.requester.wb_local.remove(index) {
        if !node.knobs.has(Fault::LocalBufferNotFifo) {
            node.counts.relaxed += u64::from(passes);
        }
        take_effect(pair, node, entry);
    }
}

/// The notice at the head of `wbL` becomes visible.
pub fn notice(pair: &mut Pair, node: &mut Node, index: usize) {
    let Some(entry) = pair.requester.wb_local.remove(index) else { return };
    if index > 0 {
        node.counts.faults += 1;
    }
    take_effect(pair, node, entry);
}

/// Performs an entry of `wbL`: a write reaches memory, or a notice becomes visible to the program.
pub fn take_effect(pair: &Pair, node: &mut Node, entry: LocalEntry) {
    match entry {
        LocalEntry::Write { number, sges, bytes, .. } => {
            node.scatter(pair.domain, &sges, &bytes);
            node.note(pair.own(number), || Traced::Landed {
                address: sges.first().map_or(0, |sge| sge.address),
                length: bytes.len() as u64,
                value: trace::value(&bytes),
            });
            spare::give(bytes);
        }
        LocalEntry::Notice { number, completion, .. } => {
            let status = completion.map_or(Status::Success, |completion| completion.status);
            node.note(pair.own(number), || Traced::completed(status));
            if let Some(completion) = completion {
                complete(pair, node, number, completion);
            }
        }
    }
}

/// Tells the program that a request of this number is complete.
fn complete(pair: &Pair, node: &mut Node, number: u64, completion: Completion) {
    if let Err(overrun) = pair.sends.complete(number, completion) {
        node.lost(pair.number, overrun, Event::SendCompletionsOverran);
    }
}
