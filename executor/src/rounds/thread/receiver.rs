//! The receiving end of a queue pair of the test.
//!
//! The instances of a round share the queue pair, and each uses up exactly the receives that it posts. So
//! the thread posts all of them, whatever becomes of the instance; the sender fills those that are left at
//! its end.

use std::collections::VecDeque;
use std::time::Duration;

use compiler::code::QueuePairId;
use compiler::plan::Plan;
use lang::program::BOTTOM;

use super::{End, Ending, Halt, Patience, Stop};
use crate::rdma::{Arrival, Endpoint, RdmaError};
use crate::rounds::{Layout, Parameters};

/// The receiving end of a queue pair of the test.
pub struct Receiver {
    /// The queue pair, which is another thread's.
    pub(super) queue_pair: QueuePairId,
    endpoint: Box<dyn Endpoint>,
    /// For each receive of an instance, the word that is its buffer.
    buffers: Vec<usize>,
    /// How many receives may be posted and not complete.
    most: u64,
    posted: u64,
    completed: u64,
    /// How many receives were posted by earlier instances.
    earlier: u64,
    /// How many this instance has polled.
    polled: usize,
    /// The completions of this instance's receives that are not polled.
    arrived: VecDeque<Arrival>,
    taken: Vec<Arrival>,
}

/// How many receives of a queue pair may be posted and not complete: those of a round, if the device has that
/// many, and at least those of an instance.
pub fn receives_at_once(plan: &Plan, pair: QueuePairId, parameters: &Parameters, most: u32) -> u32 {
    let each = u32::try_from(plan.receives(pair).len()).unwrap_or(u32::MAX);
    each.saturating_mul(parameters.instances).min(most).max(each)
}

impl Receiver {
    /// The receiving end of a queue pair, over an endpoint that takes this many receives.
    pub fn new(endpoint: Box<dyn Endpoint>, plan: &Plan, pair: QueuePairId, most: u32) -> Self {
        Self {
            queue_pair: pair,
            endpoint,
            buffers: plan.receives(pair),
            most: most.into(),
            posted: 0,
            completed: 0,
            earlier: 0,
            polled: 0,
            arrived: VecDeque::new(),
            taken: Vec::new(),
        }
    }

    /// Begins an instance. What still comes for earlier ones is of no interest.
    pub(super) fn begin(&mut self) {
        self.earlier = self.posted;
        self.polled = 0;
        self.arrived.clear();
    }

    /// How many receives this instance has posted.
    fn own(&self) -> usize {
        (self.posted - self.earlier) as usize
    }

    /// Posts the next receive of the instance whose words these are.
    pub(super) fn post(
        &mut self,
        (slot, layout): (u32, &Layout),
        stop: &Stop<'_>,
    ) -> Result<(), End> {
        let Some(buffer) = self.buffers.get(self.own()) else { return Ok(()) };
        let word = layout.word(slot, *buffer);
        let mut patience = Patience::at_barrier(stop);
        while self.posted - self.completed >= self.most {
            self.look()?;
            if self.posted - self.completed >= self.most
                && let Some(silence) = patience.spin()?
            {
                let seconds = silence.as_secs();
                return Err(End::Hang(format!(
                    "no message for {} receives for {seconds} s",
                    self.most
                )));
            }
        }
        self.endpoint.post_receive(word)?;
        self.posted += 1;
        Ok(())
    }

    /// Waits for the next completion, and returns what `PollRecv` does; or how the instance ends.
    pub(super) fn poll(
        &mut self,
        limit: Duration,
        stop: &Stop<'_>,
    ) -> Result<Result<u64, Ending>, Halt> {
        // One thread posts and polls, so no receive is posted while it waits.
        if self.polled >= self.own() {
            return Ok(Err(Ending::Blocked));
        }
        self.polled += 1;
        let mut patience = Patience::within(limit, stop);
        loop {
            self.look()?;
            if let Some(arrival) = self.arrived.pop_front() {
                return Ok(meaning(arrival));
            }
            if patience.spin()?.is_some() {
                return Err(Halt::GivenUp);
            }
        }
    }

    /// Ends an instance: posts its receives that are not posted yet.
    pub(super) fn settle(&mut self, place: (u32, &Layout), stop: &Stop<'_>) -> Result<(), End> {
        while self.own() < self.buffers.len() {
            self.post(place, stop)?;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), RdmaError> {
        self.endpoint.poll_receives(&mut self.taken)?;
        self.completed += self.taken.len() as u64;
        let earlier = self.earlier;
        self.arrived.extend(self.taken.drain(..).filter(|arrival| arrival.number >= earlier));
        Ok(())
    }
}

/// The value of a completed receive. A message without data says that no other one comes.
fn meaning(arrival: Arrival) -> Result<u64, Ending> {
    let Arrival { immediate, empty, .. } = arrival;
    if !empty {
        return Ok(immediate.map_or(BOTTOM, u64::from));
    }
    let ending = immediate.and_then(|number| u8::try_from(number).ok());
    Err(match ending.map(Ending::from_number) {
        // The sender has reached its end, and has sent nothing for this receive.
        Some(Ending::Finished) | None => Ending::Blocked,
        Some(other) => other,
    })
}
