//! Calls: the words that are statements.

use pest::iterators::Pair;

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::{Called, Words};

use super::super::ast::{
    Argument, Call, Expr, ExprKind, Name, Number, PairNumber, Place, StatementKind,
};
use super::super::methods::{self, KEYWORDS, Method, Position, SIGNATURES};
use super::expressions::{expression, queue_pair};
use super::{Context, Piece, Rule, printed};

/// Reports a word that is not a statement, once.
pub fn unknown(context: &mut Context<'_>, piece: &Piece, start: usize, word: &str) {
    if !context.unknown.insert(word.to_owned()) {
        return;
    }
    let span = piece.span(start, start + word.len());
    let message = format!("expected a statement, found `{word}`");
    let error = Diagnostic::error(Code::UnknownStatement, span, message);
    let table = SIGNATURES.iter().filter(|row| row.dialect == context.dialect);
    let known = table.flat_map(|row| row.spellings.iter().copied()).chain(KEYWORDS.iter().copied());
    let words = if context.dialect == Dialect::Rdma { context.words } else { Words::default() };
    let known = known.chain(words.spellings());
    let other = match context.dialect {
        Dialect::Rdma => Dialect::CoreRma,
        Dialect::CoreRma => Dialect::Rdma,
    };
    let help = match context.sink.suggest(word, known) {
        Some(known)
            if methods::lookup(other, word).is_none()
                && methods::written(word).is_none()
                && words.like(word).is_none() =>
        {
            context.sink.push(error.did_you_mean(known));
            return;
        }
        _ if methods::lookup(other, word).is_some() => {
            format!("`{word}` belongs to the other dialect; see the header's `dialect`")
        }
        _ if let Some(usage) = methods::written(word) => match usage.contains('`') {
            true => format!("write {usage}"),
            false => format!("write `{usage}`"),
        },
        _ if let Some(usage) = words.like(word) => format!("write `{usage}`"),
        _ => "docs/language.md lists the statements".to_owned(),
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
        if let Some((access, mark)) = printed::access(context, &first) {
            return printed::statement(context, piece, first, access, mark);
        }
        return call(context, piece, first, false).map(StatementKind::Call);
    }
    let (method, called) = method(context, piece, &first, None)?;
    let word = word_of(method, called, &first);
    let arguments: Vec<Argument> =
        parts.filter_map(|part| bare_argument(context, piece, part)).collect();
    let call = Call { method, word, arguments: normal(method, arguments), place };
    arity(context, &call, called, false).then_some(StatementKind::Call(call))
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
        Rule::pair_set => pair_set(context, piece, pair, place),
        Rule::towards => towards(context, piece, pair),
        _ => None,
    }
}

/// `2/1`, or `2/0`, which is `2`.
fn towards(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Option<Argument> {
    let mut parts = pair.into_inner();
    let node = context.place_number(piece, &parts.next()?);
    let number = queue_pair(context, piece, parts.next()?)?;
    Some(match number.is_first() {
        true => Argument::Expr(Expr { kind: ExprKind::Number(node.value), place: node.place }),
        false => Argument::Towards(node, number),
    })
}

fn number_set(context: &mut Context<'_>, piece: &Piece, pair: Pair<'_, Rule>) -> Vec<Number> {
    pair.into_inner().map(|pair| context.place_number(piece, &pair)).collect()
}

/// The statement that a word begins, and the library's method that it calls, if one is known.
fn method<'a>(
    context: &mut Context<'a>,
    piece: &Piece,
    pair: &Pair<'_, Rule>,
    object: Option<&Name>,
) -> Option<(Method, Option<Called<'a>>)> {
    let (word, words) = (pair.as_str().trim(), context.words);
    let class = object.and_then(|name| context.objects.get(&name.text)).cloned();
    if let Some(class) = &class {
        let of_class = words.of_class(class, word);
        if of_class.is_some() || words.library(class).is_none() {
            return Some((Method::Library, of_class));
        }
    }
    let base = |word: &str| methods::statement(context.dialect, word);
    if let Some(method) = base(word) {
        return Some((method, None));
    }
    if context.dialect == Dialect::Rdma {
        let called = words.method(word);
        let of_base = match called {
            Some(called) => called.method.word().and_then(base),
            None => words.base(word),
        };
        if called.is_some() || of_base.is_some() {
            return Some(of_base.map_or((Method::Library, called), |method| (method, None)));
        }
    }
    if context.has_other_classes {
        return Some((Method::Library, None));
    }
    unknown(context, piece, pair.as_span().start(), pair.as_str());
    None
}

