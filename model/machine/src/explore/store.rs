//! What an exploration keeps: the states it has seen, the ends it came to, and what they show.

use lang::limits::Size;
use lang::outcome::Outcome;
use lang::program::ThreadId;

use super::super::encode::Live;
use super::super::exploration::{Blocked, Exploration};
use super::super::past::Past;
use super::super::progress::Graph;
use super::super::state::State;
use super::super::stubborn::{Places, Round, View};
use super::{Effort, Explorer};

impl Explorer<'_> {
    /// Ends an exploration where all executions go on from a state to an end and show the same outcome: notes
    /// it. Returns whether that is so.
    pub(super) fn ends_decided(&mut self, state: &State) -> bool {
        let view = View { machine: self.machine, footprints: self.footprints, state };
        let past = self.past.as_mut().filter(|_| self.always_counts);
        let Some(past) = past.filter(|past| past.is_over(view)) else { return false };
        past.ends(state);
        if let Some(graph) = &mut self.graph {
            graph.ends();
        }
        true
    }

    /// Stores a state.
    pub(super) fn store(&mut self, state: &State, asleep: Places) {
        self.encode(state);
        self.keep(state, None, asleep);
    }

    /// Encodes a state, as it would be stored.
    pub(super) fn encode(&mut self, state: &State) {
        self.live = if self.effort >= Effort::Values {
            Live::of(self.view(state), self.past.is_some())
        } else {
            Live::ALL
        };
        self.key.clear();
        self.machine.encode(state, &self.live, &mut self.key);
    }

    /// Stores the state that was encoded last; `known` is its number, if it was found before.
    pub(super) fn keep(&mut self, state: &State, known: Option<usize>, asleep: Places) {
        let (number, is_new) = match known {
            Some(number) => (number, false),
            None => self.seen.insert(&self.key),
        };
        if let Some(past) = &mut self.past {
            past.leads_to(number, state, (self.footprints, self.live.touched));
        }
        if let Some(graph) = &mut self.graph {
            graph.leads_to(number, is_new);
        }
        if !is_new {
            self.wake(number, asleep);
        } else {
            self.stack.push(number);
            self.rounds.push(Round { asleep, ..Round::ALL });
            if let Some(search) = &mut self.search {
                search.parents.push(search.current);
            }
        }
    }

    /// Whether the state that was just stored has this number.
    pub fn stored_as(&self, number: usize) -> bool {
        self.key == self.seen.get(number)
    }

    /// Notes an outcome.
    pub(super) fn shows(&mut self, outcome: Outcome) {
        if let Some(search) = &mut self.search {
            search.reached |= search.outcome == outcome;
        }
        self.found.outcomes.insert(outcome);
    }

    /// Handles a state without further transitions. If the machine may crash there, nothing is left to do.
    pub(super) fn terminal(&mut self, state: &State) {
        if self.machine.crashes {
            return;
        }
        if self.machine.is_final(state) {
            match &mut self.past {
                Some(past) => past.ends(state),
                None => self.shows(self.machine.outcome(state)),
            }
            if let Some(graph) = &mut self.graph {
                graph.ends();
            }
            return;
        }
        if self.graph.is_some() {
            self.store(state, 0);
        }
        for (index, code) in self.machine.code.threads.iter().enumerate() {
            if let Some(span) = code.spans.get(state.threads[index].pc) {
                self.found.blocked.insert(Blocked { thread: ThreadId(index), span: *span });
            }
        }
    }

    /// Handles a failed `assume`: the execution does not count.
    pub(super) fn does_not_count(&mut self) {
        if let Some(graph) = &mut self.graph {
            graph.ends();
        }
    }

    /// The next state to be stored is not reached from a stored state.
    pub fn forget_current(&mut self) {
        if let Some(graph) = &mut self.graph {
            graph.current = None;
        }
        if let Some(past) = &mut self.past {
            past.begins_in(None);
        }
    }

    /// Takes the results so far. `stopped` is the reason if a limit was reached.
    pub fn take_found(&mut self, stopped: Option<String>) -> Exploration {
        let mut found = std::mem::take(&mut self.found);
        let mut stopped = stopped;
        if let Some(past) = &mut self.past {
            let (outcomes, reason) = past.outcomes(stopped.is_some(), &self.limits);
            found.outcomes = outcomes;
            stopped = stopped.or(reason);
        }
        found.states = self.seen.len() as u64;
        found.transitions = self.steps_taken.count;
        found.complete = stopped.is_none();
        found.reason = stopped;
        found
    }

    /// The numbers of stored states that are not expanded yet, or only in part.
    pub fn open(&self) -> &[usize] {
        &self.stack
    }

    /// The reason to stop before a state with this number is expanded.
    pub(super) fn limit(&mut self, number: usize) -> Option<String> {
        if self.past.as_ref().is_some_and(|past| past.is_full) {
            return Some("an observable has too many values".to_owned()); // `run` begins again
        }
        if self.seen.len() as u64 > self.limits.states {
            return Some(format!("more than {} states", self.limits.states));
        }
        let graph = self.graph.as_ref().map_or(0, Graph::memory);
        let outcomes = self.machine.memory_of(self.found.outcomes.len());
        let past = self.past.as_ref().map_or(0, Past::memory);
        let rounds = size_of::<Round>() * self.rounds.len();
        let memory = self.seen.memory() + rounds + graph + past + outcomes;
        if memory > self.limits.memory {
            return Some(format!("states need more than {}", Size(self.limits.memory as u64)));
        }
        if let Some(trial) = self.limits.ends_trial(self.seen.len() as u64, memory) {
            let has_shown = match &mut self.past {
                Some(past) => past.has(trial.outcomes, &self.limits),
                None => self.found.outcomes.len() >= trial.outcomes,
            };
            if !has_shown {
                return Some(trial.why_failed());
            }
        }
        // Reading the clock costs about as much as a small state, so it is read only now and then.
        if !number.is_multiple_of(64) {
            return None;
        }
        self.limits.until.reached().map(|reached| reached.to_string())
    }
}
