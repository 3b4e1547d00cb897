//! The order of statements: which may be exchanged, and how changes set it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use lang::litmus::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, Index, Statement, StatementKind, Target, Value,
    Via,
};
use lang::litmus::methods::Method;
use lang::program::array_of;

use super::{Edit, What, statements};

/// The gaps whose additions come next, and the statement after them.
type Step = (RangeInclusive<usize>, Option<usize>);

/// The statements of a block in the order that changes set, each with the gaps before it. `None` if the
/// changes do not go together.
pub fn order<'e>(len: usize, at: &dyn Fn(usize) -> Vec<&'e Edit>) -> Option<Vec<Step>> {
    // What is between two statements that are exchanged stays there.
    let mut order: Vec<Step> = (0..len).map(|index| (index..=index, Some(index))).collect();
    order.push((len..=len, None));
    for index in 0..len {
        for edit in at(index) {
            match edit.what {
                What::Exchange => {
                    let is_free = |at: usize| order.get(at).is_some_and(|one| one.1 == Some(at));
                    if !is_free(index) || !is_free(index + 1) {
                        return None;
                    }
                    (order[index].1, order[index + 1].1) = (Some(index + 1), Some(index));
                }
                What::Lift { to, .. } => {
                    if order.iter().enumerate().any(|(at, one)| at < len && one.1 != Some(at)) {
                        return None;
                    }
                    // The gap before it stays where it was, before what comes after it.
                    order.remove(index);
                    order[index].0 = index..=index + 1;
                    order[to].0 = RangeInclusive::new(1, 0);
                    order.insert(to, (to..=to, Some(index)));
                }
                _ => {}
            }
        }
    }
    Some(order)
}

/// Whether the order of two statements is one of data: one names what the other changes.
pub fn depends(one: &Statement, next: &Statement) -> bool {
    let (one, next) = (Names::of(one), Names::of(next));
    let meets = |names: &Names, other: &Names| {
        names.changed.iter().any(|name| other.changed.contains(name) || other.used.contains(name))
    };
    meets(&one, &next) || meets(&next, &one)
}

/// How often a location is written in some blocks: assignments, and calls that name it. Of an array, all
/// words count.
pub fn writes<'b>(blocks: impl IntoIterator<Item = &'b Block>, name: &str) -> usize {
    let name = array_of(name).map_or(name, |(array, _)| array);
    let all = blocks.into_iter().flat_map(statements);
    all.filter(|one| Names::of(one).changed.contains(name)).count()
}

/// The registers, locations and objects of a statement. A work id counts as used by its operation and changed
/// by its Wait.
#[derive(Default)]
struct Names {
    changed: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Names {
    fn of(one: &Statement) -> Self {
        let mut names = Self::default();
        match &one.kind {
            StatementKind::Assign { target, via, value } => {
                if let Target::Access(access) = target {
                    names.changed.insert(name_of(access).to_owned());
                    in_index(access, &mut names.used);
                }
                if let Via::Id(Some(id)) = via {
                    names.used.insert(id.text.clone());
                }
                match value {
                    Value::Expr(expr) | Value::Inline(expr) => in_expr(expr, &mut names.used),
                    Value::Call(call) => names.call(call),
                }
                // A library may change what it is given.
                if let (Via::Library(_), Value::Expr(expr)) = (via, value) {
                    in_expr(expr, &mut names.changed);
                }
            }
            StatementKind::Call(call) => names.call(call),
            _ => {}
        }
        names
    }

    /// The arguments of a call may be changed, but for what a message carries and a work id at the end.
    fn call(&mut self, call: &Call) {
        let carried = match call.method {
            Method::Send | Method::SendImm => 0..call.arguments.len(),
            Method::PutImm => 1..call.arguments.len(),
            _ => 0..0,
        };
        for (index, argument) in call.arguments.iter().enumerate() {
            if let Argument::Expr(expr) = argument {
                let is_carried = carried.contains(&index);
                in_expr(expr, if is_carried { &mut self.used } else { &mut self.changed });
            }
        }
        if let Some(id) = super::id_of_call(call) {
            self.changed.remove(&id.text);
            self.used.insert(id.text.clone());
        }
    }
}

/// The name of an access. A word of an array counts as the whole array: an index may be a value.
fn name_of(access: &Access) -> &str {
    let name = &access.name.text;
    array_of(name).map_or(name, |(array, _)| array)
}

/// What the index of an access is computed from.
fn in_index(access: &Access, names: &mut BTreeSet<String>) {
    if let Some(Index::Value(value)) = access.index.as_deref() {
        in_expr(value, names);
    }
}

fn in_expr(expr: &Expr, names: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::Access(access) => {
            names.insert(name_of(access).to_owned());
            in_index(access, names);
        }
        ExprKind::Not(inner) => in_expr(inner, names),
        ExprKind::Binary(_, left, right) => {
            in_expr(left, names);
            in_expr(right, names);
        }
        ExprKind::Tuple(all) => all.iter().for_each(|inner| in_expr(inner, names)),
        ExprKind::Number(_) | ExprKind::Truth(_) | ExprKind::Bottom => {}
    }
}
