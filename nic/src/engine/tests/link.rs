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
