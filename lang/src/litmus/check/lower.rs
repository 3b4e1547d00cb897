//! The statements of a thread, with names resolved and hidden reads made visible.

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::library::notation::{WORDS, of_class};
use crate::limits;
use crate::program::{self, Expr, NodeId, PutSource, RegisterId, Stmt, StmtKind, ThreadId, WorkId};
use crate::source::Span;

use super::super::ast::{
    self, Access, Block, ExprKind, Name, Place, Statement, StatementKind, Target, Value, Via,
};
use super::{Checker, Meaning, arrays, calls, corerma, indexed, libraries, mixed, unsigned};

/// Lowers one thread.
pub struct Lowerer<'c, 'a> {
    /// What is known of the file.
    pub checker: &'c mut Checker<'a>,
    /// The thread.
    pub thread: ThreadId,
    /// The node it runs on.
    pub node: NodeId,
    /// The statements so far of the block at hand.
    out: Vec<Stmt>,
    /// How many loops are around the statement at hand.
    loops: usize,
    /// The product of the sizes of the arrays among whose words the statement at hand chooses.
    choices: usize,
    /// The statement at hand.
    pub span: Span,
}

/// Lowers the thread of that index.
pub fn thread(checker: &mut Checker<'_>, thread: ThreadId) -> program::Thread {
    let tree = &checker.file.threads[thread.0];
    let node = NodeId(tree.node);
    let mut lowerer = Lowerer {
        checker,
        thread,
        node,
        out: Vec::new(),
        loops: 0,
        choices: 1,
        span: Span::default(),
    };
    let body = lowerer.block(&tree.body);
    program::Thread { node, body }
}

impl Lowerer<'_, '_> {
    /// Adds a statement.
    pub fn push(&mut self, kind: StmtKind) {
        self.out.push(Stmt { kind, unsignaled: false, span: self.span });
    }

    /// Reports an error; always `None`, so that the statement is dropped.
    pub fn fail<T>(
        &mut self,
        code: Code,
        place: Place,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.checker.error(code, place, message.into(), help.into());
        None
    }

    /// Adds statements.
    pub fn extend(&mut self, all: Vec<Stmt>) {
        self.out.extend(all);
    }

    /// Enters a choice among words, and gives the product of those that the statement at hand is in.
    pub fn enter_choice(&mut self, words: usize) -> usize {
        self.choices = self.choices.saturating_mul(words);
        self.choices
    }

    /// Leaves it.
    pub fn leave_choice(&mut self, words: usize) {
        self.choices /= words.max(1);
    }

    /// The statements of a block.
    pub fn block(&mut self, block: &Block) -> Vec<Stmt> {
        let outer = std::mem::take(&mut self.out);
        for statement in &block.statements {
            limits::look();
            self.span = statement.place.span;
            if indexed::statement(self, statement).is_some() {
                continue;
            }
            let before = self.out.len();
            // Errors have been reported; the statements after them are still checked.
            let lowered = self.statement(statement);
            if statement.unsignaled && lowered.is_some() {
                let _ = self.unsignaled(before, statement.place);
            }
        }
        std::mem::replace(&mut self.out, outer)
    }

    /// Marks the request among the statements since an index as unsignaled.
    fn unsignaled(&mut self, since: usize, place: Place) -> Option<()> {
        let mut requests = self.out.iter_mut().skip(since).filter(|stmt| stmt.kind.is_request());
        let (Some(request), None) = (requests.next(), requests.next()) else {
            let message = "expected a request, found another statement";
            let help = "puts, gets, remote RMWs, messages, flushes and atomic writes of the thread itself may be \
                        unsignaled: `unsignaled x^2 := y`, `unsignaled RFAA(_, x^2, 1)`, `unsignaled Send(2, y)`";
            return self.fail(Code::UnsignaledNotRequest, place, message, help);
        };
        if request.kind.work_id().is_some() {
            let message = "expected a request without an id, found an unsignaled one with an id";
            let help = "an unsignaled request has no completion that a Wait could wait for; \
                        give the id to a later request";
            return self.fail(Code::UnsignaledWithId, place, message, help);
        }
        request.unsignaled = true;
        Some(())
    }

