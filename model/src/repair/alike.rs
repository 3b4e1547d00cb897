//! Which repairs are the same but for names: of a program whose threads are alike, most come in several
//! forms.

use std::collections::BTreeMap;

use lang::Test;
use lang::outcome::{Claim, Condition, Operand};

/// The most threads of which all orders are looked at.
const THREADS: usize = 5;

/// A code of a program, its verdicts and another condition on its outcomes. Programs with the same code
/// differ only in the order of threads, and in the names of threads, nodes, locations, registers and work
/// ids. `None` for programs that are not compared: with objects of libraries, or with many threads.
pub fn code(test: &Test, forbid: Option<&Condition>) -> Option<String> {
    let threads = test.program.threads.len();
    let is_compared = threads <= THREADS && test.program.objects.is_empty();
    let code = |order: &Vec<usize>| Names { test, numbers: BTreeMap::new() }.code(order, forbid);
    is_compared.then(|| orders(threads).iter().map(code).min()).flatten()
}

/// All orders of the first numbers.
fn orders(of: usize) -> Vec<Vec<usize>> {
    let Some(last) = of.checked_sub(1) else { return vec![Vec::new()] };
    let with_last = |order: Vec<usize>| {
        (0..of).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    };
    orders(last).into_iter().flat_map(with_last).collect()
}

/// Numbers for names, in the order in which they come.
struct Names<'t> {
    test: &'t Test,
    /// By the kind of name.
    numbers: BTreeMap<String, Vec<usize>>,
}

impl Names<'_> {
    fn code(&mut self, order: &[usize], forbid: Option<&Condition>) -> String {
        let program = &self.test.program;
        let threads = order.iter().filter_map(|index| program.threads.get(*index));
        let mut code: Vec<String> = threads
            .map(|thread| self.numbered(&format!("{:?}: {:?}", thread.node, thread.body)))
            .collect();
        let claims = self.test.expectations.iter();
        let mut claims: Vec<String> = claims
            .map(|one| format!("{:?} {} {}", one.model, one.is_question, self.claim(&one.claim)))
            .collect();
        claims.extend(forbid.map(|condition| format!("never {}", self.condition(condition))));
        claims.sort();
        code.append(&mut claims);
        // By now each location that matters has its number.
        let used = self.numbers.get("Location").cloned().unwrap_or_default();
        for location in used.iter().filter_map(|index| program.locations.get(*index)) {
            code.push(self.numbered(&format!("{:?}: {}", location.node, location.initial)));
        }
        code.join("\n")
    }

    fn claim(&mut self, claim: &Claim) -> String {
        match claim {
            Claim::Allowed(condition) => format!("allowed {}", self.condition(condition)),
            Claim::Forbidden(condition) => format!("never {}", self.condition(condition)),
            Claim::Always(condition) => format!("always {}", self.condition(condition)),
            Claim::Exactly { observables, outcomes } => {
                let named = observables.iter().map(|index| self.observable(*index));
                let mut columns: Vec<(String, usize)> = named.zip(0..).collect();
                columns.sort();
                let row = |outcome: &Vec<_>| {
                    columns.iter().map(|(_, at)| format!("{:?}", outcome.get(*at))).collect()
                };
                let mut rows: Vec<Vec<String>> = outcomes.iter().map(row).collect();
                rows.sort();
                format!("exactly {columns:?} {rows:?}")
            }
        }
    }

    fn condition(&mut self, condition: &Condition) -> String {
        let mut all = |all: &Vec<Condition>| {
            let mut all: Vec<String> = all.iter().map(|inner| self.condition(inner)).collect();
            all.sort();
            all.join(", ")
        };
        match condition {
            Condition::Constant(value) => value.to_string(),
            Condition::And(inner) => format!("and({})", all(inner)),
            Condition::Or(inner) => format!("or({})", all(inner)),
            Condition::Not(inner) => format!("not({})", self.condition(inner)),
            Condition::Compare(op, left, right) => {
                format!("{op:?}({}, {})", self.operand(left), self.operand(right))
            }
        }
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Observable(index) => self.observable(*index),
            Operand::Value(value) => format!("{value:?}"),
            Operand::Computed(op, left, right) => {
                format!("{op:?}({}, {})", self.operand(left), self.operand(right))
            }
        }
    }

    fn observable(&mut self, index: usize) -> String {
        let what = self.test.observables.get(index).map(|one| format!("{:?}", one.what));
        self.numbered(&what.unwrap_or_default())
    }

    /// A tree as text, with numbers in place of its names and without places: ids are `LocationId(3)` in it.
    fn numbered(&mut self, tree: &str) -> String {
        let mut out = String::new();
        let mut parts = tree.split("Span {");
        let first = parts.next().unwrap_or_default();
        let rest = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
        let text: String = std::iter::once(first).chain(rest).collect();
        let mut rest = &text[..];
        while let Some((before, number, after)) = id(rest) {
            let kind = &before[before.trim_end_matches(char::is_alphanumeric).len()..];
            let known = self.numbers.entry(kind.to_owned()).or_default();
            let at = known.iter().position(|other| *other == number).unwrap_or_else(|| {
                known.push(number);
                known.len() - 1
            });
            out.push_str(&format!("{before}#{at}"));
            rest = after;
        }
        out + rest
    }
}

/// The first id of a text: what stands before it with its kind, its number, and what stands after it.
fn id(text: &str) -> Option<(&str, usize, &str)> {
    let (before, after) = text.split_once("Id(")?;
    let (number, after) = after.split_once(')')?;
    Some((before, number.parse().ok()?, after))
}
