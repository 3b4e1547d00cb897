//! The control flow of a thread as jumps, with actions of any kind between them: for interpreters with
//! statements of their own.

use lang::program::{RegisterId, Stmt, StmtKind};

use super::{CompileError, MAX_NESTING, Operand};

/// One step of a thread.
#[derive(Clone, Debug)]
pub enum Flow<A> {
    /// A statement that is no control flow.
    Action(A),
    /// Assigns a value to a register.
    Assign(RegisterId, Operand),
    /// Continues at this instruction.
    Jump(usize),
    /// Continues at this instruction if the value is 0, else at the next one.
    JumpIfZero(Operand, usize),
    /// The execution does not count if the value is 0.
    Assume(Operand),
}

impl<A> Flow<A> {
    /// Takes the step, unless it is an action. Whether the execution still counts.
    pub fn take(&self, at: &mut usize, registers: &mut [u64]) -> bool {
        let mut next = *at + 1;
        match self {
            Self::Action(_) => next = *at,
            Self::Assign(register, value) => registers[register.0] = value.evaluate(registers),
            Self::Jump(target) => next = *target,
            Self::JumpIfZero(condition, target) => {
                if condition.evaluate(registers) == 0 {
                    next = *target;
                }
            }
            Self::Assume(condition) => {
                if condition.evaluate(registers) == 0 {
                    return false;
                }
            }
        }
        *at = next;
        true
    }
}

/// Flattens a thread's statements. `action` translates those that are no control flow.
///
/// # Errors
/// Those of `action`, and statements that are nested too deeply.
pub fn flatten<A>(
    body: &[Stmt],
    action: &mut dyn FnMut(&Stmt) -> Result<A, CompileError>,
) -> Result<Vec<Flow<A>>, CompileError> {
    let mut flattening = Flattening { steps: Vec::new(), breaks: Vec::new(), action };
    flattening.block(body, 0)?;
    Ok(flattening.steps)
}

struct Flattening<'a, A> {
    steps: Vec<Flow<A>>,
    /// For each enclosing loop, the jumps that leave it.
    breaks: Vec<Vec<usize>>,
    action: &'a mut dyn FnMut(&Stmt) -> Result<A, CompileError>,
}

impl<A> Flattening<'_, A> {
    fn block(&mut self, body: &[Stmt], depth: usize) -> Result<(), CompileError> {
        for stmt in body {
            if depth > MAX_NESTING {
                return Err(CompileError::TooDeep(stmt.span));
            }
            match &stmt.kind {
                StmtKind::Assign { register, value } => {
                    self.steps.push(Flow::Assign(*register, Operand::new(value)));
                }
                StmtKind::Assume(condition) => {
                    self.steps.push(Flow::Assume(Operand::new(condition)));
                }
                StmtKind::If { condition, then, otherwise } => {
                    let test = self.hole();
                    self.block(then, depth + 1)?;
                    let end = self.hole();
                    self.steps[test] = Flow::JumpIfZero(Operand::new(condition), self.steps.len());
                    self.block(otherwise, depth + 1)?;
                    self.steps[end] = Flow::Jump(self.steps.len());
                }
                StmtKind::Loop(body) => {
                    let start = self.steps.len();
                    self.breaks.push(Vec::new());
                    self.block(body, depth + 1)?;
                    self.steps.push(Flow::Jump(start));
                    let end = self.steps.len();
                    for jump in self.breaks.pop().unwrap_or_default() {
                        self.steps[jump] = Flow::Jump(end);
                    }
                }
                StmtKind::Break => {
                    let jump = self.hole();
                    if let Some(jumps) = self.breaks.last_mut() {
                        jumps.push(jump);
                    }
                }
                _ => {
                    let action = (self.action)(stmt)?;
                    self.steps.push(Flow::Action(action));
                }
            }
        }
        Ok(())
    }

    /// Emits a jump whose target is filled in later. Until then, it leads to the next instruction.
    fn hole(&mut self) -> usize {
        let at = self.steps.len();
        self.steps.push(Flow::Jump(at + 1));
        at
    }
}
