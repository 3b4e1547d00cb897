//! Tests the rules on two connected queue pairs, over many seeds: what must always happen, what must happen
//! at least once, and what must never happen.

mod datagrams;
mod link;
mod placement;
mod queue;
mod regions;
mod relaxed;
mod sources;

use std::sync::{Arc, Mutex};

use crate::config::{Knobs, Preset};
use crate::counts::Counts;
use crate::fault::Fault;
use crate::keys::{Keys, Region};
use crate::queues::{CompletionQueue, Receives, Sends, lock};
use crate::random::Random;
use crate::request::{
    Completion, Operation, Payload, ReceiveRequest, Remote, SendRequest, Sge, Status, access,
};
use crate::states::State;
use crate::trace::Trace;
use crate::wire::Address;

use super::mood::Mood;
use super::node::{Event, Memory, Node};
use super::pair::{Pair, Path, Requester, Responder, Stage};
use super::stale::Stale;
use super::{Engine, Round, life};

/// Memory that starts at address 0.
#[derive(Clone)]
struct Words(Arc<Mutex<Vec<u8>>>);

impl Memory for Words {
    fn read(&mut self, host: u64, out: &mut [u8]) {
        let host = host as usize;
        out.copy_from_slice(&lock(&self.0)[host..host + out.len()]);
    }

    fn write(&mut self, host: u64, bytes: &[u8]) {
        let host = host as usize;
        lock(&self.0)[host..host + bytes.len()].copy_from_slice(bytes);
    }
}

impl Words {
    fn get(&self, word: u64) -> u64 {
        let mut bytes = [0; 8];
        self.clone().read(8 * word, &mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn set(&self, word: u64, value: u64) {
        self.clone().write(8 * word, &value.to_le_bytes());
    }
}

/// Four queue pairs on 16 words. 1 is connected to 2, and 3 to 4.
struct World {
    engine: Engine,
    words: Words,
    key: u32,
}

fn pair(number: u32, peer: u32) -> Pair {
    let path = Path {
        peer_port: Some(0),
        peer: Address { host: 0, queue_pair: peer },
        access: access::REMOTE_READ
            | access::REMOTE_WRITE
            | access::REMOTE_ATOMIC
            | access::FLUSH_GLOBAL,
        rnr_retries: 7,
        rnr_timer: 1,
        most_fetches: 4,
        most_served: 4,
        ..Path::default()
    };
    let [send_cq, receive_cq] = [0; 2].map(|_| Arc::new(CompletionQueue::new(64, None)));
    Pair {
        number,
        domain: 1,
        device: 0,
        sends: Arc::new(Sends::new(16, Arc::clone(&send_cq))),
        receives: Arc::new(Receives::new(16, 4, None)),
        send_cq,
        receive_cq,
        datagrams: false,
        state: State::ReadyToSend,
        path,
        requester: Requester::default(),
        responder: Responder::default(),
        active: false,
        tells_drained: false,
        told_last: false,
    }
}

impl World {
    fn new(seed: u64, fault: Option<Fault>) -> Self {
        let words = Words(Arc::new(Mutex::new(vec![0; 128])));
        let mut keys = Keys::default();
        let all = access::LOCAL_WRITE
            | access::REMOTE_READ
            | access::REMOTE_WRITE
            | access::REMOTE_ATOMIC
            | access::FLUSH_GLOBAL;
        let region = Region { domain: 1, start: 0, host: 0, length: 128, access: all };
        let key = keys.insert(region).expect("there is room");
        let knobs = Knobs { percent: 50, most: 30, fault, ..Knobs::new(Preset::Default) };
        let mut engine = Engine::new(Node {
            keys,
            memory: Box::new(words.clone()),
            outbox: Vec::new(),
            events: Vec::new(),
            overran: Vec::new(),
            locks: Vec::new(),
            knobs,
            random: Random::new(seed),
            mood: Mood::default(),
            stale: Stale::default(),
            counts: Counts::default(),
            trace: Trace::default(),
            gid: |_, _| [0; 16],
            now: 0,
        });
        [(1, 2), (2, 1), (3, 4), (4, 3)].iter().for_each(|ends| engine.add(pair(ends.0, ends.1)));
        Self { engine, words, key }
    }

    /// Applies at most one rule. Messages arrive at once.
    fn step(&mut self) -> Round {
        let now = self.engine.node.now + 1;
        let mut round = self.engine.round(now, 1);
        while !self.engine.node.outbox.is_empty() {
            round = Round::Busy;
            for message in std::mem::take(&mut self.engine.node.outbox) {
                self.engine.receive(message);
            }
        }
        round
    }

    fn steps(&mut self, count: u64) {
        for _ in 0..count {
            self.step();
        }
    }

    fn post(&mut self, number: u32, operation: Operation, local: u64) {
        self.post_words(number, operation, local, 1, false);
    }

    fn post_fenced(&mut self, number: u32, operation: Operation, local: u64, fence: bool) {
        self.post_words(number, operation, local, 1, fence);
    }

    fn post_words(
        &mut self,
        number: u32,
        operation: Operation,
        local: u64,
        count: u32,
        fence: bool,
    ) {
        let sge = Sge { address: 8 * local, length: 8 * count, key: self.key };
        let payload = Payload::Memory(vec![sge]);
        let (id, signaled, solicited) = (local, true, false);
        let request = SendRequest { id, operation, payload, fence, signaled, solicited };
        let (pair, _) = self.engine.pair(number).expect("there are four");
        assert!(pair.sends.post(vec![request]));
    }

    fn remote(&self, word: u64) -> Remote {
        Remote { address: 8 * word, key: self.key }
    }

    fn put(&mut self, number: u32, to: u64, from: u64) {
        let remote = self.remote(to);
        self.post(number, Operation::Write { remote, immediate: None }, from);
    }

    fn get(&mut self, number: u32, to: u64, from: u64) {
        let remote = self.remote(from);
        self.post(number, Operation::Read { remote }, to);
    }

    fn add(&mut self, number: u32, to: u64, word: u64) {
        let remote = self.remote(word);
        self.post(number, Operation::FetchAndAdd { remote, add: 1 }, to);
    }

    fn poll(&self, number: u32) -> Option<Completion> {
        let mut found = None;
        let pair = self.engine.look(number).expect("there are four");
        pair.send_cq.poll(1, |_, completion| found = Some(completion));
        found
    }

    fn wait(&mut self, number: u32) -> Completion {
        for _ in 0..10_000 {
            if let Some(completion) = self.poll(number) {
                return completion;
            }
            self.step();
        }
        panic!("nothing completes")
    }

    /// Continues until there is nothing to do.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            if self.step() == Round::Idle {
                return;
            }
        }
        panic!("there is no end");
    }
}

