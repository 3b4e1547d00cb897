//! The reduced machine: fewer transitions, the same terminal states.
//!
//! Every path of the reduced machine is a path of the machine of [`super::rules`], so it has no outcome too
//! many. That it has none too few is argued here. Only *terminal* states matter (outcomes and deadlocks are
//! terminal; an execution whose `assume` failed never counts again), so what follows need only keep those.
//!
//! # Steps taken at once
//!
//! [`Machine::settle`] takes, without looking for alternatives, steps that no other agent sees, that no other
//! step can disable for good, that disable nothing, and that lead to the same state whether they come before
//! or after any other sequence of steps. Then every way from here to a terminal state contains the step and
//! can be permuted so that it comes first. These are:
//!
//! - assignments, jumps, and `assume`s that hold;
//! - a CPU write or an RDMA operation entering the store buffer: it is appended, and only the head leaves;
//! - a CPU write at the head of the store buffer going to memory, if nothing but this thread's CPU accesses
//!   its location: the thread reads the newest buffered value before and after, and outcomes show what is in
//!   memory when all buffers are empty (a crash may come before that, and then nothing is reduced);
//! - an RDMA operation going from the head of the store buffer to its pipe: it is appended, and whether a
//!   pipe entry may move depends on earlier entries only (not if threads share the queue pair: who comes
//!   first matters);
//! - `Mfence` on an empty store buffer, which only the same thread could fill; Poll and Wait that find their
//!   notice, which nobody else takes;
//! - rule 2 for a put of a value, or of a location that nothing writes: wbL can fill in between (rule 7),
//!   but it drains again before the program can end, and the value read is the same;
//! - rule 6 for a get of a location that nothing writes, in the same way. What may overtake the get may
//!   overtake its local write;
//! - rule 4, or 8, for a write at the head of wbR, or wbL, to a location that nothing else writes and nothing
//!   reads: the buffer is FIFO, and outcomes show what is in memory when it is empty. For such a write, rules
//!   3 and 4, or 7 and 8, are taken together if the buffer is empty: then nothing else can see the first;
//! - rule 5: the ack blocks only what cannot overtake it, and `cn` blocks nothing;
//! - a receive going from the head of the store buffer to its queue: it is appended, only messages of its
//!   queue pair take it, and they take the oldest;
//! - a flush that may take effect: wbR can fill in between, but it drains again before the program can end;
//! - rules 3 and 12 if no get or flush ahead in the pipe has still to read: all that needs an empty wbR and
//!   is ahead has happened, and what is behind could not have overtaken the write (a message also needs its
//!   receive, which nothing else takes);
//! - rule 1 with rules 5 and 7 for all that stands before the rfence, if those are acks and local writes
//!   to do. Rule 7 disables rule 2 (until rule 8), but no put can be before the rfence any more and those
//!   behind it could not move. Local writes reach memory in the same order by rule 8 as by the step below.
//!
//! # Steps taken together
//!
//! - Rules 3 (or 12) and 4 are one step if a get ahead has still to read. Between them, rule 3 would only
//!   make that get wait and let later writes of the pipe enter wbR behind this one; no poll, ack or rfence
//!   gets past the get. So rule 3 may as well happen just before its rule 4, when wbR is empty. Under
//!   `rdma-wait` a Wait may get past the get: if the thread has one to come, rule 3 is a step by itself,
//!   whose order with the reads of the gets ahead matters. (Such a get need not bring in the step: if it
//!   comes before the step or after it and rule 4, the same state results.)
//! - Rules 7 and 8 are one step unless an rfence leaves in between (which the last point above does).
//!   Between them, acks and local writes behind this one could leave the pipe, but no poll succeeds past
//!   the pending write and puts cannot read. So rule 7 may as well happen just before its rule 8. An rfence
//!   leaves as soon as nothing but acks and local writes is ahead. So what brings that about is not the step
//!   of a local write, but of something else that is ahead.
//!
//! # Fewer interleavings
//!
//! What is left are the steps that touch memory, and polls of several queue pairs. From a settled state,
//! `stubborn` picks a *stubborn set* (Valmari): some enabled steps such that no other part of the machine
//! can, without one of them, ever do something whose order with one of them matters. It starts from an
//! enabled step and closes: an enabled step brings in, for each `Part` of the machine whose remaining
//! accesses conflict with it, that part or one that must move before it can; a part that is not enabled
//! brings in one other part that must move before it can.
//! Following only a stubborn set's steps reaches all terminal states, cycles or not.
//!
//! Accesses conflict if they touch one location, one of them writes, and the location's value still matters;
//! remote RMWs to one node conflict by the lock. A thread's own reads and its buffered writes do not: the
//! read gets the newest buffered value before and after the write leaves, if nobody else writes there.
//! Nothing in the thread's future overtakes the head of its store buffer in any other way.
//!
//! A poll of several queue pairs has a step for each that has a completion, and one that is not enabled for
//! each other one. They disable each other, so they are one part, and where a stubborn set has it, it has for
//! each queue pair without a completion one part that must move before there is one.
//!
//! # Writes that nobody reads
//!
//! A write that nobody reads before its location is written again comes to memory together with the next
//! entry of its buffer, or when all else is done: see `merging`.
//!
//! # Steps that sleep
//!
//! Steps of a stubborn set that do not depend on each other are taken in one order: see `sleep`.
//!
//! # Long queues
//!
//! What can leave a queue leaves it before more comes. A queue with [`LONG`] entries or more gets another
//! only if no other steps are a stubborn set: a CPU's step that touches no memory, a request that comes to
//! its pipe and rule 3 are then steps by themselves, which conflict with nothing. A thread that posts
//! conflicts with whatever touches the same locations, and would be in each set, and so fill the queues. So
//! then it is looked at what a conflict stands behind: what a request still has to do at memory cannot come
//! before what it may not overtake in its pipe, or before what is in wbR or wbL (`behind`). Where no queue is
//! long, this would make some sets smaller, and often more states. And none is long where a loop posts and
//! reads memory ([`long_from`]).
//!
//! # Queue pairs that threads share
//!
//! A request that leaves the store buffer for such a queue pair conflicts with all that other threads may
//! still post to it, and a poll of it with all their polls of it: each is a step by itself. What has come to
//! the pipe moves as before.
//!
//! # Several words
//!
//! Words of one request never wait for each other, so for an entry, only those of other requests are ahead;
//! and the last of them to leave the pipe brings the notice. Their order in wbR and wbL is open. So rule 3
//! is a step by itself while other words of the put are to come, and brings them in; and so is rule 7 while
//! other words of the get are to be written and an rfence would leave with them.
//!
//!
//! Faulty machines break what this rests on; they are explored without reduction.

