//! The states of a queue pair, and which attributes lead from one to the next (InfiniBand, "modify queue pair").

/// A state: the numbers of `ibv_qp_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum State {
    /// As made.
    Reset = 0,
    /// Receive requests may be posted.
    Init = 1,
    /// Messages are received.
    ReadyToReceive = 2,
    /// Messages are sent, too.
    ReadyToSend = 3,
    /// What was begun is finished, nothing is begun.
    SendQueueDrained = 4,
    /// Everything is flushed.
    Error = 6,
}

impl State {
    /// The state of a number.
    pub fn from_code(code: i32) -> Option<Self> {
        use State::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrained};
        [Reset, Init, ReadyToReceive, ReadyToSend, SendQueueDrained, Error]
            .into_iter()
            .find(|state| *state as i32 == code)
    }

    /// Whether requests of peers are served.
    pub fn receives(self) -> bool {
        matches!(self, Self::ReadyToReceive | Self::ReadyToSend | Self::SendQueueDrained)
    }
}

/// Bits of `ibv_qp_attr_mask`.
pub mod attribute {
    /// The state to go to.
    pub const STATE: u32 = 1;
    /// The state that it is assumed to be in.
    pub const CURRENT_STATE: u32 = 1 << 1;
    /// Whether draining is told.
    pub const DRAIN_NOTIFY: u32 = 1 << 2;
    /// What peers may do.
    pub const ACCESS: u32 = 1 << 3;
    /// Partition key index.
    pub const PKEY_INDEX: u32 = 1 << 4;
    /// Port.
    pub const PORT: u32 = 1 << 5;
    /// Address of the peer.
    pub const ADDRESS: u32 = 1 << 7;
    /// Path MTU.
    pub const PATH_MTU: u32 = 1 << 8;
    /// Timeout.
    pub const TIMEOUT: u32 = 1 << 9;
    /// Retries.
    pub const RETRIES: u32 = 1 << 10;
    /// Retries if the receiver is not ready.
    pub const RNR_RETRIES: u32 = 1 << 11;
    /// Sequence number of the peer.
    pub const RECEIVE_SEQUENCE: u32 = 1 << 12;
    /// Reads and atomics under way.
    pub const MOST_FETCHES: u32 = 1 << 13;
    /// Alternate path.
    pub const ALTERNATE: u32 = 1 << 14;
    /// Time that a sender waits if there is no receive request.
    pub const RNR_TIMER: u32 = 1 << 15;
    /// Own sequence number.
    pub const SEND_SEQUENCE: u32 = 1 << 16;
    /// Reads and atomics of the peer.
    pub const MOST_SERVED: u32 = 1 << 17;
    /// Path migration.
    pub const MIGRATION: u32 = 1 << 18;
    /// The peer's queue pair.
    pub const DESTINATION: u32 = 1 << 20;
}

/// Whether a change of state with these attributes is one that the specification has for reliable connections.
pub fn may_change(from: State, to: State, mask: u32) -> bool {
    use State::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrained};
    use attribute::*;
    let ready_optional = CURRENT_STATE | ACCESS | RNR_TIMER | ALTERNATE | MIGRATION | DRAIN_NOTIFY;
    let (required, optional) = match (from, to) {
        (_, Reset | Error) => (0, CURRENT_STATE),
        (Reset, Init) => (PKEY_INDEX | PORT | ACCESS, 0),
        (Init, Init) => (0, PKEY_INDEX | PORT | ACCESS),
        (Init, ReadyToReceive) => (
            ADDRESS | PATH_MTU | DESTINATION | RECEIVE_SEQUENCE | MOST_SERVED | RNR_TIMER,
            ALTERNATE | ACCESS | PKEY_INDEX,
        ),
        (ReadyToReceive, ReadyToSend) => (
            TIMEOUT | RETRIES | RNR_RETRIES | SEND_SEQUENCE | MOST_FETCHES,
            CURRENT_STATE | ALTERNATE | ACCESS | RNR_TIMER | MIGRATION,
        ),
        (ReadyToSend, ReadyToSend) => (0, ready_optional),
        (ReadyToSend, SendQueueDrained) => (0, DRAIN_NOTIFY | CURRENT_STATE),
        (SendQueueDrained, ReadyToSend) => (0, ready_optional),
        (SendQueueDrained, SendQueueDrained) => (
            0,
            ready_optional
                | PKEY_INDEX
                | PORT
                | ADDRESS
                | TIMEOUT
                | RETRIES
                | RNR_RETRIES
                | MOST_FETCHES
                | MOST_SERVED,
        ),
        _ => return false,
    };
    mask & required == required && mask & !(required | optional | STATE) == 0
}

#[cfg(test)]
mod tests {
    use super::State::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrained};
    use super::{State, attribute::*, may_change};

    #[test]
    fn the_way_of_every_program_is_open() {
        assert!(may_change(Reset, Init, STATE | PKEY_INDEX | PORT | ACCESS));
        let receive = ADDRESS | PATH_MTU | DESTINATION | RECEIVE_SEQUENCE | MOST_SERVED | RNR_TIMER;
        assert!(may_change(Init, ReadyToReceive, STATE | receive));
        let send = TIMEOUT | RETRIES | RNR_RETRIES | SEND_SEQUENCE | MOST_FETCHES;
        assert!(may_change(ReadyToReceive, ReadyToSend, STATE | send));
        assert!(may_change(ReadyToSend, SendQueueDrained, STATE));
        for state in [Reset, Init, ReadyToReceive, ReadyToSend, SendQueueDrained, Error] {
            assert!(may_change(state, Error, STATE) && may_change(state, Reset, STATE));
            assert_eq!(State::from_code(state as i32), Some(state));
        }
    }

    #[test]
    fn no_step_is_left_out_and_no_attribute_is_missing() {
        assert!(!may_change(Reset, Init, STATE | PORT | ACCESS), "no partition key index");
        assert!(!may_change(Reset, Init, STATE | PKEY_INDEX | PORT | ACCESS | TIMEOUT));
        assert!(!may_change(Reset, ReadyToReceive, u32::MAX));
        assert!(!may_change(Init, ReadyToSend, u32::MAX));
        assert!(!may_change(Error, ReadyToSend, STATE));
        assert!(!may_change(ReadyToReceive, Init, STATE));
        assert_eq!(State::from_code(5), None, "there is no SQE for reliable connections");
    }
}
