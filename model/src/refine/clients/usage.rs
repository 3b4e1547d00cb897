//! What statements use.

use super::Op;

/// Whether a location is not used, or written by one statement and looked at by another.
pub fn shows(threads: &[&[Op]], location: usize) -> bool {
    let (mut writes, mut looks) = (0, 0);
    for op in threads.iter().flat_map(|ops| ops.iter()) {
        match op {
            Op::Write(known, _) | Op::Put(known, _) if *known == location => writes += 1,
            Op::Read(known) | Op::Get(known) if *known == location => looks += 1,
            // What methods of the base do with it, their names would say.
            Op::Call { locations, .. } if locations.contains(&location) => {
                writes += 1;
                looks += 1;
            }
            _ => {}
        }
    }
    (writes, looks) == (0, 0) || writes > 0 && writes + looks > 1
}

/// Gives each statement that writes a value of its own: 1, 2, 3, … What a call compares with, if not 0, is
/// the first; that and what is a number of a few, `is_written` says by the method and the value's position.
pub fn own_values(threads: &mut [(u32, Vec<Op>)], is_written: impl Fn(usize, usize) -> bool) {
    let mut last = 0;
    let mut own = |value: &mut u64| {
        if *value > 0 {
            last += 1;
            *value = last;
        }
    };
    for op in threads.iter_mut().flat_map(|(_, ops)| ops) {
        match op {
            Op::Write(_, value) | Op::Put(_, value) => own(value),
            Op::Call { method, values, .. } => {
                let all = values.iter_mut().enumerate();
                all.filter(|(at, _)| is_written(*method, *at)).for_each(|(_, value)| own(value));
            }
            Op::Read(_) | Op::Get(_) => {}
        }
    }
}

/// All sets but the empty one.
pub fn subsets(all: &[u32]) -> Vec<Vec<u32>> {
    let bits = |set: u32| {
        let members = all.iter().enumerate().filter(move |(index, _)| set >> index & 1 == 1);
        members.map(|(_, node)| *node).collect::<Vec<u32>>()
    };
    (1..1_u32 << all.len()).map(bits).collect()
}
