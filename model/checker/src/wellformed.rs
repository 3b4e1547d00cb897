//! Checks that an execution is one of the program's, whatever the model.

use std::collections::{BTreeMap, BTreeSet};

use lang::outcome::{Observable, Observed, Value as Shown};
use lang::program::{BOTTOM, BinaryOp};
use skeleton::{Condition, Event, EventId, Guard, Skeleton, Stamp, Value, ValueId};

use skeleton::execution::{Execution, Happening};

/// Checks that values, control flow, rf, pf and the outcome of an execution follow from the program.
///
/// # Errors
/// Reports what is wrong, in words.
pub fn well_formed(
    skeleton: &Skeleton,
    observables: &[Observable],
    execution: &Execution,
) -> Result<(), String> {
    let view = View::new(skeleton, execution);
    view.events()?;
    view.reads()?;
    view.polls()?;
    view.outcome(observables)
}

struct View<'a> {
    skeleton: &'a Skeleton,
    execution: &'a Execution,
    happenings: BTreeMap<EventId, Happening>,
    /// For each free choice, by its number: the event that happens iff it succeeds.
    successes: BTreeMap<usize, EventId>,
    values: Vec<Option<Shown>>,
    conditions: Vec<Option<bool>>,
}

impl<'a> View<'a> {
    fn new(skeleton: &'a Skeleton, execution: &'a Execution) -> Self {
        let happenings = execution.events.iter().map(|h| (h.event, *h)).collect();
        let successes = skeleton.choices.iter().copied().enumerate().collect();
        let (values, conditions) = (Vec::new(), Vec::new());
        let mut view = Self { skeleton, execution, happenings, successes, values, conditions };
        view.compute();
        view
    }

    fn event(&self, id: EventId) -> &Event {
        self.skeleton.event(id)
    }

    /// A value. `None` if it depends on an event that does not happen.
    fn value(&self, id: ValueId) -> Option<Shown> {
        self.values[id.0]
    }

    /// Whether a condition holds. `None` if it depends on an event that does not happen.
    fn holds(&self, guard: Guard) -> Option<bool> {
        Some(self.conditions[guard.condition]? != guard.negated)
    }

    /// Computes values and conditions in the order of their numbers: operands come first.
    fn compute(&mut self) {
        for index in 0..self.skeleton.values.len() {
            let value = match &self.skeleton.values[index] {
                Value::Constant(value) => Some(Shown::Int(*value)),
                Value::Read(event) => {
                    self.happenings.get(event).and_then(|event| event.read).map(as_number)
                }
                Value::Binary(op, left, right) => self
                    .value(*left)
                    .zip(self.value(*right))
                    .map(|(left, right)| apply(*op, left, right)),
                Value::Select(guard, then, otherwise) => {
                    self.compute_conditions(guard.condition + 1);
                    let arm = self.holds(*guard).map(|holds| if holds { then } else { otherwise });
                    arm.and_then(|arm| self.value(*arm))
                }
            };
            self.values.push(value);
        }
        self.compute_conditions(self.skeleton.conditions.len());
    }

    fn compute_conditions(&mut self, end: usize) {
        for index in self.conditions.len()..end {
            let holds = match self.skeleton.conditions[index] {
                Condition::True => Some(true),
                Condition::Choice(choice) => {
                    let success = self.successes.get(&choice);
                    Some(success.is_some_and(|event| self.happenings.contains_key(event)))
                }
                // An execution does not say what was chosen.
                Condition::Switch(_) => None,
                Condition::NonZero(value) => self.value(value).and_then(|value| {
                    equal(value, Shown::Int(0)).map(|zero| !zero).or_else(|| self.guess(index))
                }),
                Condition::Equal(left, right) => self
                    .value(left)
                    .zip(self.value(right))
                    .and_then(|(left, right)| equal(left, right).or_else(|| self.guess(index))),
                Condition::And(left, right) => match (self.holds(left), self.holds(right)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (left, right) => left.zip(right).map(|(left, right)| left && right),
                },
            };
            self.conditions.push(holds);
        }
    }

    /// The execution's guess for a condition on ⊤.
    fn guess(&self, condition: usize) -> Option<bool> {
        let found = self.execution.guesses.iter().find(|(known, _)| *known == condition);
        found.map(|(_, holds)| *holds)
    }

    fn is_undefined(&self, read: EventId) -> bool {
        self.execution.undefined_reads.contains(&read)
    }

