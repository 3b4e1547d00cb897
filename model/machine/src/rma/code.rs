//! A coreRMA program as lists of instructions.

use compiler::code::{CompileError, MAX_NESTING};
use lang::program::{Expr, NodeId, Program, RegisterId, RmaKind, RmaStmt, Stmt, StmtKind};
use lang::source::Span;

#[derive(Clone, Debug)]
pub enum Instruction {
    Action(RmaStmt),
    Assign(RegisterId, Expr),
    Jump(usize),
    JumpIfZero(Expr, usize),
    Assume(Expr),
}

/// The code of one thread.
#[derive(Clone, Debug)]
pub struct Code {
    pub node: NodeId,
    pub instructions: Vec<Instruction>,
}

/// Compiles each thread. Also returns the place of a statement with an access that is not atomic, if there is
/// one.
pub fn compile(program: &Program) -> Result<(Vec<Code>, Option<Span>), CompileError> {
    let mut threads = Vec::new();
    let mut non_atomic = None;
    for thread in &program.threads {
        let mut lowering =
            Lowering { instructions: Vec::new(), breaks: Vec::new(), non_atomic: None };
        lowering.block(&thread.body, 0)?;
        non_atomic = non_atomic.or(lowering.non_atomic);
        threads.push(Code { node: thread.node, instructions: lowering.instructions });
    }
    Ok((threads, non_atomic))
}

struct Lowering {
    instructions: Vec<Instruction>,
    /// For each enclosing loop, the jumps that leave it.
    breaks: Vec<Vec<usize>>,
    non_atomic: Option<Span>,
}

impl Lowering {
    fn block(&mut self, body: &[Stmt], depth: usize) -> Result<(), CompileError> {
        for Stmt { kind, span, .. } in body {
            if depth > MAX_NESTING {
                return Err(CompileError::TooDeep(*span));
            }
            match kind {
                StmtKind::Rma(statement) => {
                    let accesses = match statement.kind {
                        RmaKind::LocalRead | RmaKind::LocalWrite => 1,
                        RmaKind::Get | RmaKind::Put => 2,
                        RmaKind::Rga => 3,
                        RmaKind::Cas => 4,
                        RmaKind::Flush => 0,
                    };
                    if statement.accesses.len() != accesses {
                        return Err(CompileError::Malformed { span: *span, what: "location" });
                    }
                    if statement.accesses.iter().any(|(_, atomic)| !atomic) {
                        self.non_atomic.get_or_insert(*span);
                    }
                    self.instructions.push(Instruction::Action(statement.clone()));
                }
                StmtKind::Assign { register, value } => {
                    self.instructions.push(Instruction::Assign(*register, value.clone()));
                }
                StmtKind::Assume(condition) => {
                    self.instructions.push(Instruction::Assume(condition.clone()));
                }
                StmtKind::If { condition, then, otherwise } => {
                    let test = self.hole();
                    self.block(then, depth + 1)?;
                    let end = self.hole();
                    self.instructions[test] =
                        Instruction::JumpIfZero(condition.clone(), self.instructions.len());
                    self.block(otherwise, depth + 1)?;
                    self.instructions[end] = Instruction::Jump(self.instructions.len());
                }
                StmtKind::Loop(body) => {
                    let start = self.instructions.len();
                    self.breaks.push(Vec::new());
                    self.block(body, depth + 1)?;
                    self.instructions.push(Instruction::Jump(start));
                    let end = self.instructions.len();
                    for jump in self.breaks.pop().unwrap_or_default() {
                        self.instructions[jump] = Instruction::Jump(end);
                    }
                }
                StmtKind::Break => {
                    let jump = self.hole();
                    if let Some(jumps) = self.breaks.last_mut() {
                        jumps.push(jump);
                    }
                }
                _ => {
                    let name = compiler::calls::call_name(kind).unwrap_or("statement");
                    let statement = name.to_owned();
                    return Err(CompileError::Unsupported { span: *span, statement });
                }
            }
        }
        Ok(())
    }

    /// Emits a jump whose target is filled in later. Until then, it leads to the next instruction.
    fn hole(&mut self) -> usize {
        let at = self.instructions.len();
        self.instructions.push(Instruction::Jump(at + 1));
        at
    }
}
