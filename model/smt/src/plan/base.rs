//! The sets and relations that models take from the skeleton.

use std::hash::Hash;

use lang::cat::model::{Base, Type};
use skeleton::{Event, Skeleton, Stamp};

use crate::relation::Relation;

/// The stamp of a base set that consists of the events of one stamp; `None` for other bases.
pub fn stamp(base: Base) -> Option<Stamp> {
    Some(match base {
        Base::InitialWrites => Stamp::Init,
        Base::CpuRead => Stamp::CpuRead,
        Base::CpuWrite => Stamp::CpuWrite,
        Base::CpuRmw => Stamp::CpuRmw,
        Base::Fence => Stamp::Fence,
        Base::Wait => Stamp::Wait,
        Base::NicLocalRead => Stamp::NicLocalRead,
        Base::NicRemoteWrite => Stamp::NicRemoteWrite,
        Base::NicRemoteCompletion => Stamp::NicRemoteCompletion,
        Base::NicAtomicWrite => Stamp::NicAtomicWrite,
        Base::NicFlush => Stamp::NicFlush,
        Base::NicPersist => Stamp::NicPersist,
        Base::Recovery => Stamp::Recovery,
        Base::ReceivePosted => Stamp::ReceivePosted,
        Base::Posted => Stamp::Posted,
        Base::NicAtomicRead => Stamp::NicAtomicRead,
        Base::NicRemoteRead => Stamp::NicRemoteRead,
        Base::NicLocalWrite => Stamp::NicLocalWrite,
        Base::RemoteFence => Stamp::RemoteFence,
        Base::GlobalFence => Stamp::GlobalFence,
        Base::NicFetchOp => Stamp::NicFetchOp,
        Base::NicCompareSwap => Stamp::NicCompareSwap,
        Base::Flush => Stamp::Flush,
        _ => return None,
    })
}

/// A base set or relation when all events happen. rf and pf are not constant and have no value here.
pub fn relation(skeleton: &Skeleton, base: Base) -> Relation {
    let events = &skeleton.events;
    let size = events.len();
    match base.ty() {
        Type::Set => Relation::set(size, |event| is_member(&events[event], base)),
        Type::Relation => pairs(events, base),
    }
}

fn is_member(event: &Event, base: Base) -> bool {
    match base {
        Base::Reads => event.reads(),
        Base::Writes => event.writes(),
        Base::Memory => event.reads() || event.writes(),
        Base::Atomic => event.atomic && (event.reads() || event.writes()),
        Base::Loopback => event.loopback,
        Base::Library(number) => event.origin.libraries >> number & 1 == 1,
        Base::Method(library, number) => event.origin.method == Some((library, number)),
        base => stamp(base) == Some(event.stamp),
    }
}

fn pairs(events: &[Event], base: Base) -> Relation {
    match base {
        Base::SameObject => {
            same(events, |event| event.origin.object.map(|object| (object, event.origin.libraries)))
        }
        Base::Identity => Relation::identity(events.len()),
        Base::ProgramOrder => {
            // The words of one operation are in no order.
            let mut of_words = same(events, |event| Some(event.operation));
            of_words.subtract(&same(events, |event| Some((event.operation, event.word))));
            let mut order = same(events, |event| event.thread);
            order.keep_ascending();
            order.subtract(&of_words);
            order
        }
        Base::SameLocation => same(events, |event| event.location),
        Base::SameThread => same(events, |event| event.thread),
        Base::OtherThread => {
            let mut others = Relation::full(events.len());
            others.subtract(&same(events, |event| event.thread));
            others
        }
        Base::Rmw => {
            let mut pairs = same(events, |event| Some(event.operation));
            let has = |event: usize, stamp: Stamp| events[event].stamp == stamp;
            let is_read = |event| has(event, Stamp::NicAtomicRead);
            pairs.keep_from_to(is_read, |event| has(event, Stamp::NicRemoteWrite));
            pairs
        }
        Base::SameOperation => same(events, |event| Some(event.operation)),
        Base::SameReceive => same(events, |event| event.receive),
        Base::SameNode => same(events, |event| event.node),
        Base::SameQueuePair => same(events, Event::on),
        Base::SameId => {
            let mut pairs = same(events, |event| event.thread.zip(event.id));
            let is_wait = |event: usize| events[event].stamp == Stamp::Wait;
            pairs.keep_from_to(|event| !is_wait(event), is_wait);
            pairs
        }
        _ => Relation::empty(events.len()),
    }
}

/// The pairs of events that have the same, and of those that have any.
fn same<K: Eq + Hash>(events: &[Event], what: impl Fn(&Event) -> Option<K>) -> Relation {
    Relation::of_classes(events.len(), |event| what(&events[event]))
}

/// All pairs of a write and another read of its location.
pub fn reads_from(skeleton: &Skeleton) -> Relation {
    let events = &skeleton.events;
    // Calls of libraries read and write too, so kinds of events do not say it.
    let mut pairs = same(events, |event| event.location);
    pairs.keep_from_to(|event| events[event].writes(), |event| events[event].reads());
    pairs.subtract(&Relation::identity(events.len()));
    pairs
}