    fn events(&self) -> Result<(), String> {
        for id in self.skeleton.event_ids() {
            let event = self.event(id);
            let happening = self.happenings.get(&id);
            if (self.holds(event.guard) == Some(true)) != happening.is_some() {
                return Err(format!("event {} happens against its condition", id.0));
            }
            let Some(happening) = happening else { continue };
            if let Some(written) = event.written
                && self.value(written).map(as_word) != happening.written
            {
                return Err(format!("event {} writes a value that does not follow", id.0));
            }
            if let Some(read) = event.read
                && self.value(read).map(as_word) != happening.read
            {
                return Err(format!("event {} reads a value that does not follow", id.0));
            }
        }
        for requirement in &self.skeleton.requirements {
            if self.holds(requirement.when) == Some(true)
                && self.holds(requirement.then) != Some(true)
            {
                return Err("a condition that the program assumes does not hold".to_owned());
            }
        }
        if self.skeleton.misuses.iter().any(|misuse| self.holds(misuse.guard) == Some(true)) {
            return Err("a library is used against its rules".to_owned());
        }
        if self.skeleton.exceeded.iter().any(|cut| self.holds(cut.guard) == Some(true)) {
            return Err("a loop runs beyond its bound".to_owned());
        }
        Ok(())
    }

    fn reads(&self) -> Result<(), String> {
        let mut sources: BTreeMap<EventId, EventId> = BTreeMap::new();
        for (write, read) in &self.execution.reads_from {
            let (Some(from), Some(to)) = (self.happenings.get(write), self.happenings.get(read))
            else {
                return Err("rf relates events that do not happen".to_owned());
            };
            let same_location = self.event(*write).location == self.event(*read).location;
            let expected =
                if self.is_undefined(*read) { Some(Shown::Undefined) } else { from.written };
            if !same_location || from.written.is_none() || expected != to.read {
                return Err(format!("event {} cannot read from event {}", read.0, write.0));
            }
            if sources.insert(*read, *write).is_some() {
                return Err(format!("event {} reads from two writes", read.0));
            }
        }
        for read in sources.keys().filter(|read| !self.is_undefined(**read)) {
            if self.hangs_on_itself(*read, &sources) {
                return Err(format!("event {} reads a value out of thin air", read.0));
            }
        }
        let unfed = self.happenings.keys().find(|id| {
            let event = self.event(**id);
            event.reads() && event.location.is_some() && !sources.contains_key(id)
        });
        unfed.map_or(Ok(()), |id| Err(format!("event {} reads from no write", id.0)))
    }

    /// Whether the value of a read is computed, along rf, from the read itself.
    fn hangs_on_itself(&self, read: EventId, sources: &BTreeMap<EventId, EventId>) -> bool {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![read];
        while let Some(next) = waiting.pop() {
            let Some(written) = sources.get(&next).and_then(|write| self.event(*write).written)
            else {
                continue;
            };
            let reads = self.reads_behind(written);
            if reads.contains(&read) {
                return true;
            }
            let computed = reads.into_iter().filter(|found| !self.is_undefined(*found));
            waiting.extend(computed.filter(|found| seen.insert(*found)));
        }
        false
    }

    /// The reads that a value is computed from.
    fn reads_behind(&self, value: ValueId) -> BTreeSet<EventId> {
        let (mut reads, mut seen, mut waiting) = (BTreeSet::new(), BTreeSet::new(), vec![value]);
        while let Some(value) = waiting.pop() {
            if !seen.insert(value) {
                continue;
            }
            match &self.skeleton.values[value.0] {
                Value::Constant(_) => {}
                Value::Read(event) => {
                    reads.insert(*event);
                }
                Value::Binary(_, left, right) => waiting.extend([*left, *right]),
                Value::Select(guard, then, otherwise) => {
                    let arm = self.holds(*guard).map(|holds| if holds { then } else { otherwise });
                    waiting.extend(arm);
                    waiting.extend(self.skeleton.values_behind(*guard));
                }
            }
        }
        reads
    }

