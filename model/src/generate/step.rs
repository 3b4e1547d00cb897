//! Steps: the statements of shapes, with what they access.

use super::shape::Location;

/// One statement. [`Step::Await`] can stand for several polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "the fields are places; what they are for is said with each statement"
)]
pub enum Step {
    /// `x := v`
    Write { at: Location },
    /// `a := x`
    Read { at: Location },
    /// `a := CAS(x, …)`. With `hits` it expects the initial value, else a value that never occurs.
    Cas { at: Location, hits: bool },
    /// `a := FAA(x, v)`
    Faa { at: Location },
    /// `Mfence`
    Fence,
    /// `x^n := v`
    PutValue { to: Location },
    /// `x^n := y`
    Put { to: Location, from: Location },
    /// `y := x^n`
    Get { from: Location, into: Location },
    /// `RCAS(y, x^n, …)`, with `hits` as in [`Step::Cas`].
    Rcas { at: Location, into: Location, hits: bool },
    /// `RFAA(y, x^n, v)`
    Rfaa { at: Location, into: Location },
    /// Waits for the operation of an earlier step of the same thread.
    Await { step: u8 },
    /// `Rfence(n)`
    RemoteFence { node: u8 },
    /// `Flush(n)`, or `Persist(n)`.
    Flush { is_persistent: bool, node: u8 },
    /// `AtomicWrite(x^n, v)`
    AtomicWrite { to: Location },
    /// `Send(n, v)`, or `Send(n, y)`. With an immediate ([`Post::immediate`]), `SendImm(n, v, w)`.
    Send { node: u8, from: Option<Location> },
    /// `Recv(t, x)`: a receive for a message of a thread. Without a buffer, `Recv(t, _)`.
    Receive { thread: u8, into: Option<Location> },
    /// `a := PollRecv(t)`
    PollReceive { thread: u8 },
    /// `x^n := y`, where both are arrays of as many words. Their first words are named.
    PutWords { to: Location, from: Location, words: u8 },
    /// `y := x^n`, of arrays.
    GetWords { from: Location, into: Location, words: u8 },
    /// `x[a]^n := v`, where x is an array and a is what an earlier [`Step::Read`] read.
    PutAt { to: Location, words: u8, index: u8 },
    /// `b := x[a]`, where x is an array and a is what an earlier [`Step::Read`] read.
    ReadAt { at: Location, words: u8, index: u8 },
}

/// The number of a queue pair that threads share.
pub const SHARED: u8 = lang::program::SHARED as u8;

/// Whether threads share the queue pair of a number.
pub fn is_shared(queue_pair: u8) -> bool {
    queue_pair >= SHARED
}

/// Which side of a statement an access is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// On the thread's own node, by the CPU or the NIC.
    Local,
    /// On the node that a remote operation targets.
    Remote,
}

/// An access to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// The location.
    pub place: Location,
    /// The side of the statement that the access is on.
    pub side: Side,
    /// Whether the access reads.
    pub reads: bool,
    /// Whether the access writes.
    pub writes: bool,
}

impl Step {
    /// The accesses of the statement, word by word; those that a value chooses among are all there. The
    /// remote access comes first.
    pub fn accesses(self) -> impl Iterator<Item = Access> {
        let access = |place, side, reads, writes| Some(Access { place, side, reads, writes });
        let (local, remote) = (Side::Local, Side::Remote);
        let pair = match self {
            Self::Write { at } => [access(at, local, false, true), None],
            Self::Read { at } => [access(at, local, true, false), None],
            Self::Cas { at, hits } => [access(at, local, true, hits), None],
            Self::Faa { at } => [access(at, local, true, true), None],
            Self::PutValue { to } | Self::AtomicWrite { to } => {
                [access(to, remote, false, true), None]
            }
            Self::Put { to, from } => {
                [access(to, remote, false, true), access(from, local, true, false)]
            }
            Self::Get { from, into } => {
                [access(from, remote, true, false), access(into, local, false, true)]
            }
            Self::Rcas { at, into, hits } => {
                [access(at, remote, true, hits), access(into, local, false, true)]
            }
            Self::Rfaa { at, into } => {
                [access(at, remote, true, true), access(into, local, false, true)]
            }
            Self::Send { from, .. } => {
                [from.and_then(|from| access(from, local, true, false)), None]
            }
            // The NIC writes the buffer when a message comes.
            Self::Receive { into, .. } => {
                [into.and_then(|into| access(into, local, false, true)), None]
            }
            Self::PutWords { to, from, .. } => {
                [access(to, remote, false, true), access(from, local, true, false)]
            }
            Self::GetWords { from, into, .. } => {
                [access(from, remote, true, false), access(into, local, false, true)]
            }
            Self::PutAt { to, .. } => [access(to, remote, false, true), None],
            Self::ReadAt { at, .. } => [access(at, local, true, false), None],
            Self::Fence
            | Self::Await { .. }
            | Self::RemoteFence { .. }
            | Self::Flush { .. }
            | Self::PollReceive { .. } => [None, None],
        };
        let words = (0..self.words()).flat_map(move |word| {
            let word = move |access: Access| Access { place: access.place + word, ..access };
            pair.map(move |access| access.map(word))
        });
        words.flatten()
    }

    /// How many words the statement may access on each side; 1 if it does not name an array.
    pub fn words(self) -> u8 {
        match self {
            Self::PutWords { words, .. }
            | Self::GetWords { words, .. }
            | Self::PutAt { words, .. }
            | Self::ReadAt { words, .. } => words,
            _ => 1,
        }
    }

