//! The values that expressions may have.

use std::collections::BTreeSet;

use lang::limits;
use skeleton::{Skeleton, Value, ValueId};

use super::{Extra, writers};

/// The largest number of values in a domain, if the program does not name more.
const DOMAIN_LIMIT: usize = 48;

/// Which expressions may be ⊤.
pub fn possibly_undefined(skeleton: &Skeleton, read: impl Fn(usize) -> bool) -> Vec<bool> {
    let is_read = |value: &Value| matches!(value, Value::Read(event) if read(event.0));
    let mut undefined: Vec<bool> = skeleton.values.iter().map(is_read).collect();
    if !undefined.contains(&true) {
        return undefined;
    }
    loop {
        let mut changed = false;
        for index in 0..undefined.len() {
            let operands = operands(skeleton, ValueId(index));
            let now = undefined[index] || operands.iter().any(|operand| undefined[operand.0]);
            changed |= now != undefined[index];
            undefined[index] = now;
        }
        if !changed {
            return undefined;
        }
    }
}

/// The values that each expression may have, in increasing order, up to the limit; and which domains were
/// cut off.
pub fn possible_values(skeleton: &Skeleton, extra: &Extra) -> (Vec<Vec<u64>>, Vec<bool>) {
    let count = skeleton.values.len();
    let mut domains: Vec<Vec<u64>> = vec![Vec::new(); count];
    for (id, values) in extra {
        domains[id.0].extend(values);
    }
    // What only copies values never has more of them than the program names.
    let named = skeleton.values.iter().filter_map(|value| match value {
        Value::Constant(constant) => Some(*constant),
        _ => None,
    });
    let limit = DOMAIN_LIMIT.max(named.collect::<BTreeSet<u64>>().len());
    let limits: Vec<usize> = domains.iter().map(|extra| limit + extra.len()).collect();
    let operands: Vec<Vec<ValueId>> =
        (0..count).map(|id| operands(skeleton, ValueId(id))).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (user, operands) in operands.iter().enumerate() {
        operands.iter().for_each(|operand| users[operand.0].push(user));
    }
    let mut is_cut = vec![false; count];
    let mut is_stale = vec![true; count];
    let mut possible = Vec::new();
    // Round after round, so that domains that reach the limit have values of all their operands. Then they
    // must have all that can be computed from what they have, as what is missing may be what is read.
    let enough = rounds(skeleton, &operands);
    let mut round = 0;
    while is_stale.contains(&true) && (round < enough || is_cut.contains(&true)) {
        round += 1;
        for index in 0..count {
            limits::look();
            if !std::mem::take(&mut is_stale[index]) {
                continue;
            }
            may_be(&skeleton.values[index], &operands[index], &domains, &mut possible);
            let mut depends_on_cut = operands[index].iter().any(|operand| is_cut[operand.0]);
            let domain = &mut domains[index];
            let before = (domain.len(), is_cut[index]);
            for value in &possible {
                let Err(place) = domain.binary_search(value) else { continue };
                match domain.len() < limits[index] {
                    true => domain.insert(place, *value),
                    false => depends_on_cut = true,
                }
            }
            is_cut[index] |= depends_on_cut;
            if before != (domain.len(), is_cut[index]) {
                users[index].iter().for_each(|user| is_stale[*user] = true);
            }
        }
    }
    (domains, is_cut)
}

/// After how many rounds the domains have all values of executions.
///
/// In an execution no value depends on itself. So what an expression has its value from, back to constants,
/// has no expression twice, and goes at most once from each read to an expression that is listed behind it.
/// All other steps a round does at once. A read that does not happen has a value by [`unread`]; without one,
/// the domains must have all that can be computed from what they have.
fn rounds(skeleton: &Skeleton, operands: &[Vec<ValueId>]) -> usize {
    let mut rounds = 1;
    for (index, value) in skeleton.values.iter().enumerate() {
        let is_read = matches!(value, Value::Read(_));
        // Reads of no location have no operands.
        if is_read && !operands[index].is_empty() && constant(skeleton, &operands[index]).is_none()
        {
            return usize::MAX;
        }
        let is_behind = operands[index].iter().any(|operand| operand.0 >= index);
        debug_assert!(is_read || !is_behind, "expected operands before what is computed from them");
        rounds += usize::from(is_behind);
    }
    rounds
}

/// The value of a read that does not happen, if there is one that depends on nothing: expressions over it
/// have values too.
pub fn unread(skeleton: &Skeleton, read: ValueId) -> Option<u64> {
    let is_read = matches!(skeleton.values[read.0], Value::Read(_));
    is_read.then(|| constant(skeleton, &operands(skeleton, read)))?
}

fn constant(skeleton: &Skeleton, operands: &[ValueId]) -> Option<u64> {
    operands.iter().find_map(|operand| match skeleton.values[operand.0] {
        Value::Constant(constant) => Some(constant),
        _ => None,
    })
}

/// The expressions that an expression has its values from.
pub fn operands(skeleton: &Skeleton, id: ValueId) -> Vec<ValueId> {
    match &skeleton.values[id.0] {
        Value::Constant(_) => Vec::new(),
        Value::Read(event) => {
            writers(skeleton, *event).filter_map(|writer| skeleton.event(writer).written).collect()
        }
        Value::Select(_, left, right) | Value::Binary(_, left, right) => vec![*left, *right],
    }
}

/// The values that an expression may have, in increasing order, by those of its operands.
fn may_be(value: &Value, operands: &[ValueId], domains: &[Vec<u64>], possible: &mut Vec<u64>) {
    possible.clear();
    match value {
        Value::Constant(constant) => possible.push(*constant),
        Value::Read(_) | Value::Select(..) => {
            possible.extend(operands.iter().flat_map(|operand| &domains[operand.0]));
        }
        Value::Binary(op, left, right) if left == right => {
            possible.extend(domains[left.0].iter().map(|both| op.apply(*both, *both)));
        }
        Value::Binary(op, left, right) => {
            let right = &domains[right.0];
            let pairs = domains[left.0].iter().flat_map(|l| right.iter().map(move |r| (*l, *r)));
            possible.extend(pairs.map(|(left, right)| op.apply(left, right)));
        }
    }
    possible.sort_unstable();
    possible.dedup();
}