    /// Checks that each poll of a queue pair answers for one earlier operation of that queue pair, and for
    /// the unsignaled ones before that; and that no two polls answer for the same signaled operation.
    fn polls(&self) -> Result<(), String> {
        let mut answered = BTreeSet::new();
        let mut polled: BTreeMap<EventId, usize> = BTreeMap::new();
        let operations = &self.skeleton.operations;
        let of =
            |end: &EventId| operations.iter().position(|one| one.completions().any(|e| e == *end));
        let is_unsignaled = |end: &EventId| of(end).is_some_and(|at| operations[at].unsignaled);
        // The model says which polls answer for those on a queue pair that threads share.
        let is_shared =
            |end: &EventId| of(end).is_some_and(|at| operations[at].towards.is_shared());
        let (others, signaled): (BTreeSet<_>, BTreeSet<_>) =
            self.execution.polls_from.iter().copied().partition(|(end, _)| is_unsignaled(end));
        for (end, poll) in &signaled {
            let event = self.happening(*poll).filter(|event| event.stamp == Stamp::Wait);
            let Some(event) = event.filter(|event| !event.polls.is_empty()) else {
                return Err(format!("{} is in pf and no poll of a queue pair", poll.0));
            };
            let is_answer = |at: &usize| event.polls.contains(&operations[*at].on());
            let is_own = self.event(*end).thread == event.thread;
            let is_earlier = !is_own || end < poll;
            let earlier = of(end).filter(|_| is_earlier && self.happening(*end).is_some());
            let Some(at) = earlier.filter(is_answer) else {
                return Err(format!("the poll {} has no earlier operation to poll", poll.0));
            };
            if !answered.insert(*end) || *polled.entry(*poll).or_insert(at) != at {
                return Err(format!("pf has two pairs for the poll {}", poll.0));
            }
        }
        for (poll, at) in &polled {
            // The one completion of a request of several words is about all of them.
            if operations[*at].completions().any(|end| !signaled.contains(&(end, *poll))) {
                return Err(format!("the poll {} leaves out a word", poll.0));
            }
        }
        let covered = polled.iter().flat_map(|(poll, at)| {
            let earlier = self.skeleton.completed_with(*at);
            earlier.flat_map(|one| one.completions()).map(|end| (end, *poll))
        });
        let happening = covered.filter(|(end, _)| self.happening(*end).is_some());
        let known = others.iter().copied().filter(|(end, _)| !is_shared(end));
        if happening.collect::<BTreeSet<_>>() != known.collect() {
            return Err(
                "pf of unsignaled operations is not that of the next signaled one".to_owned()
            );
        }
        let is_poll = |event: &Event| event.stamp == Stamp::Wait && !event.polls.is_empty();
        let mut polls = self.happenings.keys().filter(|id| is_poll(self.event(**id)));
        match polls.find(|poll| !polled.contains_key(poll)) {
            Some(poll) => Err(format!("the poll {} answers for nothing", poll.0)),
            None => Ok(()),
        }
    }

    /// An event, if it happens in the execution.
    fn happening(&self, id: EventId) -> Option<&Event> {
        self.happenings.contains_key(&id).then(|| self.event(id))
    }

    fn outcome(&self, observables: &[Observable]) -> Result<(), String> {
        for (observable, shown) in observables.iter().zip(&self.execution.outcome.0) {
            let actual = match observable.what {
                Observed::Register(register) => self.value(self.skeleton.registers[register.0]),
                Observed::Location(location) => match self.skeleton.recovered.get(location.0) {
                    Some(read) => self.happenings.get(read).and_then(|event| event.read),
                    None => self.final_value(location),
                },
                Observed::Copy(..) => return Err("a library's copy is observed".to_owned()),
            };
            if actual.map(as_word) != Some(*shown) {
                return Err(format!("`{}` does not end as the outcome says", observable.name));
            }
        }
        Ok(())
    }

    /// The value of the write that comes after all other writes of the location.
    fn final_value(&self, location: lang::program::LocationId) -> Option<Shown> {
        let writes: Vec<EventId> = self
            .happenings
            .keys()
            .copied()
            .filter(|id| {
                let event = self.event(*id);
                event.writes() && event.location == Some(location)
            })
            .collect();
        let orders = self.execution.orders.iter();
        let orders = orders
            .filter(|(name, _)| ["mo", "co"].contains(&name.rsplit('.').next().unwrap_or(name)));
        let before: BTreeSet<(EventId, EventId)> =
            orders.flat_map(|(_, pairs)| pairs.iter().copied()).collect();
        let last = writes.iter().find(|last| {
            writes.iter().all(|other| other == *last || before.contains(&(*other, **last)))
        });
        let last = last?;
        if self.execution.undefined_writes.contains(last) {
            return Some(Shown::Undefined);
        }
        self.happenings.get(last)?.written
    }
}

/// Applies an operator to two values. The result is ⊤ if an operand is.
fn apply(op: BinaryOp, left: Shown, right: Shown) -> Shown {
    match (left, right) {
        (Shown::Int(left), Shown::Int(right)) => Shown::Int(op.apply(left, right)),
        _ => Shown::Undefined,
    }
}

/// Whether two values are equal. `None` if one of them is ⊤.
fn equal(left: Shown, right: Shown) -> Option<bool> {
    let unknown = left == Shown::Undefined || right == Shown::Undefined;
    (!unknown).then_some(left == right)
}

/// Converts `⊥` to the number that encodes it.
fn as_number(value: Shown) -> Shown {
    match value {
        Shown::Bottom => Shown::Int(BOTTOM),
        other => other,
    }
}

/// Converts a number that encodes `⊥` to that value.
fn as_word(value: Shown) -> Shown {
    match value {
        Shown::Int(word) => Shown::of_word(word),
        other => other,
    }
}
