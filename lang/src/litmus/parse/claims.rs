//! Lines below the program.

use pest::iterators::Pair;

use crate::diagnostic::Diagnostic;
use crate::source::Span;

use super::super::ast::{
    Atom, Claim, Constant, Name, Number, Observed, ResultKind, Verdict, VerdictKind,
};
use super::{Context, Piece, Rule, expressions};

/// One line, which may span several lines of the text.
pub fn result_line(context: &mut Context<'_>, line: Span) -> Option<ResultKind> {
    context.operators = 0;
    let piece = Piece::of(context.text, line);
    let text = piece.text.as_str();
    if text.starts_with("observe") && !text[7..].starts_with(|c: char| c.is_alphanumeric()) {
        let pairs = context.read(Rule::observe_line, &piece)?;
        let pairs = pairs.filter(|pair| pair.as_rule() == Rule::observed);
        return Some(ResultKind::Observe(
            pairs.filter_map(|pair| observed(context, &piece, pair)).collect(),
        ));
    }
    let marks = ["✓", "✗", "✔", "✘", "allowed", "forbidden", "exists", "forall", "exactly"];
    if !marks.iter().any(|mark| text.contains(mark)) {
        let error = Diagnostic::error(
            "missing-verdict",
            line,
            "expected a verdict, found a line without one",
        );
        context.sink.push(
            error.help("a verdict is a condition, then `✓` (`allowed`) or `✗` (`forbidden`)"),
        );
        return None;
    }
    let pairs = context.read(Rule::verdict_line, &piece)?;
    let mut model = None;
    let mut verdicts = Vec::new();
    for pair in pairs {
        match pair.as_rule() {
            Rule::model_prefix => model = prefix(context, &piece, pair),
            Rule::verdict => verdicts.push(verdict(context, &piece, pair)?),
            _ => {}
        }
    }
    Some(ResultKind::Verdicts(model, verdicts))
}

fn prefix(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Name> {
    let label = pair.into_inner().next()?;
    Some(context.name(piece, &label))
}

fn verdict(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Verdict> {
    let place = context.place(piece, &pair);
    let inner = pair.into_inner().next()?;
    let kind = match inner.as_rule() {
        Rule::exactly => exactly(context, piece, inner)?,
        _ => marked(context, piece, inner)?,
    };
    Some(Verdict { kind, place })
}

/// A condition with its mark behind it, or with herd's word before it.
fn marked(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<VerdictKind> {
    let mut claim = None;
    let mut kind: fn(Claim) -> VerdictKind = VerdictKind::Allowed;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::claim => claim = self::claim(context, piece, part),
            Rule::mark => {
                let forbidden = part.into_inner().next()?.as_rule() == Rule::forbidden;
                kind = if forbidden { VerdictKind::Forbidden } else { VerdictKind::Allowed };
            }
            Rule::never => kind = VerdictKind::Forbidden,
            Rule::always => kind = VerdictKind::Always,
            _ => {}
        }
    }
    claim.map(kind)
}

fn exactly(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<VerdictKind> {
    let mut outcomes = Vec::new();
    let mut names = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::outcome => {
                let place = context.place(piece, &part);
                let mut values = Vec::new();
                for value in part.into_inner().filter(|part| part.as_rule() == Rule::constant) {
                    values.push(constant(context, piece, value)?);
                }
                outcomes.push((values, place));
            }
            Rule::observed => names.extend(observed(context, piece, part)),
            Rule::observed_tuple => {
                for part in part.into_inner().filter(|part| part.as_rule() == Rule::observed) {
                    names.extend(observed(context, piece, part));
                }
            }
            _ => {}
        }
    }
    for (values, place) in &outcomes {
        if values.len() != names.len() {
            let message = format!(
                "expected {} values, one for each name after `for`, found {}",
                names.len(),
                values.len()
            );
            context.error("tuple-length", *place, message);
        }
    }
    Some(VerdictKind::Exactly { outcomes, observed: names })
}

fn constant(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Constant> {
    let pair = pair.into_inner().next()?;
    Some(match pair.as_rule() {
        Rule::number => Constant::Number(context.number(piece, &pair).value),
        Rule::truth => Constant::Truth(pair.as_str() == "true"),
        Rule::undefined => Constant::Undefined,
        _ => Constant::Bottom,
    })
}

fn observed(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Observed> {
    let (mut owner, mut name, mut copy) = (None, None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::owner => owner = part.into_inner().next(),
            Rule::name => name = Some(context.name(piece, &part)),
            _ => copy = part.into_inner().next(),
        }
    }
    let name = name?;
    if let Some(owner) = owner {
        let place = context.place(piece, &owner);
        // A number too large for any thread is none of the file's.
        let value = owner.as_str().trim_start_matches('P').parse().unwrap_or(u64::MAX);
        context.owned.push((Number { value, place }, name.clone()));
    }
    let copy = copy.map(|number| context.number(piece, &number));
    Some(Observed { name, copy })
}

/// A condition.
fn claim(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Claim> {
    match pair.as_rule() {
        Rule::claim | Rule::claim_and => {
            let or = pair.as_rule() == Rule::claim;
            let mut all = Vec::new();
            for part in pair.into_inner() {
                if matches!(part.as_rule(), Rule::or | Rule::and) {
                    let place = context.place(piece, &part);
                    if !context.operator(place) {
                        return None;
                    }
                } else {
                    all.push(claim(context, piece, part)?);
                }
            }
            match all.len() {
                1 => all.pop(),
                _ if or => Some(Claim::Or(all)),
                _ => Some(Claim::And(all)),
            }
        }
        Rule::claim_not => {
            let mut negations = 0;
            let mut inner = None;
            for part in pair.into_inner() {
                match part.as_rule() {
                    Rule::not => negations += 1,
                    Rule::close_paren => {}
                    _ => inner = Some(claim(context, piece, part)?),
                }
            }
            (0..negations).fold(inner, |inner, _| Some(Claim::Not(Box::new(inner?))))
        }
        Rule::claim_truth => Some(Claim::Truth(pair.as_str().trim() == "true")),
        Rule::claim_compare => compare(context, piece, pair),
        _ => None,
    }
}

fn compare(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Claim> {
    let place = context.place(piece, &pair);
    let mut parts = pair.into_inner();
    let left = side(context, piece, parts.next()?)?;
    let op = expressions::comparison(&parts.next()?.into_inner().next()?)?;
    let right = side(context, piece, parts.next()?)?;
    if left.len() != right.len() {
        let message = format!(
            "expected as many values on the right as on the left, {}, found {}",
            left.len(),
            right.len()
        );
        context.error("tuple-length", place, message);
        return None;
    }
    let ordered =
        !matches!(op, crate::program::BinaryOp::Equal | crate::program::BinaryOp::NotEqual);
    if left.len() > 1 && ordered {
        context.error("tuple-order", place, "expected `=` or `≠` between tuples, found an order");
        return None;
    }
    Some(Claim::Compare { op, left, right, place })
}

fn side(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Vec<Atom>> {
    let mut atoms = Vec::new();
    for atom in pair.into_inner().filter(|part| part.as_rule() == Rule::atom) {
        let part = atom.into_inner().next()?;
        atoms.push(match part.as_rule() {
            Rule::constant => Atom::Constant(constant(context, piece, part)?),
            _ => Atom::Observed(observed(context, piece, part)?),
        });
    }
    Some(atoms)
}
