//! Places in the send queue, and events of its states.

use super::*;

fn request(world: &World, signaled: bool) -> SendRequest {
    let operation = Operation::Write { remote: world.remote(8), immediate: None };
    let payload = Payload::Inline(vec![0; 8]);
    SendRequest { id: 0, operation, payload, fence: false, signaled, solicited: false }
}

fn post(world: &mut World, signaled: bool) -> bool {
    let request = request(world, signaled);
    let (pair, _) = world.engine.pair(1).expect("there are four");
    pair.sends.post(vec![request])
}

/// The queue has 16 places.
#[test]
fn a_request_has_its_place_until_its_completion_is_taken() {
    for seed in 0..20 {
        let mut world = World::new(seed, None);
        assert!((0..16).all(|_| post(&mut world, true)));
        world.settle();
        assert!(!post(&mut world, true), "all have completed, and nobody has polled");
        for _ in 0..3 {
            assert!(world.poll(1).is_some());
        }
        assert_eq!((0..16).filter(|_| post(&mut world, true)).count(), 3);
    }
}

#[test]
fn a_completion_frees_the_places_of_those_before_that_have_none() {
    let mut world = World::new(1, None);
    assert!((0..5).all(|_| post(&mut world, false)) && post(&mut world, true));
    world.settle();
    assert_eq!((0..16).filter(|_| post(&mut world, false)).count(), 10);
    assert!(world.poll(1).is_some());
    assert_eq!((0..16).filter(|_| post(&mut world, false)).count(), 6);
    // From now on, nothing frees a place: no request asks for a completion.
    world.settle();
    assert!(world.poll(1).is_none() && !post(&mut world, false));
}

/// A queue pair that is reset takes its completions out of the middle of a queue that others use.
#[test]
fn places_do_not_depend_on_completions_of_others() {
    let mut world = World::new(1, None);
    let queue = Arc::clone(&world.engine.look(1).expect("there are four").send_cq);
    assert!((0..16).all(|_| post(&mut world, true)));
    world.settle();
    let other = Completion { queue_pair: 9, ..completion(&world) };
    assert!((0..8).all(|_| queue.push(other).is_ok()));
    queue.forget(9);
    assert!(!post(&mut world, true), "its own are all there");
    assert!(world.poll(1).is_some() && post(&mut world, true) && !post(&mut world, true));
}

fn completion(world: &World) -> Completion {
    let pair = world.engine.look(1).expect("there are four");
    pair.completion(&request(world, true), Status::Success, 8)
}

/// The events of queue pair 1 since the last time.
fn events(world: &mut World) -> Vec<Event> {
    world.settle();
    let events = std::mem::take(&mut world.engine.node.events);
    events.into_iter().filter(|(pair, _)| *pair == 1).map(|(_, event)| event).collect()
}

#[test]
fn a_queue_pair_that_loses_a_completion_fails() {
    let mut world = World::new(1, None);
    let queue = Arc::clone(&world.engine.look(1).expect("there are four").send_cq);
    let other = Completion { queue_pair: 9, ..completion(&world) };
    assert!((0..64).all(|_| queue.push(other).is_ok()));
    post(&mut world, true);
    assert_eq!(events(&mut world), [Event::SendCompletionsOverran, Event::Fatal]);
    assert_eq!(world.engine.look(1).map(|pair| pair.state), Some(State::Error));
    // The queue is as broken as it was, with room or without.
    queue.forget(9);
    post(&mut world, true);
    assert_eq!(events(&mut world), []);
    assert_eq!(world.poll(1), None);
}

#[test]
fn that_a_queue_has_drained_is_told_to_who_asks() {
    for tells in [false, true] {
        let mut world = World::new(1, None);
        post(&mut world, true);
        world.settle();
        let (pair, _) = world.engine.pair(1).expect("there are four");
        (pair.state, pair.tells_drained) = (State::SendQueueDrained, tells);
        let expected = if tells { vec![Event::Drained] } else { vec![] };
        assert_eq!(events(&mut world), expected);
        assert_eq!(events(&mut world), []);
    }
}

#[test]
fn the_last_shared_receive_is_told_even_if_the_queue_has_drained_before() {
    let mut world = World::new(1, None);
    let (pair, node) = world.engine.pair(1).expect("there are four");
    pair.receives = Arc::new(Receives::new(4, 1, Some(1)));
    (pair.state, pair.tells_drained) = (State::SendQueueDrained, true);
    life::fail(pair, node);
    life::flush_posted(pair, node);
    assert_eq!(events(&mut world), [Event::LastReached]);
}