const SEEDS: std::ops::Range<u64> = 0..300;

/// The number of seeds for which `holds` is true.
fn count(fault: Option<Fault>, holds: impl Fn(&mut World, &mut Random) -> bool) -> usize {
    let run = |seed: &u64| holds(&mut World::new(*seed, fault), &mut Random::new(!seed));
    SEEDS.filter(run).count()
}

fn sometimes(found: usize) {
    assert!((1..SEEDS.end as usize).contains(&found), "{found} of {}", SEEDS.end);
}

#[test]
fn a_completion_comes_before_the_write_is_visible() {
    let early = |world: &mut World, _: &mut Random| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.wait(1);
        world.words.get(8) == 0
    };
    sometimes(count(None, early));
}

/// Message passing: nobody sees the later put without the earlier one.
fn passes(world: &mut World, _: &mut Random) -> bool {
    world.words.set(0, 1);
    world.put(1, 8, 0);
    world.put(1, 9, 0);
    let mut broken = false;
    while world.step() != Round::Idle {
        broken |= world.words.get(9) == 1 && world.words.get(8) == 0;
    }
    broken
}

#[test]
fn puts_of_a_queue_pair_keep_their_order_and_those_of_two_do_not() {
    assert_eq!(count(None, passes), 0);
    sometimes(count(Some(Fault::PutsReordered), passes));
    sometimes(count(Some(Fault::RemoteBufferNotFifo), passes));
    let two = |world: &mut World, _: &mut Random| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.put(3, 9, 0);
        let mut seen = false;
        while world.step() != Round::Idle {
            seen |= world.words.get(9) == 1 && world.words.get(8) == 0;
        }
        seen
    };
    sometimes(count(None, two));
}

