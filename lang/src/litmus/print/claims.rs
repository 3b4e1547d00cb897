//! Lines below the program.

use super::super::ast::{Atom, Claim, Constant, Observed, Place, ResultKind, Verdict, VerdictKind};
use super::declarations::{word, words};
use super::statements::{sign, tightness};

/// How wide a set of outcomes may be before it takes several lines.
const WIDTH: usize = 88;

/// One line of the file; a large outcome set takes several.
pub fn result(kind: &ResultKind) -> String {
    match kind {
        ResultKind::Observe(names) => format!("observe {}", names_list(names)),
        ResultKind::Verdicts(model, verdicts) => {
            let model = model.as_ref().map(|name| format!("{}: ", name.text)).unwrap_or_default();
            let verdicts: Vec<String> = verdicts.iter().map(verdict).collect();
            format!("{model}{}", verdicts.join(", "))
        }
    }
}

fn verdict(verdict: &Verdict) -> String {
    if verdict.is_question {
        return format!("{} ?", question(&verdict.kind));
    }
    match &verdict.kind {
        VerdictKind::Allowed(claim) => format!("{} ✓", self::claim(claim)),
        VerdictKind::Forbidden(claim) => format!("{} ✗", self::claim(claim)),
        VerdictKind::Always(claim) => format!("forall ({})", self::claim(claim)),
        VerdictKind::Exactly { outcomes, observed } => exactly(outcomes, observed),
    }
}

/// What a verdict asks, without its mark.
fn question(kind: &VerdictKind) -> String {
    match kind {
        VerdictKind::Forbidden(claim) => format!("~exists ({})", self::claim(claim)),
        kind => claimed(kind),
    }
}

/// What a verdict claims or asks, on one line and without its mark.
pub fn verdict_text(verdict: &Verdict) -> String {
    if verdict.is_question { question(&verdict.kind) } else { claimed(&verdict.kind) }
}

fn claimed(kind: &VerdictKind) -> String {
    match kind {
        VerdictKind::Allowed(claim) | VerdictKind::Forbidden(claim) => self::claim(claim),
        VerdictKind::Always(claim) => format!("forall ({})", self::claim(claim)),
        VerdictKind::Exactly { outcomes, observed } => one_line(&shown(outcomes), observed),
    }
}

fn exactly(outcomes: &[(Vec<Constant>, Place)], names: &[Observed]) -> String {
    let outcomes = shown(outcomes);
    let one_line = one_line(&outcomes, names);
    if one_line.chars().count() <= WIDTH {
        return one_line;
    }
    let names: Vec<String> = names.iter().map(observed).collect();
    let mut lines = vec!["exactly {".to_owned()];
    let mut line = String::from(" ");
    for outcome in &outcomes {
        if line.chars().count() + outcome.chars().count() > WIDTH && line.len() > 1 {
            lines.push(std::mem::replace(&mut line, String::from(" ")));
        }
        line.push_str(&format!(" {outcome},"));
    }
    lines.push(line.trim_end_matches(',').to_owned());
    lines.push(format!("}} for {}", tuple(&names)));
    lines.join("\n")
}

fn shown(outcomes: &[(Vec<Constant>, Place)]) -> Vec<String> {
    let values = |values: &[Constant]| values.iter().map(constant).collect::<Vec<_>>();
    outcomes.iter().map(|(outcome, _)| tuple(&values(outcome))).collect()
}

fn one_line(outcomes: &[String], names: &[Observed]) -> String {
    let names: Vec<String> = names.iter().map(observed).collect();
    format!("exactly {{{}}} for {}", outcomes.join(", "), tuple(&names))
}

fn tuple(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    }
}

/// A condition.
pub fn claim(claim: &Claim) -> String {
    let inner = |claim: &Claim, and: bool| {
        let text = self::claim(claim);
        let parenthesized = matches!(claim, Claim::Or(_)) || and && matches!(claim, Claim::And(_));
        if parenthesized { format!("({text})") } else { text }
    };
    match claim {
        Claim::Truth(value) => value.to_string(),
        Claim::Compare { op, left, right, .. } => {
            format!("{} {} {}", side(left), sign(*op), side(right))
        }
        Claim::And(all) => {
            all.iter().map(|claim| inner(claim, true)).collect::<Vec<_>>().join(" ∧ ")
        }
        Claim::Or(all) => {
            all.iter().map(|claim| inner(claim, false)).collect::<Vec<_>>().join(" ∨ ")
        }
        Claim::Not(claim) => match **claim {
            Claim::Truth(_) | Claim::Not(_) => format!("¬{}", self::claim(claim)),
            _ => format!("¬({})", self::claim(claim)),
        },
    }
}

fn side(atoms: &[Atom]) -> String {
    let atoms: Vec<String> = atoms.iter().map(|atom| self::atom(atom, 0)).collect();
    tuple(&atoms)
}

/// A side of a comparison, where an operator that binds looser than `least` needs parentheses.
fn atom(atom: &Atom, least: u8) -> String {
    match atom {
        Atom::Constant(value) => constant(value),
        Atom::Observed(name) => observed(name),
        Atom::Binary(op, left, right) => {
            let own = tightness(*op);
            let (left, right) = (self::atom(left, own), self::atom(right, own + 1));
            let text = format!("{left} {} {right}", sign(*op));
            if own < least { format!("({text})") } else { text }
        }
    }
}

fn constant(value: &Constant) -> String {
    match value {
        Constant::Number(value) => word(*value),
        Constant::Words(values) => format!("({})", words(values)),
        Constant::Truth(value) => value.to_string(),
        Constant::Bottom => "⊥".to_owned(),
        Constant::Undefined => "⊤".to_owned(),
    }
}

fn names_list(names: &[Observed]) -> String {
    names.iter().map(observed).collect::<Vec<_>>().join(", ")
}

fn observed(name: &Observed) -> String {
    let copy = name.copy.map(|node| format!("@{}", node.value)).unwrap_or_default();
    format!("{}{copy}", name.name.text)
}
