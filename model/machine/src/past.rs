//! Keeps what executions have shown on the way to a state beside the states.
//!
//! An observable is *decided* in a state if nothing can read or write it any more: a register that the rest
//! of its thread does not name, or a location that neither instructions nor entries of queues name. Its value
//! has no influence on what comes next, so states that differ only in such values are stored as one. Which
//! observables are decided follows from the rest of the state. Each step to a stored state is noted with the
//! values that became decided on the way; an outcome is what a path from the first state to an end has noted.
//!
//! So a program with many independent reads has few states, each with many pasts. A past takes some
//! nanoseconds, and a state a microsecond.

use std::collections::BTreeSet;

use lang::limits::Size;
use lang::outcome::{Observed, Outcome, Value};
use rustc_hash::FxHashMap;

use super::encode::Dead;
use super::footprint::bit;
use super::limits::Limits;
use super::rules::Machine;
use super::state::State;

/// Values of some observables, by their numbers in [`Past::numbers`]. Each observable has as many bits; those
/// of observables that are not decided yet are 0.
type Shown = u128;

/// A mask of observables.
type Observables = u128;

/// A step to a stored state, or to an end.
#[derive(Clone, Copy)]
struct Step {
    /// The stored state that it begins in; `NOWHERE` for the first.
    from: u32,
    /// The stored state that it leads to; `NOWHERE` for an end.
    to: u32,
    /// The values that became decided.
    shown: Shown,
}

const NOWHERE: u32 = u32::MAX;

/// How many pasts are taken between two looks at the limits.
const LOOK: usize = 1 << 16;

/// What the steps between stored states have shown.
pub(super) struct Past {
    /// The observables, in their order.
    observed: Vec<Observed>,
    /// How many bits an observable has.
    width: u32,
    /// By observable, the values that it has had, and the number of each.
    values: Vec<Vec<u64>>,
    numbers: Vec<FxHashMap<u64, u32>>,
    steps: Vec<Step>,
    /// By stored state, what is decided in it.
    decided: Vec<Observables>,
    /// The state that is being expanded.
    current: Option<usize>,
    /// Some value had no room: the steps are of no use.
    pub is_full: bool,
}

impl Past {
    /// Without steps. `None` for programs that have too many observables.
    pub fn new(machine: &Machine) -> Option<Self> {
        let count = machine.observed.len();
        let width = Shown::BITS.checked_div(count as u32).unwrap_or(Shown::BITS);
        (width >= 4).then(|| Self {
            observed: machine.observed.clone(),
            width: width.min(u32::BITS - 1),
            values: vec![Vec::new(); count],
            numbers: vec![FxHashMap::default(); count],
            steps: Vec::new(),
            decided: Vec::new(),
            current: None,
            is_full: false,
        })
    }

    /// The next steps begin in this state; without one, in the first.
    pub fn begins_in(&mut self, state: Option<usize>) {
        self.current = state;
    }

    /// Notes a step to a stored state. It is new if it has the next number.
    pub fn leads_to(&mut self, number: usize, state: &State, dead: &Dead<'_>) {
        if number == self.decided.len() {
            let decided = self.decided_in(state, dead);
            self.decided.push(decided);
        }
        let shown = self.shown(self.decided[number], state);
        self.note(number as u32, shown);
    }

    /// Notes a step to an end.
    pub fn ends(&mut self, state: &State) {
        let shown = self.shown(Observables::MAX, state);
        self.note(NOWHERE, shown);
    }

    fn note(&mut self, to: u32, shown: Shown) {
        let from = self.current.map_or(NOWHERE, |current| current as u32);
        self.steps.push(Step { from, to, shown });
    }

    /// The observables that nothing can read or write any more. [`Dead`] leaves out exactly their values.
    fn decided_in(&self, state: &State, dead: &Dead<'_>) -> Observables {
        let touched = dead.touched(state);
        let is_decided = |what: &Observed| match what {
            Observed::Register(register) => !dead.is_named(state, register.0),
            Observed::Location(location) => (touched.reads | touched.writes) & bit(location.0) == 0,
            Observed::Copy(..) => true,
        };
        let all = self.observed.iter().enumerate();
        all.fold(0, |mask, (index, what)| mask | Observables::from(is_decided(what)) << index)
    }

