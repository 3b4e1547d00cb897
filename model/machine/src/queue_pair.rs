//! Store buffers and queue pairs: rules 1-13 of [RMW §D.1, Fig. 21], which the code names by their numbers.
//!
//! A queue pair is `pipe`, the buffer wbR of writes on their way to the target's memory, and the buffer wbL
//! of those on their way to the thread's own node.
//!
//! | rule | step |
//! |---|---|
//! | 1 | an rfence leaves the pipe |
//! | 2 | a put reads its source |
//! | 3 | a put's remote write goes to wbR, and leaves an ack |
//! | 4 | a remote write goes from wbR to memory |
//! | 5 | an ack becomes a completion notice |
//! | 6 | a get reads its source, if wbR is empty |
//! | 7 | the local write of a get or RMW goes to wbL, with its notice |
//! | 8 | a local write goes from wbL to memory |
//! | 9, 10 | an RCAS reads, and fails or succeeds, if wbR is empty and no other RMW is under way |
//! | 11 | an RFAA reads, under the same conditions |
//! | 12 | an RMW's remote write goes to wbR |
//! | 13 | an RMW's remote write goes from wbR to memory, and the next RMW may begin |

use lang::program::{BinaryOp, LocationId};

use super::fault::{Fault, FaultSet};
use super::rules::{Effect, Machine, QUEUE_LIMIT, Variant};
use super::state::{Entry, Item, Kind, KindSet, LocalEntry, PairState, RemoteWrite, Source, State};

impl Machine {
    pub(super) fn buffer_slots(&self, state: &State, thread: usize) -> u64 {
        let buffer = &state.threads[thread].buffer;
        let head = u64::from(!buffer.is_empty());
        let write = |index: usize| matches!(buffer[index].item, Item::Write { .. });
        let mut slots = head;
        if self.faults.has(Fault::StoreBufferNotFifo) {
            let writes = (0..buffer.len()).take_while(|index| write(*index)).count();
            for index in 1..writes {
                let same = |earlier: &Entry| earlier.target() == buffer[index].target();
                slots |= u64::from(!buffer[..index].iter().any(same)) << index;
            }
        }
        if self.faults.has(Fault::IssueOvertakesWrites)
            && let Some(first) = (0..buffer.len()).find(|index| !write(*index))
        {
            slots |= 1 << first;
        }
        slots
    }

    pub(super) fn buffer_step(&self, state: &mut State, thread: usize, slot: usize) -> Effect {
        let entry = state.threads[thread].buffer.remove(slot);
        match entry.item {
            Item::Write { target, value } => state.write(target, value, None),
            Item::Fence if self.faults.has(Fault::RfenceIgnored) => {}
            Item::Receive { buffer } => {
                let receives = &mut state.pairs[entry.pair].receives;
                if receives.len() >= QUEUE_LIMIT {
                    return Effect::QueueFull;
                }
                receives.push(buffer);
            }
            item => {
                let buffer = &mut state.threads[thread].buffer;
                let further = buffer[slot..].iter().take_while(|entry| entry.joined).count();
                let queues = &mut state.pairs[entry.pair];
                if queues.pipe.len() + further + 1 >= QUEUE_LIMIT {
                    return Effect::QueueFull;
                }
                let first = queues.pipe.len();
                queues.pipe.push(entry);
                queues.pipe.extend(buffer.drain(slot..slot + further));
                if self.crashes {
                    // Only here it is known which requests of threads that share it are before.
                    let before = queues.persists;
                    queues.pipe[first..].iter_mut().for_each(|entry| entry.persists = before);
                    queues.persists += u32::from(item == Item::Flush { is_persistent: true });
                }
                if self.completes_at_issue(&item) {
                    self.notify(state, entry.pair, entry.unsignaled);
                    (0..=further).for_each(|_| self.complete(state, entry.wait));
                }
            }
        }
        Effect::Continue
    }

    fn completes_at_issue(&self, item: &Item) -> bool {
        matches!(item, Item::Put { .. }) && self.faults.has(Fault::CompletionAtIssue)
    }

    /// Puts a completion notice into wbL, if polls exist in this variant. Unsignaled operations move as
    /// others do, but leave no notice.
    fn notify(&self, state: &mut State, pair: usize, unsignaled: bool) {
        let queues = &mut state.pairs[pair];
        match (self.has_notices() && !unsignaled, queues.local.is_empty()) {
            (false, _) => {}
            (true, true) => queues.notices += 1,
            (true, false) => queues.local.push(LocalEntry::Notice),
        }
    }

