//! How many tests of each group came out how, as a table: a group is the folder that a test is in.

use std::collections::BTreeMap;

use crate::table;
use crate::terminal::Look;

/// From how many tests on there is a table.
const MANY: usize = 5;

/// Counts by group; each test counts once, by the worst that is known of it.
#[derive(Default)]
pub struct Groups {
    /// By group, file and what else tells tests apart: the number of its column.
    tests: BTreeMap<(String, String, String), usize>,
}

impl Groups {
    /// One more result of a test, or of a test on a machine: the later the column, the worse. Whether the
    /// test is new.
    pub fn add(&mut self, file: &str, machine: &str, column: usize) -> bool {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let group = folder.rsplit('/').next().unwrap_or_default().to_owned();
        let key = (group, file.to_owned(), machine.to_owned());
        let before = self.tests.insert(key.clone(), column);
        if let Some(before) = before.filter(|before| *before > column) {
            self.tests.insert(key, before);
        }
        before.is_none()
    }

    /// How many tests there are.
    pub fn len(&self) -> usize {
        self.tests.len()
    }

    /// How many tests are in a column.
    fn count(&self, column: usize) -> usize {
        self.tests.values().filter(|own| **own == column).count()
    }

    /// The table, if there are enough tests for one; in words where it is too wide. Of more than four
    /// columns, the empty ones in the middle are left out.
    pub fn draw(&self, look: Look, columns: &[&str]) -> String {
        if self.tests.len() < MANY {
            return String::new();
        }
        let few = columns.len() <= 4;
        let ends = |column: usize| column == 0 || column + 2 >= columns.len();
        let shown = (0..columns.len()).filter(|at| few || ends(*at) || self.count(*at) > 0);
        let shown: Vec<usize> = shown.collect();
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for ((group, _, _), column) in &self.tests {
            let name = if group.is_empty() { "." } else { group };
            let counts = groups.entry(name).or_insert_with(|| vec![0; shown.len()]);
            if let Some(at) = shown.iter().position(|at| at == column) {
                counts[at] += 1;
            }
        }
        let columns: &[&str] = &shown.iter().map(|at| columns[*at]).collect::<Vec<_>>();
        let names = groups.keys().map(|name| name.chars().count()).max().unwrap_or(0);
        // Columns are as wide as their heads, with three characters between two, and six at the sides.
        let width = names.max(5) + columns.iter().map(|head| head.len() + 3).sum::<usize>() + 6;
        if look.width.is_some_and(|most| width > most) {
            let line = |(name, counts): (&&str, &Vec<usize>)| {
                let counts = counts.iter().zip(columns).filter(|(number, _)| **number > 0);
                let counts: Vec<String> =
                    counts.map(|(number, what)| format!("{number} {what}")).collect();
                look.fit(&format!("  {name}: {}", counts.join(", ")))
            };
            return groups.iter().map(line).collect();
        }
        let cell = |number: &usize| if *number == 0 { "·".to_owned() } else { number.to_string() };
        let row = |(name, counts): (&&str, &Vec<usize>)| {
            [(*name).to_owned()].into_iter().chain(counts.iter().map(cell)).collect()
        };
        let rows: Vec<Vec<String>> = groups.iter().map(row).collect();
        table::draw(look, &[&["group"], columns].concat(), rows, true)
    }
}
