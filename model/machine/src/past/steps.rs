//! Steps between stored states, with what they show.

use super::Shown;

/// Steps by the state that they begin in, each once. States are expanded one after the other, so the steps
/// from one come together.
#[derive(Default)]
pub struct Steps {
    /// By step, the stored state that it leads to; [`NOWHERE`] for an end.
    to: Vec<u32>,
    /// By step, the values that become decided.
    shown: Vec<Shown>,
    /// By state, its first step, and the end of its steps.
    from: Vec<(usize, usize)>,
    /// Those from the state that is being expanded, as they come.
    new: Vec<Step>,
    /// The state that is being expanded.
    current: Option<usize>,
    /// Those to the first states.
    first: Vec<Step>,
}

/// Where a step leads to, and what it shows.
pub type Step = (u32, Shown);

pub const NOWHERE: u32 = u32::MAX;

impl Steps {
    /// The next steps begin in this state; without one, they lead to a first state.
    pub fn begin_in(&mut self, state: Option<usize>) {
        self.sort();
        self.current = state;
    }

    /// The state that steps begin in.
    pub fn current(&self) -> Option<usize> {
        self.current
    }

    pub fn note(&mut self, step: Step) {
        self.new.push(step);
    }

    /// Puts new steps to those of their state.
    pub fn sort(&mut self) {
        if self.new.is_empty() {
            return;
        }
        let Some(state) = self.current else {
            self.first.append(&mut self.new);
            return;
        };
        let known = self.of(state).map(|step| self.get(step));
        self.new.extend(known.collect::<Vec<_>>());
        self.new.sort_unstable();
        self.new.dedup();
        let start = self.to.len();
        self.to.extend(self.new.iter().map(|(to, _)| *to));
        self.shown.extend(self.new.drain(..).map(|(_, shown)| shown));
        if self.from.len() <= state {
            self.from.resize(state + 1, (0, 0));
        }
        self.from[state] = (start, self.to.len());
    }

    /// The steps that lead to a first state.
    pub fn first(&self) -> &[Step] {
        &self.first
    }

    /// The numbers of the steps from a state.
    pub fn of(&self, state: usize) -> std::ops::Range<usize> {
        let (start, end) = self.from.get(state).copied().unwrap_or_default();
        start..end
    }

    /// The step of a number.
    pub fn get(&self, step: usize) -> Step {
        (self.to[step], self.shown[step])
    }

    /// The size in bytes.
    pub fn memory(&self) -> usize {
        (size_of::<u32>() + size_of::<Shown>()) * self.to.len() + 16 * self.from.len()
    }
}
