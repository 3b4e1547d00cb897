//! Nodes and threads that a file counts from 0, as the figures of coreRMA and herd's files do, counted from
//! 1.

use super::super::ast::{
    Access, Argument, Atom, Block, Call, Cells, Claim, DeclarationKind, Expr, ExprKind, File, Form,
    Home, Index, Observed, ResultKind, StatementKind, Target, Value, VerdictKind,
};
use super::super::methods::Method;

/// Counts from 1 what is counted from 0: by the labels above the columns, or because a 0 is named. A file in
/// which some number fits neither way of counting stays as it is, so that errors use its own numbers.
pub fn from_1(file: &mut File, first_label: Option<u64>) {
    for kind in [Kind::Node, Kind::Thread] {
        let (mut has_zero, mut largest) = (false, 0);
        each(file, kind, &mut |number| {
            has_zero |= *number == 0;
            largest = largest.max(*number);
        });
        let from_0 = match first_label {
            Some(first) => first == 0,
            None => has_zero,
        };
        let places = match (kind, file.form) {
            (Kind::Thread, _) => file.threads.len() as u64,
            (Kind::Node, Form::Columns) => {
                file.threads.iter().map(|thread| u64::from(thread.node)).max().unwrap_or(1)
            }
            // As many as are named.
            (Kind::Node, Form::Blocks) => u64::MAX,
        };
        if from_0 && largest < places {
            each(file, kind, &mut |number| *number = number.saturating_add(1));
        }
    }
}

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Node,
    Thread,
}

type Visit<'v> = &'v mut dyn FnMut(&mut u64);

/// Visits all numbers of a kind that the text has. Those of threads that stand before registers are looked at
/// with the registers.
fn each(file: &mut File, kind: Kind, visit: Visit<'_>) {
    for row in &mut file.declarations {
        let (shared, columns) = match &mut row.cells {
            Cells::Shared(all) => (Some(all), None),
            Cells::Columns(columns) => (None, Some(columns)),
        };
        let cells = shared.into_iter().chain(columns.into_iter().flatten());
        for declaration in cells.flatten() {
            match kind {
                Kind::Node => {
                    declaration.home.iter_mut().for_each(|number| visit(&mut number.value))
                }
                Kind::Thread => threads(&mut declaration.kind, visit),
            }
        }
    }
    if kind == Kind::Thread {
        file.threads.iter_mut().for_each(|thread| senders(&mut thread.body, visit));
        return;
    }
    for thread in &mut file.threads {
        if file.form == Form::Blocks {
            let mut node = u64::from(thread.node);
            visit(&mut node);
            thread.node = u32::try_from(node).unwrap_or(u32::MAX);
        }
        block(&mut thread.body, visit);
    }
    for line in &mut file.results {
        match &mut line.kind {
            ResultKind::Observe(names) => copies(names, visit),
            ResultKind::Verdicts(_, verdicts) => {
                for verdict in verdicts {
                    match &mut verdict.kind {
                        VerdictKind::Allowed(inner)
                        | VerdictKind::Forbidden(inner)
                        | VerdictKind::Always(inner) => claim(inner, visit),
                        VerdictKind::Exactly { observed, .. } => copies(observed, visit),
                    }
                }
            }
        }
    }
}

fn threads(kind: &mut DeclarationKind, visit: Visit<'_>) {
    if let DeclarationKind::Object { writer, threads, .. } = kind {
        let numbers = threads.iter_mut().flatten().chain(writer);
        numbers.for_each(|number| visit(&mut number.value));
    }
}

fn copies(names: &mut [Observed], visit: Visit<'_>) {
    names.iter_mut().flat_map(|name| &mut name.copy).for_each(|copy| visit(&mut copy.value));
}

fn claim(claim: &mut Claim, visit: Visit<'_>) {
    match claim {
        Claim::Truth(_) => {}
        Claim::Compare { left, right, .. } => {
            left.iter_mut().chain(right).for_each(|side| atom(side, visit));
        }
        Claim::And(all) | Claim::Or(all) => {
            all.iter_mut().for_each(|inner| self::claim(inner, visit))
        }
        Claim::Not(inner) => self::claim(inner, visit),
    }
}

