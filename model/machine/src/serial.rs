//! Executions in which threads do not overlap: each thread runs to its end, with all that it has posted,
//! before the next one begins.
//!
//! What such executions show, a machine also shows whose threads never meet. Only other outcomes are evidence
//! that they did.

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::Outcome;

use super::fault::FaultSet;
use super::rules::{Agent, Effect, Machine, Transition, Variant, in_requests};
use super::state::State;

/// The most threads of which all orders are tried.
const MOST_THREADS: usize = 6;
/// The most steps of a thread. One that takes more waits for another thread.
const STEPS: u32 = 10_000;

/// The outcomes of a test whose threads run one after another, in any order. A thread that would wait for a
/// later one ends its order without an outcome. `None` if the test has too many threads, or statements that
/// the machine does not know.
pub fn serial(test: &Test) -> Option<BTreeSet<Outcome>> {
    let test = in_requests(test).ok()?;
    let machine = Machine::new(&test, Variant::Sc, FaultSet::NONE).ok()?;
    let threads = machine.code.threads.iter().enumerate();
    let busy = threads.filter(|(_, code)| code.has_statements()).map(|(index, _)| index);
    let busy: Vec<usize> = busy.collect();
    if busy.len() > MOST_THREADS {
        return None;
    }
    let mut outcomes = BTreeSet::new();
    follow(&machine, machine.initial(), &busy, &mut outcomes);
    Some(outcomes)
}

/// Lets each of these threads be the next one.
fn follow(machine: &Machine, state: &State, left: &[usize], outcomes: &mut BTreeSet<Outcome>) {
    if left.is_empty() && machine.is_final(state) {
        outcomes.insert(machine.outcome(state));
    }
    for thread in left {
        let mut next = state.clone();
        if run_alone(machine, &mut next, *thread) {
            let left: Vec<usize> = left.iter().copied().filter(|other| other != thread).collect();
            follow(machine, &next, &left, outcomes);
        }
    }
}

/// Runs a thread until it and its queue pairs have nothing more to do. Returns whether it came to its end.
fn run_alone(machine: &Machine, state: &mut State, thread: usize) -> bool {
    let code = &machine.code.threads[thread];
    let pairs = code.queue_pairs.clone();
    // What was posted comes first: the thread's statements are done one by one.
    let agents = pairs
        .flat_map(|pair| [Agent::LocalBuffer(pair), Agent::RemoteBuffer(pair), Agent::Pipe(pair)])
        .chain([Agent::StoreBuffer(thread), Agent::Cpu(thread)]);
    let agents: Vec<Agent> = agents.collect();
    for _ in 0..STEPS {
        let enabled = agents.iter().find_map(|agent| match machine.slots(state, *agent) {
            0 => None,
            slots => Some(Transition { agent: *agent, slot: slots.trailing_zeros() as usize }),
        });
        let Some(transition) = enabled else {
            return state.threads[thread].pc == code.instructions.len();
        };
        if machine.apply(state, transition) != Effect::Continue {
            return false;
        }
    }
    false
}
