//! Changes of the cells of a model's tables. A model may have any number of tables, of any shape.
//!
//! Two tables share a cell if its row has the same name and set in both, and so does its column. The position
//! in the tables does not matter.

use std::collections::BTreeSet;

use lang::cat::model::{Cell, DefinitionKind, Expr, Model, Table};

use super::{Change, Named, Subject};

/// A cell of one table, or of several tables that share it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellOf {
    /// The places of the cell, in the order of the model.
    pub tables: Vec<InTable>,
    /// The name of the row.
    pub row: String,
    /// The name of the column.
    pub column: String,
}

/// The place of a cell in a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InTable {
    /// The table, by its index in [`Model::definitions`].
    pub table: Named,
    /// The index of the row, from 0.
    pub row: usize,
    /// The index of the column, from 0.
    pub column: usize,
}

impl CellOf {
    /// The names of the tables that have the cell.
    pub fn names(&self) -> Vec<&str> {
        self.tables.iter().map(|place| place.table.name.as_str()).collect()
    }
}

impl InTable {
    /// Sets the cell in a model. Returns whether the model has it.
    pub(super) fn set(&self, model: &mut Model, cell: Cell) -> bool {
        let definition = model.definition_mut(self.table.index);
        let Some(DefinitionKind::Table(table)) = definition.map(|found| &mut found.kind) else {
            return false;
        };
        let cells = table.rows.get_mut(self.row).map(|(.., cells)| cells);
        let place = cells.and_then(|cells| cells.get_mut(self.column));
        place.map(|place| *place = cell).is_some()
    }
}

/// A table of a model, with the index of its definition.
type Known<'m> = (usize, &'m Table);

/// A cell found in a table, with its place.
struct Found<'m> {
    table: &'m Table,
    place: InTable,
}

/// The changes that flip one cell in one table. If tables that share a cell agree on it, it is also flipped
/// in all of them together.
pub(super) fn changes(model: &Model) -> Vec<Change> {
    let table = |index: usize| match &model.definitions[index].kind {
        DefinitionKind::Table(table) => Some((index, table)),
        _ => None,
    };
    let tables: Vec<Known<'_>> = (0..model.definitions.len()).filter_map(table).collect();
    let mut changes = Vec::new();
    let mut done: BTreeSet<InTable> = BTreeSet::new();
    for known in &tables {
        for row in 0..known.1.rows.len() {
            for column in 0..known.1.columns.len() {
                let common = in_common(&tables, known, (row, column));
                if done.contains(&common[0].place) {
                    continue;
                }
                done.extend(common.iter().map(|found| found.place.clone()));
                of_cell(model, &common, &mut changes);
            }
        }
    }
    changes
}

/// The places of a cell in all tables that share it, in the order of the model. Its own table is among them.
fn in_common<'m>(
    tables: &[Known<'m>],
    (_, own): &Known<'m>,
    (row, column): (usize, usize),
) -> Vec<Found<'m>> {
    let (row, column) = (&own.rows[row], &own.columns[column]);
    let find = |(index, table): &Known<'m>| {
        let is_row = |other: &(String, Expr, _)| (&other.0, &other.1) == (&row.0, &row.1);
        let place = InTable {
            table: Named { index: *index, name: table.name.clone() },
            row: table.rows.iter().position(is_row)?,
            column: table.columns.iter().position(|other| other == column)?,
        };
        Some(Found { table, place })
    };
    tables.iter().filter_map(find).collect()
}

/// The changes of one cell: in each table alone, and in all tables that agree on it.
fn of_cell(model: &Model, common: &[Found<'_>], changes: &mut Vec<Change>) {
    changes.extend(common.iter().map(|one| flip(model, &one.place.table.name, &[one])));
    let mut rest: Vec<&Found<'_>> = common.iter().collect();
    while let Some(first) = rest.first().copied() {
        let (agree, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|one| one.says() == first.says());
        if agree.len() == common.len() && agree.len() > 1 {
            changes.push(flip(model, "", &agree));
        } else if agree.len() > 1 {
            let names: Vec<&str> = agree.iter().map(|one| one.place.table.name.as_str()).collect();
            changes.push(flip(model, &names.join("+"), &agree));
        }
        rest = others;
    }
}

impl Found<'_> {
    fn cell(&self) -> Cell {
        self.table.rows[self.place.row].2[self.place.column]
    }

    /// The content of the cell in a form that two tables share: whether it is ordered, and by which letter.
    fn says(&self) -> (bool, Option<&(String, Expr)>) {
        match self.cell() {
            Cell::Where(letter) => (true, Some(&self.table.letters[letter])),
            cell => (cell == Cell::Ordered, None),
        }
    }

    /// The pairs of events that the cell decides about, whatever it says.
    fn about(&self) -> Expr {
        let row = self.table.rows[self.place.row].1.clone();
        let column = self.table.columns[self.place.column].1.clone();
        let kinds = Expr::Product(Box::new(row), Box::new(column));
        Expr::Intersection(Box::new(self.table.on.clone()), Box::new(kinds))
    }

    /// What to write into the cell to order it. If both its row and its column use a letter, the letter is
    /// used too, because for example the relation "same queue pair" has no CPU events.
    fn ordered(&self) -> Cell {
        let Self { table, place } = self;
        let is_letter = |cell: &Cell| matches!(cell, Cell::Where(_));
        let in_row = table.rows[place.row].2.iter().copied().find(is_letter);
        let in_column = table.rows.iter().any(|(_, _, cells)| is_letter(&cells[place.column]));
        in_row.filter(|_| in_column).unwrap_or(Cell::Ordered)
    }
}

/// Flips a cell in some tables that agree on it.
fn flip(model: &Model, title: &str, of: &[&Found<'_>]) -> Change {
    let first = of[0];
    let allows_more = first.cell() != Cell::Unordered;
    let mut mutant = model.clone();
    for one in of {
        let cell = if allows_more { Cell::Unordered } else { one.ordered() };
        one.place.set(&mut mutant, cell);
    }
    let mut about = first.about();
    for one in of.iter().filter(|one| one.table.on != first.table.on) {
        about = Expr::Union(Box::new(about), Box::new(one.about()));
    }
    let row = first.table.rows[first.place.row].0.clone();
    let column = first.table.columns[first.place.column].0.clone();
    let sign = if allows_more { "drop" } else { "order" };
    let name = format!("{sign} {title}[{row}, {column}]");
    let tables = of.iter().map(|one| one.place.clone()).collect();
    let subject = Subject::Cell(CellOf { tables, row, column });
    Change { subject, name, lost: about.clone(), site: None, model: mutant, allows_more, about }
}
