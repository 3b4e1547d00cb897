//! Generates C for the claims of the test and for the outcomes that a model allows.

use std::collections::BTreeSet;
use std::fmt::Write;

use lang::outcome::{Claim, Condition, Operand, Outcome};
use lang::program::BinaryOp;

use super::expression::Term;
use super::names::{comment, string};
use super::{Generator, Verdicts};

impl Generator<'_> {
    /// The conditions of the test, and the table of allowed outcomes.
    pub(super) fn claims(&self, verdicts: Option<&Verdicts>) -> String {
        let mut out = String::new();
        let mut rows = String::new();
        let model = verdicts.map(|verdicts| verdicts.model.as_str());
        let claims = self.test.expectations.iter().filter(|expectation| {
            // Claims about other models do not apply here.
            expectation.model.is_none() || expectation.model.as_deref() == model
        });
        let mut number = 0;
        for expectation in claims {
            let (kind, condition) = match &expectation.claim {
                Claim::Allowed(condition) => ("ALLOWED", condition),
                Claim::Forbidden(condition) => ("FORBIDDEN", condition),
                Claim::Always(condition) => ("REQUIRED", condition),
                // The table of allowed outcomes below covers claims about whole sets.
                Claim::Exactly { .. } => continue,
            };
            number += 1;
            let value = condition_term(condition, self.has_bottom()).truth();
            let unused = if value.text().contains("v[") { "" } else { "\t(void)v;\n" };
            let _ = write!(
                out,
                "/* {} */\nstatic int claim_{number}(const uint64_t *v)\n{{\n{unused}\treturn {};\n}}\n\n",
                comment(&expectation.text),
                value.text()
            );
            let text = string(&expectation.text);
            let _ = writeln!(rows, "\t{{ {kind}, {text}, claim_{number} }},");
        }
        let _ = write!(
            out,
            "static const struct claim claims[] = {{\n{rows}\t{{ ALLOWED, NULL, NULL }},\n}};\n\n"
        );
        out.push_str(&judgement(verdicts, self.calls.is_tso));
        out
    }
}

const NOT_TSO: &str = "#else\n#define JUDGED 0\n\
    #define NOT_JUDGED \"the model is about CPUs that are TSO, and this one is not x86\"\n#endif\n\n";

/// The table of allowed outcomes, or the reason why there is none.
fn judgement(verdicts: Option<&Verdicts>, is_tso: bool) -> String {
    let model = verdicts.map_or("", |verdicts| verdicts.model.as_str());
    let (rows, reason) = match verdicts {
        None => (None, "no model was asked".to_owned()),
        Some(Verdicts { incomplete: Some(reason), .. }) => {
            (None, format!("what {model} allows is not known in full: {reason}"))
        }
        Some(verdicts) => match rows(&verdicts.allowed) {
            Some(rows) => (Some(rows), String::new()),
            None => (None, format!("{model} allows values that are not numbers")),
        },
    };
    let mut out = format!("#define MODEL {}\n", string(model));
    match &rows {
        // C has no empty arrays, so an empty table has one row that JUDGED does not count.
        Some(rows) => {
            let judged = "#define JUDGED 1\n#define NOT_JUDGED \"\"\n";
            out.push_str(&match is_tso {
                true => format!("#ifdef __x86_64__\n{judged}{NOT_TSO}"),
                false => format!("{judged}\n"),
            });
            let _ = write!(
                out,
                "/* The states that {} allows, in the order of the observables, sorted. */\n\
                 #define ALLOWED_STATES {}\n\
                 static const uint64_t allowed[ALLOWED_STATES + 1][OBSERVED + 1] = {{\n",
                comment(model),
                rows.len()
            );
            for row in rows {
                let _ = writeln!(out, "\t{row},");
            }
            out.push_str("\t{ 0 },\t/* the end */\n};\n");
        }
        None => {
            let _ = write!(
                out,
                "#define JUDGED 0\n#define NOT_JUDGED {}\n#define ALLOWED_STATES 0\n\
                 static const uint64_t allowed[1][OBSERVED + 1] = {{ {{ 0 }} }};\n",
                string(&reason)
            );
        }
    }
    out
}

/// The rows of outcomes, sorted as numbers. `None` if one has a ⊤.
fn rows(outcomes: &BTreeSet<Outcome>) -> Option<Vec<String>> {
    let words = |outcome: &Outcome| -> Option<Vec<u64>> {
        outcome.0.iter().map(|value| value.word()).collect()
    };
    let mut rows = outcomes.iter().map(words).collect::<Option<Vec<Vec<u64>>>>()?;
    rows.sort_unstable();
    Some(rows.iter().map(|words| row(words)).collect())
}

fn row(words: &[u64]) -> String {
    let values: Vec<String> = words.iter().map(|word| super::constant(&word.to_string())).collect();
    if values.is_empty() { "{ 0 }".to_owned() } else { format!("{{ {} }}", values.join(", ")) }
}

/// Translates a condition on the values `v`.
fn condition_term(condition: &Condition, may_be_bottom: bool) -> Term {
    let join = |op: BinaryOp, all: &[Condition], unit: u64| {
        let mut terms = all.iter().map(|one| condition_term(one, may_be_bottom));
        let first = terms.next().unwrap_or_else(|| Term::constant(unit));
        terms.fold(first, |left, right| left.binary(op, right))
    };
    match condition {
        Condition::Constant(value) => Term::constant(u64::from(*value)),
        Condition::Compare(op, left, right) => {
            match (operand(left, may_be_bottom), operand(right, may_be_bottom)) {
                (Some(left), Some(right)) => left.binary(*op, right),
                // As in `Condition::holds`: ⊤ can be any value.
                _ => Term::constant(1),
            }
        }
        Condition::And(all) => join(BinaryOp::And, all, 1),
        Condition::Or(all) => join(BinaryOp::Or, all, 0),
        Condition::Not(inner) => condition_term(inner, may_be_bottom).not(),
    }
}

/// A value as a word. `None` for ⊤.
fn operand(operand: &Operand, may_be_bottom: bool) -> Option<Term> {
    match operand {
        Operand::Observable(index) => Some(Term::variable(format!("v[{index}]"), may_be_bottom)),
        Operand::Value(value) => value.word().map(Term::constant),
        Operand::Computed(op, left, right) => {
            let right = self::operand(right, may_be_bottom)?;
            Some(self::operand(left, may_be_bottom)?.binary(*op, right))
        }
    }
}