    /// Under `rdma-wait`, counts an operation as complete: no Wait needs to wait for it any more.
    fn complete(&self, state: &mut State, wait: Option<usize>) {
        if let Some(slot) = wait {
            state.awaited[slot] = state.awaited[slot].saturating_sub(1);
        }
    }

    /// Rules 1-3, 5-7 and 9-12: an entry may move if it may overtake every entry before it.
    pub(super) fn pipe_slots(&self, state: &State, pair: usize) -> u64 {
        let mut ahead = Ahead::default();
        let mut slots = 0;
        for (index, entry) in state.pairs[pair].pipe.iter().enumerate().take(QUEUE_LIMIT) {
            let kind = entry.item.kind();
            let free = ahead.of(entry) & !self.overtakes[kind as usize] == 0;
            let can = free && self.also_needs(state, pair, kind) && has_receive(state, pair, entry);
            slots |= u64::from(can) << index;
        }
        slots
    }

    /// What a rule needs in addition to the entry's place in the pipe.
    fn also_needs(&self, state: &State, pair: usize, kind: Kind) -> bool {
        let queues = &state.pairs[pair];
        match kind {
            Kind::Put => queues.local.is_empty() || self.faults.has(Fault::ReadOvertakesLocalWrite),
            Kind::Get | Kind::Flush => {
                queues.remote.is_empty() || self.faults.has(Fault::GetsDoNotFlush)
            }
            Kind::Rmw => {
                (queues.remote.is_empty() || self.faults.has(Fault::RmwDoesNotFlush))
                    && (!state.locks[self.lock[pair]] || self.faults.has(Fault::RmwNotExclusive))
            }
            _ => true,
        }
    }

    /// Whether an entry of kind `mover` may move past an entry of kind `other`.
    pub(super) fn may_overtake(&self, mover: Kind, other: Kind) -> bool {
        self.overtakes[mover as usize] & other.bit() != 0
    }

    pub(super) fn pipe_step(&self, state: &mut State, pair: usize, slot: usize) -> Effect {
        let queues = &mut state.pairs[pair];
        let Entry { item, wait: awaited, unsignaled, persists, .. } = &mut queues.pipe[slot];
        let (unsignaled, persists) = (*unsignaled, *persists);
        let wait = *awaited;
        match *item {
            Item::Put { target, source, atomic } => {
                let value = match source {
                    Source::Location(location) => state.memory[location.0],
                    Source::Value(value) => value,
                };
                *item = Item::RemoteWrite { target, value, atomic };
            }
            // As the read of a get, by rule 6; then only its completion is left.
            Item::Flush { is_persistent } => {
                *item = Item::Ack;
                *awaited = None;
                self.complete(state, wait);
                if is_persistent && !self.faults.has(Fault::PersistKeepsNothing) {
                    state.persist(pair, persists);
                }
            }
            Item::Get { target, source } => {
                *item = Item::LocalWrite { target, value: state.memory[source.0] };
            }
            Item::Rcas { .. } | Item::Rfaa { .. } => return self.rmw_step(state, pair, slot),
            Item::RemoteWrite { .. } | Item::LocalWrite { .. } if self.variant == Variant::Sc => {
                let (Item::RemoteWrite { target, value, .. } | Item::LocalWrite { target, value }) =
                    *item
                else {
                    return Effect::Continue;
                };
                state.memory[target.0] = value;
                if queues.leave(slot) {
                    self.notify(state, pair, unsignaled);
                }
            }
            Item::RemoteWrite { target, value, .. } => {
                if self.faults.has(Fault::CompletionAtIssue) {
                    queues.leave(slot);
                } else {
                    *item = Item::Ack;
                    *awaited = None;
                    self.complete(state, wait);
                }
                return state.pairs[pair].write_remote(target, value, false, persists);
            }
            Item::Message { .. } | Item::MessageWrite { .. } | Item::Completion { .. } => {
                return self.message_step(state, pair, slot);
            }
            Item::AtomicWrite { target, value } => {
                queues.pipe.remove(slot);
                return queues.write_remote(target, value, true, persists);
            }
            Item::LocalWrite { target, value } => {
                if queues.local.len() >= QUEUE_LIMIT {
                    return Effect::QueueFull;
                }
                let is_last = queues.leave(slot);
                queues.local.push(LocalEntry::Write { target, value, wait });
                if is_last {
                    self.notify(state, pair, unsignaled);
                }
                if self.faults.has(Fault::PollEarly) {
                    self.complete(state, wait);
                }
            }
            Item::Ack => {
                if queues.leave(slot) {
                    self.notify(state, pair, unsignaled);
                }
            }
            Item::Fence | Item::Write { .. } | Item::Receive { .. } => {
                queues.pipe.remove(slot);
            }
        }
        Effect::Continue
    }

