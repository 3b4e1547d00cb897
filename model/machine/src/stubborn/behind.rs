//! Which parts bring a conflict with a step. What a request still has to do at memory stands behind what it
//! cannot overtake in the queues of its queue pair. So that has to move first, and brings the conflict.

use super::super::footprint::{Access, Footprints, bit};
use super::super::requests::{Stage, Stages};
use super::super::rules::{Agent, Machine, Transition};
use super::super::state::{Item, State};
use super::{Part, Reduction, comes_to, others_ahead};

/// The state that is looked at.
#[derive(Clone, Copy)]
pub(in super::super) struct View<'a> {
    pub machine: &'a Machine,
    pub footprints: &'a Footprints,
    pub state: &'a State,
}

/// How conflicts are looked for.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub view: View<'a>,
    /// The locations whose values matter.
    pub relevant: u64,
    /// Whether it matters what stands behind what. Where queues are short, sets that are a little smaller are
    /// not worth the time.
    pub looks_behind: bool,
}

/// A question about an enabled step.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub asking: Asking<'a>,
    pub step: &'a Part,
}

impl Asked<'_> {
    /// Whether the order of the step and of an access can matter.
    #[inline]
    pub fn conflicts(&self, access: Access) -> bool {
        self.step.now.conflicts(access, self.asking.relevant)
    }
}

/// The queue pair of a request, the number of entries of its pipe that are ahead of it, and the part that it
/// is in.
#[derive(Clone, Copy)]
struct Place {
    pair: usize,
    ahead: usize,
    part: u64,
}

/// All of a pipe is ahead of what is not posted yet.
const NOT_POSTED: usize = usize::MAX;

impl Reduction {
    /// The parts one of which must move before another part can do something whose order with the step
    /// matters. 0 if it never does, or the step itself must move before.
    pub(super) fn first_to_move(&self, asked: &Asked<'_>, index: usize) -> u64 {
        let other = &self.parts[index];
        let View { machine, footprints, state } = asked.asking.view;
        let part = 1 << index;
        let if_own = |access| if asked.conflicts(access) { part } else { 0 };
        match other.transition.agent {
            Agent::Cpu(thread) => {
                let pc = state.threads[thread].pc;
                let requests = footprints.requests(thread, pc);
                requests.fold(if_own(footprints.future(thread, pc).own), |all, (pair, stages)| {
                    all | self.ahead_of(asked, stages, Place { pair, ahead: NOT_POSTED, part })
                })
            }
            Agent::StoreBuffer(thread) => {
                let is_of_cpu = asked.step.transition.agent == Agent::Cpu(thread);
                state.threads[thread].buffer.iter().fold(0, |all, entry| match entry.item {
                    // Within a thread, reads affect only its requests.
                    Item::Write { .. } if is_of_cpu => all,
                    Item::Write { target, .. } => {
                        all | if_own(Access { writes: bit(target.0), ..Access::default() })
                    }
                    item => {
                        let others = comes_to(machine, entry);
                        let stages = Stages::of_item(machine, entry.pair, &item);
                        let place = Place { pair: entry.pair, ahead: NOT_POSTED, part };
                        all | if_own(Access { others, ..Access::default() })
                            | self.ahead_of(asked, &stages, place)
                    }
                })
            }
            Agent::Pipe(pair) => {
                let slot = other.transition.slot;
                let pipe = &state.pairs[pair].pipe;
                let stages = Stages::of_item(machine, pair, &pipe[slot].item);
                let ahead = others_ahead(pipe, slot).len();
                self.ahead_of(asked, &stages, Place { pair, ahead, part })
            }
            Agent::RemoteBuffer(_) | Agent::LocalBuffer(_) => part,
        }
    }

    fn ahead_of(&self, asked: &Asked<'_>, stages: &Stages, place: Place) -> u64 {
        let queues = &asked.asking.view.state.pairs[place.pair];
        let is_first = place.ahead == 0 || queues.pipe.is_empty();
        let is_alone = is_first && queues.remote.is_empty() && queues.local.is_empty();
        if is_alone || !asked.asking.looks_behind {
            return if asked.conflicts(stages.all()) { place.part } else { 0 };
        }
        let conflicting =
            Stage::ALL.into_iter().filter(|stage| asked.conflicts(stages.get(*stage)));
        conflicting.fold(0, |all, stage| all | self.ahead_of_stage(asked, stage, place))
    }

    fn ahead_of_stage(&self, asked: &Asked<'_>, stage: Stage, place: Place) -> u64 {
        let Place { pair, ahead, part } = place;
        let View { machine, state, .. } = asked.asking.view;
        let queues = &state.pairs[pair];
        let pipe = &queues.pipe[..ahead.min(queues.pipe.len())];
        let kind = stage.kind();
        let keeps_back = |slot: usize| {
            let entry = pipe.get(slot);
            entry.is_some_and(|entry| !machine.may_overtake(kind, entry.item.kind()))
        };
        let Transition { agent, slot } = asked.step.transition;
        let (remote, local) = (Agent::RemoteBuffer(pair), Agent::LocalBuffer(pair));
        // Rules 3 and 4 come apart if the gets ahead read first. Rule 3 then lets pass what wbR does not keep
        // back.
        let is_kept_back = match asked.step.through {
            _ if agent == remote || agent == local => stage.waits_for(agent),
            Some(Agent::RemoteBuffer(_)) => {
                agent == Agent::Pipe(pair) && slot < pipe.len() && stage.waits_for(remote)
            }
            _ => agent == Agent::Pipe(pair) && keeps_back(slot),
        };
        if is_kept_back {
            0
        } else if !queues.remote.is_empty() && stage.waits_for(remote) {
            bit(self.first[pair])
        } else if !queues.local.is_empty() && stage.waits_for(local) {
            bit(self.first[pair] + 1)
        } else if let Some(slot) = (0..pipe.len()).find(|slot| keeps_back(*slot)) {
            bit(self.first[pair] + 2 + slot)
        } else {
            part
        }
    }
}
