//! Peers that are not there, or expect something else.

use super::*;

/// How a put of the first queue pair ends, if nobody waits for an answer any longer.
fn long_after_a_put(world: &mut World, word: u64) -> Status {
    let (pair, _) = world.engine.pair(1).expect("there are four");
    pair.path.timeout = 1;
    world.put(1, word, 0);
    world.steps(100);
    world.engine.node.now += 1_000_000_000;
    world.wait(1).status
}

#[test]
fn a_peer_that_is_gone_is_given_up_and_an_earlier_life_is_not_heard() {
    let mut world = World::new(1, None);
    world.put(1, 8, 0);
    world.wait(1);
    let (pair, node) = world.engine.pair(2).expect("there are four");
    life::reset(pair, node);
    assert_eq!(long_after_a_put(&mut world, 9), Status::RetryExceeded);
    assert_eq!(world.words.get(9), 0);
}

#[test]
fn a_peer_that_expects_another_sequence_number_hears_nothing() {
    for (sends, expects) in [(5, 5), (5, 6)] {
        let mut world = World::new(1, None);
        let (pair, _) = world.engine.pair(2).expect("there are four");
        pair.path.expects_from = expects;
        let (pair, _) = world.engine.pair(1).expect("there are four");
        pair.path.sends_from = sends;
        let expected = if sends == expects { Status::Success } else { Status::RetryExceeded };
        assert_eq!(long_after_a_put(&mut world, 8), expected);
    }
}

#[test]
fn no_more_reads_are_served_at_once_than_a_queue_pair_said() {
    let refused = |most: u8| {
        count(None, |world: &mut World, _: &mut Random| {
            let (pair, _) = world.engine.pair(2).expect("there are four");
            pair.path.most_served = most;
            (0..3).for_each(|word| world.get(1, word, 8));
            let ended = [(); 3].map(|()| world.wait(1).status);
            let good = ended.iter().take_while(|status| **status == Status::Success).count();
            let bad = ended.get(good).is_none_or(|status| *status == Status::RemoteInvalidRequest);
            assert!(good >= usize::from(most) && bad, "{ended:?}");
            good < 3
        })
    };
    assert_eq!((refused(0), refused(3)), (SEEDS.end as usize, 0));
    sometimes(refused(1));
}

/// A SEND without a receive request, a put behind it, and a receive request that comes after `meanwhile`.
fn late_receive(world: &mut World, meanwhile: impl FnOnce(&mut World)) -> [bool; 2] {
    world.words.set(0, 7);
    world.post(1, Operation::Send { immediate: None }, 0);
    world.put(1, 9, 0);
    world.steps(200);
    meanwhile(world);
    world.steps(200);
    let sges = vec![Sge { address: 64, length: 8, key: world.key }];
    let (pair, _) = world.engine.pair(2).expect("there are four");
    assert!(pair.receives.post(ReceiveRequest { id: 9, sges }));
    world.steps(400);
    [8, 9].map(|word| world.words.get(word) == 7)
}

#[test]
fn a_message_that_waits_is_lost_with_its_sender_and_so_is_what_is_behind_it() {
    let (mut arrived, mut lost) = (0, 0);
    for seed in SEEDS.take(30) {
        arrived += u32::from(late_receive(&mut World::new(seed, None), |_| ()) == [true; 2]);
        let ends: [fn(&mut World); 3] = [
            |world| {
                let (pair, node) = world.engine.pair(1).expect("there are four");
                life::reset(pair, node);
            },
            |world| {
                let (pair, node) = world.engine.pair(1).expect("there are four");
                life::fail(pair, node);
            },
            |world| world.engine.lose(|peer| peer.queue_pair == 1),
        ];
        for end in ends {
            lost += u32::from(late_receive(&mut World::new(seed, None), end) == [false; 2]);
        }
    }
    assert_eq!((arrived, lost), (30, 90));
}

#[test]
fn a_link_that_broke_before_the_first_request_is_used_again() {
    let mut world = World::new(1, None);
    let (pair, _) = world.engine.pair(2).expect("there are four");
    pair.responder.session = Some(0);
    pair.responder.end();
    world.put(1, 8, 0);
    assert_eq!(world.wait(1).status, Status::Success);
}

#[test]
fn nothing_behind_a_message_that_is_given_up_is_performed() {
    for seed in SEEDS {
        let mut world = World::new(seed, None);
        let (pair, _) = world.engine.pair(1).expect("there are four");
        pair.path.rnr_retries = 0;
        world.get(1, 2, 8);
        world.post(1, Operation::Send { immediate: None }, 0);
        world.words.set(0, 7);
        world.put(1, 9, 0);
        world.add(1, 3, 10);
        let found = [0; 4].map(|_| world.wait(1).status);
        let given_up = Status::ReceiverNotReadyExceeded;
        assert_eq!(found, [Status::Success, given_up, Status::Flushed, Status::Flushed]);
        world.settle();
        assert_eq!([9, 10].map(|word| world.words.get(word)), [0, 0], "with seed {seed}");
    }
}

#[test]
fn a_read_that_fails_waits_for_those_before_it() {
    for seed in SEEDS {
        let mut world = World::new(seed, None);
        world.get(1, 0, 8);
        let remote = Remote { key: world.key ^ 1, ..world.remote(8) };
        world.post(1, Operation::Read { remote }, 1);
        world.put(1, 9, 2);
        world.words.set(2, 5);
        let ended = [(); 3].map(|()| world.wait(1).status);
        assert_eq!(ended, [Status::Success, Status::RemoteAccess, Status::Flushed]);
        world.settle();
        assert_eq!(world.words.get(9), 0, "what is behind it is not performed");
    }
}
