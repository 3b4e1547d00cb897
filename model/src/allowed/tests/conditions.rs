//! Tests that a session finds the outcomes that meet a condition, and no others.

use std::collections::BTreeSet;

use lang::outcome::{Condition, Operand, Outcome, Value};
use lang::program::BinaryOp;
use proptest::prelude::*;

use super::{CONFLICT, TWO_READERS, beside, in_session_about};
use crate::smt::solver::Answer;
use crate::smt::{Found, Next};

fn operand(observables: usize) -> impl Strategy<Value = Operand> {
    let values = [Value::Int(0), Value::Int(1), Value::Int(2), Value::Undefined, Value::Bottom];
    let leaf = prop_oneof![
        2 => (0..observables).prop_map(Operand::Observable),
        1 => prop::sample::select(values.to_vec()).prop_map(Operand::Value),
    ];
    leaf.prop_recursive(1, 2, 2, |inner| {
        (inner.clone(), inner).prop_map(|(left, right)| {
            Operand::Computed(BinaryOp::Add, Box::new(left), Box::new(right))
        })
    })
}

fn condition(observables: usize) -> impl Strategy<Value = Condition> {
    let operators = [BinaryOp::Equal, BinaryOp::NotEqual, BinaryOp::Less];
    let operators = prop::sample::select(operators.to_vec());
    let compared = (operators, operand(observables), operand(observables));
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Condition::Constant),
        8 => compared.prop_map(|(op, left, right)| Condition::Compare(op, left, right)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let several = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            several().prop_map(Condition::And),
            several().prop_map(Condition::Or),
            inner.clone().prop_map(|inner| Condition::Not(Box::new(inner))),
        ]
    })
}

/// The outcomes that meet a condition, one after another.
fn meeting(text: &str, model: &str, condition: &Condition) -> BTreeSet<Vec<Value>> {
    in_session_about(vec![condition.clone()], text, model, |session| {
        let mut found = BTreeSet::new();
        let counted = session.counted();
        let answer = session.each_meeting(0, &counted, &mut |at| {
            assert!(found.insert(at.outcome().0), "an outcome is found twice");
            Next::OtherOutcome
        });
        assert_eq!(answer, Answer::Unsatisfiable);
        found
    })
}

fn check(text: &str, model: &str, condition: &Condition) {
    let all = beside(text, model, &[]).into_iter();
    let expected: BTreeSet<_> =
        all.filter(|outcome| condition.holds(&Outcome(outcome.clone()))).collect();
    assert_eq!(meeting(text, model, condition), expected, "{condition:?}");
}

proptest! {
    #[test]
    fn those_of_numbers_are_met(condition in condition(4)) {
        check(TWO_READERS, "sc", &condition);
    }

    #[test]
    fn those_of_undefined_values_are_met(condition in condition(2)) {
        check(CONFLICT, "corerma", &condition);
    }
}

/// A sum of many registers is computed step by step, and a number of which each register is a digit is not.
#[test]
fn sums_are_literals_and_digits_are_looked_at() {
    let names = ["a", "b", "c", "d"];
    let with = |factor: u64| {
        let mut all = Operand::Value(Value::Int(0));
        for index in 0..names.len() {
            let scaled = Box::new(Operand::Value(Value::Int(factor)));
            let scaled = Operand::Computed(BinaryOp::Multiply, Box::new(all), scaled);
            let observable = Box::new(Operand::Observable(index));
            all = Operand::Computed(BinaryOp::Add, Box::new(scaled), observable);
        }
        all
    };
    let writes: String = (1..40).map(|n| format!("x := {n} | | | |\n")).collect();
    let reads = names.map(|name| format!("{name} := x")).join(" | ");
    let text = format!("litmus t\nmodel sc\n\nx = 0 | | | |\n-----\nx := 40 | {reads}\n{writes}");
    let rows = [(1, BinaryOp::Equal, 160, true), (100, BinaryOp::Greater, 1, false)];
    for (factor, op, sum, is_literal) in rows {
        let value = Operand::Value(Value::Int(sum));
        let condition = Condition::Compare(op, with(factor), value);
        in_session_about(vec![condition.clone()], &text, "sc", |session| {
            assert_eq!(session.meeting(0).is_some(), is_literal, "{factor}");
            let counted = session.counted();
            let found = session.find_meeting(0, &counted);
            let Found::Execution(found) = found else { panic!("an execution shows it") };
            assert!(condition.holds(&found.outcome), "{factor}: {:?}", found.outcome);
        });
    }
}
