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

/// All sets but the empty one.
pub fn subsets(all: &[u32]) -> Vec<Vec<u32>> {
    let bits = |set: u32| {
        let members = all.iter().enumerate().filter(move |(index, _)| set >> index & 1 == 1);
        members.map(|(_, node)| *node).collect::<Vec<u32>>()
    };
    (1..1_u32 << all.len()).map(bits).collect()
}
