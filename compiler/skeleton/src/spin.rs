//! Loops that spin: iterations that only wait for something can be left out.
//!
//! Assume that an iteration only reads and fences, and that the next one does not use what it read. Then the
//! execution without the iteration has the same outcome. It is also consistent if the original was: removing
//! events removes edges, and no axiom of the shipped models requires an edge. So if every iteration that is
//! not the last is like that, the loop needs only one iteration, and no bound.

use lang::program::{Expr, RegisterId, Stmt, StmtKind, each};
use std::collections::BTreeSet;

use super::{Condition, Guard, Skeleton, Stamp};

/// Whether the registers after one iteration cannot influence the next: every register that the body assigns
/// is assigned before the body branches, and before it is used.
pub fn forgets(body: &[Stmt]) -> bool {
    let mut assigned = BTreeSet::new();
    each(body, &mut |stmt| assigned.extend(stmt.kind.parts().assigned));
    let mut fresh = BTreeSet::new();
    for stmt in body {
        let (register, used) = match &stmt.kind {
            StmtKind::Read { register, .. } => (Some(*register), Vec::new()),
            StmtKind::Assign { register, value } => (Some(*register), value.registers()),
            StmtKind::Cas { register, expected, desired, .. } => {
                (*register, registers(&[expected, desired]))
            }
            StmtKind::Call(call) => {
                (call.register, call.arguments.iter().flat_map(Expr::registers).collect())
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

/// Whether an iteration that is followed by another has only read and fenced: each other event from `first`
/// on happens only if this is the last iteration.
pub fn is_idle(skeleton: &Skeleton, first: usize, live: Guard) -> bool {
    let mut round = BTreeSet::new();
    conjuncts(skeleton, live, &mut round);
    skeleton.events[first..].iter().all(|event| {
        let idle = match event.stamp {
            // A poll consumes a receive.
            _ if event.receive.is_some() => false,
            _ if event.origin.method.is_some() => event.origin.is_idle,
            Stamp::CpuRead | Stamp::Fence => true,
            // A poll consumes an operation; a wait does not.
            Stamp::Wait => event.polls.is_empty(),
            _ => false,
        };
        let mut happens = BTreeSet::new();
        conjuncts(skeleton, event.guard, &mut happens);
        idle || happens.iter().any(|guard| round.contains(&!*guard))
    })
}

impl Skeleton {
    /// Whether `condition` certainly implies `other`: all conjuncts of `other` are among those of
    /// `condition`.
    pub fn implies(&self, condition: Guard, other: Guard) -> bool {
        let (mut known, mut asked) = (BTreeSet::from([Guard::TRUE]), BTreeSet::new());
        conjuncts(self, condition, &mut known);
        conjuncts(self, other, &mut asked);
        let is_known = |guard: &Guard| {
            let is_split =
                !guard.negated && matches!(self.conditions[guard.condition], Condition::And(..));
            is_split || known.contains(guard)
        };
        asked.iter().all(is_known)
    }
}

/// Collects the conjuncts of a condition.
fn conjuncts(skeleton: &Skeleton, guard: Guard, found: &mut BTreeSet<Guard>) {
    found.insert(guard);
    if let (Condition::And(left, right), false) =
        (skeleton.conditions[guard.condition], guard.negated)
    {
        conjuncts(skeleton, left, found);
        conjuncts(skeleton, right, found);
    }
}
