//! Finds executions whose outcomes meet a condition.

use std::collections::BTreeSet;

use lang::outcome::{Condition, Outcome, Value};

use crate::smt::cnf::Lit;
use crate::smt::solver::Answer;
use crate::smt::{Consistent, Found, Next, Session};

/// The most combinations of values that are asked one by one. With more, outcomes are examined one by one
/// instead.
const MOST_CASES: usize = 64;

/// Values of some observables, by their index.
pub type Case = Vec<(usize, Value)>;

/// The combinations of values for which a condition holds. `None` if there are more than `MOST_CASES`.
pub fn cases(session: &Session<'_>, condition: &Condition) -> Option<Vec<Case>> {
    let named = named(condition);
    let last = named.last().map_or(0, |last| last + 1);
    let mut outcome = Outcome(vec![Value::Int(0); last]);
    let mut combinations: Vec<Case> = vec![Vec::new()];
    for index in named {
        let values = session.possible(index);
        if values.len().saturating_mul(combinations.len()) > MOST_CASES {
            return None;
        }
        let with = |combination: &Case| {
            let more = |value: &Value| [combination.as_slice(), &[(index, *value)]].concat();
            values.iter().map(more).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(with).collect();
    }
    combinations.retain(|combination| {
        combination.iter().for_each(|(index, value)| outcome.0[*index] = *value);
        condition.holds(&outcome)
    });
    Some(combinations)
}

/// An execution that shows one of the cases under assumptions, if there is one.
pub fn of_cases(session: &mut Session<'_>, cases: &[Case], assumptions: &[Lit]) -> Found {
    let mut found = None;
    let answer = each_of(session, cases, assumptions, &mut |at| {
        found = Some(Box::new(at.execution()));
        Next::Stop
    });
    Found::of(answer, found)
}

/// Looks for consistent executions under assumptions whose outcomes meet a condition, one after another,
/// until the caller stops. The answer is `Unsatisfiable` if the solver proved that there are no others.
pub fn each(
    session: &mut Session<'_>,
    condition: &Condition,
    assumptions: &[Lit],
    take: &mut dyn FnMut(&Consistent<'_>) -> Next,
) -> Answer {
    match cases(session, condition) {
        Some(cases) => each_of(session, &cases, assumptions, take),
        None => session.each(assumptions, &mut |at| {
            let outcome = at.outcome();
            match condition.holds(&outcome) {
                true => take(at),
                // Excluding an outcome with ⊤ would exclude it with every value.
                false if outcome.0.contains(&Value::Undefined) => Next::OtherExecution,
                false => Next::OtherOutcome,
            }
        }),
    }
}

/// An execution under assumptions whose outcome meets a condition, if there is one.
pub fn one(session: &mut Session<'_>, condition: &Condition, assumptions: &[Lit]) -> Found {
    let mut found = None;
    let answer = each(session, condition, assumptions, &mut |at| {
        found = Some(Box::new(at.execution()));
        Next::Stop
    });
    Found::of(answer, found)
}

/// The same as [`each`], of cases.
pub fn each_of(
    session: &mut Session<'_>,
    cases: &[Case],
    assumptions: &[Lit],
    take: &mut dyn FnMut(&Consistent<'_>) -> Next,
) -> Answer {
    // Values that are not known yet could add cases.
    let mut answer = match session.nothing() {
        Found::Unknown => Answer::Unknown,
        _ => Answer::Unsatisfiable,
    };
    for case in cases {
        let Some(mut all) = session.showing(case) else { continue };
        all.extend(assumptions);
        match session.each(&all, take) {
            Answer::Satisfiable => return Answer::Satisfiable,
            Answer::Unknown => answer = Answer::Unknown,
            Answer::Unsatisfiable => {}
        }
    }
    answer
}

/// The observables that a condition names.
pub fn named(condition: &Condition) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    mentioned(condition, &mut found);
    found
}

fn mentioned(condition: &Condition, found: &mut BTreeSet<usize>) {
    match condition {
        Condition::Constant(_) => {}
        Condition::Compare(_, left, right) => {
            for operand in [left, right] {
                operand.each_observable(&mut |index| {
                    found.insert(index);
                });
            }
        }
        Condition::And(all) | Condition::Or(all) => {
            all.iter().for_each(|inner| mentioned(inner, found));
        }
        Condition::Not(inner) => mentioned(inner, found),
    }
}