    fn statement(&mut self, statement: &Statement) -> Option<()> {
        match &statement.kind {
            StatementKind::Assign { target, via, value } => match self.checker.file.dialect() {
                Dialect::Rdma => self.assign(target, via, value, statement.place),
                Dialect::CoreRma if matches!(value, Value::Inline(_)) => {
                    not_put(self, statement.place)
                }
                Dialect::CoreRma => corerma::assign(self, target, value),
            },
            StatementKind::Call(call) => match self.checker.file.dialect() {
                Dialect::Rdma => calls::statement(self, call),
                Dialect::CoreRma => corerma::call(self, call),
            },
            StatementKind::If { branches, otherwise } => {
                self.branches(branches, otherwise.as_ref(), statement.place.span)
            }
            StatementKind::While(condition, block) => {
                self.while_loop(condition, block, statement.place.span)
            }
            StatementKind::Loop(block) => {
                self.loops += 1;
                let body = self.block(block);
                self.loops -= 1;
                self.span = statement.place.span;
                self.push(StmtKind::Loop(body));
                Some(())
            }
            StatementKind::Break if self.loops == 0 => self.fail(
                Code::BreakOutsideLoop,
                statement.place,
                "expected a statement, found `break` outside of a loop",
                "`break` leaves the innermost `loop` or `while`",
            ),
            StatementKind::Break => {
                self.push(StmtKind::Break);
                Some(())
            }
            StatementKind::Assume(condition) => {
                let condition = self.expression(condition)?;
                self.push(StmtKind::Assume(condition));
                Some(())
            }
            StatementKind::Skip => Some(()),
        }
    }

    fn branches(
        &mut self,
        branches: &[(ast::Expr, Block)],
        otherwise: Option<&Block>,
        span: Span,
    ) -> Option<()> {
        let Some(((condition, block), rest)) = branches.split_first() else {
            if let Some(block) = otherwise {
                let body = self.block(block);
                self.out.extend(body);
            }
            return Some(());
        };
        let condition = self.expression(condition);
        let then = self.block(block);
        let outer = std::mem::take(&mut self.out);
        self.span = span;
        let rest = self.branches(rest, otherwise, span);
        let otherwise = std::mem::replace(&mut self.out, outer);
        self.span = span;
        self.push(StmtKind::If { condition: condition?, then, otherwise });
        rest
    }

    fn while_loop(&mut self, condition: &ast::Expr, block: &Block, span: Span) -> Option<()> {
        let outer = std::mem::take(&mut self.out);
        let condition = self.expression(condition);
        let mut body = std::mem::replace(&mut self.out, outer);
        self.loops += 1;
        let rest = self.block(block);
        self.loops -= 1;
        self.span = span;
        let leave = Stmt { kind: StmtKind::Break, unsignaled: false, span };
        let condition = Expr::Not(Box::new(condition?));
        let kind = StmtKind::If { condition, then: vec![leave], otherwise: Vec::new() };
        body.push(Stmt { kind, unsignaled: false, span });
        body.extend(rest);
        self.push(StmtKind::Loop(body));
        Some(())
    }

    fn assign(&mut self, target: &Target, via: &Via, value: &Value, place: Place) -> Option<()> {
        if let Via::Library(mark) = via {
            if let Value::Inline(_) = value {
                return not_put(self, place);
            }
            return libraries::assign(self, target, mark, value, place);
        }
        let id = match via {
            Via::Id(Some(name)) => Some(name),
            _ => None,
        };
        match (target, value) {
            (_, Value::Call(call)) => calls::assign(self, target, id, call),
            (Target::Access(access), Value::Expr(expr)) if !access.home.is_own() => {
                self.put(access, id, expr, false)
            }
            (Target::Access(access), Value::Inline(expr)) if !access.home.is_own() => {
                self.put(access, id, expr, true)
            }
            (_, Value::Inline(_)) => not_put(self, place),
            (_, Value::Expr(ast::Expr { kind: ExprKind::Access(source), .. }))
                if !source.home.is_own() =>
            {
                self.get(target, id, source)
            }
            (_, Value::Expr(expr)) => {
                if let Via::Id(id) = via {
                    return self.no_operation(target, id.as_ref(), place);
                }
                self.local(target, expr)
            }
        }
    }

    fn no_operation<T>(&mut self, target: &Target, id: Option<&Name>, place: Place) -> Option<T> {
        if let Target::Access(access) = target
            && let Some(Meaning::Location(location)) =
                self.checker.meanings.get(&access.name.text).copied()
            && self.checker.location(location).node != self.node
        {
            return self.remote_home(access, location).and(None);
        }
        self.local_with_id(id, place)
    }

