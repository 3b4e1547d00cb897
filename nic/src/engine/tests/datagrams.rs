use crate::request::Destination;

use super::*;

/// A world with two more queue pairs, 5 and 6, which send and receive datagrams with key 9.
fn world(seed: u64) -> World {
    let mut world = World::new(seed, None);
    for number in [5, 6] {
        let mut pair = pair(number, 0);
        (pair.datagrams, pair.path.key) = (true, 9);
        world.engine.add(pair);
    }
    world.words.set(0, 7);
    world
}

fn send(world: &mut World, key: u32) {
    let to = Destination { host: 0, queue_pair: 6, key, port: Some(0), global: true };
    world.post(5, Operation::Datagram { to, immediate: Some(3) }, 0);
}

fn expect_one(world: &mut World, words: u32) {
    let sges = vec![Sge { address: 64, length: 8 * words, key: world.key }];
    let (pair, _) = world.engine.pair(6).expect("it was added");
    assert!(pair.receives.post(ReceiveRequest { id: 4, sges }));
}

fn received(world: &mut World) -> Option<Completion> {
    assert_eq!(world.wait(5).status, Status::Success, "nobody answers");
    world.settle();
    let mut found = None;
    let pair = world.engine.look(6).expect("it was added");
    pair.receive_cq.poll(1, |_, completion| found = Some(completion));
    found
}

#[test]
fn a_datagram_comes_behind_its_header_and_says_who_sent_it() {
    for seed in SEEDS {
        let mut world = world(seed);
        expect_one(&mut world, 6);
        send(&mut world, 9);
        let completion = received(&mut world).expect("it came");
        assert_eq!((completion.id, completion.bytes, completion.immediate), (4, 48, Some(3)));
        let sender = completion.sender.expect("somebody sent it");
        assert_eq!((sender.queue_pair, sender.global), (5, true));
        assert_eq!(world.words.get(8 + 5), 7);
    }
}

#[test]
fn a_send_that_fails_flushes_the_sends_and_no_receive() {
    let mut world = world(1);
    let key = std::mem::take(&mut world.key);
    send(&mut world, 9);
    assert_eq!(world.wait(5).status, Status::LocalProtection);
    world.key = key;
    let pair = world.engine.look(5).expect("it was added");
    assert!(pair.state == State::SendQueueError && pair.state.receives());
    send(&mut world, 9);
    assert_eq!(world.wait(5).status, Status::Flushed);
}

#[test]
fn a_queue_pair_that_fails_is_in_error_whatever_its_first_request_is() {
    let mut world = world(1);
    let key = std::mem::take(&mut world.key);
    send(&mut world, 9);
    while !matches!(
        world.engine.look(5).and_then(|pair| pair.requester.pipe.front()).map(|entry| &entry.stage),
        Some(Stage::Failed(_))
    ) {
        world.step();
    }
    world.key = key;
    let (pair, node) = world.engine.pair(5).expect("it was added");
    life::fail(pair, node);
    assert_eq!(pair.state, State::Error);
}

#[test]
fn a_datagram_that_does_not_fit_is_lost_or_an_error() {
    let mut lost = world(1);
    send(&mut lost, 9);
    assert_eq!(received(&mut lost), None, "nothing was posted");
    expect_one(&mut lost, 6);
    send(&mut lost, 8);
    assert_eq!(received(&mut lost), None, "another key");
    let mut short = world(1);
    expect_one(&mut short, 5);
    send(&mut short, 9);
    let completion = received(&mut short).expect("an error");
    assert_eq!(completion.status, Status::LocalLength);
    assert_eq!(short.engine.look(6).map(|pair| pair.state), Some(State::Error));
}
