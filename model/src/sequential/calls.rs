//! A program as lists of calls, with the control flow between them.

use compiler::code::{CompileError, Flow, Operand, flatten};
use compiler::library::Libraries;
use lang::program::{Program, RegisterId, Stmt, StmtKind};
use lang::source::Span;

use super::object::Call;

/// A call of a program.
#[derive(Clone, Debug)]
pub struct Called {
    /// The number of its library.
    pub library: usize,
    /// Its method.
    pub method: String,
    /// The objects that it names, by their numbers in the program.
    pub objects: Vec<usize>,
    /// The values that it passes.
    pub arguments: Vec<Operand>,
    /// The register that takes its result.
    pub register: Option<RegisterId>,
    /// Its place.
    pub span: Span,
}

impl Called {
    /// The call with the values that registers have.
    pub fn with(&self, registers: &[u64]) -> Call {
        Call {
            method: self.method.clone(),
            objects: self.objects.clone(),
            values: self.arguments.iter().map(|value| value.evaluate(registers)).collect(),
        }
    }
}

/// The steps of each thread.
///
/// # Errors
/// Statements that are nested too deeply.
pub fn steps(
    program: &Program,
    libraries: &Libraries,
) -> Result<Vec<Vec<Flow<Called>>>, CompileError> {
    let threads = program.threads.iter();
    threads
        .map(|thread| flatten(&thread.body, &mut |stmt| called(stmt, program, libraries)))
        .collect()
}

fn called(stmt: &Stmt, program: &Program, libraries: &Libraries) -> Result<Called, CompileError> {
    let no_call = || CompileError::Malformed { span: stmt.span, what: "call" };
    let StmtKind::Call(call) = &stmt.kind else { return Err(no_call()) };
    let resolved = libraries.resolve(program, call).ok_or_else(no_call)?;
    let number = |name: &String| program.objects.iter().position(|object| object.name == *name);
    let named = [&call.object, &call.source].into_iter().flatten();
    Ok(Called {
        library: resolved.number,
        method: resolved.method.name.clone(),
        objects: named.filter_map(number).collect(),
        arguments: call.arguments.iter().map(Operand::new).collect(),
        register: call.register,
        span: stmt.span,
    })
}
