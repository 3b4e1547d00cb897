//! Names with their marks, and expressions.

use pest::iterators::Pair;

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::program::BinaryOp;
use crate::source::Span;

use super::super::ast::{Access, Expr, ExprKind, Home, Index, Name, Number, PairNumber, Place};
use super::{Context, Piece, Rule};

/// A name and its marks.
pub fn access(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Access> {
    let place = context.place(piece, &pair);
    let mut name = Name::default();
    let mut index = None;
    let mut home = Home::Own;
    let mut queue_pair = None;
    let mut atomic = None;
    let mut inferred = pair.as_rule() == Rule::barred;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => {
                name = context.name(piece, &part);
                inferred |= unbar(&mut name.text);
            }
            Rule::index if context.dialect == Dialect::CoreRma => {
                let error = "expected a location, found a word of an array";
                let error = Diagnostic::error(Code::Syntax, place.span, error);
                context.sink.push(error.help("coreRMA knows of no arrays"));
            }
            Rule::index => index = Some(self::index(context, piece, part, &mut name)?),
            Rule::overline => inferred = true,
            Rule::atomicity => atomic = Some(part.as_str().ends_with('a')),
            Rule::node => {
                let number = part.into_inner().next()?;
                home = Home::Node(context.place_number(piece, &number));
            }
            Rule::raised_node => home = Home::Node(raised_number(context, piece, &part)),
            Rule::queue_pair => queue_pair = self::queue_pair(context, piece, part),
            _ => {}
        }
    }
    if context.dialect == Dialect::CoreRma && atomic.is_none() {
        atomic = subscript(context, &mut name.text);
    }
    if atomic.is_some() && context.dialect == Dialect::Rdma {
        let error = Diagnostic::error(
            Code::Syntax,
            place.span,
            "expected a name, found a name with `.n` or `.a`",
        );
        context.sink.push(error.help("only coreRMA programs have non-atomic accesses"));
    }
    let index = index.flatten().map(Box::new);
    let access = Access { name, index, home, queue_pair, atomic, place };
    let is_remote = inferred || !home.is_own();
    Some(if is_remote { access.through_nic() } else { access })
}

/// What stands in brackets behind a name. A number becomes a part of the name: `Some(None)`.
fn index(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    name: &mut Name,
) -> Option<Option<Index>> {
    let end = context.place(piece, &pair).span;
    let mut parts = pair.into_inner();
    let first = parts.next()?;
    if first.as_rule() == Rule::number {
        let last = parts.next()?;
        let (first, last) = (context.number(piece, &first), context.number(piece, &last));
        return Some(Some(Index::Part(first, last)));
    }
    let value = expression(context, piece, first, false)?;
    if let ExprKind::Number(number) = value.kind {
        *name = word(name, number, end);
        return Some(None);
    }
    // It is one level more of what is nested.
    if !context.operator(value.place) {
        return None;
    }
    Some(Some(Index::Value(Box::new(value))))
}

/// The name of a word of an array.
pub fn word(array: &Name, number: u64, end: Span) -> Name {
    let place = Place { span: array.place.span.to(end), ..array.place };
    Name { text: format!("{}[{number}]", array.text), place }
}

/// The number after `/`.
pub fn queue_pair(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<PairNumber> {
    let number = pair.into_inner().find(|part| part.as_rule() == Rule::pair_number)?;
    let is_shared = number.as_str().starts_with('s');
    let Number { value, place } = context.place_number(piece, &number);
    Some(PairNumber { value, is_shared, place })
}

/// Takes `_n` or `_a` from a name that is declared without it.
fn subscript(context: &Context<'_>, name: &mut String) -> Option<bool> {
    let (stem, mark) = name.rsplit_once('_')?;
    let is_subscript = matches!(mark, "n" | "a")
        && !context.declared.contains(name.as_str())
        && context.declared.contains(stem);
    if !is_subscript {
        return None;
    }
    let atomic = mark == "a";
    *name = stem.to_owned();
    Some(atomic)
}

/// Replaces letters with a bar by those without, and is true if there were any.
fn unbar(name: &mut String) -> bool {
    let pairs =
        [('ā', 'a'), ('ē', 'e'), ('ī', 'i'), ('ō', 'o'), ('ū', 'u'), ('ȳ', 'y'), ('ḡ', 'g')];
    let plain = |c: char| pairs.iter().find(|pair| pair.0 == c).map_or(c, |pair| pair.1);
    let replaced: String = name.chars().map(plain).collect();
    let barred = replaced != *name;
    *name = replaced;
    barred
}

fn raised_number(context: &mut Context<'_>, piece: &Piece, pair: &Pair<'_, Rule>) -> Number {
    let place = context.place(piece, pair);
    let digit = |c: char| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|raised| raised == c).unwrap_or(0) as u64;
    let value = pair
        .as_str()
        .chars()
        .fold(0u64, |value, c| value.saturating_mul(10).saturating_add(digit(c)));
    Number { value, place }
}

