//! What all queue pairs of a process share: memory and its keys, A(n), chance, and what was counted.

use std::collections::HashMap;

use crate::config::{Knobs, Preset};
use crate::counts::Counts;
use crate::keys::Keys;
use crate::random::Random;
use crate::request::Sge;
use crate::trace::{Name, Step, Trace};
use crate::wire::Message;

/// Memory of this process, by its addresses. Aligned words are accessed whole.
pub trait Memory: Send {
    /// Reads bytes.
    fn read(&mut self, host: u64, out: &mut [u8]);
    /// Writes bytes.
    fn write(&mut self, host: u64, bytes: &[u8]);
}

/// What all queue pairs of a process share.
pub struct Node {
    /// Memory regions.
    pub keys: Keys,
    /// Memory.
    pub memory: Box<dyn Memory>,
    /// Messages to be sent.
    pub outbox: Vec<Message>,
    /// Events to be told, with the queue pair they are of.
    pub events: Vec<(u32, Event)>,
    /// A(n): the queue pair whose RMW is under way, for each device.
    pub locks: HashMap<u16, u32>,
    /// How weak the NIC is.
    pub knobs: Knobs,
    /// Where chance comes from.
    pub random: Random,
    /// What was done.
    pub counts: Counts,
    /// Where each step is noted.
    pub trace: Trace,
    /// Nanoseconds of a clock that only moves forward.
    pub now: u64,
}

/// Asynchronous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `IBV_EVENT_CQ_ERR`, of the send queue's completions.
    SendCompletionsOverran,
    /// `IBV_EVENT_CQ_ERR`, of the receive queue's completions.
    ReceiveCompletionsOverran,
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

/// The rules whose effects can be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Rule 2: the local read of a put.
    Source,
    /// Rules 3, 6, 9 to 12: what is done at the remote node.
    Remote,
    /// Rule 4: what is pending at the remote node.
    Visible,
    /// Rules 5 and 7: acknowledgements and local writes to do.
    Answer,
    /// Rule 8, and notices at the head of `wbL`.
    Landing,
}

impl Node {
    /// When a rule may be applied that has become possible now.
    pub fn due(&mut self, _delay: Delay) -> u64 {
        if self.knobs.preset == Preset::Calm || !self.random.percent(self.knobs.percent) {
            return self.now;
        }
        self.counts.delays += 1;
        self.now + 1 + self.random.below(self.knobs.most)
    }

    /// Notes a step of a request.
    pub fn note(&mut self, name: Name, step: impl FnOnce() -> Step) {
        self.trace.note(self.now, name, step);
    }

    /// The bytes of local pieces, one after the other; `None` if a key does not fit.
    pub fn gather(&mut self, domain: u32, sges: &[Sge]) -> Option<Vec<u8>> {
        let mut bytes = vec![0; crate::request::total(sges) as usize];
        let mut rest = bytes.as_mut_slice();
        for sge in sges.iter().filter(|sge| sge.length > 0) {
            let host = self.keys.local(domain, sge, false)?;
            let (piece, after) = rest.split_at_mut_checked(sge.length as usize)?;
            self.memory.read(host, piece);
            rest = after;
        }
        Some(bytes)
    }

    /// Writes bytes into local pieces, one after the other. A piece whose region is gone is left out.
    pub fn scatter(&mut self, domain: u32, sges: &[Sge], bytes: &[u8]) {
        let mut rest = bytes;
        for sge in sges {
            let (piece, after) = rest.split_at(rest.len().min(sge.length as usize));
            if !piece.is_empty()
                && let Some(host) = self.keys.local(domain, sge, true)
            {
                self.memory.write(host, piece);
            }
            rest = after;
        }
    }
}
