use super::*;

/// A world in which the memory is registered twice, and the second key.
fn twice(seed: u64) -> (World, u32) {
    let mut world = World::new(seed, None);
    let all = access::LOCAL_WRITE | access::REMOTE_ATOMIC;
    let region = Region { domain: 1, start: 0, host: 0, length: 128, access: all };
    let key = world.engine.node.keys.insert(region).expect("there is room");
    (world, key)
}

/// Adds 1 to a word by queue pair 1, and to another by queue pair 3.
fn add_both(world: &mut World, key: u32, words: [u64; 2]) {
    world.add(1, 0, words[0]);
    let remote = Remote { key, ..world.remote(words[1]) };
    world.post(3, Operation::FetchAndAdd { remote, add: 1 }, 1);
    for number in [1, 3] {
        assert_eq!(world.wait(number).status, Status::Success);
    }
}

#[test]
fn rmws_in_two_regions_are_in_progress_at_once_and_those_in_one_are_not() {
    let early = |seed: &u64, is_apart: bool| {
        let (mut world, other) = twice(*seed);
        let key = if is_apart { other } else { world.key };
        add_both(&mut world, key, [8, 9]);
        [8, 9].map(|word| world.words.get(word)) == [0, 0]
    };
    sometimes(SEEDS.filter(|seed| early(seed, true)).count());
    assert_eq!(SEEDS.filter(|seed| early(seed, false)).count(), 0);
}

#[test]
fn rmws_of_one_word_are_exclusive_in_all_regions() {
    for seed in SEEDS {
        let (mut world, key) = twice(seed);
        add_both(&mut world, key, [8, 8]);
        world.settle();
        assert_eq!(world.words.get(8), 2);
    }
}

#[test]
fn a_get_into_memory_that_is_deregistered_meanwhile_fails_or_is_there() {
    let fails = |world: &mut World, random: &mut Random| {
        let all = access::LOCAL_WRITE;
        let region = Region { domain: 1, start: 0, host: 0, length: 128, access: all };
        let key = world.engine.node.keys.insert(region).expect("there is room");
        world.words.set(8, 5);
        let operation = Operation::Read { remote: world.remote(8) };
        let first = std::mem::replace(&mut world.key, key);
        world.post(1, operation, 0);
        world.key = first;
        world.steps(random.below(12));
        assert!(world.engine.change_region(key, None));
        let status = world.wait(1).status;
        assert_eq!(status == Status::Success, world.words.get(0) == 5, "{status:?}");
        status == Status::LocalProtection
    };
    sometimes(count(None, fails));
}
