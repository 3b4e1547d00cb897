//! The NIC of a process: its queue pairs, and the scheduler that chooses the next rule.
//!
//! The rules and their names are those of the operational semantics of RDMA^TSO_RMW: each queue pair has
//! `pipe`, `wbR` and `wbL`, and each memory region has A(n). `requester` has the rules of the near end,
//! `responder` those of the far end. At each turn, the scheduler picks a random queue pair, and one of the
//! rules that may be applied to it. A rule that has just become possible may be delayed at random.

mod arrival;
mod datagram;
pub mod life;
pub mod link;
pub mod mood;
pub mod node;
pub mod pair;
mod placement;
mod relaxed;
mod requester;
mod responder;
pub mod stale;
mod tear;
#[cfg(test)]
mod tests;
mod time;

use std::collections::HashMap;

use crate::config::Preset;
use crate::fault::Fault;
use crate::keys::Region;
use crate::states::State;
use crate::wire::{Address, Message};

use node::Node;
use pair::Pair;

/// The most requests of a queue pair that are in `pipe` at once. Others wait in the send queue.
const PIPE: usize = 256;

/// A rule, and the entry of the queue pair that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Rule 1.
    Rfence,
    /// Rule 2 for an entry of `pipe`.
    Source(usize),
    /// An entry of `pipe` is sent to the peer: the next one, unless the NIC is broken.
    Send(usize),
    /// Rules 5 and 7 for an entry of `pipe`.
    Answer(usize),
    /// Rule 8 for an entry of `wbL`.
    Land(usize),
    /// A notice at the head of `wbL` becomes visible to the program.
    Notice(usize),
    /// Rules 3, 6 and 9 to 12 for a request that arrived.
    Remote(usize),
    /// Rules 4 and 13 for an entry of `wbR`.
    Visible(usize),
}

/// The rules that may be applied now, and the earliest time at which another one may.
struct Steps {
    ready: Vec<Step>,
    now: u64,
    next: Option<u64>,
}

impl Steps {
    fn push(&mut self, step: Step, due: u64) {
        if due <= self.now {
            self.ready.push(step);
        } else {
            self.wait(due);
        }
    }

    fn wait(&mut self, until: u64) {
        self.next = Some(self.next.map_or(until, |next| next.min(until)));
    }
}

/// The NIC of a process.
pub struct Engine {
    /// The state that all queue pairs share.
    pub node: Node,
    pairs: HashMap<u32, Pair>,
    active: Vec<u32>,
    turn: usize,
}

/// The result of a round of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Some rules were applied.
    Busy,
    /// No rule could be applied. The next one may be at this time.
    Until(u64),
    /// There is nothing to do.
    Idle,
}

impl Engine {
    /// A NIC without queue pairs.
    pub fn new(node: Node) -> Self {
        Self { node, pairs: HashMap::new(), active: Vec::new(), turn: 0 }
    }

    /// Adds a queue pair to the NIC.
    pub fn add(&mut self, pair: Pair) {
        self.pairs.insert(pair.number, pair);
    }

    /// A queue pair, to change it. The scheduler examines it afterwards.
    pub fn pair(&mut self, number: u32) -> Option<(&mut Pair, &mut Node)> {
        self.wake(number);
        Some((self.pairs.get_mut(&number)?, &mut self.node))
    }

    /// A queue pair, to read its state.
    pub fn look(&self, number: u32) -> Option<&Pair> {
        self.pairs.get(&number)
    }

    /// Removes a queue pair. Returns false if there is none.
    pub fn remove(&mut self, number: u32) -> bool {
        let Some(mut pair) = self.pairs.remove(&number) else { return false };
        life::reset(&mut pair, &mut self.node);
        self.active.retain(|known| *known != number);
        true
    }

    /// Removes a memory region, or changes it. Returns false if there is none.
    pub fn change_region(&mut self, key: u32, region: Option<Region>) -> bool {
        for pair in self.pairs.values_mut() {
            life::settle_region(pair, &mut self.node, key);
        }
        match region {
            Some(region) => self.node.keys.replace(key, region),
            None => self.node.keys.remove(key),
        }
    }

    /// Makes the scheduler examine a queue pair: the program has posted something, or a message has arrived.
    pub fn wake(&mut self, number: u32) {
        if let Some(pair) = self.pairs.get_mut(&number)
            && !pair.active
        {
            pair.active = true;
            self.active.push(number);
        }
    }

