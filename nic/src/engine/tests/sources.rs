//! Rule 2: when the source of a put is read.

use super::*;

#[test]
fn a_source_is_read_late_but_not_after_the_completion() {
    let late = |world: &mut World, random: &mut Random| {
        world.put(1, 8, 0);
        world.steps(random.below(20));
        world.words.set(0, 1);
        world.settle();
        world.words.get(8) == 1
    };
    sometimes(count(None, late));
    let waited = |world: &mut World, _: &mut Random| {
        world.put(1, 8, 0);
        assert_eq!(world.wait(1).status, Status::Success);
        world.words.set(0, 1);
        world.settle();
        world.words.get(8) == 1
    };
    assert_eq!(count(None, waited), 0);
    sometimes(count(Some(Fault::CompletionAtIssue), waited));
    sometimes(count(Some(Fault::SourceReadAgain), late));
}

#[test]
fn a_source_is_read_after_earlier_writes_of_the_cpu() {
    let stale = |world: &mut World, _: &mut Random| {
        world.engine.node.now = 10_000;
        world.step();
        world.words.set(0, 1);
        world.put(1, 8, 0);
        world.settle();
        world.words.get(8) == 0
    };
    assert_eq!(count(None, stale), 0);
    sometimes(count(Some(Fault::PutReadsEarly), stale));
}
