//! Sleep sets: steps that need not be taken, because all that follows them is found elsewhere.
//!
//! Two steps of a stubborn set that do not depend on each other lead to the same state in both orders. After
//! the first of them was taken with all that may follow, the second one is taken with the first one *asleep*:
//! it is not taken until something has happened that depends on it (P. Godefroid, Partial-Order Methods for
//! the Verification of Concurrent Systems, 1996, chapter 5). A state is stored with the parts that are asleep
//! in it. If it is reached again, and some are not asleep there, these are taken then, whether they are in
//! its stubborn set or not.
//!
//! Of each class of executions that differ in the order of such steps, one is still found: each end is, and
//! each way to be stuck. A cycle does not matter, since each execution that comes to an end is finite.
//!
//! Steps depend on each other if they conflict, or are of one *line*: a queue pair, or a thread's CPU and its
//! store buffer; receives that a thread posts are of the lines of their queue pairs. What other lines do may
//! only append to the queues of a line. So a part that sleeps has the same step all the time, but for how
//! many writes that step may take (`merging`): if it comes earlier, fewer have a next one, and that allows
//! more. Polls and steps that only fill queues never sleep, and depend on all of the *group*: a thread with
//! its queue pairs, and the threads that share these or post receives for them.

use super::super::rules::{Agent, Machine, Transition};
use super::super::state::{Kind, State};
use super::{Part, Reduction, Status, Step};

/// A set of parts by their places.
pub type Places = u128;

/// All parts, also those without a place.
pub const EVERY: Places = Places::MAX;

/// A step to take, and the parts that are asleep then.
#[derive(Clone, Copy)]
pub struct Choice {
    pub step: Step,
    pub asleep: Places,
}

/// Which steps of a state are to be taken: those of parts that do not sleep, and of these only some if others
/// have been taken before.
#[derive(Clone, Copy)]
pub struct Round {
    pub asleep: Places,
    pub todo: Places,
}

impl Round {
    /// All steps.
    pub const ALL: Self = Self { asleep: 0, todo: EVERY };
}

/// Numbers the parts of a machine, so that a part keeps its number while other lines move.
#[derive(Debug)]
pub struct Layout {
    threads: usize,
    /// How many places a queue pair has: for wbR, wbL and the first entries of its pipe. Others never sleep.
    width: usize,
    /// By thread, and then by queue pair, the places of its line and of its group.
    lines: Vec<Places>,
    groups: Vec<Places>,
}

impl Layout {
    /// `None` if there are too many queue pairs for a set.
    pub fn of(machine: &Machine) -> Option<Self> {
        let (threads, pairs) = (machine.code.threads.len(), machine.code.queue_pairs.len());
        let room = (Places::BITS as usize).checked_sub(2 * threads)?;
        let width = room.checked_div(pairs).unwrap_or(0);
        if pairs > 0 && width < 2 {
            return None;
        }
        let mut layout = Self { threads, width, lines: Vec::new(), groups: Vec::new() };
        let mut group: Vec<usize> = (0..threads).collect();
        let first = |pair: usize| machine.code.queue_pairs[pair].thread.0;
        for pair in 0..pairs {
            for user in machine.users[pair].iter().chain(&machine.receiver[pair]) {
                let (from, to) = (group[*user], group[first(pair)]);
                group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            }
        }
        let of_thread = |thread: usize| 1 << thread | 1 << (threads + thread);
        // `width` is less than the bits of a set, since each queue pair has a thread with places of its own.
        let of_pair = |pair: usize| ((1 << width) - 1) << (2 * threads + pair * width);
        let receives =
            |thread: usize| (0..pairs).filter(move |pair| machine.receiver[*pair] == Some(thread));
        let thread_lines = (0..threads).map(|thread| {
            receives(thread).fold(of_thread(thread), |all, pair| all | of_pair(pair))
        });
        let pair_lines =
            (0..pairs).map(|pair| of_pair(pair) | machine.receiver[pair].map_or(0, of_thread));
        layout.lines = thread_lines.chain(pair_lines).collect();
        let group_of = |member: usize| {
            let threads = (0..threads).filter(|thread| group[*thread] == group[member]);
            let pairs = (0..pairs).filter(|pair| group[first(*pair)] == group[member]);
            threads.map(of_thread).chain(pairs.map(of_pair)).fold(0, |all, one| all | one)
        };
        layout.groups = (0..threads).chain((0..pairs).map(first)).map(group_of).collect();
        Some(layout)
    }

    /// The place of a part; none for an entry far behind in a pipe. `ahead` is how many entries are ahead
    /// that are not acks: states that differ in acks alone may be stored as one.
    fn place(&self, agent: Agent, ahead: usize) -> Places {
        let of_pair = |pair: usize, offset: usize| match offset < self.width {
            true => 1 << (2 * self.threads + pair * self.width + offset),
            false => 0,
        };
        match agent {
            Agent::Cpu(thread) => 1 << thread,
            Agent::StoreBuffer(thread) => 1 << (self.threads + thread),
            Agent::RemoteBuffer(pair) => of_pair(pair, 0),
            Agent::LocalBuffer(pair) => of_pair(pair, 1),
            Agent::Pipe(pair) => of_pair(pair, 2 + ahead),
        }
    }

    /// The places of all that depend on a part's step whatever it touches.
    fn bound_to(&self, part: &Part) -> Places {
        let all = if part.touches_memory() { &self.lines } else { &self.groups };
        match part.transition.agent {
            Agent::Cpu(thread) | Agent::StoreBuffer(thread) => all[thread],
            Agent::RemoteBuffer(pair) | Agent::LocalBuffer(pair) | Agent::Pipe(pair) => {
                all[self.threads + pair]
            }
        }
    }
}

impl Part {
    fn touches_memory(&self) -> bool {
        self.now.reads | self.now.writes != 0
    }
}

impl Reduction {
    /// Finds the places of all parts.
    pub(super) fn find_places(&mut self, state: &State) {
        self.places.clear();
        let Some(layout) = &self.layout else {
            self.places.resize(self.parts.len(), 0);
            return;
        };
        let mut ahead = 0;
        for part in &self.parts {
            let Transition { agent, slot } = part.transition;
            if let (Agent::Pipe(pair), 1..) = (agent, slot) {
                let before = state.pairs[pair].pipe[slot - 1].item.kind();
                ahead += usize::from(before != Kind::Ack);
            } else {
                ahead = 0;
            }
            let may_sleep = part.touches_memory() && !part.adds;
            self.places.push(if may_sleep { layout.place(agent, ahead) } else { 0 });
        }
    }

    /// The enabled parts at places, as a mask.
    pub(super) fn parts_at(&self, places: Places) -> u64 {
        let all = self.parts.iter().zip(&self.places).enumerate();
        let is_there = |(_, (part, place)): &(usize, (&Part, &Places))| {
            part.status == Status::Enabled && **place & places != 0
        };
        all.filter(is_there).fold(0, |mask, (index, _)| mask | 1 << index)
    }

    /// Which of the parts that sleep go on to sleep when a part takes its step.
    pub(super) fn still_asleep(&self, asleep: Places, index: usize, relevant: u64) -> Places {
        let (Some(layout), false) = (&self.layout, self.is_lifted) else { return 0 };
        let part = &self.parts[index];
        let left = asleep & !layout.bound_to(part);
        if left == 0 {
            return 0;
        }
        let others = self.parts.iter().zip(&self.places);
        let depends = |(other, place): &(&Part, &Places)| {
            left & *place != 0 && other.now.conflicts(part.now, relevant)
        };
        others.filter(depends).fold(left, |left, (_, place)| left & !place)
    }
}
