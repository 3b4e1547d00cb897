//! Names that no declaration gives: registers, and fresh targets of gets and remote RMWs.

use rustc_hash::FxHashMap;

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::program::{Location, NodeId, Origin, ThreadId};

use super::super::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, File, Name, StatementKind, Target, Value, Via,
};
use super::super::methods::Method;
use super::{Checker, Meaning, arrays};

/// How a statement introduces a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// As the target of a get or of a remote RMW.
    Fresh,
    /// As what a CPU read, a call or a computation assigns.
    Register,
}

/// A statement that may introduce a name.
struct Candidate<'a> {
    name: &'a Name,
    role: Role,
    thread: usize,
}

fn candidates(file: &File) -> Vec<Candidate<'_>> {
    let mut candidates = Vec::new();
    for (index, thread) in file.threads.iter().enumerate() {
        let mut collector =
            Collector { thread: index, dialect: file.dialect(), out: &mut candidates };
        collector.block(&thread.body);
    }
    candidates
}

/// The names that no declaration gives, each with the index of the thread that assigns it first.
pub fn assigned(file: &File) -> FxHashMap<&str, usize> {
    let mut assigned = FxHashMap::default();
    for Candidate { name, thread, .. } in candidates(file) {
        assigned.entry(name.text.as_str()).or_insert(thread);
    }
    for declaration in file.declarations.iter().flat_map(|row| row.cells.all()) {
        assigned.remove(declaration.name.text.as_str());
    }
    assigned
}

/// Gives every undeclared name its meaning.
pub fn introduce(checker: &mut Checker<'_>) {
    let file = checker.file;
    let mut candidates = candidates(file);
    candidates.retain(|candidate| !checker.introduced.contains_key(&candidate.name.text));
    let mut fresh: FxHashMap<&str, usize> = FxHashMap::default();
    for candidate in candidates.iter().filter(|candidate| candidate.role == Role::Fresh) {
        fresh.entry(&candidate.name.text).or_insert(candidate.thread);
    }
    let mut first: FxHashMap<&str, (usize, &Name)> = FxHashMap::default();
    for Candidate { name, thread, .. } in candidates.iter() {
        if let Some((owner, place)) = first.get(name.text.as_str()) {
            if owner != thread {
                two_threads(checker, name, place, *owner, *thread);
            }
            continue;
        }
        first.insert(&name.text, (*thread, name));
        checker.introduced.insert(name.text.clone(), name.place.span);
        let meaning = if fresh.contains_key(name.text.as_str()) {
            let node = NodeId(file.threads[*thread].node);
            let span = name.place.span;
            let (name, origin) = (name.text.clone(), Origin::Fresh);
            Meaning::Location(checker.add_location(Location {
                name,
                node,
                initial: 0,
                origin,
                span,
            }))
        } else {
            Meaning::Register(checker.add_register(Some(name.text.clone()), ThreadId(*thread)))
        };
        checker.meanings.insert(name.text.clone(), meaning);
    }
}

fn two_threads(checker: &mut Checker<'_>, name: &Name, first: &Name, owner: usize, thread: usize) {
    checker.clashing.insert(name.text.clone());
    let message =
        format!("`{}` is assigned in thread {} and in thread {}", name.text, owner + 1, thread + 1);
    let error = Diagnostic::error(Code::NameInTwoThreads, name.place.span, message);
    let error = error.related(first.place.span, "first assigned here");
    let help = "an undeclared name belongs to one thread: rename one, or declare it above the rule";
    checker.sink.push(error.help(help));
}

struct Collector<'a, 'o> {
    thread: usize,
    dialect: Dialect,
    out: &'o mut Vec<Candidate<'a>>,
}

impl<'a> Collector<'a, '_> {
    fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Assign { target, via, value } => self.assign(target, via, value),
                StatementKind::Call(call) => self.call(call),
                StatementKind::If { branches, otherwise } => {
                    branches.iter().for_each(|(_, block)| self.block(block));
                    otherwise.iter().for_each(|block| self.block(block));
                }
                StatementKind::While(_, block) | StatementKind::Loop(block) => self.block(block),
                StatementKind::Break | StatementKind::Assume(_) | StatementKind::Skip => {}
            }
        }
    }

    fn add(&mut self, access: &'a Access, role: Role) {
        // Words of arrays are declared with them.
        let is_word = access.index.is_some() || arrays::of_word(&access.name.text).is_some();
        if access.home.is_own() && !is_word {
            self.out.push(Candidate { name: &access.name, role, thread: self.thread });
        }
    }

    fn call(&mut self, call: &'a Call) {
        let result = call.arguments.first();
        if let (Method::Rcas | Method::Rfaa, Some(Argument::Expr(expr))) = (call.method, result)
            && let ExprKind::Access(access) = &expr.kind
        {
            self.add(access, Role::Fresh);
        }
        if let (Method::Recv, [_, Argument::Expr(expr)]) = (call.method, &call.arguments[..])
            && let ExprKind::Access(access) = &expr.kind
        {
            self.add(access, Role::Fresh);
        }
    }

    fn assign(&mut self, target: &'a Target, via: &Via, value: &Value) {
        let Target::Access(access) = target else { return };
        let role = match value {
            // In coreRMA every location is declared, and calls target locations only.
            Value::Call(_) if self.dialect == Dialect::CoreRma => return,
            Value::Call(call) => match call.method {
                Method::Rcas | Method::Rfaa => Role::Fresh,
                _ => Role::Register,
            },
            Value::Expr(Expr { kind: ExprKind::Access(source), .. })
                if !source.home.is_own() && self.dialect == Dialect::Rdma =>
            {
                Role::Fresh
            }
            Value::Expr(_) if matches!(via, Via::Library(_)) => Role::Register,
            Value::Expr(expr) if mentions_name(expr) => Role::Register,
            // Only puts have inline values, and what they target is declared.
            Value::Inline(_) => return,
            // A constant alone does not tell a register from a location that was not declared.
            Value::Expr(_) => return,
        };
        self.add(access, role);
    }
}

fn mentions_name(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Truth(_) | ExprKind::Bottom => false,
        ExprKind::Access(_) => true,
        ExprKind::Not(inner) => mentions_name(inner),
        ExprKind::Binary(_, left, right) => mentions_name(left) || mentions_name(right),
        ExprKind::Tuple(all) => all.iter().any(mentions_name),
    }
}
