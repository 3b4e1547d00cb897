//! The statements of one column.

use pest::Parser as _;
use pest::iterators::Pair;

use crate::Dialect;
use crate::diagnostic::{Diagnostic, nearest};
use crate::program::BinaryOp;

use super::super::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, Home, Name, Number, Place, Statement,
    StatementKind, Target, Value, Via,
};
use super::super::methods::{self, KEYWORDS, Method, Position, SIGNATURES};
use super::{Context, LitmusGrammar, Piece, Rule, expected};

/// Reads a column.
pub fn body(context: &mut Context<'_>, piece: &Piece) -> Block {
    if !context.shallow(piece) || !balanced(context, piece) {
        return Block::default();
    }
    match LitmusGrammar::parse(Rule::body, &piece.text) {
        Ok(mut pairs) => match pairs.next() {
            Some(pair) => statements(context, piece, pair),
            None => Block::default(),
        },
        Err(error) => {
            context.sink.push(expected::diagnostic(&error, piece, 0));
            Block::default()
        }
    }
}

/// True if every brace has its partner; the grammar counts on it.
fn balanced(context: &mut Context<'_>, piece: &Piece) -> bool {
    let mut open = Vec::new();
    let mut lonely = None;
    for (at, character) in piece.text.char_indices() {
        match character {
            '{' => open.push(at),
            '}' if open.pop().is_none() => {
                lonely = Some((at, "expected a statement, found `}` without its `{`"));
                break;
            }
            _ => {}
        }
    }
    let unclosed = "expected `}` to end this block in the same column, found the column's end";
    let Some((at, message)) = lonely.or(open.pop().map(|at| (at, unclosed))) else { return true };
    if !context.ragged {
        let span = piece.span(at, at + 1);
        context.sink.push(Diagnostic::error("unbalanced-braces", span, message));
    }
    false
}

/// The statements directly inside a body or block.
fn statements(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Block {
    let mut block = Block { end: context.place(piece, &pair), ..Block::default() };
    // Where the last statement on this line began, and where it ended.
    let mut previous: Option<(usize, usize)> = None;
    let mut cut_off = false;
    for part in pair.into_inner() {
        let span = part.as_span();
        let joined = previous.filter(|&(_, end)| {
            !piece.text[end..span.start()].contains(['\n', ';'])
                && !piece.text[..end].ends_with('}')
        });
        match part.as_rule() {
            Rule::statement | Rule::broken if joined.is_some() => {
                let start = joined.map_or(span.start(), |(start, _)| start);
                explain(context, piece, start, span.end());
                cut_off |= part.as_str().contains('{');
            }
            Rule::statement => {
                previous = Some((span.start(), span.end()));
                block.statements.extend(statement(context, piece, part));
                continue;
            }
            Rule::broken => {
                cut_off |= part.as_str().contains('{');
                explain(context, piece, span.start(), span.end());
            }
            Rule::stray_brace if !cut_off => {
                let place = context.place(piece, &part);
                context.error("unbalanced-braces", place, "expected a statement, found `}`");
            }
            Rule::close_brace => block.end = context.place(piece, &part),
            _ => {}
        }
        previous = None;
    }
    block
}

/// Says what is wrong with the text from a statement's start to the end of the broken piece.
fn explain(context: &mut Context<'_>, piece: &Piece, start: usize, end: usize) {
    let text = piece.text[start..end].trim_end();
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("");
    let rest = text[word.len()..].trim_start();
    let begins_value = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let known = KEYWORDS.contains(&word) || methods::lookup(context.dialect, word).is_some();
    if begins_value && !known {
        unknown(context, piece, start, word);
        return;
    }
    match LitmusGrammar::parse(Rule::lone, text) {
        Err(error) => context.sink.push(expected::diagnostic(&error, piece, start)),
        Ok(_) => {
            let span = piece.span(start, end);
            context.sink.push(Diagnostic::error(
                "syntax",
                span,
                "expected one statement, found more",
            ));
        }
    }
}

fn unknown(context: &mut Context<'_>, piece: &Piece, start: usize, word: &str) {
    let span = piece.span(start, start + word.len());
    let message = format!("expected a statement, found `{word}`");
    let error = Diagnostic::error("unknown-statement", span, message);
    let table = SIGNATURES.iter().filter(|row| row.dialect == context.dialect);
    let known = table.flat_map(|row| row.spellings.iter().copied()).chain(KEYWORDS.iter().copied());
    let help = match nearest(word, known) {
        Some(known) => format!("did you mean `{known}`?"),
        None => "docs/language.md lists the statements".to_owned(),
    };
    context.sink.push(error.help(help));
}

fn statement(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Statement> {
    context.operators = 0;
    let place = context.place(piece, &pair);
    let inner = pair.into_inner().next()?;
    let kind = match inner.as_rule() {
        Rule::conditional => conditional(context, piece, inner)?,
        Rule::while_loop => {
            let (condition, block) = guarded(context, piece, inner);
            StatementKind::While(condition?, block?)
        }
        Rule::endless_loop => StatementKind::Loop(guarded(context, piece, inner).1?),
        Rule::leave => StatementKind::Break,
        Rule::skip => StatementKind::Skip,
        Rule::assumption => StatementKind::Assume(guarded(context, piece, inner).0?),
        Rule::assignment => assignment(context, piece, inner)?,
        Rule::call_statement => call_statement(context, piece, inner)?,
        _ => return None,
    };
    Some(Statement { kind, place })
}

/// The condition and the block of a statement that has them.
fn guarded(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> (Option<Expr>, Option<Block>) {
    let (mut condition, mut block) = (None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::expression => condition = expression(context, piece, part, false),
            Rule::block => block = Some(statements(context, piece, part)),
            _ => {}
        }
    }
    (condition, block)
}

fn conditional(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let place = context.place(piece, &pair);
    let mut branches = Vec::new();
    let mut otherwise = None;
    let mut condition = None;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::expression => condition = expression(context, piece, part, false),
            Rule::block => {
                let block = statements(context, piece, part);
                branches.push((condition.take()?, block));
            }
            Rule::otherwise => otherwise = guarded(context, piece, part).1,
            _ => {}
        }
    }
    if branches.len() > super::LITMUS_MAX_NESTING {
        let message = format!("this has more than {} branches", super::LITMUS_MAX_NESTING);
        context.error("nesting-too-deep", place, message);
        return None;
    }
    Some(StatementKind::If { branches, otherwise })
}