use compiler::code::{Instruction, ThreadCode};

use super::footprint::{access, bit};
use super::queue_pair::{Ahead, has_receive};
use super::rules::{Agent, Effect, Machine, Transition, Variant};
use super::state::{Entry, Item, Kind, KindSet, LocalEntry, RemoteWrite, Source, State};
use super::stubborn::Step;

/// How many steps of one thread are taken at once before the search continues. A loop that touches no memory
/// never ends.
const THREAD_STEPS: usize = 4096;

/// From this number of entries of a queue on, steps that add to it are taken only if no others are enough, so
/// that long programs do not fill it. Tests have short programs.
const LONG: usize = if cfg!(test) { 2 } else { 16 };

/// The kinds of a put's words that have not left for the remote node.
pub(super) const UNSENT: KindSet = Kind::Put.bit() | Kind::RemoteWrite.bit();

/// The result of settling a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Only steps that other agents can see are left.
    Yes,
    /// A thread may be in a loop that touches no memory; more steps could be taken at once.
    NotYet,
    /// An `assume` failed.
    AssumeFailed,
    /// A queue is full.
    QueueFull,
}

/// A callback that records every step.
pub(super) type Log<'a> = &'a mut dyn FnMut(&State, Transition);

/// From how many entries on the queues of a program are long. None are if a loop posts and its CPU reads
/// memory there: it may post without end, and the step that fills a queue, which ends the search, would come
/// last.
pub(super) fn long_from(machine: &Machine) -> usize {
    let posts = |step: &Instruction| matches!(step, Instruction::Issue { .. });
    let reads = |step: &Instruction| !posts(step) && access(step, machine).reads != 0;
    let may_post_on = |thread: &ThreadCode| {
        let instructions = &thread.instructions;
        instructions.iter().enumerate().any(|(pc, instruction)| {
            let (Instruction::Jump(target) | Instruction::JumpIfZero { target, .. }) = instruction
            else {
                return false;
            };
            let turn = instructions.get(*target..pc).unwrap_or_default();
            turn.iter().any(posts) && turn.iter().any(reads)
        })
    };
    if machine.code.threads.iter().any(may_post_on) { usize::MAX } else { LONG }
}

