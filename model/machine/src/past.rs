//! Keeps what executions have shown on the way to a state beside the states.
//!
//! An observable is *decided* in a state if nothing can read or write it any more: a register that the rest
//! of its thread does not name, or a location that neither instructions nor entries of queues name. Its value
//! has no influence on what comes next, so states that differ only in such values are stored as one. Which
//! observables are decided follows from the rest of the state. Each step to a stored state is noted with the
//! values that became decided on the way; an outcome is what a path from the first state to an end has noted.
//!
//! Where all observables are decided, and no statement of the program can wait forever or exclude an
//! execution, every execution goes on to an end with the same outcome. So the exploration goes no further.
//!
//! A program with many independent reads has few states, each with many pasts. To take a past along a step
//! takes some nanoseconds, and a state with its steps some microseconds. What comes to an end becomes an
//! outcome, which takes more than both; so limits bound the number of outcomes too.

mod flow;
mod steps;

use std::collections::BTreeSet;

use lang::outcome::{Observed, Outcome, Value};
use rustc_hash::FxHashMap;

use super::encode::touched;
use super::footprint::{Access, Footprints, bit};
use super::limits::Limits;
use super::rules::Machine;
use super::state::State;
use super::stubborn::View;
use flow::Flow;
use steps::{NOWHERE, Steps};

/// Values of some observables, by their numbers in [`Past::numbers`]. Each observable has as many bits; those
/// of observables that are not decided yet are 0.
type Shown = u128;

/// A mask of observables.
type Observables = u128;

/// The number of outcomes between two looks at the limits, and the most that are kept after a limit was
/// reached.
const SOME: usize = 1 << 16;

/// What the steps between stored states have shown.
pub(super) struct Past {
    /// The observables, in their order.
    observed: Vec<Observed>,
    /// How many bits an observable has.
    width: u32,
    /// By observable, the values that it has had, and the number of each.
    values: Vec<Vec<u64>>,
    numbers: Vec<FxHashMap<u64, u32>>,
    steps: Steps,
    /// By stored state, what is decided in it.
    decided: Vec<Observables>,
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
            steps: Steps::default(),
            decided: Vec::new(),
            is_full: false,
        })
    }

    /// The next steps begin in this state; without one, in the first.
    pub fn begins_in(&mut self, state: Option<usize>) {
        self.steps.begin_in(state);
    }

    /// Notes a step to a stored state. It is new if it has the next number.
    pub fn leads_to(
        &mut self,
        number: usize,
        state: &State,
        (footprints, touched): (&Footprints, Access),
    ) {
        if number == self.decided.len() {
            let decided = self.decided_in(state, footprints, touched);
            self.decided.push(decided);
        }
        let shown = self.shown(self.decided[number], state);
        self.steps.note((number as u32, shown));
    }

    /// Notes a step to an end.
    pub fn ends(&mut self, state: &State) {
        let shown = self.shown(Observables::MAX, state);
        self.steps.note((NOWHERE, shown));
    }

    /// Whether all observables are decided.
    pub fn is_over(&self, view: View<'_>) -> bool {
        let View { footprints, state, .. } = view;
        // Registers first, as they cost less.
        if footprints.names_observed(state) {
            return false;
        }
        let are_registers = self.observed.iter().all(|what| !matches!(what, Observed::Location(_)));
        let decided = || self.decided_in(state, footprints, touched(view)).count_ones() as usize;
        are_registers || decided() == self.observed.len()
    }

    /// The observables that nothing can read or write any more. [`super::encode::Live`] leaves out exactly
    /// their values.
    fn decided_in(&self, state: &State, footprints: &Footprints, touched: Access) -> Observables {
        let is_decided = |what: &Observed| match what {
            Observed::Register(register) => !footprints.names(state, *register),
            Observed::Location(location) => (touched.reads | touched.writes) & bit(location.0) == 0,
            Observed::Copy(..) => true,
        };
        let all = self.observed.iter().enumerate();
        all.fold(0, |mask, (index, what)| mask | Observables::from(is_decided(what)) << index)
    }

    /// The values of the observables that are decided, and were not where the step begins.
    fn shown(&mut self, decided: Observables, state: &State) -> Shown {
        let before = self.steps.current().map_or(0, |current| self.decided[current]);
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
        self.steps.memory() + size_of::<Observables>() * self.decided.len()
    }

    /// The outcomes of all paths to an end, and the limit that was reached, if they are not all. If a limit
    /// ended the exploration, some of them, soon.
    pub fn outcomes(
        &mut self,
        is_cut_off: bool,
        limits: &Limits,
    ) -> (BTreeSet<Outcome>, Option<String>) {
        self.steps.sort();
        let mut flow = self.flow();
        flow.takes_few = is_cut_off;
        let mut reason = flow.run(limits);
        let is_late = is_cut_off || reason.is_some();
        let most = if is_late { SOME } else { usize::MAX };
        let values: Vec<Ranked> = self.values.iter().map(|values| Ranked::of(values)).collect();
        let mut all: Vec<Shown> = flow.ends.all.into_iter().take(most).collect();
        all.iter_mut().for_each(|shown| *shown = self.ranked(*shown, &values));
        all.sort_unstable();
        let mut outcomes = Vec::new();
        for shown in all {
            outcomes.push(self.outcome(shown, &values));
            if !is_late && outcomes.len().is_multiple_of(SOME) {
                reason = limits.until.reached().map(|reached| reached.to_string());
                if reason.is_some() {
                    break;
                }
            }
        }
        // To collect what is in order takes no more than one look at each.
        (outcomes.into_iter().collect(), reason)
    }

    /// Whether at least this many outcomes are known by now.
    pub fn has(&mut self, outcomes: usize, limits: &Limits) -> bool {
        self.steps.sort();
        let mut flow = self.flow();
        flow.enough = outcomes;
        flow.run(limits);
        flow.ends.all.len() >= outcomes
    }

    fn flow(&self) -> Flow<'_> {
        // An outcome is in a set, and copied where it is shown.
        let outcome = 2 * (size_of::<Outcome>() + self.observed.len() * size_of::<Value>() + 32);
        Flow::new(&self.steps, self.decided.len(), outcome)
    }

    /// The same values, numbered in their order.
    fn ranked(&self, shown: Shown, values: &[Ranked]) -> Shown {
        let all = values.iter().enumerate();
        all.fold(0, |ranked, (index, values)| {
            ranked | Shown::from(values.ranks[self.number(shown, index)]) << self.place(index)
        })
    }

    fn outcome(&self, ranked: Shown, values: &[Ranked]) -> Outcome {
        let all = values.iter().enumerate();
        Outcome(all.map(|(index, values)| values.sorted[self.number(ranked, index)]).collect())
    }

    /// The number of an observable's value.
    fn number(&self, shown: Shown, index: usize) -> usize {
        (shown >> self.place(index) & ((1 << self.width) - 1)) as usize
    }
}

/// The values of an observable in order.
struct Ranked {
    sorted: Vec<Value>,
    /// By number, the place of the value.
    ranks: Vec<u32>,
}

impl Ranked {
    fn of(words: &[u64]) -> Self {
        let mut all: Vec<(Value, usize)> = words
            .iter()
            .enumerate()
            .map(|(number, word)| (Value::of_word(*word), number))
            .collect();
        all.sort_unstable();
        let mut ranks = vec![0; words.len()];
        all.iter().enumerate().for_each(|(rank, (_, number))| ranks[*number] = rank as u32);
        Self { sorted: all.into_iter().map(|(value, _)| value).collect(), ranks }
    }
}
