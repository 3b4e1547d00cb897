//! Prefixes of executions: every thread may stop before any of its events, and the NIC may have done only a
//! part of its operations.
//!
//! A loop that is left by the bound ends an execution of the skeleton. Whole executions cannot show whether
//! the bound is reached, because another thread may wait for something that the loop's thread does later.
//! Prefixes can: if a loop of an execution exceeds the bound, there is a first moment at which this happens,
//! and everything that has happened by then is a prefix of the skeleton.

use std::collections::BTreeMap;

use lang::limits;
use lang::program::ThreadId;

use super::{Condition, EventId, Guard, Point, Requirement, Skeleton, Stamp, Value, ValueId};

impl Stamp {
    /// Whether the thread itself performs events of this kind, one after the other in program order. The NIC
    /// performs the others.
    pub fn is_in_turn(self) -> bool {
        matches!(
            self,
            Self::CpuRead
                | Self::CpuWrite
                | Self::CpuRmw
                | Self::Fence
                | Self::Wait
                | Self::GlobalFence
                | Self::Flush
        )
    }
}

impl Skeleton {
    /// The skeleton of all prefixes of executions. It has at least the prefixes that the program has, and
    /// maybe others. For each pair of `causes`, a prefix with the second event also has the first, if the
    /// first happens at all.
    ///
    /// [`Skeleton::exceeded`] holds for prefixes that reach a loop's bound. Events keep their numbers. The
    /// final values of registers have no meaning.
    pub fn prefixes(&self, causes: impl Iterator<Item = (EventId, EventId)>) -> Skeleton {
        let mut maker = Maker {
            original: self,
            prefix: self.clone(),
            reached: BTreeMap::new(),
            reads: vec![None; self.values.len()],
        };
        for id in self.event_ids() {
            maker.event(id);
        }
        maker.dependencies();
        for (cause, event) in causes {
            maker.requires(event, &[cause]);
        }
        maker.points();
        maker.prefix
    }
}

struct Maker<'a> {
    original: &'a Skeleton,
    prefix: Skeleton,
    /// For each thread: the events that it performs in order, each with the condition that the thread gets
    /// that far.
    reached: BTreeMap<ThreadId, Vec<(EventId, Guard)>>,
    /// For each value that was examined: the reads that it is computed from.
    reads: Vec<Option<Vec<EventId>>>,
}

