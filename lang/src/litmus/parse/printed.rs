//! Accesses that papers write as calls: `Write(x, 1)`, `Put(x, y, d)`, `a := Read_SV(x)`.
//!
//! They become the assignments that they mean, so the tree has one form of each.

use pest::iterators::Pair;

use super::super::ast::{
    Access, Argument, Expr, ExprKind, Home, Place, StatementKind, Target, Value, Via,
};
use super::super::methods;
use super::calls::argument;
use super::{Context, Piece, Rule};
use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::Access as Kind;

/// The assignment that a call is, if its word is one, and the mark behind its `:=`. What words mean for an
/// object, its library says.
pub fn access<'a>(context: &Context<'a>, call: &Pair<'_, Rule>) -> Option<(Kind, Option<&'a str>)> {
    if context.dialect != Dialect::Rdma {
        return None;
    }
    let mut parts = call.clone().into_inner();
    let word = parts.next()?.as_str().trim();
    let object = parts.find(|part| part.as_rule() == Rule::argument);
    match object.and_then(|object| context.objects.get(object.as_str().trim())) {
        Some(class) => context.words.access_of(class, word),
        // What is a statement is no library's word, unless it is for one of its objects.
        None if methods::statement(context.dialect, word).is_some() => None,
        None => context.words.access(word),
    }
}

/// The node that a word names where only a node can stand: `n2`, `n_2`, `P2`.
pub fn node(word: &str) -> Option<u64> {
    let digits = word.strip_prefix(['n', 'N', 'p', 'P'])?.trim_start_matches('_');
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// `Write(x, e)`, `Put(x, y, d)`, `Get(x, y, d)` as a statement.
pub fn statement(
    context: &mut Context<'_>,
    piece: &Piece,
    call: Pair<'_, Rule>,
    kind: Kind,
    mark: Option<&str>,
) -> Option<StatementKind> {
    let place = context.place(piece, &call);
    let arguments = arguments(context, piece, call)?;
    let (usage, most) = match kind {
        Kind::Read => {
            return wrong(context, place, "the value of `Read` is not used", "a := Read(x)");
        }
        Kind::WriteWords => ("Write(x, (1, 2))", usize::MAX),
        Kind::Write => ("Write(x, 1)", 2),
        Kind::Put => ("Put(x, y, d)", 3),
        Kind::Get => ("Get(a, x, d)", 3),
    };
    let found = arguments.len();
    let mut arguments = arguments.into_iter();
    let (Some(first), Some(second), true) = (arguments.next(), arguments.next(), found <= most)
    else {
        let wanted = if most == 3 { "2 to 3" } else { "2" };
        let message = format!("expected {wanted} arguments, found {found}");
        return wrong(context, place, &message, usage);
    };
    let is_name = |argument: &Argument| match argument {
        Argument::Expr(Expr { kind: ExprKind::Access(_), .. }) | Argument::Nobody(_) => None,
        other => Some(other.place()),
    };
    if let Some(place) = is_name(&first) {
        return wrong(context, place, "expected a name, found a value", usage);
    }
    let (target, value) = (target(first), value_of(second));
    let Some((target, value)) = target.zip(value) else {
        return wrong(context, place, "expected a name and a value, found something else", usage);
    };
    match kind {
        Kind::Write | Kind::WriteWords | Kind::Read => {
            let words: Option<Vec<Expr>> = arguments.map(value_of).collect();
            let value = match words {
                Some(words) if !words.is_empty() => {
                    let all = std::iter::once(value).chain(words).collect();
                    Expr { kind: ExprKind::Tuple(all), place }
                }
                _ => value,
            };
            Some(StatementKind::Assign { target, via: via(mark), value: Value::Expr(value) })
        }
        Kind::Put => {
            let via = work_id(context, arguments.next(), usage)?;
            Some(StatementKind::Assign {
                target: far_target(target),
                via,
                value: Value::Expr(value),
            })
        }
        Kind::Get => {
            let via = work_id(context, arguments.next(), usage)?;
            Some(StatementKind::Assign { target, via, value: Value::Expr(far_value(value)) })
        }
    }
}

/// `Read(x)` as a value, and what stands after `:=` then, if it is not nothing.
pub fn value(
    context: &mut Context<'_>,
    piece: &Piece,
    call: Pair<'_, Rule>,
    kind: Kind,
    mark: Option<&str>,
) -> Option<(Expr, Option<Via>)> {
    let place = context.place(piece, &call);
    let arguments = arguments(context, piece, call)?;
    match (kind, arguments.as_slice()) {
        (Kind::Read, [Argument::Expr(read)]) => {
            let via = Some(via(mark)).filter(|via| !matches!(via, Via::Plain));
            Some((read.clone(), via))
        }
        (Kind::Read, _) => {
            wrong(context, place, "expected the location that is read", "a := Read(x)")
        }
        _ => {
            let message = "expected a value, found a call that gives none";
            wrong(context, place, message, "Write(x, 1)")
        }
    }
}

fn wrong<T>(context: &mut Context<'_>, place: Place, message: &str, usage: &str) -> Option<T> {
    let error = Diagnostic::error(Code::WrongArguments, place.span, message);
    context.sink.push(error.help(format!("write `{usage}`")));
    None
}

fn arguments(
    context: &mut Context<'_>,
    piece: &Piece,
    call: Pair<'_, Rule>,
) -> Option<Vec<Argument>> {
    let parts = call.into_inner().filter(|part| part.as_rule() == Rule::argument);
    parts.map(|part| argument(context, piece, part)).collect()
}

fn via(mark: Option<&str>) -> Via {
    mark.map_or(Via::Plain, |mark| Via::Library(mark.to_owned()))
}

fn target(argument: Argument) -> Option<Target> {
    match argument {
        Argument::Nobody(place) => Some(Target::Nobody(place)),
        Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(Target::Access(access)),
        _ => None,
    }
}

fn value_of(argument: Argument) -> Option<Expr> {
    match argument {
        Argument::Expr(expr) => Some(expr),
        _ => None,
    }
}

/// The work id of a put or get, which may be left out.
fn work_id(context: &mut Context<'_>, argument: Option<Argument>, usage: &str) -> Option<Via> {
    match argument {
        None => Some(Via::Plain),
        Some(Argument::Nobody(_)) => Some(Via::Id(None)),
        Some(Argument::Expr(Expr {
            kind: ExprKind::Access(Access { name, home: Home::Own, .. }),
            ..
        })) => Some(Via::Id(Some(name))),
        Some(other) => wrong(context, other.place(), "expected a work id, found a value", usage),
    }
}

/// A remote location may be written without its node, as the library's definition does.
fn far_target(target: Target) -> Target {
    match target {
        Target::Access(access) => Target::Access(access.through_nic()),
        nobody => nobody,
    }
}

fn far_value(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Access(access) => Expr { kind: ExprKind::Access(access.through_nic()), ..value },
        _ => value,
    }
}