    /// The values of the observables that are decided, and were not where the step begins.
    fn shown(&mut self, decided: Observables, state: &State) -> Shown {
        let before = self.current.map_or(0, |current| self.decided[current]);
        let mut shown = 0;
        for (index, what) in self.observed.iter().enumerate() {
            if (decided & !before) >> index & 1 == 0 {
                continue;
            }
            let value = match what {
                Observed::Register(register) => state.registers[register.0],
                Observed::Location(location) => state.memory[location.0],
                Observed::Copy(..) => 0,
            };
            let values = &mut self.values[index];
            let number = *self.numbers[index].entry(value).or_insert_with(|| {
                values.push(value);
                values.len() as u32 - 1
            });
            self.is_full |= number >> self.width != 0;
            shown |= Shown::from(number) << self.place(index);
        }
        shown
    }

    /// Where an observable's bits are. The first has the highest, as it is what outcomes are ordered by.
    fn place(&self, index: usize) -> u32 {
        (self.observed.len() - 1 - index) as u32 * self.width
    }

    /// The size in bytes.
    pub fn memory(&self) -> usize {
        size_of::<Step>() * self.steps.len() + size_of::<Observables>() * self.decided.len()
    }

    /// The outcomes of all paths to an end, and the limit that was reached, if they are not all.
    pub fn outcomes(&self, limits: &Limits) -> (BTreeSet<Outcome>, Option<String>) {
        let mut flow = Flow::new(self);
        let reason = flow.run(limits);
        let outcomes = flow.ends.all.iter().map(|shown| self.outcome(*shown));
        (outcomes.collect(), reason)
    }

    /// How many outcomes there are so far.
    pub fn count(&self, limits: &Limits) -> usize {
        let mut flow = Flow::new(self);
        flow.run(limits);
        flow.ends.all.len()
    }

    fn outcome(&self, shown: Shown) -> Outcome {
        let all = self.values.iter().enumerate();
        let value = |(index, values): (usize, &Vec<u64>)| {
            let number = shown >> self.place(index) & ((1 << self.width) - 1);
            Value::of_word(values[number as usize])
        };
        Outcome(all.map(value).collect())
    }
}

/// Takes pasts along the steps.
struct Flow {
    /// Sorted by where they begin.
    steps: Vec<Step>,
    /// By state, the first step from it; then, one more entry.
    first: Vec<usize>,
    /// By state, its place in an order in which steps lead forward, except for those that close a cycle.
    place: Vec<usize>,
    /// By state, pasts that have come to it and not gone on.
    waiting: Vec<Vec<Shown>>,
    /// For states that a step backward leads to, pasts that have gone on. Each cycle has such a state.
    gone: FxHashMap<u32, Vec<Shown>>,
    /// How many pasts the last two have.
    held: usize,
    ends: Ends,
}

/// The pasts of ends.
#[derive(Default)]
struct Ends {
    all: Vec<Shown>,
    /// How many there were when each was last in it once.
    compacted: usize,
}

impl Ends {
    fn add(&mut self, pasts: impl Iterator<Item = Shown>) {
        self.all.extend(pasts);
        if self.all.len() > 2 * self.compacted + LOOK {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.all.sort_unstable();
        self.all.dedup();
        self.compacted = self.all.len();
    }
}

impl Flow {
    fn new(past: &Past) -> Self {
        let states = past.decided.len();
        let mut steps = past.steps.clone();
        steps.sort_unstable_by_key(|step| (step.from, step.to, step.shown));
        steps.dedup_by_key(|step| (step.from, step.to, step.shown));
        let first =
            (0..=states).map(|state| steps.partition_point(|step| step.from < state as u32));
        let first: Vec<usize> = first.collect();
        let mut flow = Self {
            place: vec![0; states],
            waiting: vec![Vec::new(); states],
            gone: FxHashMap::default(),
            held: 0,
            ends: Ends::default(),
            steps,
            first,
        };
        for step in flow.steps.split_off(flow.first[states]) {
            match step.to {
                NOWHERE => flow.ends.all.push(step.shown),
                to => {
                    flow.held += 1;
                    flow.waiting[to as usize].push(step.shown);
                }
            }
        }
        flow
    }

