//! The parts of the machine, and their steps.

use super::super::footprint::{Access, indices};
use super::super::rules::{Agent, Transition};

/// A step that touches memory.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub transition: Transition,
    /// The buffer that the write passes on its way to memory in the same step.
    pub through: Option<Agent>,
    /// How many writes come to memory before in the same step (see `merging`).
    pub merged: usize,
    /// The unread locations that it reads.
    pub shows: u64,
    /// The location that it leaves unread.
    pub unread: u64,
}

/// A part of the machine that takes one step at a time, and what it may touch.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub transition: Transition,
    pub status: Status,
    /// What its next step touches.
    pub now: Access,
    /// What it may touch from now until the end.
    pub later: Access,
    /// As in [`Step`].
    pub through: Option<Agent>,
    /// Whether its next step touches no memory and may fill a queue, and so comes last.
    pub adds: bool,
    /// A mask of other parts whose order with this part's next step matters for reasons other than memory.
    pub overtaken: u64,
    /// The further slots at which it is enabled, as a mask.
    pub further: u64,
    /// How many writes it may take at once, and whether somebody may read what they write.
    pub run: usize,
    pub is_read: bool,
    /// The location that the last of them leaves unread.
    pub last_unread: u64,
    /// As in [`Step`].
    pub shows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Enabled,
    /// Another part must move first, by a step that it has now. Settling may take half of a step that is two
    /// rules, so what waits for such a part needs an argument.
    WaitsFor(usize),
    /// One of these parts must move first, a mask: each of them brings another step.
    WaitsForAny(u64),
    /// The part never moves again.
    Stuck,
}

impl Part {
    /// One that is enabled, with a step of one kind.
    pub fn new(transition: Transition, now: Access, later: Access) -> Self {
        Self {
            transition,
            status: Status::Enabled,
            now,
            later,
            through: None,
            adds: false,
            overtaken: 0,
            further: 0,
            run: 1,
            is_read: false,
            last_unread: 0,
            shows: 0,
        }
    }

    /// Makes rule 3, or 7, a step by itself. It touches no memory, and need not wait for the buffer to be
    /// empty.
    pub fn comes_apart(&mut self, buffer: usize, overtaken: u64) {
        self.now = Access::default();
        if self.status == Status::WaitsFor(buffer) {
            self.status = Status::Enabled;
        }
        self.overtaken = overtaken;
    }

    /// Its steps, one for each slot and number of writes at once.
    pub fn steps(&self) -> impl Iterator<Item = Step> + use<> {
        let Self { transition, through, further, run, is_read, last_unread, shows, now, .. } =
            *self;
        let step = move |slot| {
            let transition = Transition { slot, ..transition };
            let merged = if is_read { 0 } else { run - 1 };
            (merged..run).map(move |merged| {
                let unread = if merged + 1 < run { now.writes } else { last_unread };
                Step { transition, through, merged, shows, unread }
            })
        };
        std::iter::once(transition.slot).chain(indices(further)).flat_map(step)
    }
}
