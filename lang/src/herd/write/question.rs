//! The question at the end, and the verdicts that it leaves out.

use super::names::comment_text;
use crate::Test;
use crate::outcome::{Claim, Condition, Expectation, Operand, Value};
use crate::program::BinaryOp;

/// Shipped models that are x86-TSO on one node without remote operations.
const TSO: [&str; 5] = ["tso", "rdma-tso", "rdma-tso-rmw", "rdma-wait", "rdma-wait-rmw"];

/// The question and the comments below it. The question is the first verdict on x86-TSO that there is a form
/// for; of an `exactly`, herd is asked whether there are other outcomes, and lists those that there are.
pub fn lines(test: &Test, names: &[String]) -> String {
    let about_tso = |claim: &&Expectation| match &claim.model {
        Some(model) => TSO.contains(&model.as_str()),
        None => test.models.iter().any(|model| TSO.contains(&model.as_str())),
    };
    let asked = test.expectations.iter().filter(about_tso).find_map(|expectation| {
        question(&expectation.claim, names).map(|question| (expectation, question))
    });
    let mut text = String::new();
    if let Some((_, question)) = &asked {
        text += &format!("{question}\n");
    }
    for expectation in &test.expectations {
        let is_asked = asked.as_ref().is_some_and(|(asked, _)| std::ptr::eq(*asked, expectation));
        let is_exact = matches!(expectation.claim, Claim::Exactly { .. });
        if is_asked && !is_exact {
            continue;
        }
        let under = match &expectation.model {
            Some(model) => format!("under {model}, "),
            None if about_tso(&expectation) => String::new(),
            None => format!("under {}, ", test.models.join(" ")),
        };
        let word = match expectation.claim {
            _ if expectation.is_question => "",
            Claim::Allowed(_) => "allowed: ",
            Claim::Forbidden(_) => "forbidden: ",
            Claim::Always(_) | Claim::Exactly { .. } => "",
        };
        let why = if is_asked { "asked in part" } else { "not asked" };
        let line = format!("{why}: {under}{word}{}", expectation.text);
        text += &format!("(* {} *)\n", comment_text(&line));
    }
    text
}

fn question(claim: &Claim, names: &[String]) -> Option<String> {
    let (word, condition) = match claim {
        Claim::Allowed(inner) => ("exists", condition(inner, names)?),
        Claim::Forbidden(inner) => ("~exists", condition(inner, names)?),
        Claim::Always(inner) => ("forall", condition(inner, names)?),
        Claim::Exactly { observables, outcomes } => {
            let one = |outcome: &Vec<Value>| {
                let parts = observables.iter().zip(outcome);
                let parts: Option<Vec<String>> =
                    parts.map(|(at, value)| equal(names.get(*at)?, "=", *value)).collect();
                parts.map(|parts| join(parts, " /\\ ", "true"))
            };
            let all: Option<Vec<String>> = outcomes.iter().map(one).collect();
            ("forall", join(all?, " \\/ ", "false"))
        }
    };
    let is_closed = condition.starts_with('(') && closes_at_end(&condition);
    Some(if is_closed { format!("{word} {condition}") } else { format!("{word} ({condition})") })
}

/// Whether the first parenthesis is closed by the last.
fn closes_at_end(text: &str) -> bool {
    let mut depth = 0usize;
    let last = text.len().saturating_sub(1);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at == last;
        }
    }
    false
}

/// Several in parentheses, one as it is.
fn join(mut parts: Vec<String>, sign: &str, none: &str) -> String {
    match parts.len() {
        0 => none.to_owned(),
        1 => parts.pop().unwrap_or_default(),
        _ => format!("({})", parts.join(sign)),
    }
}

/// A condition as herd writes it; `None` if it orders values, compares two places, or names a value that
/// there is none of.
fn condition(condition: &Condition, names: &[String]) -> Option<String> {
    let all = |parts: &[Condition]| -> Option<Vec<String>> {
        parts.iter().map(|part| self::condition(part, names)).collect()
    };
    Some(match condition {
        Condition::Constant(value) => value.to_string(),
        Condition::And(parts) => join(all(parts)?, " /\\ ", "true"),
        Condition::Or(parts) => join(all(parts)?, " \\/ ", "false"),
        Condition::Not(inner) => {
            let inner = self::condition(inner, names)?;
            if inner.starts_with('(') { format!("~{inner}") } else { format!("~({inner})") }
        }
        Condition::Compare(op, left, right) => {
            let sign = match op {
                BinaryOp::Equal => "=",
                BinaryOp::NotEqual => "<>",
                _ => return None,
            };
            match (left, right) {
                (Operand::Observable(at), Operand::Value(value))
                | (Operand::Value(value), Operand::Observable(at)) => {
                    equal(names.get(*at)?, sign, *value)?
                }
                (Operand::Value(left), Operand::Value(right)) => {
                    ((left == right) == (sign == "=")).to_string()
                }
                _ => return None,
            }
        }
    })
}

fn equal(name: &str, sign: &str, value: Value) -> Option<String> {
    match value {
        Value::Int(value) if value <= i32::MAX as u64 => Some(format!("{name}{sign}{value}")),
        _ => None,
    }
}