    /// Reports a work id of an operation that is local.
    pub fn local_with_id<T>(&mut self, id: Option<&Name>, place: Place) -> Option<T> {
        let message = "expected a remote operation, found a local one";
        let error = Diagnostic::error(Code::WorkIdOnLocal, place.span, message);
        let error = error.help("only puts, gets and remote RMWs carry work ids; write `:=`");
        self.checker.sink.push(match id.map(|id| id.place.span) {
            Some(id) => {
                error.fixed("write `:=`", Span::new(id.start.saturating_sub(1), id.end), "")
            }
            None => error,
        });
        None
    }

    /// `x := e`, `a := e`
    fn local(&mut self, target: &Target, expr: &ast::Expr) -> Option<()> {
        let access = match target {
            Target::Nobody(_) => {
                let register = self.hidden();
                return self.compute(register, expr);
            }
            Target::Access(access) => access,
        };
        // Other names are registers by what they are assigned.
        let name = &access.name;
        let declaration =
            || format!("`{} = 0`; a register that only takes numbers is declared too", name.text);
        match self.checker.meaning_or(name, declaration)? {
            Meaning::Register(register) => {
                let register = self.own_register(access, register)?;
                self.compute(register, expr)
            }
            Meaning::Location(location) => {
                let location = self.own_target(access, location)?;
                let value = self.expression(expr)?;
                self.push(StmtKind::Write { location, value });
                Some(())
            }
            Meaning::Object(object) => mixed::plain_write(self, object, access, expr),
            Meaning::Array(_) => arrays::write(self, access, expr),
        }
    }

    /// A register takes a value: a read if the value is a location's.
    fn compute(&mut self, register: RegisterId, expr: &ast::Expr) -> Option<()> {
        if let ExprKind::Access(access) = &expr.kind
            && let Meaning::Location(location) = self.checker.meaning(&access.name)?
        {
            let location = self.own(access, location)?;
            self.push(StmtKind::Read { register, location });
            return Some(());
        }
        let value = self.expression(expr)?;
        self.push(StmtKind::Assign { register, value });
        Some(())
    }

    /// `x^2 := e`, `x^2 := inline e`
    fn put(
        &mut self,
        target: &Access,
        id: Option<&Name>,
        expr: &ast::Expr,
        inline: bool,
    ) -> Option<()> {
        if let Some(Meaning::Object(_)) = self.checker.meanings.get(&target.name.text) {
            if inline {
                let help = "the library's puts read several words; write it without `inline`";
                let message = "expected a put of one word, found one of an object";
                return self.fail(Code::InlineNotPut, expr.place, message, help);
            }
            return mixed::put(self, target, id, expr);
        }
        if inline && self.checker.words(target).is_some() {
            let help = "a request of several words copies an array; write it without `inline`";
            let message = "expected a put of one word, found one of several";
            return self.fail(Code::InlineNotPut, expr.place, message, help);
        }
        if let Some(copied) = arrays::copy(self, target, expr, id, true) {
            return copied;
        }
        let queue_pair = self.queue_pair(target)?;
        let location = self.remote(target)?;
        let source = match inline {
            // The CPU reads what the value is made of, before it posts the put.
            true => PutSource::Value(self.expression(expr)?),
            false => self.put_source(&target.name.text, expr)?,
        };
        let id = self.id(id);
        self.push(StmtKind::Put { target: location, source, id, queue_pair, inline });
        Some(())
    }

    /// What a put to a target, or a message, takes its value from.
    pub fn put_source(&mut self, target: &str, expr: &ast::Expr) -> Option<PutSource> {
        let ExprKind::Access(access) = &expr.kind else {
            return Some(PutSource::Value(self.expression(expr)?));
        };
        if !access.home.is_own() {
            let message =
                "expected a local location or a value, found a remote access on both sides";
            let help = format!(
                "get `{0}` first: `a := {0}^n`, wait, then `{1}^n := a`",
                access.name.text, target
            );
            return self.fail(Code::RemoteToRemote, expr.place, message, help);
        }
        match self.checker.meaning(&access.name)? {
            Meaning::Location(location) => {
                let home = self.checker.location(location).node;
                if home == self.node {
                    return Some(PutSource::Location(location));
                }
                let name = &access.name.text;
                let message = format!(
                    "expected a source on node {}, found `{name}` of node {}",
                    self.node.0, home.0
                );
                let help = "the NIC takes a put's value from the thread's own node; get it first";
                self.fail(Code::PutSourceRemote, expr.place, message, help)
            }
            _ => Some(PutSource::Value(self.expression(expr)?)),
        }
    }

