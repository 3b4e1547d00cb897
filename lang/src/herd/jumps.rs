//! Branches: jumps forward become `if`.

use super::instructions::Flags;
use super::lower::Lowerer;
use super::parse::{Instruction, Line, Operand};
use crate::litmus::ast::{Block, Expr, ExprKind, Place, Statement, StatementKind};

/// The statements of a thread.
pub fn statements(lowerer: &mut Lowerer<'_>, lines: &[Line]) -> Vec<Statement> {
    let mut structured = Structured { lowerer, lines, depth: 0 };
    structured.block(0, lines.len(), lines.len()).unwrap_or_default()
}

/// How deep branches may be nested.
const DEEPEST: usize = 32;

struct Structured<'l, 'a> {
    lowerer: &'l mut Lowerer<'a>,
    lines: &'l [Line],
    depth: usize,
}

/// A jump's condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Jump {
    Always,
    IfZero,
    IfNotZero,
}

fn jump(instruction: &Instruction) -> Option<Jump> {
    match instruction.mnemonic.as_str() {
        "jmp" => Some(Jump::Always),
        "je" | "jz" => Some(Jump::IfZero),
        "jne" | "jnz" => Some(Jump::IfNotZero),
        _ => None,
    }
}

impl Structured<'_, '_> {
    /// The statements of the lines from `start` to `end`; jumps may lead up to `last`, a label at `end` or
    /// later, only as the last line. `None` if something was refused.
    fn block(&mut self, start: usize, end: usize, last: usize) -> Option<Vec<Statement>> {
        let mut out = Vec::new();
        let mut flags: Option<Flags> = None;
        let mut at = start;
        let mut is_fine = true;
        while at < end {
            let Line::Instruction(instruction) = &self.lines[at] else {
                flags = None;
                at += 1;
                continue;
            };
            let Some(jump) = jump(instruction) else {
                match self.lowerer.instruction(instruction, &mut out) {
                    Some(set) => flags = set,
                    // The other instructions are looked at too.
                    None => is_fine = false,
                }
                at += 1;
                continue;
            };
            let target = self.target(instruction, at, end, last)?;
            if jump == Jump::Always {
                if self.lines[at + 1..target.min(end)]
                    .iter()
                    .any(|line| matches!(line, Line::Label(_)))
                {
                    let message = "a jump over a label is not supported";
                    self.lowerer.refuse(instruction.place, message);
                    return None;
                }
                at = target;
                continue;
            }
            let Some(Flags { is_zero }) = flags.take() else {
                let message = "expected a jump right after cmp, test or lock cmpxchg";
                self.lowerer.refuse(instruction.place, message);
                return None;
            };
            at = self.branch(is_zero, jump, (at, target, end), instruction.place, &mut out)?;
        }
        is_fine.then_some(out)
    }

    /// A conditional jump over the lines up to `target`; where to go on.
    fn branch(
        &mut self,
        is_zero: Expr,
        jump: Jump,
        (at, target, end): (usize, usize, usize),
        place: Place,
        out: &mut Vec<Statement>,
    ) -> Option<usize> {
        self.depth += 1;
        if self.depth > DEEPEST {
            self.lowerer.refuse(
                place,
                format!("expected at most {DEEPEST} branches in another, found more"),
            );
            return None;
        }
        // What is jumped over is done if the jump is not taken.
        let condition = match jump {
            Jump::IfNotZero => is_zero,
            _ => Expr { kind: ExprKind::Not(Box::new(is_zero)), place },
        };
        let block = |statements| Block { statements, end: Place::default() };
        // `jmp` as the last of these lines jumps over an alternative.
        let beyond = target.checked_sub(1).filter(|last| *last > at).and_then(|last| {
            let Line::Instruction(instruction) = &self.lines[last] else { return None };
            let is_jump = self::jump(instruction) == Some(Jump::Always);
            is_jump.then_some((last, instruction))
        });
        let (then, otherwise, next) = match beyond {
            None => (self.block(at + 1, target, target)?, None, target),
            Some((last, instruction)) => {
                let next = self.target(instruction, last, end, end)?;
                let then = self.block(at + 1, last, last)?;
                (then, Some(block(self.block(target, next, next)?)), next)
            }
        };
        self.depth -= 1;
        let kind = StatementKind::If { branches: vec![(condition, block(then))], otherwise };
        out.push(Statement { kind, unsignaled: false, place });
        Some(next)
    }

    /// Where a jump leads: a label after it, no further than the end of the lines at hand.
    fn target(
        &mut self,
        instruction: &Instruction,
        at: usize,
        end: usize,
        last: usize,
    ) -> Option<usize> {
        let [Operand::Register((label, _))] = instruction.operands.as_slice() else {
            self.lowerer.refuse(instruction.place, "expected a label to jump to");
            return None;
        };
        let is_it = |line: &Line| matches!(line, Line::Label((name, _)) if name == label);
        let found = self.lines.iter().position(is_it);
        match found {
            Some(target) if target > at && (target <= end || target == last) => Some(target),
            Some(target) if target <= at => {
                self.lowerer.refuse(instruction.place, "a jump backwards is not supported");
                None
            }
            Some(_) => {
                let message = "a jump out of a branch is not supported";
                self.lowerer.refuse(instruction.place, message);
                None
            }
            None => {
                let message = format!("expected a label of this thread, found `{label}`");
                self.lowerer.refuse(instruction.place, message);
                None
            }
        }
    }
}
