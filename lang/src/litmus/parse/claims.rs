//! Lines below the program.

use pest::iterators::Pair;

use crate::diagnostic::{Code, Diagnostic};
use crate::program::BinaryOp;
use crate::source::Span;

use super::super::ast::{
    Atom, Claim, Constant, Name, Number, Observed, Place, ResultKind, Verdict, VerdictKind,
};
use super::{Context, Piece, Rule, expressions, sections};

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
    let words = ["allowed", "forbidden", "exists", "forall", "exactly", " in ", "\\"];
    if !text.contains(sections::MARKS) && !words.iter().any(|word| text.contains(word)) {
        let error = Diagnostic::error(
            Code::MissingVerdict,
            line,
            "expected a verdict, found a line without one",
        );
        context.sink.push(error.help(
            "a verdict is a condition, then `✓` (`allowed`), `✗` (`forbidden`) or `?` (to ask)",
        ));
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

/// What is asked: conditions that all hold.
pub fn asked(context: &mut Context<'_>, line: Span) -> Option<Vec<Claim>> {
    let piece = Piece::of(context.text, line);
    let mut claims = Vec::new();
    for pair in context.read(Rule::asked_line, &piece)? {
        match pair.as_rule() {
            Rule::claim => claims.push(claim(context, &piece, pair)?),
            Rule::quantified => match marked(context, &piece, pair)?.0 {
                VerdictKind::Always(claim) => claims.push(Claim::Not(Box::new(claim))),
                VerdictKind::Allowed(claim) | VerdictKind::Forbidden(claim) => claims.push(claim),
                VerdictKind::Exactly { .. } => {}
            },
            _ => {}
        }
    }
    Some(claims)
}

fn prefix(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Name> {
    let label = pair.into_inner().next()?;
    (!sections::is_caption_word(label.as_str())).then(|| context.name(piece, &label))
}

fn verdict(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Verdict> {
    let place = context.place(piece, &pair);
    let inner = pair.into_inner().next()?;
    let (kind, is_question) = match inner.as_rule() {
        Rule::exactly | Rule::membership => (exactly(context, piece, inner)?, false),
        _ => marked(context, piece, inner)?,
    };
    Some(Verdict { kind, is_question, place })
}

/// A condition with its mark behind it, or with herd's word before it; and whether it is a question.
fn marked(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<(VerdictKind, bool)> {
    let mut claim = None;
    let mut kind: fn(Claim) -> VerdictKind = VerdictKind::Allowed;
    let mut is_question = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::claim => claim = self::claim(context, piece, part),
            Rule::mark => {
                let sign = part.into_inner().next()?.as_rule();
                is_question = sign == Rule::asked;
                if sign == Rule::forbidden {
                    kind = VerdictKind::Forbidden;
                }
            }
            Rule::asked => is_question = true,
            Rule::never => kind = VerdictKind::Forbidden,
            Rule::always => kind = VerdictKind::Always,
            _ => {}
        }
    }
    Some((kind(claim?), is_question))
}

/// `exactly { … } for …`, and the same as `… ∈ { … }`.
fn exactly(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<VerdictKind> {
    let (mut outcomes, mut observed) = (Vec::new(), Vec::new());
    for part in pair.into_inner() {
        let place = context.place(piece, &part);
        match part.as_rule() {
            Rule::outcome => outcomes.push((outcome(context, piece, part)?, place)),
            Rule::observed | Rule::observed_tuple => observed = names(context, piece, part),
            _ => {}
        }
    }
    for (values, place) in &mut outcomes {
        *values = matching(context, std::mem::take(values), observed.len(), *place)?;
    }
    Some(VerdictKind::Exactly { outcomes, observed })
}

/// One value for each name. Several for one name are the words of its value.
fn matching(
    context: &mut Context<'_>,
    values: Vec<Constant>,
    names: usize,
    place: Place,
) -> Option<Vec<Constant>> {
    if values.len() == names {
        return Some(values);
    }
    let words: Option<Vec<Number>> = values
        .iter()
        .map(|value| match value {
            Constant::Number(value) => Some(Number { value: *value, place }),
            _ => None,
        })
        .collect();
    match words {
        Some(words) if names == 1 && words.len() > 1 => Some(vec![Constant::Words(words)]),
        _ => {
            let found = values.len();
            let message = format!("expected {names} values, one for each name, found {found}");
            context.error(Code::TupleLength, place, message);
            None
        }
    }
}

fn outcome(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<Vec<Constant>> {
    let mut values = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::part => values.push(constant(context, piece, part.into_inner().next()?)?),
            Rule::constant => values.push(constant(context, piece, part)?),
            _ => {}
        }
    }
    Some(values)
}

fn names(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Observed> {
    if pair.as_rule() == Rule::observed {
        return observed(context, piece, pair).into_iter().collect();
    }
    let parts = pair.into_inner().filter(|part| part.as_rule() == Rule::observed);
    parts.filter_map(|part| observed(context, piece, part)).collect()
}

/// A constant, or the words of one.
fn constant(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Constant> {
    if pair.as_rule() == Rule::words {
        let numbers = pair.into_inner().filter(|part| part.as_rule() == Rule::number);
        return Some(Constant::Words(numbers.map(|part| context.number(piece, &part)).collect()));
    }
    let pair = if pair.as_rule() == Rule::constant { pair.into_inner().next()? } else { pair };
    Some(match pair.as_rule() {
        Rule::signed => Constant::Number(context.signed(piece, pair).value),
        Rule::truth => Constant::Truth(pair.as_str() == "true"),
        Rule::undefined => Constant::Undefined,
        _ => Constant::Bottom,
    })
}

fn observed(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Observed> {
    let (mut owner, mut name, mut word, mut copy) = (None, None, None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::owner => owner = part.into_inner().next(),
            Rule::name => name = Some(context.name(piece, &part)),
            Rule::word_number => word = Some(part),
            Rule::copy => copy = part.into_inner().next(),
            _ => {}
        }
    }
    let mut name = name?;
    if let Some(word) = word {
        let end = context.place(piece, &word).span;
        let number = context.number(piece, &word.into_inner().next()?);
        name = expressions::word(&name, number.value, end);
    }
    if let Some(owner) = owner {
        let place = context.place(piece, &owner);
        // A number too large for any thread is not a thread's.
        let value = owner.as_str().trim_start_matches('P').parse().unwrap_or(u64::MAX);
        context.owned.push((Number { value, place }, name.clone()));
    }
    let copy = copy.map(|number| context.place_number(piece, &number));
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

/// `a = 1`, `a = b = 1`, `a = 0 ∨ 1`, `(a, b) ∈ {(0, 1)}`: all that is compared.
fn compare(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Claim> {
    let place = context.place(piece, &pair);
    let (mut sides, mut signs, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::membership => return member(context, piece, part, place),
            Rule::side => sides.push(side(context, piece, part)?),
            Rule::compare => signs.push(expressions::comparison(&part.into_inner().next()?)?),
            Rule::other_value => {
                others.push(constant(context, piece, part.into_inner().next()?)?);
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    for (op, pair) in signs.iter().zip(sides.windows(2)) {
        if all.len() > 1 && !context.operator(place) {
            return None;
        }
        all.push(one_comparison(context, *op, (&pair[0], &pair[1]), place)?);
    }
    let first = joined(all, Claim::And);
    if others.is_empty() {
        return Some(first);
    }
    let ([op], [Some(left)]) = (signs.as_slice(), sides.first()?.as_slice()) else {
        context.error(Code::TupleOrder, place, "expected one name and `=` before further values");
        return None;
    };
    let other = |value| Claim::Compare {
        op: *op,
        left: vec![left.clone()],
        right: vec![Atom::Constant(value)],
        place,
    };
    let all = std::iter::once(first).chain(others.into_iter().map(other)).collect();
    // `a ≠ 0 ∨ 1` would say nothing.
    if *op != BinaryOp::Equal {
        context.error(Code::TupleOrder, place, "expected `=` before several values");
        return None;
    }
    Some(Claim::Or(all))
}

fn joined(mut all: Vec<Claim>, several: fn(Vec<Claim>) -> Claim) -> Claim {
    match all.len() {
        1 => all.pop().unwrap_or(Claim::Truth(true)),
        _ => several(all),
    }
}

/// `(a, b) ∈ { … }` as a condition.
fn member(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    place: Place,
) -> Option<Claim> {
    let VerdictKind::Exactly { outcomes, observed } = exactly(context, piece, pair)? else {
        return None;
    };
    let left: Vec<Atom> = observed.into_iter().map(Atom::Observed).collect();
    let each = |(values, _): (Vec<Constant>, Place)| Claim::Compare {
        op: BinaryOp::Equal,
        left: left.clone(),
        right: values.into_iter().map(Atom::Constant).collect(),
        place,
    };
    let all: Vec<Claim> = outcomes.into_iter().map(each).collect();
    Some(if all.is_empty() { Claim::Truth(false) } else { joined(all, Claim::Or) })
}

/// A side of a comparison: one thing, or those of a tuple. `None` is `_`, any value.
type Side = Vec<Option<Atom>>;

fn one_comparison(
    context: &mut Context<'_>,
    op: BinaryOp,
    (left, right): (&Side, &Side),
    place: Place,
) -> Option<Claim> {
    let ordered = !matches!(op, BinaryOp::Equal | BinaryOp::NotEqual);
    if left.len().max(right.len()) > 1 && ordered {
        context.error(
            Code::TupleOrder,
            place,
            "expected `=` or `≠` between tuples, found an order",
        );
        return None;
    }
    let (left, right) = match (left.len(), right.len()) {
        (1, 2..) => (left.clone(), vec![Some(words(context, right, place)?)]),
        (2.., 1) => (vec![Some(words(context, left, place)?)], right.clone()),
        (wanted, found) if wanted != found => {
            let message = format!(
                "expected as many values on the right as on the left, {wanted}, found {found}"
            );
            context.error(Code::TupleLength, place, message);
            return None;
        }
        _ => (left.clone(), right.clone()),
    };
    let pairs = left.into_iter().zip(right).filter_map(|(left, right)| left.zip(right));
    let (left, right): (Vec<Atom>, Vec<Atom>) = pairs.unzip();
    // What is equal to `_`, or to nothing, is equal.
    Some(if left.is_empty() {
        Claim::Truth(op == BinaryOp::Equal)
    } else {
        Claim::Compare { op, left, right, place }
    })
}

/// Numbers opposite to one thing: the words of one value.
fn words(context: &mut Context<'_>, side: &Side, place: Place) -> Option<Atom> {
    let number = |atom: &Option<Atom>| match atom {
        Some(Atom::Constant(Constant::Number(value))) => Some(Number { value: *value, place }),
        _ => None,
    };
    match side.iter().map(number).collect() {
        Some(words) => Some(Atom::Constant(Constant::Words(words))),
        None => {
            let message = format!(
                "expected as many values on the right as on the left, found {} opposite to one",
                side.len()
            );
            context.error(Code::TupleLength, place, message);
            None
        }
    }
}

fn side(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Side> {
    let mut side = Vec::new();
    for part in pair.into_inner() {
        let part = match part.as_rule() {
            Rule::item => part.into_inner().next()?,
            Rule::computed => part,
            _ => continue,
        };
        side.push(match part.as_rule() {
            Rule::wildcard => None,
            Rule::words => Some(Atom::Constant(constant(context, piece, part)?)),
            _ if part.as_str().trim() == "_" => None,
            _ => Some(computed(context, piece, part)?),
        });
    }
    Some(side)
}

/// Sums and products of values and names.
fn computed(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Atom> {
    match pair.as_rule() {
        Rule::computed | Rule::term => {
            let mut parts = pair.into_inner();
            let mut left = computed(context, piece, parts.next()?)?;
            while let Some(sign) = parts.next() {
                let place = context.place(piece, &sign);
                let op = expressions::operator(sign)?;
                let right = computed(context, piece, parts.next()?)?;
                if !context.operator(place) {
                    return None;
                }
                left = Atom::Binary(op, Box::new(left), Box::new(right));
            }
            Some(left)
        }
        Rule::atom => computed(context, piece, pair.into_inner().next()?),
        Rule::constant => constant(context, piece, pair).map(Atom::Constant),
        Rule::wildcard => {
            let place = context.place(piece, &pair);
            context.error(Code::Syntax, place, "expected a value to compute with, found `_`");
            None
        }
        _ => observed(context, piece, pair).map(Atom::Observed),
    }
}
