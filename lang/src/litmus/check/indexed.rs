//! Words of arrays whose number is a value: `x[i] := 1`.
//!
//! Such a statement becomes a choice among the array's words, by the index, each with a statement of its own.
//! An execution whose index is none of them does not count; that it can happen is said where outcomes are
//! computed ([`StmtKind::OutOfRange`]).

use crate::diagnostic::Code;
use crate::program::{BinaryOp, Expr, LocationId, RegisterId, Stmt, StmtKind};

use super::super::ast::{
    self, Access, Argument, Block, ExprKind, Index, Name, Statement, StatementKind, Target, Value,
    Via,
};
use super::super::methods::Method;
use super::Meaning;
use super::arrays::word_name;
use super::lower::Lowerer;

/// The most words that the choices of one statement name together.
const MOST_CHOICES: usize = 1024;

/// Lowers a statement that accesses a word by a value. `None` if it does not.
pub fn statement(lowerer: &mut Lowerer<'_, '_>, statement: &Statement) -> Option<Option<()>> {
    if lowerer.checker.by_words.is_empty() {
        return None;
    }
    let mut changed = statement.clone();
    let mut places = all_places(&mut changed.kind);
    let by_value = |access: &&mut Access| matches!(access.index.as_deref(), Some(Index::Value(_)));
    let at = places.iter().position(by_value)?;
    let Index::Value(index) = *places.get_mut(at)?.index.take()? else { return None };
    let name = places.get(at)?.name.clone();
    lowerer.span = statement.place.span;
    if let Some((target, value)) = cpu_write(statement) {
        return Some(write(lowerer, target, &index, value));
    }
    let Some(index) = lowerer.expression(&index) else { return Some(None) };
    if is_receive(statement) && !index.registers().is_empty() {
        let message = format!("expected a word whose number is known, found `{}[…]`", name.text);
        let help = "receives stand outside of choices: each names its own word, `Recv(1, x[0])`";
        return Some(lowerer.fail(Code::ReceiveInBlock, name.place, message, help));
    }
    Some(choose(lowerer, &name, &index, &mut |lowerer, word| {
        if let Some(access) = all_places(&mut changed.kind).get_mut(at) {
            word.clone_into(&mut access.name.text);
        }
        lowerer.block(&Block { statements: vec![changed.clone()], ..Block::default() })
    }))
}

fn is_receive(statement: &Statement) -> bool {
    matches!(&statement.kind, StatementKind::Call(call) if call.method == Method::Recv)
}

/// The target and the value of a CPU write.
fn cpu_write(statement: &Statement) -> Option<(&Access, &ast::Expr)> {
    let StatementKind::Assign { target: Target::Access(target), via: Via::Plain, value } =
        &statement.kind
    else {
        return None;
    };
    let Value::Expr(value) = value else { return None };
    let is_get = matches!(&value.kind, ExprKind::Access(from) if !from.home.is_own());
    (target.home.is_own() && target.index.is_some() && !is_get).then_some((target, value))
}

/// `x[i] := e`: the value is computed once, before the choice.
fn write(
    lowerer: &mut Lowerer<'_, '_>,
    target: &Access,
    index: &ast::Expr,
    value: &ast::Expr,
) -> Option<()> {
    let index = lowerer.expression(index)?;
    let value = lowerer.expression(value)?;
    choose(lowerer, &target.name, &index, &mut |lowerer, word| {
        let Some(location) = own_word(lowerer, target, word) else { return Vec::new() };
        let kind = StmtKind::Write { location, value: value.clone() };
        vec![Stmt { kind, unsignaled: false, span: lowerer.span }]
    })
}

/// A word of the thread's own node.
fn own_word(lowerer: &mut Lowerer<'_, '_>, access: &Access, word: &str) -> Option<LocationId> {
    let word = Name { text: word.to_owned(), ..access.name.clone() };
    match lowerer.checker.meaning(&word)? {
        Meaning::Location(location) => lowerer.own(access, location),
        _ => None,
    }
}

/// Reads a word by a value into a register, `a := x[i]` or in an expression.
pub fn read(lowerer: &mut Lowerer<'_, '_>, access: &Access) -> Option<RegisterId> {
    let Some(Index::Value(index)) = access.index.as_deref() else {
        return lowerer.several_words(access);
    };
    let register = lowerer.hidden();
    let index = lowerer.expression(index)?;
    choose(lowerer, &access.name, &index, &mut |lowerer, word| {
        let Some(location) = own_word(lowerer, access, word) else { return Vec::new() };
        let kind = StmtKind::Read { register, location };
        vec![Stmt { kind, unsignaled: false, span: access.place.span }]
    })?;
    Some(register)
}

/// A choice among the words of an array.
fn choose(
    lowerer: &mut Lowerer<'_, '_>,
    name: &Name,
    index: &Expr,
    lower: &mut dyn FnMut(&mut Lowerer<'_, '_>, &str) -> Vec<Stmt>,
) -> Option<()> {
    let Meaning::Array(array) = lowerer.checker.meaning(name)? else {
        lowerer.checker.no_array(name);
        return None;
    };
    let words = lowerer.checker.arrays[array].words;
    if index.registers().is_empty() {
        let number = index.evaluate(&|_| 0);
        let word = Name { text: format!("{}[{number}]", name.text), place: name.place };
        lowerer.checker.meaning(&word)?;
        let body = lower(lowerer, &word.text);
        lowerer.extend(body);
        return Some(());
    }
    if lowerer.enter_choice(words) > MOST_CHOICES {
        lowerer.leave_choice(words);
        let message = format!("expected a choice among at most {MOST_CHOICES} words, found more");
        let help = "name fewer words by values in one statement";
        return lowerer.fail(Code::NestingTooDeep, name.place, message, help);
    }
    let span = lowerer.span;
    let stmt = |kind| Stmt { kind, unsignaled: false, span };
    let bodies: Vec<Vec<Stmt>> =
        (0..words).map(|number| lower(lowerer, &word_name(&name.text, number))).collect();
    lowerer.leave_choice(words);
    lowerer.span = span;
    let out = StmtKind::OutOfRange { array: name.text.clone(), words: words as u64 };
    let mut otherwise = vec![stmt(out)];
    for (number, then) in bodies.into_iter().enumerate().rev() {
        let number = Box::new(Expr::Constant(number as u64));
        let condition = Expr::Binary(BinaryOp::Equal, Box::new(index.clone()), number);
        otherwise = vec![stmt(StmtKind::If { condition, then, otherwise })];
    }
    lowerer.extend(otherwise);
    Some(())
}

/// The accesses of a statement that are places, and not values that the CPU reads first.
fn all_places(kind: &mut StatementKind) -> Vec<&mut Access> {
    let mut found = Vec::new();
    match kind {
        StatementKind::Assign { target, via, value } if !matches!(via, Via::Library(_)) => {
            if let Target::Access(access) = target {
                found.push(access);
            }
            match value {
                Value::Expr(ast::Expr { kind: ExprKind::Access(access), .. }) => {
                    found.push(access);
                }
                Value::Call(call) => found.extend(arguments(&mut call.arguments)),
                Value::Expr(_) | Value::Inline(_) => {}
            }
        }
        StatementKind::Call(call) => found.extend(arguments(&mut call.arguments)),
        _ => {}
    }
    found
}

fn arguments(arguments: &mut [Argument]) -> impl Iterator<Item = &mut Access> {
    arguments.iter_mut().filter_map(|argument| match argument {
        Argument::Expr(ast::Expr { kind: ExprKind::Access(access), .. }) => Some(access),
        _ => None,
    })
}