    /// The first words of the arrays that the statement names.
    pub fn arrays(self) -> impl Iterator<Item = Location> {
        let (one, other) = match self {
            Self::PutWords { to, from, .. } => (Some(to), Some(from)),
            Self::GetWords { from, into, .. } => (Some(from), Some(into)),
            Self::PutAt { to, .. } => (Some(to), None),
            Self::ReadAt { at, .. } => (Some(at), None),
            _ => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// The earlier step of the thread that the statement refers to.
    pub fn earlier(self) -> Option<u8> {
        match self {
            Self::Await { step } => Some(step),
            Self::PutAt { index, .. } | Self::ReadAt { index, .. } => Some(index),
            _ => None,
        }
    }

    /// The same statement, which refers to this earlier step instead of another.
    #[must_use]
    pub fn referring_to(self, earlier: u8) -> Self {
        match self {
            Self::Await { .. } => Self::Await { step: earlier },
            Self::PutAt { to, words, .. } => Self::PutAt { to, words, index: earlier },
            Self::ReadAt { at, words, .. } => Self::ReadAt { at, words, index: earlier },
            other => other,
        }
    }

    /// Whether a register takes what the statement reads or receives.
    pub fn assigns(self) -> bool {
        matches!(
            self,
            Self::Read { .. }
                | Self::Cas { .. }
                | Self::Faa { .. }
                | Self::ReadAt { .. }
                | Self::PollReceive { .. }
        )
    }

    /// Whether the statement is a remote operation, which completes.
    pub fn is_operation(self) -> bool {
        matches!(self, Self::Flush { .. } | Self::Send { .. }) || self.target().is_some()
    }

    /// The remote location, for remote operations. Flushes and messages without a target have none.
    pub fn target(self) -> Option<Location> {
        self.accesses().find(|access| access.side == Side::Remote).map(|access| access.place)
    }

    /// The step with every location and node renamed. The words of an array keep their order.
    pub fn renamed(self, place: &impl Fn(Location) -> Location, node: &impl Fn(u8) -> u8) -> Self {
        match self {
            Self::Send { node: at, from } => Self::Send { node: node(at), from: from.map(place) },
            Self::Receive { thread, into } => Self::Receive { thread, into: into.map(place) },
            Self::PutWords { to, from, words } => {
                Self::PutWords { to: place(to), from: place(from), words }
            }
            Self::GetWords { from, into, words } => {
                Self::GetWords { from: place(from), into: place(into), words }
            }
            Self::PutAt { to, words, index } => Self::PutAt { to: place(to), words, index },
            Self::ReadAt { at, words, index } => Self::ReadAt { at: place(at), words, index },
            Self::Write { at } => Self::Write { at: place(at) },
            Self::Read { at } => Self::Read { at: place(at) },
            Self::Cas { at, hits } => Self::Cas { at: place(at), hits },
            Self::Faa { at } => Self::Faa { at: place(at) },
            Self::PutValue { to } => Self::PutValue { to: place(to) },
            Self::AtomicWrite { to } => Self::AtomicWrite { to: place(to) },
            Self::Put { to, from } => Self::Put { to: place(to), from: place(from) },
            Self::Get { from, into } => Self::Get { from: place(from), into: place(into) },
            Self::Rcas { at, into, hits } => Self::Rcas { at: place(at), into: place(into), hits },
            Self::Rfaa { at, into } => Self::Rfaa { at: place(at), into: place(into) },
            Self::RemoteFence { node: at } => Self::RemoteFence { node: node(at) },
            Self::Flush { is_persistent, node: at } => {
                Self::Flush { is_persistent, node: node(at) }
            }
            Self::Fence | Self::Await { .. } | Self::PollReceive { .. } => self,
        }
    }

    /// The step with every thread that it receives from renamed.
    #[must_use]
    pub fn received_from(self, thread: &impl Fn(u8) -> u8) -> Self {
        match self {
            Self::Receive { thread: from, into } => Self::Receive { thread: thread(from), into },
            Self::PollReceive { thread: from } => Self::PollReceive { thread: thread(from) },
            other => other,
        }
    }

    /// The thread that the statement receives from.
    pub fn sender(self) -> Option<u8> {
        match self {
            Self::Receive { thread, .. } | Self::PollReceive { thread } => Some(thread),
            _ => None,
        }
    }

    /// The name of the statement in models; `None` for waits.
    pub fn call(self) -> Option<&'static str> {
        Some(match self {
            Self::Write { .. } => "Write",
            Self::Read { .. } => "Read",
            Self::Cas { .. } => "CAS",
            Self::Faa { .. } => "FAA",
            Self::Fence => "Mfence",
            Self::PutValue { .. } | Self::Put { .. } => "Put",
            Self::PutWords { .. } | Self::PutAt { .. } => "Put",
            Self::Get { .. } | Self::GetWords { .. } => "Get",
            Self::ReadAt { .. } => "Read",
            Self::Send { .. } => "Send",
            Self::Receive { .. } => "Recv",
            Self::PollReceive { .. } => "PollRecv",
            Self::Rcas { .. } => "RCAS",
            Self::Rfaa { .. } => "RFAA",
            Self::RemoteFence { .. } => "Rfence",
            Self::Flush { is_persistent: true, .. } => "Persist",
            Self::Flush { .. } => "Flush",
            Self::AtomicWrite { .. } => "AtomicWrite",
            Self::Await { .. } => return None,
        })
    }
}

/// How a remote operation is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Post {
    /// The number of its queue pair among those of the thread to the same node. A remote fence has one too,
    /// and receives have that of their sender.
    pub queue_pair: u8,
    /// It has no completion, so nothing waits for it.
    pub unsignaled: bool,
    /// A [`Step::Put`] whose source the CPU reads when it posts it.
    pub inline: bool,
    /// A put or [`Step::Send`] that carries an immediate. The put consumes a receive too.
    pub immediate: bool,
}
