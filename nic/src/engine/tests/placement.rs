//! Flushes and atomic writes.

use super::*;

fn post(world: &mut World, operation: Operation, payload: Payload) {
    let (id, fence, signaled, solicited) = (7, false, true, false);
    let request = SendRequest { id, operation, payload, fence, signaled, solicited };
    let (pair, _) = world.engine.pair(1).expect("there are four");
    assert!(pair.sends.post(vec![request]));
}

pub fn flush(world: &mut World, word: u64, length: Option<u64>, needs: u32) {
    let remote = world.remote(word);
    post(world, Operation::Flush { remote, length, needs }, Payload::Memory(Vec::new()));
}

fn write_word(world: &mut World, word: u64, value: u64) {
    let operation = Operation::AtomicWrite { remote: world.remote(word) };
    post(world, operation, Payload::Inline(value.to_le_bytes().to_vec()));
}

#[test]
fn what_was_put_before_a_flush_is_visible_when_it_completes() {
    let hidden = |world: &mut World, _: &mut Random| {
        world.words.set(0, 1);
        world.put(1, 8, 0);
        flush(world, 0, None, access::FLUSH_GLOBAL);
        assert_eq!((world.wait(1).opcode, world.wait(1).opcode), (1, 8));
        world.words.get(8) == 0
    };
    assert_eq!(count(None, hidden), 0);
    sometimes(count(Some(Fault::GetsDoNotFlush), hidden));
}

/// Whether the write behind a flush that fails is visible.
fn behind_a_failure(world: &mut World, writes: impl FnOnce(&mut World)) -> bool {
    flush(world, 0, None, access::FLUSH_PERSISTENT);
    writes(world);
    let first = world.wait(1);
    assert_eq!((first.status, first.opcode), (Status::RemoteAccess, 8));
    world.settle();
    world.words.get(9) == 5
}

#[test]
fn an_atomic_write_waits_for_a_flush_and_a_put_does_not() {
    let atomic = |world: &mut World, _: &mut Random| {
        behind_a_failure(world, |world| write_word(world, 9, 5))
    };
    assert_eq!(count(None, atomic), 0);
    let put = |world: &mut World, _: &mut Random| {
        world.words.set(0, 5);
        behind_a_failure(world, |world| world.put(1, 9, 0))
    };
    sometimes(count(None, put));
}

#[test]
fn an_atomic_write_writes_a_word_and_no_other_place() {
    for seed in SEEDS {
        let mut world = World::new(seed, None);
        write_word(&mut world, 9, 5);
        let completion = world.wait(1);
        assert_eq!((completion.status, completion.opcode), (Status::Success, 9));
        world.settle();
        assert_eq!([8, 9, 10].map(|word| world.words.get(word)), [0, 5, 0]);
    }
    let mut world = World::new(1, None);
    let remote = Remote { address: 68, ..world.remote(0) };
    post(&mut world, Operation::AtomicWrite { remote }, Payload::Inline(vec![0; 8]));
    assert_eq!(world.wait(1).status, Status::RemoteInvalidRequest);
}

#[test]
fn a_flush_names_memory_of_the_peer() {
    let status = |word, length| {
        let mut world = World::new(1, None);
        flush(&mut world, word, length, access::FLUSH_GLOBAL);
        world.wait(1).status
    };
    // The region has 16 words. A flush of all of it does not look at the address.
    for (word, length, expected) in [
        (0, Some(128), Status::Success),
        (16, Some(0), Status::Success),
        (400, None, Status::Success),
        (0, Some(129), Status::RemoteAccess),
        (17, Some(0), Status::RemoteAccess),
        (0, Some(u64::MAX), Status::RemoteAccess),
    ] {
        assert_eq!(status(word, length), expected, "{word}, {length:?}");
    }
}
