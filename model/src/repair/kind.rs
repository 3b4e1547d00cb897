//! The kinds of changes, and their words.

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `Poll(n)`.
    Poll,
    /// `PollRecv(t)`.
    PollReceive,
    /// `Wait(d)`, with the work id if the operation has none.
    Wait,
    /// `Rfence(n)`.
    Rfence,
    /// `Mfence`.
    Mfence,
    /// A get from a node that was written to, and a wait for it.
    Flush,
    /// `Persist(n)`, and a wait for it; in tests about a crash.
    Persist,
    /// An RCAS in place of a put of a constant.
    Rcas,
    /// Two statements that follow each other, exchanged, or a wait that comes earlier.
    Exchange,
    /// `GFence({n})`.
    Gfence,
    /// An operation on another queue pair to its node.
    QueuePair,
    /// A completion for a request that is unsignaled, so that a poll can take it.
    Signal,
    /// A put that copies its source when it is posted.
    Inline,
}

/// Kinds that change what is there, and do not only add.
pub const REWRITES: [Kind; 5] =
    [Kind::Rcas, Kind::Exchange, Kind::QueuePair, Kind::Signal, Kind::Inline];

impl Kind {
    /// All kinds, with their words.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Poll, "poll"),
        (Self::PollReceive, "poll-recv"),
        (Self::Wait, "wait"),
        (Self::Rfence, "rfence"),
        (Self::Gfence, "gfence"),
        (Self::Mfence, "mfence"),
        (Self::Flush, "flush"),
        (Self::Persist, "persist"),
        (Self::Rcas, "rcas"),
        (Self::Exchange, "exchange"),
        (Self::QueuePair, "queue-pair"),
        (Self::Signal, "signal"),
        (Self::Inline, "inline"),
    ];

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(kind, _)| *kind)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    /// What to say of another word.
    pub fn unknown(word: &str) -> String {
        let all: Vec<&str> = Self::ALL.iter().map(|(_, word)| *word).collect();
        format!("expected one of {}, found `{word}`", all.join(", "))
    }
}
