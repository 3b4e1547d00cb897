//! Each fault shows an outcome that the correct machine does not have.

use super::load::{faulty, outcome, outcomes, test};
use crate::{FAULTS, Fault, Variant};

/// A program, and an outcome that is forbidden unless the machine has the fault.
struct Visible {
    fault: Fault,
    declarations: &'static str,
    statements: &'static str,
    observed: &'static str,
    outcome: &'static [u64],
}

const fn visible(
    fault: Fault,
    declarations: &'static str,
    statements: &'static str,
    observed: &'static str,
    outcome: &'static [u64],
) -> Visible {
    Visible { fault, declarations, statements, observed, outcome }
}

const MP: &str = "x^2 := 1; y^2 := 1 || a := y; b := x";
const SB_GETS: &str =
    "x^2 := 1; c := z^2; Poll(2); Poll(2); a := y || y^1 := 1; d := w^1; Poll(1); Poll(1); b := x";
const SB_FENCES: &str = "x := 1; Mfence; a := y | y := 1; Mfence; b := x";
const SB_CAS: &str = "x := 1; CAS(z, 0, 1); a := y | y := 1; CAS(z, 0, 1); b := x";

const VISIBLE: &[Visible] = &[
    visible(Fault::PutsReordered, "|| x, y = 0, 0", MP, "a, b", &[1, 0]),
    visible(
        Fault::PutReadsReordered,
        "x, y = 0, 0 | || z, w = 0, 0",
        "z^2 := x; w^2 := y | y := 1; x := 1 ||",
        "z, w",
        &[1, 0],
    ),
    visible(Fault::PutReadsEarly, "x = 0 || z = 2", "x := 1; z^2 := x ||", "z", &[0]),
    visible(
        Fault::PutOvertakesRmw,
        "|| x, y = 0, 0",
        "RCAS(a, x^2, 8, 9); y^2 := 1 || b := y; x := 1",
        "a, b",
        &[1, 1],
    ),
    visible(Fault::CompletionAtIssue, "x = 0 || z = 0", "z^2 := x; Poll(2); x := 1 ||", "z", &[1]),
    visible(
        Fault::CompletionAtIssue,
        "x = 0 || z = 0",
        "z^2 :=^d x; Wait(d); x := 1 ||",
        "z",
        &[1],
    ),
    visible(
        Fault::CompletionsReordered,
        "|| x, z = 0, 1",
        "c := z^2; x^2 := 1; Poll(2); a := c ||",
        "a",
        &[0],
    ),
    visible(Fault::RemoteBufferNotFifo, "|| x, y = 0, 0", MP, "a, b", &[1, 0]),
    visible(
        Fault::LocalBufferNotFifo,
        "c, d = 0, 0 | || x, y = 1, 1",
        "c := x^2; d := y^2 | a := d; b := c ||",
        "a, b",
        &[1, 0],
    ),
    visible(Fault::GetsDoNotFlush, "y, w = 0, 0 || x, z = 0, 0", SB_GETS, "a, b", &[0, 0]),
    visible(
        Fault::GetOvertakesPutRead,
        "y = 0 || x, z = 0, 0",
        "z^2 := y; c := x^2 || x := 1; y^1 := 1",
        "z, c",
        &[1, 0],
    ),
    visible(
        Fault::ReadOvertakesLocalWrite,
        "|| x, z = 1, 2",
        "c := x^2; Rfence(2); z^2 := c ||",
        "z",
        &[0],
    ),
    visible(Fault::PollEarly, "|| x = 1", "c := x^2; Poll(2); a := c ||", "a", &[0]),
    visible(Fault::PollEarly, "|| x = 1", "c :=^d x^2; Wait(d); a := c ||", "a", &[0]),
    visible(
        Fault::RfenceIgnored,
        "|| x, y = 0, 0",
        "a := x^2; Rfence(2); y^2 := 1 || b := y; x := 1",
        "a, b",
        &[1, 1],
    ),
    visible(
        Fault::RmwNotExclusive,
        "|| || x = 0",
        "RCAS(a, x^3, 0, 2) || RFAA(b, x^3, 1) ||",
        "x",
        &[2],
    ),
    visible(Fault::RmwDoesNotFlush, "|| x = 0", "x^2 := 1; RFAA(c, x^2, 1) ||", "c", &[0]),
    visible(
        Fault::PersistKeepsNothing,
        "|| x, y = 0, 0",
        "x^2 := 1; Persist(2); Poll(2); Poll(2); y^2 := 1 ||",
        "x, y",
        &[0, 1],
    ),
    visible(
        Fault::StoreBufferNotFifo,
        "x, y = 0, 0 |",
        "x := 1; y := 1 | a := y; b := x",
        "a, b",
        &[1, 0],
    ),
    visible(Fault::IssueOvertakesWrites, "x = 0 || z = 2", "x := 1; z^2 := x ||", "z", &[0]),
    visible(Fault::FenceIgnored, "x, y = 0, 0 |", SB_FENCES, "a, b", &[0, 0]),
    visible(Fault::CasDoesNotDrain, "x, y, z = 0, 0, 0 |", SB_CAS, "a, b", &[0, 0]),
];

#[test]
fn every_fault_is_visible() {
    for Visible { fault, declarations, statements, observed, outcome: values } in VISIBLE {
        let test = test(declarations, statements, observed);
        let waits = statements.contains("Wait(");
        let variant = if waits { Variant::RdmaWait } else { Variant::RdmaTso };
        let (name, values) = (fault.info().name, outcome(values));
        assert!(!outcomes(&test, variant).contains(&values), "{name}: {values:?} is allowed");
        let broken = faulty(&test, variant, *fault);
        assert!(broken.contains(&values), "{name}: {values:?} is not shown: {broken:?}");
    }
    for info in FAULTS {
        assert!(VISIBLE.iter().any(|visible| visible.fault == info.fault), "{}", info.name);
    }
}

#[test]
fn the_registry_finds_every_fault_by_its_name() {
    for info in FAULTS {
        assert_eq!(Fault::from_name(info.name), Some(info.fault));
        assert_eq!(info.fault.info(), info);
    }
}
