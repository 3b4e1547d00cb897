//! NICs that are broken: one rule of the semantics each.

/// What is broken. Those of the simulator have the simulator's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Rule 3: a remote write may overtake earlier ones.
    PutsReordered,
    /// Rule 2: a put's local read may overtake puts not yet read.
    PutReadsReordered,
    /// Rule 3: a remote write may overtake remote RMWs.
    PutOvertakesRmw,
    /// Rule 5: `cn` does not wait for the put's local read.
    CompletionAtIssue,
    /// Rule 5: an ack may overtake anything.
    CompletionsReordered,
    /// Rule 4: any write of `wbR` may be next.
    RemoteBufferNotFifo,
    /// Rule 8: any write of `wbL` may be next.
    LocalBufferNotFifo,
    /// Rule 6: needs no empty `wbR`, may overtake remote writes.
    GetsDoNotFlush,
    /// Rule 2: ignores pending writes in `wbL`.
    ReadOvertakesLocalWrite,
    /// Poll: takes a `cn` behind writes in `wbL`.
    PollEarly,
    /// Rule 1: an rfence leaves at once.
    RfenceIgnored,
    /// Rules 9 to 11: ignore A(n).
    RmwNotExclusive,
    /// Rules 9 to 11: need no empty `wbR`, may overtake remote writes.
    RmwDoesNotFlush,
    /// Rule 9: an RCAS that fails writes what it would have written.
    FailedCasWrites,
    /// Rules 10 and 11: an RMW is done twice, as if its acknowledgement had been lost.
    RmwTwice,
    /// Rule 2: a put's source is read, and written, again before it completes, as if it had been sent again.
    SourceReadAgain,
    /// Rule 4: the last word of a write is written before the others.
    TagBeforeData,
}

/// All faults and their names.
pub const FAULTS: [(Fault, &str); 17] = [
    (Fault::PutsReordered, "puts-reordered"),
    (Fault::PutReadsReordered, "put-reads-reordered"),
    (Fault::PutOvertakesRmw, "put-overtakes-rmw"),
    (Fault::CompletionAtIssue, "completion-at-issue"),
    (Fault::CompletionsReordered, "completions-reordered"),
    (Fault::RemoteBufferNotFifo, "remote-buffer-not-fifo"),
    (Fault::LocalBufferNotFifo, "local-buffer-not-fifo"),
    (Fault::GetsDoNotFlush, "gets-do-not-flush"),
    (Fault::ReadOvertakesLocalWrite, "read-overtakes-local-write"),
    (Fault::PollEarly, "poll-early"),
    (Fault::RfenceIgnored, "rfence-ignored"),
    (Fault::RmwNotExclusive, "rmw-not-exclusive"),
    (Fault::RmwDoesNotFlush, "rmw-does-not-flush"),
    (Fault::FailedCasWrites, "failed-cas-writes"),
    (Fault::RmwTwice, "rmw-twice"),
    (Fault::SourceReadAgain, "source-read-again"),
    (Fault::TagBeforeData, "tag-before-data"),
];

impl Fault {
    /// The fault of a name.
    pub fn named(name: &str) -> Option<Self> {
        FAULTS.iter().find(|(_, known)| *known == name).map(|(fault, _)| *fault)
    }
}