    /// The steps of a message. It reads its source by rule 2, and writes by rule 3. A `Send` takes its buffer
    /// from the oldest receive then, and both the data and the completion enter wbR. A put with immediate
    /// writes without a receive, and needs one for the completion, which follows by rule 3 too.
    fn message_step(&self, state: &mut State, pair: usize, slot: usize) -> Effect {
        let queues = &mut state.pairs[pair];
        let entry = &mut queues.pipe[slot];
        let (write, completes) = match entry.item {
            Item::Message { target, source, immediate } => {
                let value = match source {
                    Source::Location(location) => state.memory[location.0],
                    Source::Value(value) => value,
                };
                entry.item = Item::MessageWrite { target, value, immediate };
                return Effect::Continue;
            }
            Item::MessageWrite { target: Some(target), value, immediate } => {
                entry.item = Item::Completion { immediate };
                return queues.write_remote(target, value, false, 0);
            }
            Item::MessageWrite { target: None, value, immediate } => (Some(value), immediate),
            Item::Completion { immediate } => (None, immediate),
            _ => return Effect::Continue,
        };
        entry.item = Item::Ack;
        let wait = entry.wait.take();
        if queues.receives.is_empty() || queues.remote.len() >= QUEUE_LIMIT {
            return Effect::QueueFull; // `pipe_slots` lets no message pass without a receive
        }
        let buffer = queues.receives.remove(0);
        queues.remote.push(RemoteWrite {
            target: write.map(|_| buffer),
            value: write.unwrap_or_default(),
            completes: Some(completes),
            atomic: false,
            persists: 0,
        });
        self.complete(state, wait);
        Effect::Continue
    }

    /// Rules 9-11. Under `sc`, the write happens in the same step.
    fn rmw_step(&self, state: &mut State, pair: usize, slot: usize) -> Effect {
        let entry = &mut state.pairs[pair].pipe[slot];
        let persists = entry.persists;
        let (result, target, written) = match entry.item {
            Item::Rcas { result, target, expected, desired } => {
                (result, target, (state.memory[target.0] == expected).then_some(desired))
            }
            Item::Rfaa { result, target, addend } => {
                (result, target, Some(BinaryOp::Add.apply(state.memory[target.0], addend)))
            }
            _ => return Effect::Continue,
        };
        entry.item = Item::LocalWrite { target: result, value: state.memory[target.0] };
        if let Some(value) = written {
            if self.variant == Variant::Sc {
                state.memory[target.0] = value;
            } else {
                let item = Item::AtomicWrite { target, value };
                let (wait, unsignaled, joined) = (None, false, false);
                let write = Entry { pair, wait, persists, unsignaled, joined, item };
                state.pairs[pair].pipe.insert(slot, write);
                state.locks[self.lock[pair]] = true;
            }
        }
        Effect::Continue
    }

    pub(super) fn local_slots(&self, state: &State, pair: usize) -> u64 {
        let local = &state.pairs[pair].local;
        if !self.faults.has(Fault::LocalBufferNotFifo) {
            return u64::from(!local.is_empty());
        }
        let writes = local.iter().enumerate().take(QUEUE_LIMIT);
        writes
            .filter(|(_, entry)| **entry != LocalEntry::Notice)
            .fold(0, |slots, (index, _)| slots | 1 << index)
    }

    /// Rule 8. Notices that reach the head afterwards can be polled.
    pub(super) fn local_step(&self, state: &mut State, pair: usize, slot: usize) {
        let queues = &mut state.pairs[pair];
        let entry = queues.local.remove(slot);
        queues.count_notices();
        if let LocalEntry::Write { target, value, wait } = entry {
            state.write(target, value, None);
            if !self.faults.has(Fault::PollEarly) {
                self.complete(state, wait);
            }
        }
    }
}

impl Entry {
    fn target(&self) -> Option<LocationId> {
        match self.item {
            Item::Write { target, .. } => Some(target),
            _ => None,
        }
    }
}