    /// The states in an order in which steps lead forward as far as possible: backward, as a search ends with
    /// them.
    fn order(&mut self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.place.len());
        let mut is_reached = vec![false; self.place.len()];
        let roots = (0..self.place.len()).filter(|state| !self.waiting[*state].is_empty());
        let mut path = Vec::new();
        for root in roots {
            if !std::mem::replace(&mut is_reached[root], true) {
                path.push((root, self.first[root]));
            }
            while let Some((state, next)) = path.last_mut() {
                if *next == self.first[*state + 1] {
                    order.push(*state);
                    path.pop();
                    continue;
                }
                let to = self.steps[*next].to;
                *next += 1;
                if to != NOWHERE && !std::mem::replace(&mut is_reached[to as usize], true) {
                    path.push((to as usize, self.first[to as usize]));
                }
            }
        }
        order.reverse();
        order.iter().enumerate().for_each(|(place, state)| self.place[*state] = place);
        order
    }

    /// Takes all pasts to the ends. Returns the limit that was reached, if one was.
    fn run(&mut self, limits: &Limits) -> Option<String> {
        let order = self.order();
        for step in &self.steps {
            if step.to != NOWHERE && self.is_backward(step) {
                self.gone.insert(step.to, Vec::new());
            }
        }
        let (mut taken, mut looked, mut goes_back) = (0, 0, true);
        while goes_back {
            goes_back = false;
            for state in &order {
                let pasts = self.arrived(*state);
                taken += pasts.len() * (1 + self.first[*state + 1] - self.first[*state]);
                if taken - looked > LOOK {
                    looked = taken;
                    if let Some(reason) = self.exceeded(limits) {
                        self.ends.compact();
                        return Some(reason);
                    }
                }
                goes_back |= self.take_on(*state, &pasts);
            }
        }
        self.ends.compact();
        None
    }

    fn is_backward(&self, step: &Step) -> bool {
        self.place[step.to as usize] <= self.place[step.from as usize]
    }

    /// The pasts that wait at a state and have not gone on from it before.
    fn arrived(&mut self, state: usize) -> Vec<Shown> {
        let mut pasts = std::mem::take(&mut self.waiting[state]);
        self.held -= pasts.len();
        pasts.sort_unstable();
        pasts.dedup();
        if let Some(gone) = self.gone.get_mut(&(state as u32)) {
            pasts.retain(|past| gone.binary_search(past).is_err());
            gone.extend(&pasts);
            self.held += pasts.len();
            gone.sort_unstable();
        }
        pasts
    }

    /// Takes pasts along all steps from a state. Returns whether some go backward.
    fn take_on(&mut self, state: usize, pasts: &[Shown]) -> bool {
        let mut goes_back = false;
        for index in self.first[state]..self.first[state + 1] {
            let step = self.steps[index];
            let pasts_then = pasts.iter().map(|past| past | step.shown);
            if step.to == NOWHERE {
                self.ends.add(pasts_then);
            } else {
                goes_back |= !pasts.is_empty() && self.is_backward(&step);
                self.held += pasts.len();
                self.waiting[step.to as usize].extend(pasts_then);
            }
        }
        goes_back
    }

    fn exceeded(&self, limits: &Limits) -> Option<String> {
        let memory = size_of::<Shown>() * (self.held + self.ends.all.len());
        if memory > limits.memory {
            return Some(format!("outcomes need more than {}", Size(limits.memory as u64)));
        }
        limits.until.reached().map(|reached| reached.to_string())
    }
}
