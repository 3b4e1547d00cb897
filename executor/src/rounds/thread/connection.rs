//! The requesting end of a queue pair of the test.

use std::collections::VecDeque;
use std::time::Duration;

use model::machine::Random;

use super::{End, Ending, Halt, Patience, Stop};
use crate::rdma::{Endpoint, RdmaError, RegionKey, Request, RequestKind};
use crate::rounds::Layout;

/// The requesting end of a queue pair of the test.
pub struct Connection {
    endpoint: Box<dyn Endpoint>,
    pub(super) remote: RegionKey,
    pub(super) layout: Layout,
    depth: u64,
    /// The number of requests posted. `completed` counts those that completed.
    pub(super) posted: u64,
    completed: u64,
    /// How many of the first ones are known to have completed.
    first: u64,
    pub(super) fence_next: bool,
    /// How many requests may be posted by one call, and those that wait for the others. They count as posted.
    list: usize,
    waiting: Vec<Request>,
    /// How many requests were posted up to the last that is signaled.
    signaled: u64,
    /// For each signaled request of this instance that is not polled, how many were posted up to it.
    pub(super) unpolled: VecDeque<u64>,
    /// How many receives the other end posts in each instance, and how many messages took one in this one.
    receives: u64,
    sent: u64,
    /// How long this instance waits for completions. `None`: as long as something must happen.
    patience: Option<Duration>,
}

/// Until when a connection waits.
#[derive(Clone, Copy)]
enum Until {
    /// Until this number of requests have completed, whichever they are.
    Any(u64),
    /// Until the request of this number has completed. The first has number 1; 0 stands for none.
    One(u64),
}

impl Connection {
    /// A connection over an endpoint that leads to a node's region with this layout.
    pub fn new(endpoint: Box<dyn Endpoint>, remote: RegionKey, layout: Layout, depth: u32) -> Self {
        let depth = u64::from(depth);
        Self {
            endpoint,
            remote,
            layout,
            depth,
            posted: 0,
            completed: 0,
            first: 0,
            fence_next: false,
            list: 1,
            waiting: Vec::new(),
            signaled: 0,
            unpolled: VecDeque::new(),
            receives: 0,
            sent: 0,
            patience: None,
        }
    }

    /// The same, where up to this many requests are posted by one call.
    #[must_use]
    pub fn with_lists(self, list: u32) -> Self {
        Self { list: list.max(1) as usize, ..self }
    }

    /// The same, where the other end posts this many receives in each instance.
    #[must_use]
    pub fn with_receives(self, receives: usize) -> Self {
        Self { receives: receives as u64, ..self }
    }

    /// Begins an instance. Where messages wait for receives, their completions may never come.
    pub(super) fn begin(&mut self, patience: Duration) {
        self.unpolled.clear();
        self.fence_next = false;
        self.sent = 0;
        self.patience = (self.receives > 0).then_some(patience);
    }

    /// Whether the other end posts receives.
    pub(super) fn has_receives(&self) -> bool {
        self.receives > 0
    }

    /// Whether there is a receive for one more message of this instance. If not, it would wait for ever.
    pub(super) fn has_receive(&self) -> bool {
        self.sent < self.receives
    }

    /// Ends an instance. All instances share the receives, so a message without data takes each that is left,
    /// and says how the instance ended here.
    pub(super) fn settle(&mut self, ending: Ending, stop: &Stop<'_>) -> Result<(), End> {
        self.patience = None;
        while self.has_receive() {
            let filler = Request {
                immediate: Some(ending as u32),
                signaled: false,
                ..Request::plain(RequestKind::Send, 0, 0, (0, 0))
            };
            self.post(&filler, stop)?;
        }
        Ok(self.ring()?)
    }

    #[inline]
    fn reap(&mut self) -> Result<(), RdmaError> {
        self.completed += self.endpoint.poll()? as u64;
        Ok(())
    }

