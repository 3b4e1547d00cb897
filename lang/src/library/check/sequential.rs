//! Sequential objects: their bodies compute with values and state, and with nothing else.

use super::ATTRIBUTES;
use crate::diagnostic::{Code, Diagnostic};
use crate::front::Sink;
use crate::library::Library;
use crate::library::syntax::{
    Expr, Method, ParameterKind, Place, Shape, Statement, StatementKind as Kind,
};
use crate::source::Span;

const STATE: &str = "the object has its state once: `memory C.m`, `memory C.m[e]`";
const BODIES: &str =
    "what a call does and returns, its body in `sequential` says: `call M(…) { … }`";
const STATEMENTS: &str = "a body takes place at once: it has variables, `x.m := e`, `if`, `while`, `loop`, \
                          `for i in a .. b`, `break`, `skip` and `return e`";

/// What has no place in a library whose specification is a sequential object. `consistency` is where the file
/// has one.
pub fn check(library: &Library, consistency: Option<Span>) -> Vec<Diagnostic> {
    let Some(sequential) = &library.sequential else { return Vec::new() };
    let mut wrong = Wrong(Sink::default());
    if consistency.is_some() || library.base.is_some() {
        let message = "expected one specification, found two";
        let help = "`sequential` takes the place of `consistency` and of `specification \"…\"`";
        let error = Diagnostic::error(Code::TwoSpecifications, sequential.span, message);
        wrong.0.push(error.help(help));
    }
    for memory in &library.memory {
        wrong.add(memory.span, "no memory outside of `sequential`, found some", STATE);
    }
    library.methods.iter().for_each(|method| wrong.method(method));
    for memory in &sequential.memory {
        if memory.shape != Shape::Home || memory.says_home {
            wrong.add(memory.span, "memory without a place, found one", STATE);
        }
        if !memory.count.iter().chain(&memory.initial).all(is_known) {
            let help = "numbers, attributes such as `x.initial`, and what is computed from them";
            wrong.add(memory.span, "a number that is known before the program runs", help);
        }
    }
    for body in &sequential.bodies {
        wrong.block(&body.statements);
    }
    wrong.0.finish()
}

/// Whether the declaration of an object says what an expression is.
fn is_known(expr: &Expr) -> bool {
    match expr {
        Expr::Number(_) => true,
        Expr::Place(place) => {
            let is_plain = place.object.is_some() && place.node.is_none();
            is_plain && place.index.is_empty() && ATTRIBUTES.contains(&place.name.as_str())
        }
        Expr::Not(_) | Expr::Binary(..) => expr.parts().all(is_known),
        _ => false,
    }
}

struct Wrong(Sink);

impl Wrong {
    fn add(&mut self, span: Span, expected: &str, help: &str) {
        let error = Diagnostic::error(Code::NotSequential, span, format!("expected {expected}"));
        self.0.push(error.help(help));
    }

    fn method(&mut self, method: &Method) {
        let takes =
            |kind: &ParameterKind| matches!(kind, ParameterKind::Object(_) | ParameterKind::Value);
        if method.parameters.iter().any(|parameter| !takes(&parameter.kind)) {
            let help = "a sequential object has no nodes and no work ids";
            self.add(method.span, "objects and values as parameters, found others", help);
        }
        for (index, case) in method.cases.iter().enumerate() {
            let says = case.returns.is_some() || case.when.is_some() || case.idle;
            if says || !case.items.is_empty() || index > 0 {
                self.add(case.span, "a call without events and cases, found some", BODIES);
            }
        }
    }

    fn block(&mut self, block: &[Statement]) {
        for statement in block {
            let span = statement.span;
            match &statement.kind {
                Kind::Assign { target, id, value } => {
                    if id.is_some() {
                        self.add(span, "no work id, found one", STATEMENTS);
                    }
                    self.expr(target, span);
                    self.expr(value, span);
                }
                Kind::Call { .. } => self.add(span, "no call, found one", STATEMENTS),
                Kind::For(..) => self.add(span, "numbers to count, found a set", STATEMENTS),
                Kind::If(expr, ..) | Kind::While(expr, _) | Kind::Return(Some(expr)) => {
                    self.expr(expr, span);
                }
                Kind::Count(_, first, last, _) => {
                    self.expr(first, span);
                    self.expr(last, span);
                }
                Kind::Loop(_) | Kind::Break | Kind::Skip | Kind::Return(None) => {}
            }
            statement.kind.blocks().for_each(|inner| self.block(inner));
        }
    }

    fn expr(&mut self, expr: &Expr, span: Span) {
        match expr {
            Expr::Number(_) | Expr::Bottom => {}
            Expr::Name(name, place) => {
                if ["here", "me", "all", "threads"].contains(&name.as_str()) {
                    let help = "calls of a sequential object are not those of threads or nodes";
                    self.add(*place, &format!("a value, found `{name}`"), help);
                }
            }
            Expr::Place(place) => self.place(place, span),
            Expr::Remote(_) | Expr::Set(_) | Expr::Without(..) | Expr::Union(..) => {
                self.add(span, "a value, found a set or remote memory", STATEMENTS);
            }
            Expr::Function(name, _, place) => {
                self.add(*place, &format!("a value, found `{name}(…)`"), STATEMENTS);
            }
            Expr::Not(_) | Expr::Binary(..) => {
                expr.parts().for_each(|part| self.expr(part, span));
            }
        }
    }

    fn place(&mut self, place: &Place, span: Span) {
        if place.node.is_some() || place.index.len() > 1 {
            self.add(place.span, "memory without a place, found one", STATE);
        }
        place.index.iter().for_each(|index| self.expr(index, span));
    }
}

impl Library {
    /// Gives a result to the methods whose bodies in the sequential object return one.
    pub(in crate::library) fn give_results(&mut self) {
        let Some(sequential) = &self.sequential else { return };
        for method in &mut self.methods {
            let mut bodies = sequential.bodies.iter().filter(|body| body.method == method.name);
            if bodies.any(|body| gives(&body.statements)) {
                // That there is one is all that programs ask; the body says which.
                method.cases.iter_mut().for_each(|case| case.returns = Some(Expr::Bottom));
            }
        }
    }
}

fn gives(block: &[Statement]) -> bool {
    block.iter().any(|statement| {
        matches!(statement.kind, Kind::Return(Some(_))) || statement.kind.blocks().any(gives)
    })
}
