//! A coreRMA program as lists of instructions.

use compiler::code::{CompileError, Flow, flatten};
use lang::program::{NodeId, Program, RmaKind, RmaStmt, Stmt, StmtKind};
use lang::source::Span;

pub type Instruction = Flow<RmaStmt>;

/// The code of one thread.
#[derive(Clone, Debug)]
pub struct Code {
    pub node: NodeId,
    pub instructions: Vec<Instruction>,
}

/// Compiles each thread. Also returns the place of a statement with an access that is not atomic, if there is
/// one.
pub fn compile(program: &Program) -> Result<(Vec<Code>, Option<Span>), CompileError> {
    let mut non_atomic = None;
    let mut action = |stmt: &Stmt| {
        let StmtKind::Rma(statement) = &stmt.kind else { return Err(unsupported(stmt)) };
        let accesses = match statement.kind {
            RmaKind::LocalRead | RmaKind::LocalWrite => 1,
            RmaKind::Get | RmaKind::Put => 2,
            RmaKind::Rga => 3,
            RmaKind::Cas => 4,
            RmaKind::Flush => 0,
        };
        if statement.accesses.len() != accesses {
            return Err(CompileError::Malformed { span: stmt.span, what: "location" });
        }
        if statement.accesses.iter().any(|(_, atomic)| !atomic) {
            non_atomic.get_or_insert(stmt.span);
        }
        Ok(statement.clone())
    };
    let code = program.threads.iter().map(|thread| {
        let instructions = flatten(&thread.body, &mut action)?;
        Ok(Code { node: thread.node, instructions })
    });
    let code = code.collect::<Result<Vec<Code>, CompileError>>()?;
    Ok((code, non_atomic))
}

fn unsupported(stmt: &Stmt) -> CompileError {
    let statement = compiler::calls::call_name(&stmt.kind).unwrap_or("statement").to_owned();
    CompileError::Unsupported { span: stmt.span, statement }
}
