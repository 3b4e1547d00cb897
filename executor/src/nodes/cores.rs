//! Which core each thread runs on. Agents of one host know nothing of each other, so the coordinator gives
//! each its cores: no core has two threads as long as there are others, and those near the NIC come first.

use std::collections::{HashMap, HashSet};
use std::fs;

use serde::{Deserialize, Serialize};

/// Where an agent runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// What the processes of one running system have in common; empty if that is not known.
    pub system: String,
    /// The cores that the agent may use, those of its NIC's NUMA node first.
    pub cores: Vec<u32>,
}

impl Place {
    /// This process, with a NIC at this NUMA node.
    pub fn here(numa_node: Option<u32>) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let allowed = core_affinity::get_core_ids().unwrap_or_default();
        let allowed = allowed.into_iter().filter_map(|core| u32::try_from(core.id).ok());
        let near =
            numa_node.map(|node| read(&format!("/sys/devices/system/node/node{node}/cpulist")));
        let cores = near_first(allowed.collect(), &near.unwrap_or_default());
        Self { system: read("/proc/sys/kernel/random/boot_id"), cores }
    }
}

/// Puts those cores first that the kernel's list has: `0-3,8-11`.
fn near_first(mut cores: Vec<u32>, near: &str) -> Vec<u32> {
    let is_near = |core: &u32| {
        near.split(',').any(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let numbers = first.trim().parse::<u32>().ok().zip(last.trim().parse::<u32>().ok());
            numbers.is_some_and(|(first, last)| (first..=last).contains(core))
        })
    };
    cores.sort_by_key(|core| (!is_near(core), *core));
    cores
}

/// For each agent, given its place, the number of its threads, and that of others that keep a core busy: the
/// core of each thread, and whether all these are more than the cores of its system.
pub fn allot(agents: &[(&Place, usize, usize)]) -> Vec<(Vec<u32>, bool)> {
    // An agent of which no more is known has a system of its own.
    let system = |index: usize| match agents[index].0.system.as_str() {
        "" => index.to_string(),
        name => name.to_owned(),
    };
    let mut cores: HashMap<String, HashSet<u32>> = HashMap::new();
    let mut threads: HashMap<String, usize> = HashMap::new();
    for (index, (place, count, others)) in agents.iter().enumerate() {
        cores.entry(system(index)).or_default().extend(&place.cores);
        *threads.entry(system(index)).or_default() += count + others;
    }
    let mut free = cores.clone();
    let allot = |(index, (place, count, _)): (usize, &(&Place, usize, usize))| {
        let system = system(index);
        let take = |thread: usize| {
            let free = free.entry(system.clone()).or_default();
            let core = place.cores.iter().copied().find(|core| free.remove(core));
            core.or_else(|| place.cores.get(thread % place.cores.len().max(1)).copied())
        };
        let own = (0..*count).filter_map(take).collect();
        let is_crowded = threads[&system] > cores[&system].len();
        (own, is_crowded)
    };
    agents.iter().enumerate().map(allot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(system: &str, cores: &[u32]) -> Place {
        Place { system: system.to_owned(), cores: cores.to_vec() }
    }

    #[test]
    fn cores_near_the_nic_come_first() {
        assert_eq!(near_first(vec![0, 1, 2, 3, 8, 9], "2-3,8"), [2, 3, 8, 0, 1, 9]);
        assert_eq!(near_first(vec![1, 0], ""), [0, 1]);
        assert!(!Place::here(None).cores.is_empty(), "a process runs somewhere");
    }

    #[test]
    fn agents_of_one_host_share_no_core() {
        let (near, far, other) =
            (place("a", &[0, 1, 2, 3]), place("a", &[2, 3, 0, 1]), place("b", &[0, 1]));
        let allotted = allot(&[(&near, 1, 0), (&near, 2, 0), (&far, 1, 0), (&other, 2, 0)]);
        let expected: [(&[u32], bool); 4] =
            [(&[0], false), (&[1, 2], false), (&[3], false), (&[0, 1], false)];
        assert_eq!(allotted, expected.map(|(cores, crowded)| (cores.to_vec(), crowded)));
        // There are too few cores: both agents know.
        let few = place("a", &[0, 1]);
        let allotted = allot(&[(&few, 2, 0), (&few, 0, 1)]);
        assert_eq!(allotted, [(vec![0, 1], true), (vec![], true)]);
        // Of unknown systems, none is another's.
        let unknown = place("", &[0]);
        assert_eq!(
            allot(&[(&unknown, 1, 0), (&unknown, 1, 0)]),
            [(vec![0], false), (vec![0], false)]
        );
    }
}
