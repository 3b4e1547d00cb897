//! Broken NICs: each fault breaks one rule of the semantics.

/// The faults. A fault that the simulator also has, has the simulator's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Rule 3: a remote write may overtake earlier ones.
    PutsReordered,
    /// Rule 2: a put's local read may overtake puts that have not read yet.
    PutReadsReordered,
    /// Rule 2: the local read does not wait for earlier CPU writes.
    PutReadsEarly,
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
    /// Rule 6: does not need an empty `wbR`, and may overtake remote writes.
    GetsDoNotFlush,
    /// Rule 6: may overtake puts that have not read yet.
    GetOvertakesPutRead,
    /// Rule 2: ignores pending writes in `wbL`.
    ReadOvertakesLocalWrite,
    /// Poll: takes a `cn` behind writes in `wbL`.
    PollEarly,
    /// Rule 1: an rfence leaves at once.
    RfenceIgnored,
    /// Rules 9 to 11: ignore A(n).
    RmwNotExclusive,
    /// Rules 9 to 11: do not need an empty `wbR`, and may overtake remote writes.
    RmwDoesNotFlush,
    /// Rule 9: an RCAS that fails writes what it would have written.
    FailedCasWrites,
    /// Rules 10 and 11: an RMW is performed twice, as if its acknowledgement had been lost.
    RmwTwice,
    /// Rule 2: a put's source is read and written again before the put completes, as if the put had been sent
    /// again.
    SourceReadAgain,
    /// Rule 4: the last word of a write is written before the others.
    TagBeforeData,
}

/// Names and descriptions, one line each, in the order of [`Fault::ALL`]. `litmus nic` reads this file too.
const TEXT: &str = include_str!("../faults.txt");

impl Fault {
    /// All faults.
    const ALL: [Self; 19] = [
        Self::PutsReordered,
        Self::PutReadsReordered,
        Self::PutReadsEarly,
        Self::PutOvertakesRmw,
        Self::CompletionAtIssue,
        Self::CompletionsReordered,
        Self::RemoteBufferNotFifo,
        Self::LocalBufferNotFifo,
        Self::GetsDoNotFlush,
        Self::GetOvertakesPutRead,
        Self::ReadOvertakesLocalWrite,
        Self::PollEarly,
        Self::RfenceIgnored,
        Self::RmwNotExclusive,
        Self::RmwDoesNotFlush,
        Self::FailedCasWrites,
        Self::RmwTwice,
        Self::SourceReadAgain,
        Self::TagBeforeData,
    ];

    /// The fault with this name.
    pub fn named(name: &str) -> Option<Self> {
        let names = TEXT.lines().filter_map(|line| line.split_once(": ")).map(|(name, _)| name);
        Self::ALL.into_iter().zip(names).find(|(_, known)| *known == name).map(|(fault, _)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, TEXT};

    #[test]
    fn every_fault_has_its_own_name() {
        assert_eq!(TEXT.lines().count(), Fault::ALL.len());
        for (line, fault) in TEXT.lines().zip(Fault::ALL) {
            let (name, _) = line.split_once(": ").expect("a name and a description");
            assert_eq!(Fault::named(name), Some(fault));
            // The name is the variant's name, except for capitals and hyphens.
            assert_eq!(name.replace('-', ""), format!("{fault:?}").to_lowercase());
        }
        assert_eq!(Fault::named("none"), None);
    }
}
