//! What is to be taken from stored states, and when.

use super::super::state::State;
use super::super::stubborn::{Choice, Places, Round};
use super::Explorer;

/// The state that was stored last, and its steps, if they were chosen: mostly it is the next one to expand.
#[derive(Default)]
pub(super) struct Latest {
    number: Option<usize>,
    state: State,
    asleep: Places,
    choices: Vec<Choice>,
}

impl Latest {
    /// The state of a number, and the steps to take in this round, if they are known.
    pub fn recall(
        &mut self,
        number: usize,
        round: Round,
        state: &mut State,
    ) -> Option<Vec<Choice>> {
        if self.number.take() != Some(number) || self.asleep != round.asleep {
            return None;
        }
        state.assign(&self.state);
        Some(std::mem::take(&mut self.choices))
    }
}

impl Explorer<'_> {
    /// What is to be taken now from a stored state.
    pub(super) fn begin_round(&mut self, number: usize) -> Round {
        let round = &mut self.rounds[number];
        Round { todo: std::mem::take(&mut round.todo), ..*round }
    }

    /// Wakes the parts of a known state that are not asleep where it was reached again.
    pub(super) fn wake(&mut self, number: usize, asleep: Places) {
        let round = &mut self.rounds[number];
        let woken = round.asleep & !asleep;
        if woken != 0 {
            round.asleep &= asleep;
            if round.todo == 0 {
                self.stack.push(number);
            }
            round.todo |= woken;
        }
    }

    /// Keeps the choices at a state that was just stored, if it is new.
    pub(super) fn remember(&mut self, state: &State, is_new: bool, asleep: Places) {
        if is_new {
            let latest = &mut self.latest;
            latest.number = Some(self.seen.len() - 1);
            latest.state.assign(state);
            latest.asleep = asleep;
            std::mem::swap(&mut latest.choices, &mut self.choices);
        }
    }
}