impl PairState {
    pub(super) fn is_drained(&self) -> bool {
        self.pipe.is_empty() && self.remote.is_empty() && self.local.is_empty()
    }

    /// The other entries of the pipe that are words of the request of one of them, and of these kinds.
    pub(super) fn other_words(&self, slot: usize, kinds: KindSet) -> impl Iterator<Item = usize> {
        let first = (0..=slot).rev().find(|at| !self.pipe[*at].joined).unwrap_or(0);
        let words = self.pipe.iter().enumerate().skip(first);
        let words = words.take_while(move |(at, entry)| *at == first || entry.joined);
        let of_kinds =
            words.filter(move |(at, entry)| *at != slot && entry.item.kind().bit() & kinds != 0);
        of_kinds.map(|(at, _)| at)
    }

    /// Takes an entry out of the pipe. Whether it was the last word of its request.
    fn leave(&mut self, slot: usize) -> bool {
        let joined = self.pipe.remove(slot).joined;
        match self.pipe.get_mut(slot) {
            Some(next) if next.joined => {
                next.joined = joined;
                false
            }
            _ => !joined,
        }
    }

    fn count_notices(&mut self) {
        while self.local.first() == Some(&LocalEntry::Notice) {
            self.local.remove(0);
            self.notices += 1;
        }
    }

    fn write_remote(
        &mut self,
        target: LocationId,
        value: u64,
        atomic: bool,
        persists: u32,
    ) -> Effect {
        if self.remote.len() >= QUEUE_LIMIT {
            return Effect::QueueFull;
        }
        let target = Some(target);
        self.remote.push(RemoteWrite { target, value, completes: None, atomic, persists });
        Effect::Continue
    }
}

/// The kinds of what is before an entry of a pipe and of other requests.
#[derive(Default)]
pub(super) struct Ahead {
    requests: KindSet,
    own: KindSet,
}

impl Ahead {
    /// Those before the next entry.
    pub(super) fn of(&mut self, entry: &Entry) -> KindSet {
        if !entry.joined {
            self.requests |= std::mem::take(&mut self.own);
        }
        self.own |= entry.item.kind().bit();
        self.requests
    }
}

/// Whether the receive is there that an entry's next step consumes, if it does. A message without one blocks.
pub(super) fn has_receive(state: &State, pair: usize, entry: &Entry) -> bool {
    !entry.item.needs_receive() || !state.pairs[pair].receives.is_empty()
}

/// A mask with the low `count` bits set, at most 64.
pub(super) fn ones(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The third column of the paper's table of rules, by the kind of the entry that moves. A flush moves as a
/// get. What may move past a get may move past a flush, but for the write of an atomic write.
pub(super) fn overtakes(faults: FaultSet) -> [KindSet; Kind::COUNT] {
    let usual = Kind::Get.bit() | Kind::Flush.bit() | Kind::LocalWrite.bit() | Kind::Ack.bit();
    let all_but_fence = ((1 << Kind::COUNT) - 1) & !Kind::Fence.bit();
    let mut table = [0; Kind::COUNT];
    table[Kind::Put as usize] = all_but_fence & !Kind::Put.bit(); // rule 2
    for kind in [Kind::RemoteWrite, Kind::AtomicWrite, Kind::Get, Kind::Flush, Kind::Rmw] {
        table[kind as usize] = usual; // rules 3, 12, 6, 9-11
    }
    table[Kind::OrderedWrite as usize] = usual & !Kind::Flush.bit();
    let remote_writes =
        Kind::RemoteWrite.bit() | Kind::AtomicWrite.bit() | Kind::OrderedWrite.bit();
    let mut also = |fault, kind: Kind, others: KindSet| {
        if faults.has(fault) {
            table[kind as usize] |= others;
        }
    };
    also(Fault::PutsReordered, Kind::RemoteWrite, Kind::RemoteWrite.bit());
    also(Fault::PutReadsReordered, Kind::Put, Kind::Put.bit());
    also(Fault::PutOvertakesRmw, Kind::RemoteWrite, Kind::Rmw.bit() | Kind::AtomicWrite.bit());
    also(Fault::CompletionsReordered, Kind::Ack, all_but_fence);
    also(Fault::GetsDoNotFlush, Kind::Get, remote_writes);
    also(Fault::GetOvertakesPutRead, Kind::Get, Kind::Put.bit());
    also(Fault::RmwDoesNotFlush, Kind::Rmw, remote_writes);
    table
}
