//! Which statements name what, and how.

use rustc_hash::FxHashSet;

use super::super::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, File, Home, Index, Name, PairNumber,
    StatementKind, Target, Value, Via,
};
use super::super::methods::Method;

/// How a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'f> {
    /// By itself, in an assignment or an expression.
    Cpu,
    /// By an assignment with a library's mark.
    Mark(&'f str),
    /// As what a call of a word is on.
    Call(&'f str),
}

/// A name in a statement.
#[derive(Clone, Copy, Debug)]
pub struct Use<'f> {
    /// The name.
    pub name: &'f Name,
    /// The index behind it, unless that is a number and part of the name.
    pub index: Option<&'f Index>,
    /// With its node, if that is written.
    pub home: Home,
    /// With the number of its queue pair, if that is written.
    pub queue_pair: Option<PairNumber>,
    /// The index of the thread.
    pub thread: usize,
    /// How.
    pub by: By<'f>,
}

impl Use<'_> {
    /// The name of what is declared: of a word of an array, the array's.
    pub fn of(&self) -> &str {
        let name = &self.name.text;
        name.split_once('[').map_or(name, |(array, _)| array)
    }
}

/// All uses, in the order of the text.
pub fn uses(file: &File) -> Vec<Use<'_>> {
    let declared = file.declarations.iter().flat_map(|row| row.cells.all());
    let declared: FxHashSet<&str> = declared.map(|one| one.name.text.as_str()).collect();
    let mut found = Vec::new();
    for (thread, tree) in file.threads.iter().enumerate() {
        Finder { thread, declared: &declared, found: &mut found }.block(&tree.body);
    }
    found
}

struct Finder<'f, 'o> {
    thread: usize,
    declared: &'o FxHashSet<&'f str>,
    found: &'o mut Vec<Use<'f>>,
}

impl<'f> Finder<'f, '_> {
    fn access(&mut self, access: &'f Access, by: By<'f>) {
        let Access { name, index, home, queue_pair, .. } = access;
        let (home, queue_pair) = (*home, *queue_pair);
        let index = index.as_deref();
        self.found.push(Use { name, index, home, queue_pair, thread: self.thread, by });
        if let Some(Index::Value(index)) = index {
            self.expression(index, By::Cpu);
        }
    }

    fn block(&mut self, block: &'f Block) {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Assign { target, via, value } => self.assign(target, via, value),
                StatementKind::Call(call) => self.call(call),
                StatementKind::If { branches, otherwise } => {
                    for (condition, block) in branches {
                        self.expression(condition, By::Cpu);
                        self.block(block);
                    }
                    otherwise.iter().for_each(|block| self.block(block));
                }
                StatementKind::While(condition, block) => {
                    self.expression(condition, By::Cpu);
                    self.block(block);
                }
                StatementKind::Loop(block) => self.block(block),
                StatementKind::Assume(condition) => self.expression(condition, By::Cpu),
                StatementKind::Break | StatementKind::Skip => {}
            }
        }
    }

    fn assign(&mut self, target: &'f Target, via: &'f Via, value: &'f Value) {
        let by = match via {
            Via::Library(mark) => By::Mark(mark),
            Via::Plain | Via::Id(_) => By::Cpu,
        };
        let mut is_read = true;
        if let Target::Access(access) = target {
            self.access(access, by);
            is_read = !self.declared.contains(access.name.text.as_str());
        }
        match value {
            // A register reads an object; what is written into one is computed by the CPU.
            Value::Expr(expr @ Expr { kind: ExprKind::Access(_), .. }) if is_read => {
                self.expression(expr, by);
            }
            Value::Expr(expr) | Value::Inline(expr) => self.expression(expr, By::Cpu),
            Value::Call(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &'f Call) {
        for (index, argument) in call.arguments.iter().enumerate() {
            let Argument::Expr(expr) = argument else { continue };
            match &expr.kind {
                ExprKind::Access(access) if index == 0 => {
                    // The result of a remote RMW comes first, and work ids are not locations.
                    let is_own = matches!(call.method, Method::Rcas | Method::Rfaa)
                        || matches!(call.method, Method::Cas | Method::Faa | Method::Xchg);
                    let word = call.word.as_deref().unwrap_or(call.method.spelling());
                    self.access(access, if is_own { By::Cpu } else { By::Call(word) });
                }
                _ => self.expression(expr, By::Cpu),
            }
        }
    }

    fn expression(&mut self, expr: &'f Expr, by: By<'f>) {
        match &expr.kind {
            ExprKind::Access(access) => self.access(access, by),
            ExprKind::Not(inner) => self.expression(inner, by),
            ExprKind::Binary(_, left, right) => {
                self.expression(left, by);
                self.expression(right, by);
            }
            ExprKind::Tuple(all) => all.iter().for_each(|inner| self.expression(inner, by)),
            ExprKind::Number(_) | ExprKind::Truth(_) | ExprKind::Bottom => {}
        }
    }
}