#[test]
fn a_get_flushes_earlier_puts_and_may_see_later_ones() {
    let stale = |world: &mut World, _: &mut Random| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.get(1, 2, 8);
        world.settle();
        world.words.get(2) == 0
    };
    assert_eq!(count(None, stale), 0);
    sometimes(count(Some(Fault::GetsDoNotFlush), stale));
    sometimes(count(Some(Fault::GetOvertakesPutRead), stale));
    let later = |fence: bool| {
        move |world: &mut World, _: &mut Random| {
            world.words.set(0, 1);
            world.get(1, 2, 8);
            let remote = world.remote(8);
            world.post_fenced(1, Operation::Write { remote, immediate: None }, 0, fence);
            world.settle();
            world.words.get(2) == 1
        }
    };
    sometimes(count(None, later(false)));
    assert_eq!(count(None, later(true)), 0);
    sometimes(count(Some(Fault::RfenceIgnored), later(true)));
}

#[test]
fn gets_of_a_queue_pair_are_read_in_any_order() {
    let swapped = |world: &mut World, random: &mut Random| {
        world.get(1, 2, 8);
        world.get(1, 3, 9);
        world.steps(random.below(20));
        world.words.set(8, 1);
        world.words.set(9, 1);
        world.settle();
        world.words.get(2) == 1 && world.words.get(3) == 0
    };
    sometimes(count(None, swapped));
}

#[test]
fn additions_of_two_queue_pairs_are_exclusive() {
    let lost = |world: &mut World, _: &mut Random| {
        world.add(1, 2, 8);
        world.add(3, 3, 8);
        world.settle();
        world.words.get(8) != 2 || world.words.get(2) == world.words.get(3)
    };
    assert_eq!(count(None, lost), 0);
    sometimes(count(Some(Fault::RmwNotExclusive), lost));
    sometimes(count(Some(Fault::RmwTwice), lost));
}

#[test]
fn a_compare_and_swap_that_fails_writes_nothing() {
    let writes = |world: &mut World, _: &mut Random| {
        world.words.set(8, 5);
        let remote = world.remote(8);
        world.post(1, Operation::CompareAndSwap { remote, compare: 4, swap: 6 }, 2);
        world.settle();
        assert_eq!(world.words.get(2), 5, "the old value");
        world.words.get(8) != 5
    };
    assert_eq!(count(None, writes), 0);
    assert_eq!(count(Some(Fault::FailedCasWrites), writes), SEEDS.end as usize);
}

#[test]
fn a_wrong_key_fails_and_what_follows_is_flushed() {
    for seed in SEEDS {
        let mut world = World::new(seed, None);
        let remote = Remote { address: 64, key: world.key ^ 1 };
        world.put(1, 8, 0);
        world.post(1, Operation::Write { remote, immediate: None }, 1);
        world.put(1, 9, 2);
        let statuses = [0; 3].map(|_| world.wait(1)).map(|found| (found.id, found.status));
        let expected = [(0, Status::Success), (1, Status::RemoteAccess), (2, Status::Flushed)];
        assert_eq!(statuses, expected);
        world.settle();
        assert!(world.engine.node.events.contains(&(2, Event::AccessError)));
        assert_eq!(world.engine.look(1).map(|pair| pair.state), Some(State::Error));
        assert_eq!(world.engine.look(2).map(|pair| pair.state), Some(State::Error));
    }
}

#[test]
fn only_the_first_failure_has_its_own_status() {
    let both = |world: &mut World, _: &mut Random| {
        let remote = Remote { key: 0, ..world.remote(8) };
        world.post(1, Operation::Write { remote, immediate: None }, 0);
        let key = std::mem::take(&mut world.key);
        world.post(1, Operation::Write { remote: Remote { key, ..remote }, immediate: None }, 1);
        world.key = key;
        assert_eq!(world.wait(1).status, Status::RemoteAccess);
        assert_eq!(world.wait(1).status, Status::Flushed);
        true
    };
    assert_eq!(count(None, both), SEEDS.end as usize);
}