    /// `a := x^2`
    fn get(&mut self, target: &Target, id: Option<&Name>, source: &Access) -> Option<()> {
        if let Some(Meaning::Object(_)) = self.checker.meanings.get(&source.name.text) {
            return mixed::get(self, target, id, source);
        }
        if let Target::Access(near) = target
            && let Some(copied) = arrays::copy(self, source, &near.clone().into(), id, false)
        {
            return copied;
        }
        let queue_pair = self.queue_pair(source)?;
        let source = self.remote(source)?;
        let target = self.result(target, Code::GetTargetRemote)?;
        let id = self.id(id);
        self.push(StmtKind::Get { target, source, id, queue_pair });
        Some(())
    }

    /// A register for a value without a name.
    pub fn hidden(&mut self) -> RegisterId {
        self.checker.add_register(None, self.thread)
    }

    /// The work id of that name.
    pub fn id(&mut self, name: Option<&Name>) -> Option<WorkId> {
        name.map(|name| self.checker.work_id(name))
    }

    /// An expression over registers; locations in it are read into hidden registers first.
    pub fn expression(&mut self, expr: &ast::Expr) -> Option<Expr> {
        Some(match &expr.kind {
            ExprKind::Number(value) => Expr::Constant(*value),
            ExprKind::Truth(value) => Expr::Constant(u64::from(*value)),
            ExprKind::Bottom => Expr::Bottom,
            ExprKind::Access(access) => Expr::Register(self.read(access)?),
            ExprKind::Not(inner) => Expr::Not(Box::new(self.expression(inner)?)),
            ExprKind::Binary(op, left, right) => {
                let number = |side: &ast::Expr| match side.kind {
                    ExprKind::Number(number) => Some(number),
                    _ => None,
                };
                let span = expr.place.span;
                let warning = unsigned::comparison(*op, number(left), number(right), span);
                warning.into_iter().for_each(|warning| self.checker.sink.push(warning));
                let (left, right) = (self.expression(left), self.expression(right));
                Expr::Binary(*op, Box::new(left?), Box::new(right?))
            }
            ExprKind::Tuple(_) => {
                let help = "only mixed-size locations hold several words";
                return self.fail(
                    Code::UnexpectedTuple,
                    expr.place,
                    "expected one value, found several",
                    help,
                );
            }
        })
    }

    /// The register that holds what a name in an expression stands for.
    fn read(&mut self, access: &Access) -> Option<RegisterId> {
        let name = &access.name.text;
        if !access.home.is_own() {
            let message = format!("expected a value, found the remote access `{name}^n`");
            let help = "a get stands alone: `a := x^2`";
            return self.fail(Code::RemoteInExpression, access.place, message, help);
        }
        if access.index.is_some() {
            return indexed::read(self, access);
        }
        match self.checker.meaning(&access.name)? {
            Meaning::Array(_) => self.several_words(access),
            Meaning::Register(register) => self.own_register(access, register),
            Meaning::Location(location) => {
                let location = self.own(access, location)?;
                let register = self.hidden();
                let kind = match self.checker.file.dialect() {
                    Dialect::Rdma => StmtKind::Read { register, location },
                    Dialect::CoreRma => corerma::local_read(register, location, access.atomic),
                };
                self.out.push(Stmt { kind, unsignaled: false, span: access.place.span });
                Some(register)
            }
            Meaning::Object(object) => {
                let class = &self.checker.program.objects[object].class;
                let message = format!("expected a value, found `{name}` {}", of_class(class));
                let help = if class == WORDS {
                    format!("name one of its words, as `{name}[0]`; a library's call reads all")
                } else {
                    "a call of its library reads it into a register first".to_owned()
                };
                self.fail(Code::ObjectInExpression, access.place, message, help)
            }
        }
    }
}

fn not_put<T>(lowerer: &mut Lowerer<'_, '_>, place: Place) -> Option<T> {
    let help = "only a put is inline: `x^2 := inline y`";
    lowerer.fail(Code::InlineNotPut, place, "expected a put, found another statement", help)
}
