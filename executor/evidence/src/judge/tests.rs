//! The tests of what is a violation.

use std::collections::BTreeSet;

use model::allowed::{Allowed, Options, Question};
use model::bound::Complete;

use super::*;
use crate::record::NodeInfo;
use lang::outcome::Value;

fn outcome(value: u64) -> Outcome {
    Outcome(vec![Value::Int(value)])
}

fn allowed(values: &[u64], complete: bool) -> Allowed {
    let outcomes = values.iter().map(|value| outcome(*value)).collect();
    let complete = complete.then(Complete::on_trust);
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
        complete: Some(Complete::on_trust()),
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

/// Whether threads of real machines overlapped is seen by outcomes that whole threads do not give.
#[test]
fn threads_that_ran_one_after_another_are_noticed() {
    let text = "litmus MP\nz = 0 || x = 0, y = 0\n---\nx^2 := 1; y^2 := 1 || a := y; b := x\nobserve a, b\n";
    let source = lang::source::Source::new("MP", text);
    let test = lang::litmus::load(&source).0.unwrap();
    let both = |a, b| Outcome(vec![Value::Int(a), Value::Int(b)]);
    let says = |outcomes: &[(u64, u64)]| ModelSays {
        allowed: Arc::new(Allowed {
            outcomes: outcomes.iter().map(|(a, b)| both(*a, *b)).collect(),
            complete: Some(Complete::on_trust()),
            ..Allowed::default()
        }),
        forbids: Forbids::Something,
    };
    let identity = ModelIdentity { name: "m".to_owned(), hash: String::new() };
    let model = model::models::load_shipped("sc").unwrap().unwrap().model;
    let judge = Arc::new(Judge { identity, model, argument: "m".to_owned(), is_own: false });
    let overlapped = |allowed: &[(u64, u64)], seen: &[(u64, u64)], nodes: &[NodeInfo]| {
        let says = says(allowed);
        let answers = Answers::new(move |_, _, _| Ok(says.clone()));
        let program = Program::new((&test, text), (model::library::shipped(), &[]), nodes);
        let outcomes = seen.iter().map(|(a, b)| (both(*a, *b), 1)).collect();
        let seen = Observations { outcomes, ..Observations::default() };
        answers.judge(&program, &judge, &seen).unwrap().overlapped
    };
    let (all, nodes) = ([(0, 0), (0, 1), (1, 1)], [node()]);
    assert_eq!(overlapped(&all, &[(0, 0), (1, 1)], &nodes), Some(false));
    assert_eq!(overlapped(&all, &[(0, 0), (0, 1)], &nodes), Some(true));
    // What no model allows shows it too.
    assert_eq!(overlapped(&all, &[(1, 0)], &nodes), Some(true));
    // Nothing that is allowed could show it, nothing was seen, or a simulator ran it.
    assert_eq!(overlapped(&[(0, 0), (1, 1)], &[(0, 0)], &nodes), None);
    assert_eq!(overlapped(&all, &[], &nodes), None);
    assert_eq!(overlapped(&all, &[(0, 0)], &[]), None);
}

fn node() -> NodeInfo {
    let device = crate::device::DeviceInfo::default();
    NodeInfo { name: "a".to_owned(), host: crate::record::Host::default(), device }
}

/// A load that meets a get under way is undefined, so it may show anything; behind a flush, it may not.
#[test]
fn an_undefined_value_stands_for_any() {
    let shown = |flush: &str, value: u64| {
        let text = format!(
            "litmus T\n  x = 0 || v = 1\n  ---\n  x := v^2 ||\n{flush}  a := x ||\n\n  a = 0 ✓\n"
        );
        let (test, _) = lang::litmus::load(&lang::source::Source::new("T", text.as_str()));
        let test = test.expect("it loads");
        let model =
            model::models::load_shipped("mpi-rma").expect("it is shipped").expect("it loads");
        let options = Options::default();
        let question = Question::of(&test, &model.model).options(&options).question();
        let question = question.expect("the model defines it");
        let mut session = question.session(&options, |_| true).expect("there is a solver");
        shows(&question, &mut session, &outcome(value))
    };
    assert_eq!([0, 1, 7].map(|value| shown("", value)), [Some(true); 3]);
    assert_eq!(
        [0, 1, 7].map(|value| shown("  Poll(2) ||\n", value)),
        [false, true, false].map(Some)
    );
}
