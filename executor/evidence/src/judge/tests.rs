//! The tests of what is a violation.

use std::collections::BTreeSet;

use model::allowed::Allowed;

use super::*;
use lang::outcome::Value;

fn outcome(value: u64) -> Outcome {
    Outcome(vec![Value::Int(value)])
}

fn allowed(values: &[u64], complete: bool) -> Allowed {
    let outcomes = values.iter().map(|value| outcome(*value)).collect();
    Allowed { outcomes, complete, ..Allowed::default() }
}

fn seen(values: &[u64]) -> Observations {
    Observations {
        outcomes: values.iter().map(|value| (outcome(*value), 1)).collect(),
        ..Observations::default()
    }
}

/// What is known of the outcome, × whether it was observed, × whether another, allowed one was.
#[test]
fn whole_table() {
    use Judgement::{Conforms, Inconclusive, Unseen, Violation};
    type Row = (&'static str, Allowed, &'static [u64], Judgement, &'static [Judgement], usize);
    let rows: [Row; 16] = [
        ("allowed, complete, seen", allowed(&[0], true), &[0], Conforms, &[Conforms], 0),
        ("allowed, complete, not seen", allowed(&[0], true), &[], Inconclusive, &[], 1),
        ("allowed, incomplete, seen", allowed(&[0], false), &[0], Conforms, &[Conforms], 0),
        ("allowed, incomplete, not seen", allowed(&[0], false), &[], Inconclusive, &[], 1),
        ("forbidden, seen", allowed(&[], true), &[0], Violation, &[Violation], 0),
        ("nothing ends, nothing seen", allowed(&[], true), &[], Inconclusive, &[], 0),
        ("open, seen", allowed(&[], false), &[0], Inconclusive, &[Inconclusive], 0),
        ("open, not seen", allowed(&[], false), &[], Inconclusive, &[], 0),
        ("unknown, seen", Allowed::default(), &[0], Inconclusive, &[Inconclusive], 0),
        ("unknown, not seen", Allowed::default(), &[], Inconclusive, &[], 0),
        ("one of two seen", allowed(&[0, 1], true), &[0], Unseen, &[Conforms], 1),
        ("both seen", allowed(&[0, 1], true), &[0, 1], Conforms, &[Conforms, Conforms], 0),
        (
            "violation outweighs unseen",
            allowed(&[0, 1], true),
            &[0, 2],
            Violation,
            &[Conforms, Violation],
            1,
        ),
        (
            "violation beside what conforms",
            allowed(&[0], true),
            &[0, 2],
            Violation,
            &[Conforms, Violation],
            0,
        ),
        (
            "inconclusive outweighs unseen",
            allowed(&[0, 1], false),
            &[0, 2],
            Inconclusive,
            &[Conforms, Inconclusive],
            1,
        ),
        ("incomplete and unseen", allowed(&[0, 1], false), &[1], Unseen, &[Conforms], 1),
    ];
    for (name, allowed, observed, overall, each, unseen) in rows {
        let judged = weigh(&allowed, &seen(observed));
        assert_eq!(judged.overall, overall, "{name}");
        let judgements: Vec<_> = judged.outcomes.iter().map(|one| one.judgement).collect();
        assert_eq!(judgements, each, "{name}");
        assert_eq!(judged.unseen.len(), unseen, "{name}");
    }
}

#[test]
fn priority() {
    use Judgement::{Conforms, Inconclusive, Unseen, Violation};
    assert!(Violation > Inconclusive && Inconclusive > Unseen && Unseen > Conforms);
}

#[test]
fn undefined_allows_every_value_and_is_seen_by_any() {
    let any = Allowed {
        outcomes: BTreeSet::from([Outcome(vec![Value::Undefined])]),
        complete: true,
        ..Allowed::default()
    };
    assert_eq!(weigh(&any, &seen(&[7])).overall, Judgement::Conforms);
}

#[test]
fn a_count_of_zero_is_not_an_observation() {
    // 3 is not allowed: seen, it would be a violation.
    let mut other = seen(&[4]);
    other.outcomes.insert(outcome(3), 0);
    assert_eq!(weigh(&allowed(&[4], true), &other).overall, Judgement::Conforms);
    let mut none = seen(&[3]);
    none.outcomes.insert(outcome(3), 0);
    assert_eq!(weigh(&allowed(&[], true), &none).overall, Judgement::Inconclusive);
}