fn assignment(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let (mut target, mut via, mut value) = (None, Via::Plain, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::target => target = self::target(context, piece, part),
            Rule::assign => via = self::via(context, piece, part),
            Rule::value => {
                let part = part.into_inner().next()?;
                value = match part.as_rule() {
                    Rule::call => call(context, piece, part, true).map(Value::Call),
                    _ => expression(context, piece, part, true).map(Value::Expr),
                };
            }
            _ => {}
        }
    }
    Some(StatementKind::Assign { target: target?, via, value: value? })
}

fn target(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Target> {
    let place = context.place(piece, &pair);
    let mut inferred = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::nobody => return Some(Target::Nobody(place)),
            Rule::tilde => inferred = true,
            _ => {
                let mut access = access(context, piece, part)?;
                if inferred && access.home == Home::Own {
                    access.home = Home::Inferred;
                }
                return Some(Target::Access(Access { place, ..access }));
            }
        }
    }
    None
}

fn via(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Via {
    let place = context.place(piece, &pair);
    let Some(part) = pair.into_inner().next() else { return Via::Plain };
    match (part.as_rule(), context.dialect) {
        (Rule::library_assign, Dialect::Rdma) if part.as_str().ends_with("SV") => {
            Via::SharedVariable
        }
        (Rule::library_assign, Dialect::Rdma) => Via::SequentiallyConsistent,
        (Rule::id_assign, Dialect::Rdma) => Via::Id(work_id(context, piece, part)),
        (Rule::plain_assign, Dialect::Rdma)
        | (Rule::plain_assign | Rule::equals, Dialect::CoreRma) => Via::Plain,
        (Rule::equals, Dialect::Rdma) => {
            let error = Diagnostic::error("syntax", place.span, "expected `:=`, found `=`");
            context.sink.push(error.help("`=` assigns only under `dialect corerma`"));
            Via::Plain
        }
        _ => {
            let message =
                "expected `=` in the coreRMA dialect, found an assignment of RDMA programs";
            context.error("syntax", place, message);
            Via::Plain
        }
    }
}

fn work_id(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Name> {
    let part = pair.into_inner().next()?;
    match part.as_rule() {
        Rule::raised_id => {
            let raised = ["ᵃ", "ᵇ", "ᶜ", "ᵈ", "ᵉ", "ᶠ", "ᵍ"];
            let at = raised.iter().position(|sign| *sign == part.as_str())?;
            let text = "abcdefg".get(at..=at)?.to_owned();
            Some(Name { text, place: context.place(piece, &part) })
        }
        _ => {
            let name = part.into_inner().find(|part| part.as_rule() == Rule::name)?;
            Some(context.name(piece, &name))
        }
    }
}

/// A name and its marks.
fn access(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Access> {
    let place = context.place(piece, &pair);
    let mut name = Name::default();
    let mut home = Home::Own;
    let mut atomic = None;
    let mut inferred = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => {
                name = context.name(piece, &part);
                inferred |= unbar(&mut name.text);
            }
            Rule::overline => inferred = true,
            Rule::atomicity => atomic = Some(part.as_str().ends_with('a')),
            Rule::node => {
                let number = part.into_inner().next()?;
                home = Home::Node(context.number(piece, &number));
            }
            Rule::raised_node => home = Home::Node(raised_number(context, piece, &part)),
            _ => {}
        }
    }
    if inferred && home == Home::Own {
        home = Home::Inferred;
    }
    if atomic.is_some() && context.dialect == Dialect::Rdma {
        let error = Diagnostic::error(
            "syntax",
            place.span,
            "expected a name, found a name with `.n` or `.a`",
        );
        context.sink.push(error.help("only coreRMA programs have non-atomic accesses"));
    }
    Some(Access { name, home, atomic, place })
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

fn call_statement(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let place = context.place(piece, &pair);
    let mut parts = pair.into_inner();
    let first = parts.next()?;
    if first.as_rule() == Rule::call {
        return call(context, piece, first, false).map(StatementKind::Call);
    }
    let method = method(context, piece, &first)?;
    let arguments: Vec<Argument> =
        parts.filter_map(|part| bare_argument(context, piece, part)).collect();
    let call = Call { method, arguments: normal(method, arguments), place };
    arity(context, &call, false).then_some(StatementKind::Call(call))
}

/// The argument of `Poll 2`.
fn bare_argument(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<Argument> {
    let place = context.place(piece, &pair);
    match pair.as_rule() {
        Rule::number => {
            let value = context.number(piece, &pair).value;
            Some(Argument::Expr(Expr { kind: ExprKind::Number(value), place }))
        }
        Rule::number_set => Some(Argument::Nodes(number_set(context, piece, pair), place)),
        _ => None,
    }
}

fn number_set(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Number> {
    pair.into_inner().map(|pair| context.number(piece, &pair)).collect()
}

fn method(context: &mut Context<'_>, piece: &Piece, pair: &Pair<'_, Rule>) -> Option<Method> {
    let method = methods::lookup(context.dialect, pair.as_str());
    if method.is_none() {
        unknown(context, piece, pair.as_span().start(), pair.as_str());
    }
    method
}

fn call(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    value: bool,
) -> Option<Call> {
    let place = context.place(piece, &pair);
    let mut method = None;
    let mut arguments = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::method => method = Some(self::method(context, piece, &part)?),
            Rule::argument => arguments.push(argument(context, piece, part)?),
            _ => {}
        }
    }
    let call = Call { method: method?, arguments: normal(method?, arguments), place };
    arity(context, &call, value).then_some(call)
}

/// `GFence(2)` is `GFence({2})`.
fn normal(method: Method, mut arguments: Vec<Argument>) -> Vec<Argument> {
    if let (Method::Gfence, [argument]) = (method, arguments.as_mut_slice())
        && let Argument::Expr(Expr { kind: ExprKind::Number(value), place }) = *argument
    {
        *argument = Argument::Nodes(vec![Number { value, place }], place);
    }
    arguments
}

fn argument(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Argument> {
    let place = context.place(piece, &pair);
    let part = pair.into_inner().next()?;
    match part.as_rule() {
        Rule::nobody => Some(Argument::Nobody(place)),
        Rule::number_set => Some(Argument::Nodes(number_set(context, piece, part), place)),
        _ => expression(context, piece, part, true).map(Argument::Expr),
    }
}

/// Whether the call stands where it may, with as many arguments as it takes.
fn arity(context: &mut Context<'_>, call: &Call, value: bool) -> bool {
    let signature = call.method.signature();
    let spelling = signature.spellings[0];
    let (mut fewest, mut most) = signature.arity;
    let message = match (signature.position, value) {
        (Position::Statement, true) => Some(format!("`{spelling}` gives no value")),
        (Position::Value, false) => Some(format!("the value of `{spelling}` is not used")),
        (Position::Either, true) => {
            (fewest, most) = (fewest - 1, most - 1);
            None
        }
        _ => None,
    };
    let found = call.arguments.len();
    let message = message.or_else(|| {
        let wanted =
            if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
        let wrong = found < fewest || found > most;
        wrong.then(|| format!("expected {wanted} arguments of `{spelling}`, found {found}"))
    });
    let Some(message) = message else { return true };
    let error = Diagnostic::error("wrong-arguments", call.place.span, message);
    context.sink.push(error.help(format!("write `{}`", signature.usage)));
    false
}

/// An expression. Where an access may stand, `~x` is `x^n`; in conditions it is a negation.
fn expression(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    access_position: bool,
) -> Option<Expr> {
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
        Rule::factor => expression(context, piece, pair.into_inner().next()?, access_position),
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
        Rule::truth => Some(Expr { kind: ExprKind::Truth(pair.as_str() == "true"), place }),
        Rule::bottom => Some(Expr { kind: ExprKind::Bottom, place }),
        Rule::access => {
            let access = access(context, piece, pair)?;
            Some(Expr { kind: ExprKind::Access(access), place })
        }
        _ => None,
    }
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
                if access_position && sign.as_str() == "~" && access.home == Home::Own =>
            {
                access.home = Home::Inferred;
                access.place = place;
                inner.place = place;
            }
            _ => inner = Expr { kind: ExprKind::Not(Box::new(inner)), place },
        }
    }
    Some(inner)
}

fn operator(pair: Pair<'_, Rule>) -> Option<BinaryOp> {
    Some(match pair.as_rule() {
        Rule::or => BinaryOp::Or,
        Rule::and => BinaryOp::And,
        Rule::plus => BinaryOp::Add,
        Rule::minus => BinaryOp::Subtract,
        Rule::times => BinaryOp::Multiply,
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
