//! Where hardware would compute with `⊥`. It is a number there, and what an atomic adds to it is another one.

use std::collections::BTreeSet;

use lang::program::{BinaryOp, Expr, Program, PutSource, RegisterId, Stmt, StmtKind, each};

/// The first statement that may add to `⊥` in memory, or that sends it as an immediate. A completion of a
/// message without an immediate leaves `⊥` in a register.
pub fn computed(program: &Program) -> Option<&Stmt> {
    let mut all = Vec::new();
    for thread in &program.threads {
        each(&thread.body, &mut |stmt| all.push(stmt));
    }
    let leaves = |stmt: &&Stmt| matches!(stmt.kind, StmtKind::Message { immediate: None, .. });
    let mut bottoms = Bottoms { has_source: all.iter().any(leaves), ..Bottoms::default() };
    let mut known = usize::MAX;
    while known != bottoms.size() {
        known = bottoms.size();
        all.iter().for_each(|stmt| bottoms.follow(&stmt.kind));
    }
    all.into_iter().find(|stmt| bottoms.are_computed_with(&stmt.kind))
}

/// What may be `⊥`.
#[derive(Default)]
struct Bottoms {
    /// Whether completions of receives may leave it.
    has_source: bool,
    registers: BTreeSet<RegisterId>,
    in_memory: bool,
}

impl Bottoms {
    fn size(&self) -> usize {
        self.registers.len() + usize::from(self.in_memory)
    }

    fn may_be(&self, value: &Expr) -> bool {
        match value {
            Expr::Bottom => true,
            Expr::Constant(_) | Expr::Not(_) => false,
            Expr::Register(register) => self.registers.contains(register),
            Expr::Binary(
                BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Remainder,
                left,
                right,
            ) => self.may_be(left) || self.may_be(right),
            Expr::Binary(..) => false,
        }
    }

    fn of_source(&self, source: &PutSource) -> bool {
        matches!(source, PutSource::Value(value) if self.may_be(value))
    }

    /// Follows a statement: from values to registers and memory, and back.
    fn follow(&mut self, kind: &StmtKind) {
        let (assigned, is_bottom) = match kind {
            StmtKind::Assign { register, value } => (Some(*register), self.may_be(value)),
            StmtKind::PollReceive { register, .. } => (*register, self.has_source),
            StmtKind::Read { register, .. } => (Some(*register), self.in_memory),
            StmtKind::Cas { register, .. }
            | StmtKind::Faa { register, .. }
            | StmtKind::Exchange { register, .. } => (*register, self.in_memory),
            _ => (None, false),
        };
        if let Some(register) = assigned.filter(|_| is_bottom) {
            self.registers.insert(register);
        }
        self.in_memory |= match kind {
            StmtKind::Write { value, .. }
            | StmtKind::Exchange { value, .. }
            | StmtKind::AtomicWrite { value, .. } => self.may_be(value),
            StmtKind::Cas { desired, .. } | StmtKind::Rcas { desired, .. } => self.may_be(desired),
            StmtKind::Put { source, .. } | StmtKind::Message { source, .. } => {
                self.of_source(source)
            }
            _ => false,
        };
    }

    fn are_computed_with(&self, kind: &StmtKind) -> bool {
        match kind {
            StmtKind::Faa { addend, .. } | StmtKind::Rfaa { addend, .. } => {
                self.in_memory || self.may_be(addend)
            }
            StmtKind::Message { immediate: Some(immediate), .. } => self.may_be(immediate),
            _ => false,
        }
    }
}