    /// Hands what waits to the NIC.
    pub(super) fn ring(&mut self) -> Result<(), RdmaError> {
        if !self.waiting.is_empty() {
            self.endpoint.post_list(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    /// Waits until the request of this number has completed. The first one posted has number 1. Others may
    /// complete before it or after it.
    pub(super) fn wait(&mut self, number: u64, stop: &Stop<'_>) -> Result<(), Halt> {
        if !self.is_done(Until::One(number)) {
            self.ring()?;
            self.reap()?;
        }
        if self.is_done(Until::One(number)) {
            return Ok(());
        }
        self.wait_until(Until::One(number), stop)
    }

    /// Waits until `count` requests have completed, whichever they are.
    fn wait_any(&mut self, count: u64, stop: &Stop<'_>) -> Result<(), Halt> {
        self.wait_until(Until::Any(count), stop)
    }

    #[inline]
    fn is_done(&self, until: Until) -> bool {
        match until {
            Until::Any(count) => self.completed >= count,
            Until::One(number) => number == 0 || self.endpoint.done().has(number - 1),
        }
    }

    /// How long it waits for completions.
    fn patience<'s>(&self, stop: &'s Stop<'_>) -> Patience<'s> {
        match self.patience {
            Some(limit) => Patience::within(limit, stop),
            // The other end may be late with its receives.
            None if self.receives > 0 => Patience::at_barrier(stop),
            None => Patience::new(stop),
        }
    }

    /// Whether `count` requests have completed; if not, looks for completions first.
    #[inline]
    pub(super) fn has_completed(&mut self, count: u64) -> Result<bool, RdmaError> {
        if self.completed < count {
            self.ring()?;
            self.reap()?;
        }
        Ok(self.completed >= count)
    }

    /// Takes the oldest completion of this instance, if it is there.
    pub(super) fn take(&mut self) -> Result<bool, RdmaError> {
        let Some(count) = self.unpolled.front().copied() else { return Ok(false) };
        let is_there = self.has_completed(count)?;
        if is_there {
            self.unpolled.pop_front();
        }
        Ok(is_there)
    }

    /// Takes the oldest completion of this instance as soon as it is there. Returns whether there is one to
    /// come.
    ///
    /// If it is there, little is stored until then: a write of the program may still be in the CPU's store
    /// buffer, which does not have many places.
    #[inline]
    pub(super) fn poll_oldest(&mut self, stop: &Stop<'_>) -> Result<bool, Halt> {
        let Some(count) = self.unpolled.pop_front() else { return Ok(false) };
        if !self.has_completed(count)? {
            self.wait_any(count, stop)?;
        }
        Ok(true)
    }

    #[cold]
    fn wait_until(&mut self, until: Until, stop: &Stop<'_>) -> Result<(), Halt> {
        let mut patience = self.patience(stop);
        if !self.is_done(until) {
            self.ring()?;
        }
        while !self.is_done(until) {
            self.reap()?;
            if !self.is_done(until)
                && let Some(silence) = patience.spin()?
            {
                if self.patience.is_some() {
                    return Err(Halt::GivenUp);
                }
                return Err(Halt::End(End::Hang(format!(
                    "no completion for {} s, {} requests under way",
                    silence.as_secs(),
                    self.posted - self.completed
                ))));
            }
        }
        Ok(())
    }

    pub(super) fn post(&mut self, request: &Request, stop: &Stop<'_>) -> Result<(), Halt> {
        // The first one under way keeps its place, also where others have completed before it.
        if self.posted - self.first >= self.depth {
            self.wait(self.posted + 1 - self.depth, stop)?;
            self.first = self.endpoint.done().first();
        }
        // Requests without a completion fill the queue, and nothing would say that there is space again.
        let is_long = self.posted - self.signaled + 1 >= self.depth.div_ceil(2);
        let signaled = request.signaled || is_long;
        let request = Request { signaled, ..*request };
        match self.list {
            1 => self.endpoint.post(&request)?,
            _ => self.waiting.push(request),
        }
        self.posted += 1;
        self.sent += u64::from(request.is_message());
        if signaled {
            self.signaled = self.posted;
        }
        if self.waiting.len() >= self.list { Ok(self.ring()?) } else { Ok(()) }
    }

    /// Waits until everything that was posted has completed and is in memory. The response to a final read
    /// pushes all earlier writes ahead of it.
    pub(super) fn drain(&mut self, scratch: usize, stop: &Stop<'_>) -> Result<(), End> {
        let (first, words) = self.layout.to_flush();
        self.read((first, words), scratch, stop)
    }

    /// Waits until everything that was posted has completed, and a read of one word after it.
    pub(super) fn round_trip(&mut self, scratch: usize, stop: &Stop<'_>) -> Result<(), End> {
        self.read((self.layout.scratch(), 1), scratch, stop)
    }

    fn read(
        &mut self,
        (first, words): (usize, usize),
        scratch: usize,
        stop: &Stop<'_>,
    ) -> Result<(), End> {
        let remote = (self.remote.address + 8 * first as u64, self.remote.key);
        let read = Request::plain(RequestKind::Read, scratch, words as u32, remote);
        self.post(&read, stop)?;
        Ok(self.wait_any(self.posted, stop)?)
    }
}

/// A poll of one or several queue pairs: takes the oldest completion of this instance of one of them, which
/// need not be the first that came. Returns whether there is one to come.
pub(super) fn poll_one(
    connections: &mut [Connection],
    pairs: &[usize],
    random: &mut Random,
    stop: &Stop<'_>,
) -> Result<bool, Halt> {
    let open: Vec<usize> =
        pairs.iter().copied().filter(|pair| !connections[*pair].unpolled.is_empty()).collect();
    if let [pair] = open[..] {
        return connections[pair].poll_oldest(stop);
    }
    // A wait of the same length for all: that of the one whose completion may never come.
    let Some(shortest) = open.iter().min_by_key(|pair| connections[**pair].patience.is_none())
    else {
        return Ok(false);
    };
    let gives_up = connections[*shortest].patience.is_some();
    let mut patience = connections[*shortest].patience(stop);
    let first = random.below(open.len() as u32) as usize;
    for pair in open.iter().cycle().skip(first) {
        if connections[*pair].take()? {
            break;
        }
        if let Some(silence) = patience.spin()? {
            if gives_up {
                return Err(Halt::GivenUp);
            }
            let text = format!("no completion of several queue pairs for {} s", silence.as_secs());
            return Err(Halt::End(End::Hang(text)));
        }
    }
    Ok(true)
}