/// The word of a library's method, as it is printed.
fn word_of(method: Method, called: Option<Called<'_>>, pair: &Pair<'_, Rule>) -> Option<String> {
    let known = called.and_then(|called| called.method.word());
    (method == Method::Library).then(|| known.unwrap_or(pair.as_str().trim()).to_owned())
}

/// `{2, 2/1}`
fn pair_set(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    place: Place,
) -> Option<Argument> {
    let mut pairs = Vec::new();
    for member in pair.into_inner() {
        let mut parts = member.into_inner();
        let node = context.place_number(piece, &parts.next()?);
        let number = match parts.next() {
            Some(number) => queue_pair(context, piece, number)?,
            None => PairNumber::of_index(0, node.place),
        };
        pairs.push((node, number));
    }
    Some(Argument::QueuePairs(pairs, place))
}

/// A call with its arguments; on the right of `:=` if `value`.
pub fn call(
    context: &mut Context<'_>,
    piece: &Piece,
    pair: Pair<'_, Rule>,
    value: bool,
) -> Option<Call> {
    let place = context.place(piece, &pair);
    let mut spelled = None;
    let mut arguments = Vec::new();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::method => spelled = Some(part),
            Rule::argument => arguments.push(argument(context, piece, part)?),
            _ => {}
        }
    }
    let spelled = spelled?;
    let object = match arguments.first() {
        Some(Argument::Expr(Expr { kind: ExprKind::Access(access), .. })) => Some(&access.name),
        _ => None,
    };
    let (method, called) = method(context, piece, &spelled, object)?;
    if let (Some(Called { library, is_marked: true, .. }), Some(object)) = (called, object)
        && let Some(class) = &library.calls
    {
        context.said.push((object.clone(), class.clone()));
    }
    let word = word_of(method, called, &spelled);
    let call = Call { method, word, arguments: normal(method, arguments), place };
    arity(context, &call, called, value).then_some(call)
}

/// `Poll(n_2)` and `Poll({2})` are `Poll(2)`, and `GFence(2)` is `GFence({2})`.
fn normal(method: Method, mut arguments: Vec<Argument>) -> Vec<Argument> {
    let names_node = matches!(
        method,
        Method::Gfence | Method::Poll | Method::Rfence | Method::RmaFlush | Method::Send
    ) || matches!(
        method,
        Method::SendImm | Method::Flush | Method::Persist | Method::Recv | Method::PollRecv
    );
    if let (true, [Argument::Expr(expr), ..]) = (names_node, arguments.as_mut_slice())
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
    if let Some(first) = arguments.first_mut() {
        if let Argument::QueuePairs(pairs, place) = first
            && pairs.iter().all(|(_, number)| number.is_first())
        {
            *first = Argument::Nodes(pairs.iter().map(|(node, _)| *node).collect(), *place);
        }
        match (method, &*first) {
            (Method::Poll, Argument::Nodes(nodes, place)) if nodes.len() == 1 => {
                let kind = ExprKind::Number(nodes[0].value);
                *first = Argument::Expr(Expr { kind, place: *place });
            }
            (Method::Poll, Argument::QueuePairs(pairs, _)) if pairs.len() == 1 => {
                *first = Argument::Towards(pairs[0].0, pairs[0].1);
            }
            _ => {}
        }
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
        Rule::pair_set => pair_set(context, piece, part, place),
        Rule::towards => towards(context, piece, part),
        _ => expression(context, piece, part, true).map(Argument::Expr),
    }
}

/// Whether the call stands where it may, with as many arguments as it takes.
fn arity(context: &mut Context<'_>, call: &Call, called: Option<Called<'_>>, value: bool) -> bool {
    let signature = call.method.signature();
    let spelling = call.word.as_deref().unwrap_or(signature.spellings[0]);
    let (mut fewest, mut most) = called.map_or(signature.arity, |called| called.method.arity());
    let usage = called.and_then(|called| called.method.usage());
    let several = (call.method == Method::Poll && call.arguments.len() > 1)
        .then(|| "Poll({2, 2/1})".to_owned());
    let usage = usage.or(several).unwrap_or_else(|| signature.usage.to_owned());
    let gives_none = called.is_some_and(|called| !called.method.has_result());
    let message = match (signature.position, value) {
        (_, true) if gives_none => Some(format!("`{spelling}` gives no value")),
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
    let error = Diagnostic::error(Code::WrongArguments, call.place.span, message);
    let error = error.help(format!("write `{usage}`"));
    // Only of a call without arguments, it is known what is meant.
    let is_bare = most == 0 && found > 0 && !value;
    context.sink.push(if is_bare { error.replace(call.place.span, usage) } else { error });
    false
}
