//! The state that all queue pairs of a process share: memory and its keys, A(n), random choices, and counts.

use crate::config::Knobs;
use crate::counts::Counts;
use crate::keys::Keys;
use crate::queues::Overrun;
use crate::random::Random;
use crate::request::Sge;
use crate::trace::{Name, Step, Trace};
use crate::wire::Message;

use super::mood::Mood;
use super::stale::Stale;

/// The memory of this process, by address. Aligned words are accessed whole.
pub trait Memory: Send {
    /// Reads `out.len()` bytes from an address.
    fn read(&mut self, host: u64, out: &mut [u8]);
    /// Writes bytes to an address.
    fn write(&mut self, host: u64, bytes: &[u8]);
}

/// The state that all queue pairs of a process share.
pub struct Node {
    /// The memory regions, by their keys.
    pub keys: Keys,
    /// The memory of the process.
    pub memory: Box<dyn Memory>,
    /// Messages that are to be sent.
    pub outbox: Vec<Message>,
    /// Events that are to be reported, each with the number of its queue pair.
    pub events: Vec<(u32, Event)>,
    /// Queue pairs that lost a completion, since the queue for it had no room.
    pub overran: Vec<u32>,
    /// A(n): the RMWs in progress.
    pub locks: Vec<Lock>,
    /// How weak the NIC is.
    pub knobs: Knobs,
    /// The source of random choices.
    pub random: Random,
    /// How long rules are delayed at present.
    pub mood: Mood,
    /// What memory held a moment ago, if a fault needs it.
    pub stale: Stale,
    /// Counts of what was done.
    pub counts: Counts,
    /// The trace of all steps.
    pub trace: Trace,
    /// The GID of each port, by its host and its number in the network.
    pub gid: fn(u32, u16) -> [u8; 16],
    /// The current time in nanoseconds, of a clock that never goes back.
    pub now: u64,
}

/// An RMW in progress. It excludes others of its node. A memory region counts as a node: nodes that a test
/// emulates on one device have a region each. A word may be registered in several regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The number of the queue pair.
    pub pair: u32,
    /// The index of its device.
    pub device: u16,
    /// The remote key of the region.
    pub key: u32,
    /// The address of the word.
    pub host: u64,
}

/// The asynchronous events of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `IBV_EVENT_CQ_ERR`, for the completion queue of send requests.
    SendCompletionsOverran,
    /// `IBV_EVENT_CQ_ERR`, for the completion queue of receive requests.
    ReceiveCompletionsOverran,
    /// `IBV_EVENT_QP_FATAL`.
    Fatal,
    /// `IBV_EVENT_QP_REQ_ERR`.
    InvalidRequest,
    /// `IBV_EVENT_QP_ACCESS_ERR`.
    AccessError,
    /// `IBV_EVENT_COMM_EST`.
    Established,
    /// `IBV_EVENT_SQ_DRAINED`.
    Drained,
    /// `IBV_EVENT_SRQ_LIMIT_REACHED`.
    LimitReached,
    /// `IBV_EVENT_QP_LAST_WQE_REACHED`.
    LastReached,
}

/// The groups of rules whose effects can be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Rule 2: the local read of a put.
    Source,
    /// Rules 3, 6, 9 to 12: performing a request at the remote node.
    Remote,
    /// Rule 4: a pending write becomes visible at the remote node.
    Visible,
    /// Rules 5 and 7: acknowledgements, and local writes that enter `wbL`.
    Answer,
    /// Rule 8, and notices at the head of `wbL`.
    Landing,
}

impl Delay {
    /// How many groups there are.
    pub const COUNT: usize = Self::Landing as usize + 1;
}

impl Node {
    /// The time at which a rule may be applied that becomes possible now for a queue pair. It may be delayed
    /// at random.
    pub fn due(&mut self, pair: u32, kind: Delay) -> u64 {
        if self.knobs.percent == 0 {
            return self.now;
        }
        let delay = self.mood.delay(pair, kind, &self.knobs, &mut self.random);
        self.counts.delays += u64::from(delay > 0);
        self.now + delay
    }

    /// Whether no RMW in progress excludes one in this region at this address.
    pub fn is_free(&self, device: u16, key: u32, host: Option<u64>) -> bool {
        let excludes = |lock: &Lock| lock.key == key || Some(lock.host) == host;
        !self.locks.iter().any(|lock| lock.device == device && excludes(lock))
    }

    /// Notes that a queue pair lost a completion. The event is that of the queue which had no room.
    pub fn lost(&mut self, pair: u32, overrun: Overrun, event: Event) {
        if overrun.is_first {
            self.events.push((pair, event));
        }
        self.overran.push(pair);
    }

    /// Ends the RMW of a queue pair.
    pub fn unlock(&mut self, pair: u32) {
        self.locks.retain(|lock| lock.pair != pair);
    }

    /// Records a step of a request in the trace.
    pub fn note(&mut self, name: Name, step: impl FnOnce() -> Step) {
        self.trace.note(self.now, name, step);
    }

    /// Reads local pieces, one after the other, into as many bytes. False if a key is not valid for its
    /// piece.
    pub fn gather(&mut self, domain: u32, sges: &[Sge], bytes: &mut [u8]) -> bool {
        let mut rest = bytes;
        for sge in sges.iter().filter(|sge| sge.length > 0) {
            let Some(host) = self.keys.local(domain, sge, false) else { return false };
            let Some((piece, after)) = rest.split_at_mut_checked(sge.length as usize) else {
                return false;
            };
            self.memory.read(host, piece);
            rest = after;
        }
        true
    }

    /// Writes bytes to an address of this process.
    pub fn write(&mut self, host: u64, bytes: &[u8]) {
        self.memory.write(host, bytes);
        self.stale.forget();
    }

    /// Writes bytes into local pieces, one after the other. Skips pieces whose region is gone.
    pub fn scatter(&mut self, domain: u32, sges: &[Sge], bytes: &[u8]) {
        let mut rest = bytes;
        for sge in sges {
            let (piece, after) = rest.split_at(rest.len().min(sge.length as usize));
            if !piece.is_empty()
                && let Some(host) = self.keys.local(domain, sge, true)
            {
                self.write(host, piece);
            }
            rest = after;
        }
    }
}
