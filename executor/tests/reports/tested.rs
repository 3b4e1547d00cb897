//! What a record's tests could notice; what a limit or bound left open is said apart.

use evidence::reports::data::{CellEvidence, MutantState};

use super::{clean, line, report_with, source};

#[test]
fn the_suite_catches_faults_and_a_single_test_does_not() {
    let one = report_with(&[source("r", vec![clean()])], 1, 1000);
    let [run] = &one.runs[..] else { panic!("{:?}", one.runs) };
    let mutants = run.coverage.mutants.as_ref().expect("they were asked for");
    let unreachable = mutants.named(MutantState::OutOfReach);
    let missed = mutants.not_caught;
    assert_eq!(mutants.caught + unreachable.len() + missed, mutants.mutants.len());
    assert!(mutants.caught > 0 && missed > 0 && mutants.not_known == 0 && mutants.open == 0);
    // A program with two puts says nothing of RMWs and fences, and hardware has no store buffer of the NIC's.
    assert!(unreachable.contains(&"rmw-not-exclusive") && unreachable.contains(&"rfence-ignored"));
    let has = |name: &str| mutants.mutants.iter().any(|mutant| mutant.name == name);
    assert!(has("puts-reordered") && !has("store-buffer-not-fifo"));
    assert!(run.cannot_tell.iter().any(|point| point.contains("has what they are about")));
}

/// A put after a loop that goes round more often than it is unrolled.
const LOOP: &str = "\
litmus LOOP
model rdma-tso, rdma-tso-rmw

  x = 0                           ||  y = 0, z = 0
  -------------------------------------------------
  while c < 9 { c := FAA(x, 1) }  ||  a := z
  y^2 := 1                        ||  b := y
  z^2 := 1                        ||

  (a, b) = (1, 0) ✗
";

#[test]
fn what_is_not_known_of_faults_and_cells_is_counted_apart() {
    let test = line(LOOP, &[(r#"{"a":0,"b":0}"#, 1000)]);
    let report = report_with(&[source("r", vec![test])], 10, 50);
    let [run] = &report.runs[..] else { panic!("{:?}", report.runs) };
    let coverage = &run.coverage;
    let mutants = coverage.mutants.as_ref().expect("they were asked for");
    let unknown = mutants.named(MutantState::NotKnown);
    assert!(unknown.contains(&"puts-reordered"), "{mutants:?}");
    assert_eq!((mutants.not_known, mutants.not_caught), (unknown.len(), 0));
    assert_eq!(mutants.out_of_reach + unknown.len(), mutants.mutants.len());
    let reordered = mutants.mutants.iter().find(|mutant| mutant.name == "puts-reordered");
    let reason = reordered.and_then(|mutant| mutant.reason.as_deref()).unwrap_or_default();
    assert_eq!(reason, "LOOP: a loop can run more than 4 times");
    // One program, though two models judge it.
    assert_eq!((coverage.undecided, coverage.cells_tested), (1, 0));
    assert!(coverage.cells_not_known > 0 && coverage.cells_not_known < coverage.cells);
    let evidence = report.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    let not_known = evidence.filter(|cell| cell.evidence == CellEvidence::NotKnown).count();
    assert_eq!(not_known, coverage.cells_not_known);
    let says = |what: &str| run.cannot_tell.iter().any(|point| point.contains(what));
    assert!(says(
        "outcomes that the models could not decide (LOOP: a loop can run more than 4 times)"
    ));
    assert!(says("and for 1 program a limit was reached first"), "{:?}", run.cannot_tell);
}
