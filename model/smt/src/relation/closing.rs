//! The transitive closure of large relations.

use lang::limits;

use super::Relation;

/// A search through a relation that closes its strongly connected components one after another, each after
/// those that it reaches (E. Nuutila, An efficient transitive closure algorithm for cyclic digraphs, 1994;
/// the components as H. N. Gabow finds them). What follows from other pairs is not followed: what a
/// component's first neighbors reach, most of its other neighbors reach too.
pub struct Closing<'a> {
    relation: &'a Relation,
    closed: Relation,
    /// The elements that the search did not come to.
    unseen: Vec<u64>,
    /// Those that it came to, and whose components are open.
    open: Vec<u64>,
    /// The same, in the order in which it came to them.
    path: Vec<usize>,
    /// Where each open element stands there.
    places: Vec<usize>,
    /// Where the components begin there, as far as is known.
    starts: Vec<usize>,
    /// What a component relates to, and what of that it is known to reach.
    row: Vec<u64>,
    reached: Vec<u64>,
}

impl<'a> Closing<'a> {
    /// A search that begins.
    pub fn new(relation: &'a Relation) -> Self {
        Self {
            relation,
            closed: Relation::empty(relation.size),
            unseen: relation.row_of(|_| true),
            open: vec![0; relation.words],
            path: Vec::new(),
            places: vec![0; relation.size],
            starts: Vec::new(),
            row: vec![0; relation.words],
            reached: vec![0; relation.words],
        }
    }

    /// The closure.
    pub fn closed(mut self) -> Relation {
        let mut visits = Vec::new();
        while let Some(root) = first(self.unseen.iter().copied()) {
            visits.push(root);
            self.enter(root);
            while let Some(element) = visits.last().copied() {
                limits::look();
                let row = self.relation.row(element).iter().zip(&self.unseen);
                if let Some(next) = first(row.map(|(to, unseen)| to & unseen)) {
                    visits.push(next);
                    self.enter(next);
                } else {
                    visits.pop();
                    self.leave(element);
                }
            }
        }
        self.closed
    }

    fn enter(&mut self, element: usize) {
        self.unseen[element / 64] &= !(1 << (element % 64));
        self.open[element / 64] |= 1 << (element % 64);
        self.places[element] = self.path.len();
        self.starts.push(self.path.len());
        self.path.push(element);
    }

    /// After all that an element relates to: what it relates to and is open is in its component.
    fn leave(&mut self, element: usize) {
        let row = self.relation.row(element).iter().zip(&self.open).enumerate();
        let mut earliest = self.places[element];
        for (word, (to, open)) in row {
            let mut back = to & open;
            while back != 0 {
                let to = word * 64 + back.trailing_zeros() as usize;
                earliest = earliest.min(self.places[to]);
                back &= back - 1;
            }
        }
        while self.starts.last().is_some_and(|start| *start > earliest) {
            self.starts.pop();
        }
        if self.starts.last() == Some(&self.places[element]) {
            self.starts.pop();
            self.close(self.places[element]);
        }
    }

    /// Closes the component that begins here in the path: it reaches itself, if it has a cycle, and what its
    /// neighbors reach.
    fn close(&mut self, start: usize) {
        let (row, reached) = (&mut self.row, &mut self.reached);
        row.fill(0);
        reached.fill(0);
        let component = &self.path[start..];
        for element in component {
            self.open[element / 64] &= !(1 << (element % 64));
            row.iter_mut().zip(self.relation.row(*element)).for_each(|(word, to)| *word |= to);
        }
        if let [_, _, ..] = component {
            component.iter().for_each(|element| reached[element / 64] |= 1 << (element % 64));
        }
        while let Some(next) = first(row.iter().zip(&*reached).map(|(to, reached)| to & !reached)) {
            reached[next / 64] |= 1 << (next % 64);
            reached.iter_mut().zip(self.closed.row(next)).for_each(|(word, to)| *word |= to);
        }
        component.iter().for_each(|element| self.closed.row_mut(*element).copy_from_slice(reached));
        self.path.truncate(start);
    }
}

/// The first element of a row.
fn first(row: impl Iterator<Item = u64>) -> Option<usize> {
    let (word, bits) = row.enumerate().find(|(_, word)| *word != 0)?;
    Some(word * 64 + bits.trailing_zeros() as usize)
}