impl Machine {
    /// Takes all steps that can be taken at once (see the module's documentation).
    pub(super) fn settle(&self, state: &mut State, log: Log<'_>) -> Settled {
        let mut moved = true;
        while moved {
            moved = false;
            for thread in 0..state.threads.len() {
                match self.settle_thread(state, thread, log) {
                    Ok(steps) => moved |= steps > 0,
                    Err(settled) => return settled,
                }
            }
            for pair in 0..state.pairs.len() {
                match self.settle_pair(state, pair, log) {
                    Ok(steps) => moved |= steps > 0,
                    Err(settled) => return settled,
                }
            }
        }
        Settled::Yes
    }

    fn settle_pair(&self, state: &mut State, pair: usize, log: Log<'_>) -> Result<usize, Settled> {
        let mut steps = 0;
        while let Some(transition) = self.settled_step(state, pair) {
            log(state, transition);
            if self.apply(state, transition) == Effect::QueueFull {
                return Err(Settled::QueueFull);
            }
            steps += 1;
        }
        Ok(steps)
    }

    fn settle_thread(
        &self,
        state: &mut State,
        thread: usize,
        log: Log<'_>,
    ) -> Result<usize, Settled> {
        let mut steps = 0;
        loop {
            let head = state.threads[thread].buffer.first();
            let posted = head
                .filter(|head| !matches!(head.item, Item::Write { .. }))
                .filter(|head| !self.comes_to_shared(head))
                .filter(|head| {
                    let is_receive = matches!(head.item, Item::Receive { .. });
                    is_receive || state.pairs[head.pair].pipe.len() < self.long_from
                });
            let comes_to = posted.map(|entry| entry.pair);
            let agent = if posted.is_some() || head.is_some_and(|head| self.is_private(head)) {
                Agent::StoreBuffer(thread)
            } else if state.threads[thread].buffer.len() < self.long_from
                && self.is_silent(state, thread)
            {
                Agent::Cpu(thread)
            } else {
                return Ok(steps);
            };
            let transition = Transition { agent, slot: 0 };
            log(state, transition);
            match self.apply(state, transition) {
                Effect::Continue => {}
                Effect::AssumeFailed => return Err(Settled::AssumeFailed),
                Effect::QueueFull => return Err(Settled::QueueFull),
            }
            // What can leave the queues leaves them before more is posted, so that they stay short.
            if let Some(pair) = comes_to {
                self.settle_pair(state, pair, log)?;
            }
            steps += 1;
            if steps >= THREAD_STEPS {
                return Err(Settled::NotYet);
            }
        }
    }

    /// Whether an entry of a store buffer is a write that no other agent can see.
    fn is_private(&self, entry: &Entry) -> bool {
        matches!(entry.item, Item::Write { target, .. } if self.private.to_cpu & bit(target.0) != 0)
    }

    /// Whether an entry of a store buffer goes to a queue pair that threads share.
    pub(super) fn comes_to_shared(&self, entry: &Entry) -> bool {
        !matches!(entry.item, Item::Write { .. }) && self.is_shared(entry.pair)
    }

    /// Whether the thread can take its next instruction, and that touches no memory.
    pub(super) fn is_silent(&self, state: &State, thread: usize) -> bool {
        let touches_none = match self.next_instruction(state, thread) {
            None
            | Some(
                Instruction::Read { .. }
                | Instruction::Cas { .. }
                | Instruction::Faa { .. }
                | Instruction::Exchange { .. },
            ) => false,
            Some(Instruction::Write { .. }) => self.variant != Variant::Sc,
            Some(Instruction::Poll(pairs)) => {
                matches!(pairs.as_slice(), [one] if !self.is_shared(one.0))
            }
            Some(_) => true,
        };
        touches_none && self.cpu_enabled(state, thread)
    }

    /// A step of a queue pair that can be taken at once.
    fn settled_step(&self, state: &State, pair: usize) -> Option<Transition> {
        let queues = &state.pairs[pair];
        if let Some(RemoteWrite { target: Some(target), completes: None, .. }) =
            queues.remote.first()
            && self.private.to_remote[pair] & bit(target.0) != 0
        {
            return Some(Transition { agent: Agent::RemoteBuffer(pair), slot: 0 });
        }
        if let Some(LocalEntry::Write { target, .. }) = queues.local.first()
            && self.private.to_local[pair] & bit(target.0) != 0
        {
            return Some(Transition { agent: Agent::LocalBuffer(pair), slot: 0 });
        }
        let slot = self.settled_slot(state, pair)?;
        Some(Transition { agent: Agent::Pipe(pair), slot })
    }