fn atom(atom: &mut Atom, visit: Visit<'_>) {
    match atom {
        Atom::Constant(_) => {}
        Atom::Observed(name) => copies(std::slice::from_mut(name), visit),
        Atom::Binary(_, left, right) => {
            self::atom(left, visit);
            self::atom(right, visit);
        }
    }
}

fn block(block: &mut Block, visit: Visit<'_>) {
    for statement in &mut block.statements {
        match &mut statement.kind {
            StatementKind::Assign { target, value, .. } => {
                if let Target::Access(access) = target {
                    self::access(access, visit);
                }
                match value {
                    Value::Expr(value) | Value::Inline(value) => expression(value, visit),
                    Value::Call(call) => self::call(call, visit),
                }
            }
            StatementKind::Call(call) => self::call(call, visit),
            StatementKind::If { branches, otherwise } => {
                for (condition, block) in branches {
                    expression(condition, visit);
                    self::block(block, visit);
                }
                otherwise.iter_mut().for_each(|block| self::block(block, visit));
            }
            StatementKind::While(condition, block) => {
                expression(condition, visit);
                self::block(block, visit);
            }
            StatementKind::Loop(block) => self::block(block, visit),
            StatementKind::Assume(condition) => expression(condition, visit),
            StatementKind::Break | StatementKind::Skip => {}
        }
    }
}

/// The threads of which receives are.
fn senders(block: &mut Block, visit: Visit<'_>) {
    for statement in &mut block.statements {
        match &mut statement.kind {
            StatementKind::Assign { value: Value::Call(call), .. } | StatementKind::Call(call)
                if matches!(call.method, Method::Recv | Method::PollRecv) =>
            {
                match call.arguments.first_mut() {
                    Some(Argument::Towards(thread, _)) => visit(&mut thread.value),
                    Some(Argument::Expr(Expr { kind: ExprKind::Number(thread), .. })) => {
                        visit(thread);
                    }
                    _ => {}
                }
            }
            StatementKind::If { branches, otherwise } => {
                branches.iter_mut().for_each(|(_, block)| senders(block, visit));
                otherwise.iter_mut().for_each(|block| senders(block, visit));
            }
            StatementKind::While(_, block) | StatementKind::Loop(block) => senders(block, visit),
            _ => {}
        }
    }
}

fn call(call: &mut Call, visit: Visit<'_>) {
    let names_node = matches!(
        call.method,
        Method::Poll
            | Method::Rfence
            | Method::RmaFlush
            | Method::Flush
            | Method::Persist
            | Method::Send
            | Method::SendImm
    );
    let names_thread = matches!(call.method, Method::Recv | Method::PollRecv);
    for (index, argument) in call.arguments.iter_mut().enumerate() {
        let is_node = names_node && index == 0;
        if names_thread && index == 0 {
            continue;
        }
        match argument {
            Argument::Nodes(nodes, _) => {
                nodes.iter_mut().for_each(|number| visit(&mut number.value));
            }
            Argument::QueuePairs(pairs, _) => {
                pairs.iter_mut().for_each(|(node, _)| visit(&mut node.value));
            }
            Argument::Towards(node, _) => visit(&mut node.value),
            Argument::Expr(Expr { kind: ExprKind::Number(number), .. }) if is_node => visit(number),
            Argument::Expr(inner) => expression(inner, visit),
            Argument::Nobody(_) => {}
        }
    }
}

fn access(access: &mut Access, visit: Visit<'_>) {
    if let Home::Node(number) = &mut access.home {
        visit(&mut number.value);
    }
    if let Some(Index::Value(index)) = access.index.as_deref_mut() {
        expression(index, visit);
    }
}

fn expression(expr: &mut Expr, visit: Visit<'_>) {
    match &mut expr.kind {
        ExprKind::Access(access) => self::access(access, visit),
        ExprKind::Not(inner) => expression(inner, visit),
        ExprKind::Binary(_, left, right) => {
            expression(left, visit);
            expression(right, visit);
        }
        ExprKind::Tuple(all) => all.iter_mut().for_each(|inner| expression(inner, visit)),
        ExprKind::Number(_) | ExprKind::Truth(_) | ExprKind::Bottom => {}
    }
}
