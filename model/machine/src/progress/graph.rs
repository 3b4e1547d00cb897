//! The graph of stored states.

/// Records which stored state leads to which, and from which states an execution ends.
#[derive(Default)]
pub struct Graph {
    /// The state that is being expanded.
    pub current: Option<usize>,
    /// For each state, the state that it was first reached from. The first state is its own parent.
    parents: Vec<usize>,
    edges: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Graph {
    /// Records that the current state leads to the state of this number.
    pub fn leads_to(&mut self, number: usize, is_new: bool) {
        if is_new {
            self.parents.push(self.current.unwrap_or(number));
        }
        if let Some(current) = self.current {
            self.edges.push((current as u32, number as u32));
        }
    }

    /// The size of the graph in bytes.
    pub fn memory(&self) -> usize {
        8 * (self.parents.len() + self.edges.len() + self.ends.len())
    }

    /// Records that an execution ends from the current state.
    pub fn ends(&mut self) {
        self.ends.extend(self.current);
    }

    /// The states from which no path leads to an end, or to a state that is not expanded.
    pub fn stuck(&self, states: usize, open: &[usize]) -> Vec<usize> {
        let before = Neighbors::new(states, self.edges.iter().map(|(from, to)| (*to, *from)));
        let reached = before.reach(self.ends.iter().chain(open).copied());
        (0..states).filter(|state| !reached[*state]).collect()
    }

    /// The sets of states that only lead to each other: the components without an exit, by Tarjan's
    /// algorithm. Each set begins with the state that was reached first. States that are not expanded may
    /// lead anywhere.
    pub fn innermost(&self, states: usize, open: &[usize]) -> Vec<Vec<usize>> {
        const DONE: usize = usize::MAX;
        let after = Neighbors::new(states, self.edges.iter().copied());
        // Numbers the states in the order in which they are reached, from 1. `DONE` marks states whose
        // component is known.
        let mut number = vec![0; states];
        let mut least = vec![0; states];
        let mut leaves = vec![false; states];
        open.iter().for_each(|state| leaves[*state] = true);
        let (mut members, mut path, mut found, mut last) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for root in 0..states {
            if number[root] == 0 {
                path.push((root, after.first[root]));
            }
            while let Some((state, edge)) = path.pop() {
                if number[state] == 0 {
                    last += 1;
                    (number[state], least[state]) = (last, last);
                    members.push(state);
                }
                if edge < after.first[state + 1] {
                    path.push((state, edge + 1));
                    let next = after.all[edge] as usize;
                    match number[next] {
                        0 => path.push((next, after.first[next])),
                        DONE => leaves[state] = true,
                        known => least[state] = least[state].min(known),
                    }
                    continue;
                }
                if least[state] == number[state] {
                    let first = members.iter().rposition(|member| *member == state).unwrap_or(0);
                    let component = members.split_off(first);
                    let leads_on = component.iter().fold(false, |leads_on, member| {
                        number[*member] = DONE;
                        leads_on || leaves[*member]
                    });
                    found.extend((!leads_on).then_some(component));
                }
                let Some((before, _)) = path.last() else { continue };
                match number[state] {
                    DONE => leaves[*before] = true,
                    _ => least[*before] = least[*before].min(least[state]),
                }
            }
        }
        found
    }

    pub fn path(&self, number: usize) -> Vec<usize> {
        let mut path = vec![number];
        while let Some(last) = path.last()
            && let Some(parent) = self.parents.get(*last)
            && parent != last
        {
            path.push(*parent);
        }
        path.reverse();
        path
    }
}

/// The neighbors of each state.
struct Neighbors {
    first: Vec<usize>,
    all: Vec<u32>,
}

impl Neighbors {
    fn new(states: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0; states + 1];
        edges.clone().for_each(|(from, _)| first[from as usize + 1] += 1);
        for state in 0..states {
            first[state + 1] += first[state];
        }
        let mut next = first.clone();
        let mut all = vec![0; first[states]];
        for (from, to) in edges {
            all[next[from as usize]] = to;
            next[from as usize] += 1;
        }
        Self { first, all }
    }

    /// Whether each state can be reached.
    fn reach(&self, from: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.first.len() - 1];
        let mut open = Vec::new();
        let mut take = |state: usize, open: &mut Vec<usize>| {
            if !reached[state] {
                reached[state] = true;
                open.push(state);
            }
        };
        from.into_iter().for_each(|state| take(state, &mut open));
        while let Some(state) = open.pop() {
            let next = &self.all[self.first[state]..self.first[state + 1]];
            next.iter().for_each(|state| take(*state as usize, &mut open));
        }
        reached
    }
}
