//! The sets and relations that models take from the skeleton.

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
    Relation::from_fn(events.len(), |a, b| {
        let (left, right) = (&events[a], &events[b]);
        let same_thread = left.thread.is_some() && left.thread == right.thread;
        match base {
            Base::SameObject => {
                left.origin.object.is_some()
                    && (left.origin.object, left.origin.libraries)
                        == (right.origin.object, right.origin.libraries)
            }
            Base::Identity => a == b,
            Base::ProgramOrder => {
                // The words of one operation are in no order.
                let apart = left.operation == right.operation && left.word != right.word;
                same_thread && a < b && !apart
            }
            Base::SameLocation => left.location.is_some() && left.location == right.location,
            Base::SameThread => same_thread,
            Base::OtherThread => !same_thread,
            Base::Rmw => {
                left.operation == right.operation
                    && left.stamp == Stamp::NicAtomicRead
                    && right.stamp == Stamp::NicRemoteWrite
            }
            Base::SameOperation => left.operation == right.operation,
            Base::SameReceive => left.receive.is_some() && left.receive == right.receive,
            Base::SameNode => left.node.is_some() && left.node == right.node,
            Base::SameQueuePair => left.on().is_some() && left.on() == right.on(),
            Base::SameId => {
                same_thread
                    && left.id.is_some()
                    && left.id == right.id
                    && left.stamp != Stamp::Wait
                    && right.stamp == Stamp::Wait
            }
            _ => false,
        }
    })
}
