//! Loops that spin: rounds that only wait for something can be left out.
//!
//! If a round only reads and fences, and the next one forgets what it read, then an execution without the
//! round shows the same, and it is consistent if the other was: leaving events out takes edges away, and
//! no axiom of the shipped models asks for an edge. So a loop of which every round that goes round
//! again is like that needs one round only, and no bound.

use lang::program::{Expr, RegisterId, Stmt, StmtKind};
use std::collections::BTreeSet;

use super::{Condition, Guard, Skeleton, Stamp};

/// Whether what a round leaves in registers cannot matter to the next: every register that the body assigns
/// is assigned before it branches, and before it is used.
pub fn forgets(body: &[Stmt]) -> bool {
    let mut assigned = BTreeSet::new();
    collect_assigned(body, &mut assigned);
    let mut fresh = BTreeSet::new();
    for stmt in body {
        let (register, used) = match &stmt.kind {
            StmtKind::Read { register, .. } => (Some(*register), Vec::new()),
            StmtKind::Assign { register, value } => (Some(*register), value.registers()),
            StmtKind::Cas { register, expected, desired, .. } => {
                (*register, registers(&[expected, desired]))
            }
            StmtKind::Fence => (None, Vec::new()),
            _ => break,
        };
        if used.iter().any(|used| assigned.contains(used) && !fresh.contains(used)) {
            return false;
        }
        fresh.extend(register);
    }
    assigned.is_subset(&fresh)
}

fn registers(expressions: &[&Expr]) -> Vec<RegisterId> {
    expressions.iter().flat_map(|expression| expression.registers()).collect()
}

fn collect_assigned(body: &[Stmt], assigned: &mut BTreeSet<RegisterId>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { register, .. } | StmtKind::Read { register, .. } => {
                assigned.insert(*register);
            }
            StmtKind::Cas { register, .. }
            | StmtKind::Faa { register, .. }
            | StmtKind::Exchange { register, .. } => {
                assigned.extend(register);
            }
            StmtKind::Call(call) => assigned.extend(call.register),
            StmtKind::Rma(rma) => assigned.extend(rma.register),
            StmtKind::If { then, otherwise, .. } => {
                collect_assigned(then, assigned);
                collect_assigned(otherwise, assigned);
            }
            StmtKind::Loop(body) => collect_assigned(body, assigned),
            _ => {}
        }
    }
}

/// Whether a round that ends with control going round again has only read and fenced: each of
/// its other events (from `first` on) happens only if control does not go round again.
pub fn is_idle(skeleton: &Skeleton, first: usize, live: Guard) -> bool {
    let mut round = BTreeSet::new();
    conjuncts(skeleton, live, &mut round);
    skeleton.events[first..].iter().all(|event| {
        let idle = match event.stamp {
            Stamp::CpuRead | Stamp::Fence => true,
            // A poll uses an operation up; a wait does not.
            Stamp::Wait => event.node.is_none(),
            _ => false,
        };
        let mut happens = BTreeSet::new();
        conjuncts(skeleton, event.guard, &mut happens);
        idle || happens.iter().any(|guard| round.contains(&!*guard))
    })
}

/// The conditions of which a condition is the conjunction.
fn conjuncts(skeleton: &Skeleton, guard: Guard, found: &mut BTreeSet<Guard>) {
    found.insert(guard);
    if let (Condition::And(left, right), false) =
        (skeleton.conditions[guard.condition], guard.negated)
    {
        conjuncts(skeleton, left, found);
        conjuncts(skeleton, right, found);
    }
}