/// An expression. Where an access may stand, `~x` is `x^n`; in conditions it is a negation.
pub fn expression(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    access_position: bool,
) -> Option<Expr> {
    let pair = innermost(pair);
    let place = context.place(piece, &pair);
    match pair.as_rule() {
        Rule::expression | Rule::conjunction | Rule::comparison | Rule::sum | Rule::product => {
            let mut parts = pair.into_inner();
            let mut left = expression(context, piece, parts.next()?, access_position)?;
            while let Some(sign) = parts.next() {
                let right = expression(context, piece, parts.next()?, access_position)?;
                if !context.operator(left.place) {
                    return None;
                }
                let place = Place { span: left.place.span.to(right.place.span), ..left.place };
                let kind = ExprKind::Binary(operator(sign)?, Box::new(left), Box::new(right));
                left = Expr { kind, place };
            }
            Some(left)
        }
        Rule::negation => {
            let mut parts: Vec<_> = pair.into_inner().collect();
            let inner = expression(context, piece, parts.pop()?, access_position)?;
            negation(context, parts, inner, place, access_position)
        }
        Rule::group => {
            let parts = pair.into_inner().filter(|part| part.as_rule() == Rule::expression);
            let mut all = Vec::new();
            for part in parts {
                all.push(expression(context, piece, part, access_position)?);
            }
            let kind = if all.len() == 1 { all.pop()?.kind } else { ExprKind::Tuple(all) };
            Some(Expr { kind, place })
        }
        Rule::number => {
            let value = context.number(piece, &pair).value;
            Some(Expr { kind: ExprKind::Number(value), place })
        }
        Rule::negative => {
            let number = pair.into_inner().find(|part| part.as_rule() == Rule::number)?;
            let value = context.number(piece, &number).value.wrapping_neg();
            Some(Expr { kind: ExprKind::Number(value), place })
        }
        Rule::truth => Some(Expr { kind: ExprKind::Truth(pair.as_str() == "true"), place }),
        Rule::bottom => Some(Expr { kind: ExprKind::Bottom, place }),
        Rule::access | Rule::barred => {
            let access = access(context, piece, pair)?;
            Some(Expr { kind: ExprKind::Access(access), place })
        }
        _ => None,
    }
}

/// Past the levels of binding that nothing is bound on: they need no stack then.
fn innermost(mut pair: Pair<'_, Rule>) -> Pair<'_, Rule> {
    while matches!(
        pair.as_rule(),
        Rule::expression
            | Rule::conjunction
            | Rule::negation
            | Rule::comparison
            | Rule::sum
            | Rule::product
            | Rule::factor
    ) {
        let mut inner = pair.clone().into_inner();
        match (inner.next(), inner.next()) {
            (Some(only), None) => pair = only,
            _ => break,
        }
    }
    pair
}

/// The signs before an operand, and the operand.
fn negation(
    context: &mut Context<'_>,
    signs: Vec<Pair<'_, Rule>>,
    mut inner: Expr,
    place: Place,
    access_position: bool,
) -> Option<Expr> {
    for sign in signs.into_iter().rev() {
        if !context.operator(place) {
            return None;
        }
        match &mut inner.kind {
            ExprKind::Access(access)
                if access_position && sign.as_str() == "~" && access.home.is_own() =>
            {
                let access = Access { place, ..access.clone() }.through_nic();
                inner = Expr { kind: ExprKind::Access(access), place };
            }
            _ => inner = Expr { kind: ExprKind::Not(Box::new(inner)), place },
        }
    }
    Some(inner)
}

/// The operator that a sign stands for.
pub fn operator(pair: Pair<'_, Rule>) -> Option<BinaryOp> {
    Some(match pair.as_rule() {
        Rule::or => BinaryOp::Or,
        Rule::and => BinaryOp::And,
        Rule::plus => BinaryOp::Add,
        Rule::minus => BinaryOp::Subtract,
        Rule::times => BinaryOp::Multiply,
        Rule::modulo => BinaryOp::Remainder,
        Rule::compare => return comparison(&pair.into_inner().next()?),
        _ => return None,
    })
}

/// The operator that a comparison sign stands for.
pub fn comparison(pair: &Pair<'_, Rule>) -> Option<BinaryOp> {
    Some(match pair.as_rule() {
        Rule::equal => BinaryOp::Equal,
        Rule::not_equal => BinaryOp::NotEqual,
        Rule::less => BinaryOp::Less,
        Rule::less_equal => BinaryOp::LessEqual,
        Rule::greater => BinaryOp::Greater,
        Rule::greater_equal => BinaryOp::GreaterEqual,
        _ => return None,
    })
}
