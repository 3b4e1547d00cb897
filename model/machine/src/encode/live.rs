//! What of a state still matters.

use super::super::footprint::{Access, bit};
use super::super::state::LocalEntry;
use super::super::stubborn::{View, item_access};

/// What of a state still matters. All other values are encoded as 0. The transitions of two states that
/// differ only in those lead to states that again differ only in them. So their outcomes are the same, except
/// for the values that [`super::super::past::Past`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// What instructions and entries may still touch.
    pub touched: Access,
    /// The locations that may be read, and those that outcomes show and that are not kept elsewhere.
    pub locations: u64,
    /// The registers that may be used, and observed ones in the same way.
    pub registers: u64,
    /// The queue pairs that a thread may poll or wait for.
    pub polled: u64,
}

impl Live {
    /// Everything matters.
    pub const ALL: Self = Self {
        touched: Access { reads: u64::MAX, writes: u64::MAX, others: u64::MAX },
        locations: u64::MAX,
        registers: u64::MAX,
        polled: u64::MAX,
    };

    /// What matters in a state. With `keeps_past`, observables that are decided are kept elsewhere.
    pub fn of(view: View<'_>, keeps_past: bool) -> Self {
        let View { footprints, state, .. } = view;
        let touched = touched(view);
        let open = if keeps_past { touched.writes } else { u64::MAX };
        let threads = state.threads.iter().enumerate();
        let polled = threads.map(|(index, thread)| footprints.future(index, thread.pc).polls);
        Self {
            touched,
            locations: touched.reads | footprints.observed & open,
            registers: footprints.live(state, keeps_past),
            polled: polled.fold(0, |all, pairs| all | pairs),
        }
    }
}

/// What instructions and entries of queues may still touch.
pub fn touched(View { machine, footprints, state }: View<'_>) -> Access {
    let mut all = Access::default();
    for (index, thread) in state.threads.iter().enumerate() {
        all = all.union(footprints.future(index, thread.pc).access);
        for entry in &thread.buffer {
            all = all.union(item_access(machine, entry.pair, &entry.item).1);
        }
    }
    for (index, pair) in state.pairs.iter().enumerate() {
        for entry in &pair.pipe {
            all = all.union(item_access(machine, index, &entry.item).1);
        }
        let remote = pair.remote.iter().filter_map(|write| write.target);
        let local = pair.local.iter().filter_map(|entry| match entry {
            LocalEntry::Write { target, .. } => Some(*target),
            LocalEntry::Notice => None,
        });
        remote.chain(local).for_each(|target| all.writes |= bit(target.0));
    }
    all
}
