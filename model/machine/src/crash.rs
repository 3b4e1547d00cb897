//! A crash of all nodes at once, in tests about what memory holds afterwards.
//!
//! What has reached memory may survive or not, each location for itself: it is in caches, which write it back
//! when they like. A persistent flush that has taken effect says that what its queue pair wrote before, or
//! something newer, does survive. What is in store buffers, pipes, wbR and wbL is lost.

use compiler::code::{Instruction, Operation};
use lang::Test;
use lang::outcome::{Observed, Outcome, Value};
use lang::program::{LocationId, Program};

use super::random::Random;
use super::rules::Machine;
use super::state::State;

/// A value that a location may hold after a crash, and the write that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// The value.
    pub value: u64,
    /// For a NIC's remote write, its queue pair, and how many persistent flushes of it were issued before.
    pub by: Option<(usize, u32)>,
}

/// For each observed location what it may hold, oldest first, before the program starts; nothing for others.
/// Empty if no node crashes.
pub(super) fn survivors(test: &Test) -> Vec<Vec<Survivor>> {
    if test.program.crash.is_none() {
        return Vec::new();
    }
    let locations = test.program.locations.iter().enumerate();
    let initial = locations.map(|(index, location)| {
        let what = Observed::Location(LocationId(index));
        let is_observed = test.observables.iter().any(|shown| shown.what == what);
        let survivor = Survivor { value: location.initial, by: None };
        if is_observed { vec![survivor] } else { Vec::new() }
    });
    initial.collect()
}

/// The most outcomes that a crash in one state may have.
const MOST: usize = 1 << 16;

impl State {
    /// Writes a value to memory. `by` is as in [`Survivor`].
    pub(super) fn write(&mut self, location: LocationId, value: u64, by: Option<(usize, u32)>) {
        self.memory[location.0] = value;
        let survivor = Survivor { value, by };
        if let Some(all) = self.survivors.get_mut(location.0)
            && !all.is_empty()
            && all.last() != Some(&survivor)
        {
            all.push(survivor);
        }
    }

    /// A persistent flush of a queue pair takes effect, before which `persists` others were issued: nothing
    /// older than the last write before it on its queue pair survives.
    pub(super) fn persist(&mut self, pair: usize, persists: u32) {
        for all in &mut self.survivors {
            let is_covered = |by: (usize, u32)| by.0 == pair && by.1 <= persists;
            let last = all.iter().rposition(|one| one.by.is_some_and(is_covered));
            all.drain(..last.unwrap_or(0));
        }
    }

    fn survivors_of(&self, observed: &Observed) -> &[Survivor] {
        match observed {
            Observed::Location(location) => &self.survivors[location.0],
            // The language lets no test about a crash show registers, and no machine shows copies.
            Observed::Register(_) | Observed::Copy(..) => &[],
        }
    }
}

impl Machine {
    /// The outcomes of a crash in this state. Fails if they are more than [`MOST`].
    pub(super) fn after_crash(&self, state: &State) -> Result<Vec<Outcome>, String> {
        let counts = self.observed.iter().map(|observed| state.survivors_of(observed).len());
        if counts.fold(1_usize, usize::saturating_mul) > MOST {
            return Err(format!("a crash in one state has more than {MOST} outcomes"));
        }
        let mut outcomes = vec![Vec::new()];
        for observed in &self.observed {
            let mut longer = Vec::new();
            for outcome in &outcomes {
                let survivors = state.survivors_of(observed).iter();
                let values = survivors.map(|survivor| Value::of_word(survivor.value));
                longer.extend(values.map(|value| [outcome.as_slice(), &[value]].concat()));
            }
            outcomes = longer;
        }
        Ok(outcomes.into_iter().map(Outcome).collect())
    }

    /// About how many bytes this many outcomes take, if nodes crash; else `past` counts them.
    pub(super) fn memory_of(&self, outcomes: usize) -> usize {
        const VALUE: usize = 32;
        if self.crashes { outcomes * self.observed.len() * VALUE } else { 0 }
    }

    /// The values of the observables after a crash in this state, chosen at random.
    pub(super) fn crash(&self, state: &State, random: &mut Random, values: &mut Vec<u64>) {
        for observed in &self.observed {
            let survivors = state.survivors_of(observed);
            let chosen = random.below(survivors.len() as u32) as usize;
            values.extend(survivors.get(chosen).map(|survivor| survivor.value));
        }
    }

    /// The moment of a crash, as a number of steps: late ones come after the program's end.
    pub(super) fn crash_time(&self, random: &mut Random) -> u32 {
        /// No word of an instruction takes more steps: a put's takes six, from its issue to its poll.
        const STEPS: usize = 8;
        let words = |instruction: &Instruction| match instruction {
            Instruction::Issue { operation: Operation::Words { moves, .. }, .. } => moves.len(),
            _ => 1,
        };
        let instructions = self.code.threads.iter().flat_map(|thread| &thread.instructions);
        random.below((instructions.map(words).sum::<usize>() * STEPS + 1) as u32)
    }

    /// The crash that an outcome shows, in words.
    pub(super) fn describe_crash(&self, program: &Program, outcome: &Outcome) -> String {
        let shown = self.observed.iter().zip(&outcome.0).filter_map(|(observed, value)| {
            let Observed::Location(location) = observed else { return None };
            Some(format!("{} = {value}", program.locations[location.0].name))
        });
        let shown: Vec<String> = shown.collect();
        format!("all nodes crash; memory holds {}", shown.join(", "))
    }
}
