//! Finds values out of thin air: cycles of rf and computation.

use skeleton::{Skeleton, Value, ValueId};

use super::super::super::cnf::Lit;
use super::Values;
use super::possible::operands;

/// By expression: whether some choice of rf may make it depend on itself. Most programs have none of these.
pub fn circular(skeleton: &Skeleton) -> Vec<bool> {
    let mut edges = Vec::new();
    for (index, value) in skeleton.values.iter().enumerate() {
        let mut on = operands(skeleton, ValueId(index));
        on.extend(deciding(skeleton, value));
        edges.extend(on.into_iter().map(|operand| (index, operand.0)));
    }
    let mut rest = vec![true; skeleton.values.len()];
    // What depends on nothing that is left is on no cycle; nor is what nothing that is left depends on.
    without_ends(&mut rest, edges.iter().copied());
    without_ends(&mut rest, edges.iter().map(|(user, operand)| (*operand, *user)));
    rest
}

/// What decides between the arms of a choice.
fn deciding(skeleton: &Skeleton, value: &Value) -> Vec<ValueId> {
    match value {
        Value::Select(guard, ..) => skeleton.values_behind(*guard),
        _ => Vec::new(),
    }
}

impl Values {
    /// What an expression depends on: its operands, and what decides between the arms of a choice.
    fn hangs_on(
        &self,
        skeleton: &Skeleton,
        id: ValueId,
        is_true: &dyn Fn(Lit) -> bool,
    ) -> Vec<(ValueId, Lit)> {
        let mut all = self.selected(skeleton, id, is_true);
        let deciding = deciding(skeleton, &skeleton.values[id.0]).into_iter();
        all.extend(deciding.map(|value| (value, Lit::TRUE)));
        all
    }

    /// Finds a cycle of rf and computation without ⊤: there, the assignment makes a value out of thin air.
    /// No execution of any model has such a cycle. Returns the literals that together make the cycle.
    pub fn circle(&self, skeleton: &Skeleton, is_true: &dyn Fn(Lit) -> bool) -> Option<Vec<Lit>> {
        if !self.may_circle.contains(&true) {
            return None;
        }
        let mut finished = vec![false; skeleton.values.len()];
        let mut on_path = vec![false; skeleton.values.len()];
        for start in (0..skeleton.values.len()).filter(|value| self.may_circle[*value]) {
            // Each entry: an expression, the literal that led to it, and the operands that are still to
            // visit.
            let mut path = vec![(ValueId(start), Lit::TRUE, None)];
            while let Some((id, _, rest)) = path.last_mut() {
                let id = *id;
                if rest.is_none() {
                    if finished[id.0] {
                        path.pop();
                        continue;
                    }
                    on_path[id.0] = true;
                }
                let rest = rest.get_or_insert_with(|| {
                    let mut all = self.hangs_on(skeleton, id, is_true);
                    all.retain(|(operand, _)| self.may_circle[operand.0]);
                    all
                });
                match rest.pop() {
                    Some((operand, choice)) if on_path[operand.0] => {
                        let from = path.iter().position(|(known, ..)| *known == operand)?;
                        let choices = path[from + 1..].iter().map(|(_, choice, _)| *choice);
                        let reads = path[from..].iter().filter_map(|(id, ..)| {
                            let Value::Read(read) = skeleton.values[id.0] else { return None };
                            Some(!self.undefined_reads[read.0])
                        });
                        let mut circle: Vec<Lit> = choices.chain([choice]).chain(reads).collect();
                        circle.retain(|literal| *literal != Lit::TRUE);
                        return Some(circle);
                    }
                    Some((operand, choice)) => path.push((operand, choice, None)),
                    None => {
                        (finished[id.0], on_path[id.0]) = (true, false);
                        path.pop();
                    }
                }
            }
        }
        None
    }
}

/// Takes away nodes as long as one has no edge to a node that is left. Edges are from the first to the
/// second.
fn without_ends(rest: &mut [bool], edges: impl Iterator<Item = (usize, usize)>) {
    let mut to_rest = vec![0_usize; rest.len()];
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); rest.len()];
    for (one, other) in edges.filter(|(one, other)| rest[*one] && rest[*other]) {
        to_rest[one] += 1;
        from[other].push(one);
    }
    let mut open: Vec<usize> =
        (0..rest.len()).filter(|node| rest[*node] && to_rest[*node] == 0).collect();
    while let Some(node) = open.pop() {
        rest[node] = false;
        for before in &from[node] {
            to_rest[*before] -= 1;
            if to_rest[*before] == 0 {
                open.push(*before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_on_cycles_are_left() {
        // 0 → 1 → 2 → 1, 2 → 3, 4 → 4, 5.
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (4, 4)];
        let mut rest = vec![true; 6];
        without_ends(&mut rest, edges.into_iter());
        assert_eq!(rest, [true, true, true, false, true, false]);
        without_ends(&mut rest, edges.into_iter().map(|(from, to)| (to, from)));
        assert_eq!(rest, [false, true, true, false, true, false]);
    }
}
