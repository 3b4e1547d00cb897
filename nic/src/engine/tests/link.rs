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
