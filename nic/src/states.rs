//! The states of a queue pair, and the attributes for each change of state (InfiniBand, "modify queue pair").

/// A state, with its number in `ibv_qp_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum State {
    /// The initial state.
    Reset = 0,
    /// Receive requests may be posted.
    Init = 1,
    /// Messages are received.
    ReadyToReceive = 2,
    /// Messages are sent, too.
    ReadyToSend = 3,
    /// Requests that have begun are finished; no new ones begin.
    SendQueueDrained = 4,
    /// Datagrams are received; send requests are flushed, as one has failed.
    SendQueueError = 5,
    /// All requests are flushed.
    Error = 6,
}

impl State {
    /// The state with this number.
    pub fn from_code(code: i32) -> Option<Self> {
        use State::*;
        [Reset, Init, ReadyToReceive, ReadyToSend, SendQueueDrained, SendQueueError, Error]
            .into_iter()
            .find(|state| *state as i32 == code)
    }

    /// Whether the state accepts requests of peers.
    pub fn receives(self) -> bool {
        use State::{ReadyToReceive, ReadyToSend, SendQueueDrained, SendQueueError};
        matches!(self, ReadyToReceive | ReadyToSend | SendQueueDrained | SendQueueError)
    }
}

/// The bits of `ibv_qp_attr_mask`.
pub mod attribute {
    /// The new state.
    pub const STATE: u32 = 1;
    /// The state that the program assumes.
    pub const CURRENT_STATE: u32 = 1 << 1;
    /// Whether to report that the send queue has drained.
    pub const DRAIN_NOTIFY: u32 = 1 << 2;
    /// The access rights of peers.
    pub const ACCESS: u32 = 1 << 3;
    /// The index of the partition key.
    pub const PKEY_INDEX: u32 = 1 << 4;
    /// The port.
    pub const PORT: u32 = 1 << 5;
    /// The key of datagrams.
    pub const KEY: u32 = 1 << 6;
    /// The address of the peer.
    pub const ADDRESS: u32 = 1 << 7;
    /// The path MTU.
    pub const PATH_MTU: u32 = 1 << 8;
    /// The timeout.
    pub const TIMEOUT: u32 = 1 << 9;
    /// The number of retries.
    pub const RETRIES: u32 = 1 << 10;
    /// The number of retries if the receiver is not ready.
    pub const RNR_RETRIES: u32 = 1 << 11;
    /// The sequence number of the peer.
    pub const RECEIVE_SEQUENCE: u32 = 1 << 12;
    /// The most reads and atomics in flight.
    pub const MOST_FETCHES: u32 = 1 << 13;
    /// The alternate path.
    pub const ALTERNATE: u32 = 1 << 14;
    /// How long a sender waits if there is no receive request.
    pub const RNR_TIMER: u32 = 1 << 15;
    /// The own sequence number.
    pub const SEND_SEQUENCE: u32 = 1 << 16;
    /// The most reads and atomics of the peer that are served at once.
    pub const MOST_SERVED: u32 = 1 << 17;
    /// The state of path migration.
    pub const MIGRATION: u32 = 1 << 18;
    /// The peer's queue pair.
    pub const DESTINATION: u32 = 1 << 20;
}

/// Whether the specification permits this change of state with these attributes, for reliable connections.
pub fn may_change(from: State, to: State, mask: u32) -> bool {
    use State::{Error, Init, ReadyToReceive, ReadyToSend, Reset, SendQueueDrained};
    use attribute::*;
    let ready_optional = CURRENT_STATE | ACCESS | RNR_TIMER | ALTERNATE | MIGRATION | DRAIN_NOTIFY;
    let (required, optional) = match (from, to) {
        (Reset, Error) => return false,
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

/// The same for datagrams.
pub fn may_change_datagrams(from: State, to: State, mask: u32) -> bool {
    use State::*;
    use attribute::*;
    let (required, optional) = match (from, to) {
        (Reset, Error) => return false,
        (_, Reset | Error) => (0, CURRENT_STATE),
        (Reset, Init) => (PKEY_INDEX | PORT | KEY, 0),
        (Init, Init) => (0, PKEY_INDEX | PORT | KEY),
        (Init, ReadyToReceive) => (0, PKEY_INDEX | KEY),
        (ReadyToReceive, ReadyToSend) => (SEND_SEQUENCE, CURRENT_STATE | KEY),
        (ReadyToSend | SendQueueDrained | SendQueueError, ReadyToSend) => (0, CURRENT_STATE | KEY),
        (ReadyToSend, SendQueueDrained) => (0, DRAIN_NOTIFY | CURRENT_STATE),
        (SendQueueDrained, SendQueueDrained) => (0, PKEY_INDEX | KEY),
        _ => return false,
    };
    mask & required == required && mask & !(required | optional | STATE) == 0
}

#[cfg(test)]
mod tests {
    use super::State::*;
    use super::{State, attribute::*, may_change, may_change_datagrams};

    #[test]
    fn the_way_of_every_program_is_open() {
        assert!(may_change(Reset, Init, STATE | PKEY_INDEX | PORT | ACCESS));
        let receive = ADDRESS | PATH_MTU | DESTINATION | RECEIVE_SEQUENCE | MOST_SERVED | RNR_TIMER;
        assert!(may_change(Init, ReadyToReceive, STATE | receive));
        let send = TIMEOUT | RETRIES | RNR_RETRIES | SEND_SEQUENCE | MOST_FETCHES;
        assert!(may_change(ReadyToReceive, ReadyToSend, STATE | send));
        assert!(may_change(ReadyToSend, SendQueueDrained, STATE));
        for state in [Reset, Init, ReadyToReceive, ReadyToSend, SendQueueDrained, Error] {
            assert_eq!(may_change(state, Error, STATE), state != Reset);
            assert!(may_change(state, Reset, STATE));
            assert_eq!(State::from_code(state as i32), Some(state));
        }
    }

    #[test]
    fn datagrams_need_a_key_and_no_address() {
        assert!(may_change_datagrams(Reset, Init, STATE | PKEY_INDEX | PORT | KEY));
        assert!(may_change_datagrams(Init, ReadyToReceive, STATE));
        assert!(may_change_datagrams(ReadyToReceive, ReadyToSend, STATE | SEND_SEQUENCE));
        assert!(may_change_datagrams(SendQueueError, ReadyToSend, STATE));
        assert!(!may_change_datagrams(ReadyToSend, SendQueueError, STATE));
        assert!(!may_change_datagrams(Reset, Init, STATE | PKEY_INDEX | PORT | ACCESS));
        assert!(!may_change_datagrams(Init, ReadyToReceive, STATE | ADDRESS));
    }

    #[test]
    fn no_step_is_left_out_and_no_attribute_is_missing() {
        assert!(!may_change(Reset, Init, STATE | PORT | ACCESS), "no partition key index");
        assert!(!may_change(Reset, Init, STATE | PKEY_INDEX | PORT | ACCESS | TIMEOUT));
        assert!(!may_change(Reset, ReadyToReceive, u32::MAX));
        assert!(!may_change(Init, ReadyToSend, u32::MAX));
        assert!(!may_change(Error, ReadyToSend, STATE));
        assert!(!may_change(ReadyToReceive, Init, STATE));
        // Nothing puts a reliable connection there.
        assert!(!may_change(ReadyToSend, SendQueueError, STATE));
        assert!(!may_change(SendQueueError, ReadyToSend, STATE));
    }
}
