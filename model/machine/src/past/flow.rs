//! Takes what executions have shown along the steps, from the first state to the ends.

use lang::limits::Size;
use rustc_hash::FxHashMap;

use super::super::limits::Limits;
use super::Shown;
use super::steps::{NOWHERE, Steps};

/// How many pasts are taken between two looks at the limits.
const LOOK: usize = 1 << 16;

/// How many pasts of a state go on after a limit was reached, at least.
const FEW: usize = 8;

/// More go on while fewer pasts than this are on their way, as where all ways come together.
const HELD: usize = 1 << 16;

/// How many pasts are taken along a step then, in all; each state takes up to a sixteenth of what is left.
const TAKEN: usize = 1 << 22;

/// Pasts on their way.
pub struct Flow<'a> {
    steps: &'a Steps,
    /// By state, its place in an order in which steps lead forward, except for those that close a cycle.
    place: Vec<usize>,
    /// By state, pasts that have come to it and not gone on.
    waiting: Vec<Vec<Shown>>,
    /// For states that a step backward leads to, pasts that have gone on. Each cycle has such a state.
    gone: FxHashMap<u32, Vec<Shown>>,
    /// How many pasts the last two have.
    held: usize,
    /// The pasts of ends.
    pub ends: Ends,
    /// How many bytes the outcome of an end takes.
    outcome: usize,
    /// Only few pasts of each state go on.
    pub takes_few: bool,
    /// How many more may be taken along a step then.
    left: usize,
    /// The number of pasts of ends at which the flow stops.
    pub enough: usize,
}

/// The pasts of ends.
#[derive(Default)]
pub struct Ends {
    /// Sorted and each once, when all are taken.
    pub all: Vec<Shown>,
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

    fn are_at_least(&mut self, enough: usize) -> bool {
        if self.all.len() >= self.compacted.saturating_add(enough) {
            self.compact();
        }
        self.compacted >= enough
    }
}

impl<'a> Flow<'a> {
    /// Before anything has gone on. `outcome` is how many bytes the outcome of an end takes.
    pub fn new(steps: &'a Steps, states: usize, outcome: usize) -> Self {
        let mut flow = Self {
            steps,
            place: vec![0; states],
            waiting: vec![Vec::new(); states],
            gone: FxHashMap::default(),
            held: 0,
            ends: Ends::default(),
            outcome,
            takes_few: false,
            left: TAKEN,
            enough: usize::MAX,
        };
        for (to, shown) in steps.first() {
            match *to {
                NOWHERE => flow.ends.all.push(*shown),
                to => {
                    flow.held += 1;
                    flow.waiting[to as usize].push(*shown);
                }
            }
        }
        flow
    }

    /// Takes all pasts to the ends. Returns the limit that was reached, if one was; from then on, only few go
    /// on.
    pub fn run(&mut self, limits: &Limits) -> Option<String> {
        let order = self.order();
        for state in 0..self.place.len() {
            for (to, _) in self.steps.of(state).map(|step| self.steps.get(step)) {
                if to != NOWHERE && self.is_backward(state, to) {
                    self.gone.insert(to, Vec::new());
                }
            }
        }
        let (mut taken, mut looked, mut reason) = (0, 0, None);
        loop {
            let mut goes_back = false;
            for state in &order {
                let pasts = self.arrived(*state);
                taken += pasts.len() * (1 + self.steps.of(*state).len());
                if taken - looked > LOOK && !self.takes_few {
                    looked = taken;
                    reason = self.exceeded(limits);
                    self.takes_few = reason.is_some();
                }
                goes_back |= self.take_on(*state, &pasts);
                if self.ends.are_at_least(self.enough) {
                    return reason;
                }
            }
            if !goes_back || self.takes_few {
                self.ends.compact();
                return reason;
            }
        }
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
                path.push((root, self.steps.of(root)));
            }
            while let Some((state, next)) = path.last_mut() {
                let Some(step) = next.next() else {
                    order.push(*state);
                    path.pop();
                    continue;
                };
                let (to, _) = self.steps.get(step);
                if to != NOWHERE && !std::mem::replace(&mut is_reached[to as usize], true) {
                    path.push((to as usize, self.steps.of(to as usize)));
                }
            }
        }
        order.reverse();
        order.iter().enumerate().for_each(|(place, state)| self.place[*state] = place);
        order
    }

    fn is_backward(&self, from: usize, to: u32) -> bool {
        self.place[to as usize] <= self.place[from]
    }

    /// The pasts that wait at a state and have not gone on from it before.
    fn arrived(&mut self, state: usize) -> Vec<Shown> {
        let mut pasts = std::mem::take(&mut self.waiting[state]);
        self.held -= pasts.len();
        pasts.sort_unstable();
        pasts.dedup();
        if self.takes_few {
            let room = HELD.saturating_sub(self.held).min(self.left / 16);
            pasts.truncate(room.max(FEW));
            let steps = self.steps.of(state).len();
            self.left = self.left.saturating_sub(steps * pasts.len());
        }
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
        for (to, shown) in self.steps.of(state).map(|step| self.steps.get(step)) {
            let pasts_then = pasts.iter().map(|past| past | shown);
            if to == NOWHERE {
                self.ends.add(pasts_then);
            } else {
                goes_back |= !pasts.is_empty() && self.is_backward(state, to);
                self.held += pasts.len();
                self.waiting[to as usize].extend(pasts_then);
            }
        }
        goes_back
    }

    fn exceeded(&self, limits: &Limits) -> Option<String> {
        let memory = size_of::<Shown>() * self.held + self.outcome * self.ends.all.len();
        if memory > limits.memory {
            return Some(format!("outcomes need more than {}", Size(limits.memory as u64)));
        }
        limits.until.reached().map(|reached| reached.to_string())
    }
}
