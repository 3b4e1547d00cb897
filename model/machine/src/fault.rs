//! Broken machines: named deviations from the rules. Tests use them to show that they can fail.
//!
//! Each fault is visible: some small program has an outcome under the fault that the correct machine does not
//! have (`tests/faults.rs` has one for each fault).

/// A way in which a machine can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the registry describes them")]
pub enum Fault {
    PutsReordered,
    PutReadsReordered,
    PutReadsEarly,
    PutOvertakesRmw,
    CompletionAtIssue,
    CompletionsReordered,
    RemoteBufferNotFifo,
    LocalBufferNotFifo,
    GetsDoNotFlush,
    GetOvertakesPutRead,
    ReadOvertakesLocalWrite,
    PollEarly,
    RfenceIgnored,
    RmwNotExclusive,
    RmwDoesNotFlush,
    PersistKeepsNothing,
    StoreBufferNotFifo,
    IssueOvertakesWrites,
    FenceIgnored,
    CasDoesNotDrain,
}

/// A fault as users see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultInfo {
    /// The fault.
    pub fault: Fault,
    /// The name on the command line.
    pub name: &'static str,
    /// What goes wrong, in one line.
    pub description: &'static str,
    /// The rule of [RMW §D.1] that is broken, and the order that is lost.
    pub breaks: &'static str,
}

const fn info(
    fault: Fault,
    name: &'static str,
    description: &'static str,
    breaks: &'static str,
) -> FaultInfo {
    FaultInfo { fault, name, description, breaks }
}

/// All faults, in the order of [`Fault`], which indexes this list.
pub const FAULTS: &[FaultInfo] = &[
    info(
        Fault::PutsReordered,
        "puts-reordered",
        "puts to one node are written there in any order",
        "rule 3: a remote write may overtake earlier ones (nrW, nrW)",
    ),
    info(
        Fault::PutReadsReordered,
        "put-reads-reordered",
        "puts to one node read their sources in any order",
        "rule 2: a put's local read may overtake earlier puts not yet read (nlR, nlR)",
    ),
    info(
        Fault::PutReadsEarly,
        "put-reads-early",
        "a put takes its value from memory when it is issued, past the store buffer",
        "rule 2: the local read does not wait for earlier CPU writes (lW, nlR)",
    ),
    info(
        Fault::PutOvertakesRmw,
        "put-overtakes-rmw",
        "a put is written before an earlier remote RMW is done",
        "rule 3: a remote write may overtake remote RMWs (narR, nrW) and (narW, nrW)",
    ),
    info(
        Fault::CompletionAtIssue,
        "completion-at-issue",
        "a put completes when it is handed to the NIC, before its source is read",
        "rule 5: cn does not wait for the put's local read (nlR, P)",
    ),
    info(
        Fault::CompletionsReordered,
        "completions-reordered",
        "completions of puts overtake those of earlier operations",
        "rule 5: an ack may overtake anything but fences (pf)",
    ),
    info(
        Fault::RemoteBufferNotFifo,
        "remote-buffer-not-fifo",
        "writes that have reached the remote node commit in any order",
        "rule 4: any write of wbR may be next (nrW, nrW)",
    ),
    info(
        Fault::LocalBufferNotFifo,
        "local-buffer-not-fifo",
        "results of gets and remote RMWs commit in any order",
        "rule 8: any write of wbL may be next (nlW, nlW)",
    ),
    info(
        Fault::GetsDoNotFlush,
        "gets-do-not-flush",
        "a get does not wait for earlier puts to the same node",
        "rule 6: needs no empty wbR, may overtake remote writes (nrW, nrR)",
    ),
    info(
        Fault::GetOvertakesPutRead,
        "get-overtakes-put-read",
        "a get reads before an earlier put has read its source",
        "rule 6: may overtake puts not yet read (nlR, nrR)",
    ),
    info(
        Fault::ReadOvertakesLocalWrite,
        "read-overtakes-local-write",
        "a put reads its source while the result of a fenced get is still on its way there",
        "rule 2: ignores pending writes in wbL (nlW, nF, nlR)",
    ),
    info(
        Fault::PollEarly,
        "poll-early",
        "a poll succeeds before the local write that it reports",
        "poll: takes a cn behind writes in wbL (nlW, P)",
    ),
    info(
        Fault::RfenceIgnored,
        "rfence-ignored",
        "remote fences do nothing",
        "rule 1: an rfence leaves at once (·, nF) and (nF, ·)",
    ),
    info(
        Fault::RmwNotExclusive,
        "rmw-not-exclusive",
        "remote RMWs of different threads interleave",
        "rules 9-11: ignore the lock of the node (rao)",
    ),
    info(
        Fault::RmwDoesNotFlush,
        "rmw-does-not-flush",
        "a remote RMW reads before earlier puts to the same node are written",
        "rules 9-11: need no empty wbR, may overtake remote writes (nrW, narR)",
    ),
    info(
        Fault::PersistKeepsNothing,
        "persist-keeps-nothing",
        "a flush to persistent memory completes, and a crash loses what it should have kept",
        "rule 6 of a flush: memory may have been written back last before it (persisted)",
    ),
    info(
        Fault::StoreBufferNotFifo,
        "store-buffer-not-fifo",
        "CPU writes to different locations leave the store buffer in any order",
        "store buffer: a write may overtake writes to other locations (lW, lW)",
    ),
    info(
        Fault::IssueOvertakesWrites,
        "issue-overtakes-writes",
        "RDMA operations reach the NIC before earlier CPU writes reach memory",
        "store buffer: operations may overtake CPU writes (lW, nlR) and (lW, nrW)",
    ),
    info(
        Fault::FenceIgnored,
        "fence-ignored",
        "Mfence does nothing",
        "Mfence: does not wait for the store buffer (lW, F)",
    ),
    info(
        Fault::CasDoesNotDrain,
        "cas-does-not-drain",
        "CPU read-modify-writes do not wait for the store buffer",
        "CAS: does not wait for the store buffer (lW, CAS)",
    ),
];

impl Fault {
    /// The fault with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        FAULTS.iter().find(|info| info.name == name).map(|info| info.fault)
    }

    /// The description for users.
    pub fn info(self) -> &'static FaultInfo {
        &FAULTS[self as usize]
    }
}

/// A set of faults; empty for the correct machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FaultSet(u32);

impl FaultSet {
    /// The correct machine.
    pub const NONE: Self = Self(0);

    /// The set with one more fault.
    #[must_use]
    pub const fn with(self, fault: Fault) -> Self {
        Self(self.0 | 1 << fault as u32)
    }

    /// Whether the fault is in the set.
    #[inline]
    pub const fn has(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u32 != 0
    }

    /// Whether the machine is correct.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Fault> for FaultSet {
    fn from_iter<T: IntoIterator<Item = Fault>>(faults: T) -> Self {
        faults.into_iter().fold(Self::NONE, Self::with)
    }
}