#[test]
fn an_atomic_of_an_earlier_life_blocks_no_other() {
    let done = |world: &mut World, random: &mut Random| {
        world.add(1, 0, 8);
        world.steps(random.below(20));
        let (pair, node) = world.engine.pair(1).expect("there are four");
        life::reset(pair, node);
        (pair.state, pair.requester.session) = (State::ReadyToSend, 7);
        world.add(1, 1, 8);
        world.add(3, 2, 9);
        [1, 3].map(|number| world.wait(number).status) == [Status::Success; 2]
    };
    assert_eq!(count(None, done), SEEDS.end as usize);
}

#[test]
fn a_send_waits_for_a_receive_request_as_long_as_it_may() {
    for seed in SEEDS {
        let mut world = World::new(seed, None);
        world.words.set(0, 7);
        world.post(1, Operation::Send { immediate: Some(3) }, 0);
        world.steps(200);
        assert_eq!(world.poll(1), None);
        let sges = vec![Sge { address: 64, length: 8, key: world.key }];
        let (pair, _) = world.engine.pair(2).expect("there are four");
        assert!(pair.receives.post(ReceiveRequest { id: 9, sges }));
        assert_eq!(world.wait(1).status, Status::Success);
        world.settle();
        assert_eq!(world.words.get(8), 7);
        let mut received = None;
        let pair = world.engine.look(2).expect("there are four");
        pair.receive_cq.poll(1, |_, completion| received = Some(completion));
        let received = received.expect("it was received");
        assert_eq!((received.id, received.bytes, received.immediate), (9, 8, Some(3)));
        let (pair, _) = world.engine.pair(1).expect("there are four");
        pair.path.rnr_retries = 0;
        world.post(1, Operation::Send { immediate: None }, 0);
        assert_eq!(world.wait(1).status, Status::ReceiverNotReadyExceeded);
    }
}

/// The orders in which the words of a put of three become visible.
fn orders(fault: Option<Fault>, tear: bool) -> std::collections::BTreeSet<Vec<u64>> {
    let run = |seed| {
        let mut world = World::new(seed, fault);
        world.engine.node.knobs.tear = tear;
        for word in 0..3 {
            world.words.set(word, 1);
        }
        let remote = world.remote(8);
        world.post_words(1, Operation::Write { remote, immediate: None }, 0, 3, false);
        let mut seen = Vec::new();
        while world.step() != Round::Idle {
            let new = (8..11).filter(|word| world.words.get(*word) == 1 && !seen.contains(word));
            seen.extend(new.collect::<Vec<_>>());
        }
        assert_eq!(world.poll(1).map(|completion| completion.status), Some(Status::Success));
        seen
    };
    SEEDS.map(run).collect()
}

#[test]
fn words_of_a_message_are_seen_together_or_torn() {
    assert_eq!(orders(None, false), [vec![8, 9, 10]].into());
    assert_eq!(orders(None, true).len(), 6);
    let tag_first = orders(Some(Fault::TagBeforeData), false);
    assert_eq!(tag_first, [vec![10, 8, 9]].into());
}

/// The NIC copies two words, from one index to another, while the CPU sets both. The copy may have the new
/// value of one of them alone, of either, only if messages are torn.
fn copies_are_torn_on_request(post: fn(&mut World), from: u64, to: u64) {
    let torn = |tear: bool, values: [u64; 2]| {
        count(None, |world, random| {
            world.engine.node.knobs.tear = tear;
            post(world);
            world.steps(random.below(20));
            world.words.set(from, 1);
            world.words.set(from + 1, 1);
            world.settle();
            [world.words.get(to), world.words.get(to + 1)] == values
        })
    };
    sometimes(torn(true, [1, 0]));
    sometimes(torn(true, [0, 1]));
    assert_eq!(torn(false, [1, 0]) + torn(false, [0, 1]), 0);
}

#[test]
fn a_read_of_several_words_is_torn_on_request() {
    let post = |world: &mut World| {
        let remote = world.remote(8);
        world.post_words(1, Operation::Read { remote }, 2, 2, false);
    };
    copies_are_torn_on_request(post, 8, 2);
}

#[test]
fn the_source_of_several_words_is_torn_on_request() {
    let post = |world: &mut World| {
        let remote = world.remote(8);
        world.post_words(1, Operation::Write { remote, immediate: None }, 2, 2, false);
    };
    copies_are_torn_on_request(post, 2, 8);
}
