//! Memory that is registered with relaxed ordering.

use super::*;

/// A world all of whose memory is registered so, too, and the key of that.
fn relaxed(seed: u64) -> World {
    let mut world = World::new(seed, None);
    let mut region = *world.engine.node.keys.get(world.key).expect("it is registered");
    region.access |= access::RELAXED_ORDERING;
    world.key = world.engine.node.keys.insert(region).expect("there is room");
    world
}

fn with_seeds(world: impl Fn(u64) -> World, holds: impl Fn(&mut World) -> bool) -> usize {
    SEEDS.filter(|seed| holds(&mut world(*seed))).count()
}

/// It happens with relaxed ordering, and never without.
fn only_if_relaxed(holds: impl Fn(&mut World) -> bool) {
    sometimes(with_seeds(relaxed, &holds));
    assert_eq!(with_seeds(|seed| World::new(seed, None), &holds), 0);
}

/// Whether a later request's effect is ever seen without that of an earlier one.
fn passes(world: &mut World, first: u64, second: u64) -> bool {
    for _ in 0..500 {
        world.step();
        if world.words.get(second) == 1 && world.words.get(first) == 0 {
            return true;
        }
    }
    false
}

#[test]
fn a_put_is_seen_before_an_earlier_one_to_another_word() {
    let later_is_first = |world: &mut World| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.put(1, 9, 0);
        passes(world, 8, 9)
    };
    only_if_relaxed(later_is_first);
    let last_is_lost = |world: &mut World| {
        world.words.set(0, 1);
        world.words.set(1, 2);
        world.put(1, 8, 0);
        world.put(1, 8, 1);
        world.settle();
        world.words.get(8) != 2
    };
    assert_eq!(with_seeds(relaxed, last_is_lost), 0, "writes of one word keep their order");
}

#[test]
fn the_results_of_gets_land_in_any_order_and_before_their_completions() {
    let later_is_first = |world: &mut World| {
        world.words.set(8, 1);
        world.words.set(9, 1);
        world.get(1, 0, 8);
        world.get(1, 1, 9);
        passes(world, 0, 1)
    };
    only_if_relaxed(later_is_first);
    let early = |world: &mut World| {
        world.words.set(8, 1);
        world.get(1, 0, 8);
        world.wait(1);
        world.words.get(0) == 0
    };
    assert_eq!(with_seeds(relaxed, early), 0);
}

#[test]
fn a_get_waits_for_earlier_puts_to_what_it_reads_and_a_flush_for_all() {
    let hidden = |world: &mut World, read: u64| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.get(1, 1, read);
        world.wait(1);
        world.wait(1);
        world.words.get(8) == 0
    };
    sometimes(with_seeds(relaxed, |world| hidden(world, 9)));
    assert_eq!(with_seeds(relaxed, |world| hidden(world, 8)), 0);
    let flushed = |world: &mut World| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        placement::flush(world, 9, None, access::FLUSH_GLOBAL);
        world.wait(1);
        world.wait(1);
        world.words.get(8) == 0
    };
    assert_eq!(with_seeds(relaxed, flushed), 0);
}

#[test]
fn an_atomic_passes_the_data_before_it() {
    let flag_is_first = |world: &mut World| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.add(1, 1, 9);
        passes(world, 8, 9)
    };
    only_if_relaxed(flag_is_first);
}