    /// Delivers a message to its queue pair.
    pub fn receive(&mut self, message: Message) {
        let to = message.to.queue_pair;
        match self.pairs.get_mut(&to) {
            Some(pair) => link::receive(pair, &mut self.node, message),
            None => self.node.outbox.extend(link::refuse(&message)),
        }
        self.wake(to);
    }

    /// Handles the end of what has these queue pairs: a process, or a host.
    pub fn lose(&mut self, gone: impl Fn(Address) -> bool) {
        let lost = self.pairs.values_mut().filter(|pair| !pair.datagrams && gone(pair.path.peer));
        lost.for_each(|pair| link::part(pair, &self.node));
    }

    /// Puts queue pairs that lost a completion into the error state.
    fn fail_overran(&mut self) {
        while let Some(number) = self.node.overran.pop() {
            let Some((pair, node)) = self.pair(number) else { continue };
            if !matches!(pair.state, State::Error | State::Reset) {
                life::fail(pair, node);
                node.events.push((number, node::Event::Fatal));
            }
        }
    }

    /// Applies at most `most` rules.
    pub fn round(&mut self, now: u64, most: usize) -> Round {
        self.node.now = now;
        let (mut applied, mut next) = (0, None::<u64>);
        let mut steps = Steps { ready: Vec::new(), now, next: None };
        // How many queue pairs in a row had no rule that could be applied.
        let mut without = 0;
        self.fail_overran();
        while applied < most && without < self.active.len() {
            let calm = self.node.knobs.preset == Preset::Calm;
            self.turn = match calm {
                true => (self.turn + 1) % self.active.len(),
                false if without == 0 => self.node.random.below(self.active.len() as u64) as usize,
                false => (self.turn + 1) % self.active.len(),
            };
            let number = self.active[self.turn];
            let Some(pair) = self.pairs.get_mut(&number) else {
                self.active.swap_remove(self.turn);
                continue;
            };
            steps.ready.clear();
            steps.next = None;
            enabled(pair, &mut self.node, &mut steps);
            if let Some(step) = choose(&steps.ready, &mut self.node, calm) {
                apply(pair, &mut self.node, step);
                applied += 1;
                without = 0;
                continue;
            }
            without += 1;
            if let Some(due) = steps.next {
                next = Some(next.map_or(due, |next| next.min(due)));
            } else if pair.is_idle() {
                pair.active = false;
                self.active.swap_remove(self.turn);
                // Another queue pair has this index now, so the count starts again.
                without = 0;
            }
        }
        let node = &mut self.node;
        if node.knobs.has(Fault::PutReadsEarly) {
            node.stale.renew(now, &node.keys, &mut *node.memory);
        }
        match next {
            _ if applied > 0 => Round::Busy,
            Some(due) => Round::Until(due),
            None => Round::Idle,
        }
    }
}

/// Takes posted requests, and collects the rules that may be applied.
fn enabled(pair: &mut Pair, node: &mut Node, steps: &mut Steps) {
    match pair.state {
        State::ReadyToSend => {
            let room = PIPE.saturating_sub(pair.requester.pipe.len());
            if room > 0 {
                for request in pair.sends.take(room) {
                    requester::issue(pair, node, request);
                }
            }
        }
        State::Error => life::flush_posted(pair, node),
        State::SendQueueError => life::flush_sends(pair, node),
        State::SendQueueDrained if pair.tells_drained && pair.has_drained() => {
            pair.tells_drained = false;
            node.events.push((pair.number, node::Event::Drained));
        }
        _ => {}
    }
    if let Some(time) = link::keep(pair, node) {
        steps.wait(time);
    }
    requester::enabled(pair, node, steps);
    responder::enabled(pair, node, steps);
}

fn choose(ready: &[Step], node: &mut Node, calm: bool) -> Option<Step> {
    let index = if calm { 0 } else { node.random.below(ready.len() as u64) as usize };
    ready.get(index).copied()
}

fn apply(pair: &mut Pair, node: &mut Node, step: Step) {
    match step {
        Step::Rfence => requester::rfence(pair),
        Step::Source(index) => requester::source(pair, node, index),
        Step::Send(index) => requester::send(pair, node, index),
        Step::Answer(index) => requester::answer(pair, node, index),
        Step::Land(index) => requester::land(pair, node, index),
        Step::Notice(index) => requester::notice(pair, node, index),
        Step::Remote(index) => responder::remote(pair, node, index),
        Step::Visible(index) => responder::visible(pair, node, index),
    }
}
