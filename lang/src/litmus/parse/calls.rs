//! Calls: the words that are statements.

use pest::iterators::Pair;

use crate::Dialect;
use crate::diagnostic::Diagnostic;

use super::super::ast::{Argument, Call, Expr, ExprKind, Number, StatementKind};
use super::super::methods::{self, KEYWORDS, Method, Position, SIGNATURES};
use super::expressions::expression;
use super::{Context, Piece, Rule, printed};

/// Reports a word that is no statement, once.
pub fn unknown(context: &mut Context<'_>, piece: &Piece, start: usize, word: &str) {
    if !context.unknown.insert(word.to_owned()) {
        return;
    }
    let span = piece.span(start, start + word.len());
    let message = format!("expected a statement, found `{word}`");
    let error = Diagnostic::error("unknown-statement", span, message);
    let table = SIGNATURES.iter().filter(|row| row.dialect == context.dialect);
    let known = table.flat_map(|row| row.spellings.iter().copied()).chain(KEYWORDS.iter().copied());
    let other = match context.dialect {
        Dialect::Rdma => Dialect::CoreRma,
        Dialect::CoreRma => Dialect::Rdma,
    };
    let help = match context.sink.suggest(word, known) {
        _ if methods::lookup(other, word).is_some() => {
            format!("`{word}` belongs to the other dialect; see the header's `dialect`")
        }
        _ if let Some(usage) = methods::written(word) => match usage.contains('`') {
            true => format!("write {usage}"),
            false => format!("write `{usage}`"),
        },
        Some(known) => format!("did you mean `{known}`?"),
        None => "docs/language.md lists the statements".to_owned(),
    };
    context.sink.push(error.help(help));
}

/// A call on its own.
pub fn call_statement(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<StatementKind> {
    let place = context.place(piece, &pair);
    let mut parts = pair.into_inner();
    let first = parts.next()?;
    if first.as_rule() == Rule::call {
        if let Some(access) = printed::access(context, &first) {
            return printed::statement(context, piece, first, access);
        }
        return call(context, piece, first, false).map(StatementKind::Call);
    }
    let (method, word, _) = method(context, piece, &first)?;
    let arguments: Vec<Argument> =
        parts.filter_map(|part| bare_argument(context, piece, part)).collect();
    let call = Call { method, word, arguments: normal(method, arguments), place };
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
    pair.into_inner().map(|pair| context.place_number(piece, &pair)).collect()
}

/// A method, the word for one that the language does not know, and the class of lock that the word says.
type Called = (Method, Option<String>, Option<&'static str>);

fn method(context: &mut Context<'_>, piece: &Piece, pair: &Pair<'_, Rule>) -> Option<Called> {
    let word = pair.as_str().trim();
    let known = methods::lookup(context.dialect, word).filter(|method| *method != Method::Library);
    let marked = || {
        let is_rdma = context.dialect == Dialect::Rdma;
        is_rdma.then(|| methods::lookup_marked(word)).flatten()
    };
    match known.map(|method| (method, None)).or_else(marked) {
        Some((method, class)) => Some((method, None, class)),
        None if context.has_other_classes => Some((Method::Library, Some(word.to_owned()), None)),
        None => {
            unknown(context, piece, pair.as_span().start(), pair.as_str());
            None
        }
    }
}

/// A call with its arguments; on the right of `:=` if `value`.
pub fn call(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    value: bool,
) -> Option<Call> {
    let place = context.place(piece, &pair);
    let (mut method, mut word, mut class) = (None, None, None);
    let mut spelled = String::new();
    let mut arguments = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::method => {
                spelled = part.as_str().trim().to_owned();
                let called = self::method(context, piece, &part)?;
                (method, word, class) = (Some(called.0), called.1, called.2);
            }
            Rule::argument => arguments.push(argument(context, piece, part)?),
            _ => {}
        }
    }
    if let Some(Argument::Expr(Expr { kind: ExprKind::Access(access), .. })) = arguments.first()
        && context.other_objects.contains(&access.name.text)
    {
        (method, word) = (Some(Method::Library), Some(spelled));
    } else if let (Some(class), Some(Argument::Expr(Expr { kind: ExprKind::Access(access), .. }))) =
        (class, arguments.first())
    {
        context.lock_classes.push((access.name.clone(), class));
    }
    let call = Call { method: method?, word, arguments: normal(method?, arguments), place };
    arity(context, &call, value).then_some(call)
}

/// `Poll(n_2)` is `Poll(2)`, and `GFence(2)` is `GFence({2})`.
fn normal(method: Method, mut arguments: Vec<Argument>) -> Vec<Argument> {
    let names_node =
        matches!(method, Method::Gfence | Method::Poll | Method::Rfence | Method::RmaFlush);
    if let (true, [Argument::Expr(expr)]) = (names_node, arguments.as_mut_slice())
        && let ExprKind::Access(access) = &expr.kind
        && let Some(node) = printed::node(&access.name.text)
    {
        expr.kind = ExprKind::Number(node);
    }
    if let (Method::Gfence, [argument]) = (method, arguments.as_mut_slice())
        && let Argument::Expr(Expr { kind: ExprKind::Number(value), place }) = *argument
    {
        *argument = Argument::Nodes(vec![Number { value, place }], place);
    }
    arguments
}

/// An argument of a call.
pub fn argument(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
) -> Option<Argument> {
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
    let spelling = call.word.as_deref().unwrap_or(signature.spellings[0]);
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
        let noun = if wanted == "1" { "argument" } else { "arguments" };
        wrong.then(|| format!("expected {wanted} {noun} of `{spelling}`, found {found}"))
    });
    let Some(message) = message else { return true };
    let error = Diagnostic::error("wrong-arguments", call.place.span, message);
    context.sink.push(error.help(format!("write `{}`", signature.usage)));
    false
}