    /// Whether an entry's next step, if the pipe lets it, can be taken now and is seen by nothing: it reads a
    /// value, or what nothing writes; or it writes what nothing reads, by way of an empty buffer (under `sc`,
    /// there is none).
    fn is_unseen(&self, state: &State, pair: usize, item: &Item) -> bool {
        let queues = &state.pairs[pair];
        let private = &self.private;
        match item {
            Item::Put { source: Source::Value(_), .. }
            | Item::Message { source: Source::Value(_), .. } => queues.local.is_empty(),
            Item::Put { source: Source::Location(source), .. }
            | Item::Message { source: Source::Location(source), .. } => {
                queues.local.is_empty() && private.constant & bit(source.0) != 0
            }
            Item::Get { source, .. } => {
                queues.remote.is_empty() && private.constant & bit(source.0) != 0
            }
            Item::RemoteWrite { target, .. } | Item::MessageWrite { target: Some(target), .. } => {
                queues.remote.is_empty() && private.to_remote[pair] & bit(target.0) != 0
            }
            Item::LocalWrite { target, .. } => {
                queues.local.is_empty() && private.to_local[pair] & bit(target.0) != 0
            }
            _ => false,
        }
    }

    /// The slot of a pipe entry whose step can be taken at once.
    fn settled_slot(&self, state: &State, pair: usize) -> Option<usize> {
        let queues = &state.pairs[pair];
        let mut before = Ahead::default();
        for (slot, entry) in queues.pipe.iter().enumerate() {
            let kind = entry.item.kind();
            let ahead = before.of(entry);
            let free = ahead & !self.overtakes[kind as usize] == 0;
            let now = match entry.item {
                _ if free && self.is_unseen(state, pair, &entry.item) => true,
                Item::RemoteWrite { .. }
                | Item::AtomicWrite { .. }
                | Item::MessageWrite { .. }
                | Item::Completion { .. } => {
                    let is_last = queues.other_words(slot, UNSENT).next().is_none();
                    let no_get = ahead & (Kind::Get.bit() | Kind::Flush.bit()) == 0;
                    free && is_last
                        && no_get
                        && queues.remote.len() < self.long_from
                        && self.variant != Variant::Sc
                        && has_receive(state, pair, entry)
                }
                Item::Ack => free,
                Item::Flush { .. } => free && queues.remote.is_empty(),
                // If only acks and local writes stand before the fence, they leave first, from the head.
                Item::Fence if self.leaves_next(state, pair, slot) => {
                    let in_any_order = queues.other_words(0, Kind::LocalWrite.bit()).next();
                    if in_any_order.is_none() {
                        return Some(0);
                    }
                    false
                }
                _ => false,
            };
            if now {
                return Some(slot);
            }
        }
        None
    }

    /// Whether only acks and local writes stand before an rfence.
    pub(super) fn leaves_next(&self, state: &State, pair: usize, fence: usize) -> bool {
        let leaving = Kind::Ack.bit() | Kind::LocalWrite.bit();
        let mut ahead = state.pairs[pair].pipe[..fence].iter();
        ahead.all(|entry| entry.item.kind().bit() & leaving != 0)
    }

    /// Takes a step that touches memory, from a settled state.
    pub(super) fn apply_step(&self, state: &mut State, step: &Step, log: Log<'_>) -> Effect {
        let mut take = |state: &mut State, transition| {
            log(state, transition);
            self.apply(state, transition)
        };
        // What is overwritten at once need not come to memory.
        match step.transition.agent {
            Agent::StoreBuffer(thread) => drop(state.threads[thread].buffer.drain(..step.merged)),
            Agent::RemoteBuffer(pair) => drop(state.pairs[pair].remote.drain(..step.merged)),
            Agent::Cpu(_) | Agent::Pipe(_) | Agent::LocalBuffer(_) => {}
        }
        let effect = take(state, step.transition);
        let effect = match (effect, step.through) {
            (Effect::Continue, Some(agent)) => take(state, Transition { agent, slot: 0 }),
            _ => effect,
        };
        state.unread = state.unread & !step.shows | step.unread;
        effect
    }
}