impl Maker<'_> {
    fn condition(&mut self, condition: Condition) -> Guard {
        limits::look();
        self.prefix.conditions.push(condition);
        Guard { condition: self.prefix.conditions.len() - 1, negated: false }
    }

    fn and(&mut self, left: Guard, right: Guard) -> Guard {
        match (left, right) {
            (Guard::TRUE, other) | (other, Guard::TRUE) => other,
            _ if left == Guard::FALSE || right == Guard::FALSE => Guard::FALSE,
            _ => self.condition(Condition::And(left, right)),
        }
    }

    /// Makes an event optional: it may not have happened yet.
    fn event(&mut self, id: EventId) {
        let event = self.original.event(id);
        let Some(thread) = event.thread else { return };
        let (guard, is_in_turn) = (event.guard, event.stamp.is_in_turn());
        let before = self.last(thread);
        let number = self.prefix.choices.len();
        self.prefix.choices.push(id);
        let choice = self.condition(Condition::Choice(number));
        let reached = self.and(before, choice);
        self.prefix.events[id.0].guard = self.and(guard, reached);
        if is_in_turn {
            self.reached.entry(thread).or_default().push((id, reached));
        }
    }

    /// The condition that a thread has performed all its events so far.
    fn last(&self, thread: ThreadId) -> Guard {
        let turns = self.reached.get(&thread);
        turns.and_then(|turns| turns.last()).map_or(Guard::TRUE, |(_, reached)| *reached)
    }

    /// A value that is computed from a read exists only after the read.
    fn dependencies(&mut self) {
        for id in self.original.event_ids() {
            let event = self.original.event(id);
            let (guard, written) = (event.guard, event.written);
            let read = event.read.filter(|read| self.original.values[read.0] != Value::Read(id));
            let mut sources = self.behind_guard(guard);
            for value in written.into_iter().chain(read) {
                sources.extend(self.behind(value));
            }
            sources.retain(|source| *source < id);
            self.requires(id, &sources);
        }
        for index in 0..self.prefix.operations.len() {
            // An operation that is not complete answers no poll.
            let ends: Vec<EventId> = self.prefix.operations[index].completions().collect();
            let guards: Vec<Guard> = ends.iter().map(|end| self.prefix.event(*end).guard).collect();
            let complete = guards.into_iter().fold(Guard::TRUE, |all, end| self.and(all, end));
            self.prefix.operations[index].guard = complete;
        }
    }

    /// Requires: if an event has happened, these earlier events of its thread have too.
    fn requires(&mut self, event: EventId, earlier: &[EventId]) {
        let when = self.prefix.event(event).guard;
        let then = self.done(earlier);
        if then != Guard::TRUE {
            let point = Point { thread: None, events: 0 };
            self.prefix.requirements.push(Requirement { when, then, point });
        }
    }

    /// The condition that these events of a thread have happened, unless they never do. Events that the
    /// thread performs in order need no condition of their own.
    fn done(&mut self, events: &[EventId]) -> Guard {
        let mut all = Guard::TRUE;
        for id in events {
            limits::look();
            let event = self.original.event(*id);
            if event.thread.is_none() || event.stamp.is_in_turn() {
                continue;
            }
            let missing = self.and(event.guard, !self.prefix.event(*id).guard);
            all = self.and(all, !missing);
        }
        all
    }

    /// Requirements at a point of a thread apply only if the thread gets that far.
    fn points(&mut self) {
        let old = self.original.requirements.len();
        for index in 0..old {
            let Requirement { when, then, point } = self.original.requirements[index];
            let passed = self.passed(point, when);
            let sources = self.behind_guard(then);
            let known = self.done(&sources);
            self.prefix.requirements[index].when = self.and(passed, known);
        }
        for index in 0..self.prefix.exceeded.len() {
            let cut = self.original.exceeded[index];
            self.prefix.exceeded[index].guard = self.passed(cut.point, cut.guard);
        }
        for index in 0..self.prefix.misuses.len() {
            let (point, guard) =
                (self.original.misuses[index].point, self.original.misuses[index].guard);
            self.prefix.misuses[index].guard = self.passed(point, guard);
        }
    }

    /// The condition that a point has been passed and another condition holds there.
    fn passed(&mut self, point: Point, guard: Guard) -> Guard {
        let threads: Vec<ThreadId> = match point.thread {
            Some(thread) => vec![thread],
            None => self.reached.keys().copied().collect(),
        };
        let mut passed = guard;
        for thread in threads {
            let turns = self.reached.get(&thread).map_or(&[][..], Vec::as_slice);
            let count = turns.partition_point(|(event, _)| event.0 < point.events);
            if let Some((_, reached)) = count.checked_sub(1).map(|last| turns[last]) {
                passed = self.and(passed, reached);
            }
        }
        let sources = self.behind_guard(guard);
        let known = self.done(&sources);
        self.and(passed, known)
    }

    /// The reads behind a condition.
    fn behind_guard(&mut self, guard: Guard) -> Vec<EventId> {
        limits::look();
        let values = self.original.values_behind(guard);
        let mut found: Vec<EventId> =
            values.into_iter().flat_map(|value| self.behind(value)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The reads that a value is computed from.
    fn behind(&mut self, value: ValueId) -> Vec<EventId> {
        if let Some(known) = &self.reads[value.0] {
            return known.clone();
        }
        let mut found = match self.original.values[value.0].clone() {
            Value::Constant(_) => Vec::new(),
            Value::Read(event) => vec![event],
            Value::Binary(_, left, right) => [self.behind(left), self.behind(right)].concat(),
            Value::Select(guard, then, otherwise) => {
                [self.behind_guard(guard), self.behind(then), self.behind(otherwise)].concat()
            }
        };
        found.sort_unstable();
        found.dedup();
        self.reads[value.0] = Some(found.clone());
        found
    }
}
