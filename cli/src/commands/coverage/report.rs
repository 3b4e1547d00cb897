//! What a suite tests, as matrices in the shape of the model's tables, and as lists.

use std::collections::BTreeMap;

use campaign::sealed;
use campaign::shard::ShardOf;
use model::changes::{Change, Named};
use model::coverage::Suite;
use model::generate::pivot::Tried;
use model::generate::search::{Bounds, Vocabulary};
use model::generate::text::name;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::Status;
use crate::exit::Exit;
use crate::options::Format;
use crate::table::{count, pad};
use crate::terminal::{Terminal, Tint};

pub struct Report<'a> {
    pub suite: &'a Suite,
    pub found: &'a [Status],
    pub bounds: Bounds,
    /// Which part of the whole it is, and what it comes to.
    pub shard: Option<(ShardOf, Exit)>,
}

impl Status {
    /// As a matrix shows it.
    fn mark(&self) -> &'static str {
        match self {
            Self::Tested(_) => "■",
            Self::Implied(_) => "·",
            Self::Impossible => "/",
            Self::Searched(..) => "-",
            Self::Unknown(_) => "!",
            Self::Hole | Self::Missing(_) => "?",
            Self::Elsewhere => " ",
        }
    }

    /// As JSON has it.
    fn word(&self) -> &'static str {
        match self {
            Self::Tested(_) => "tested",
            Self::Implied(_) => "implied",
            Self::Impossible => "impossible",
            Self::Searched(..) => "not found",
            Self::Unknown(_) => "unknown",
            Self::Hole => "hole",
            Self::Missing(_) => "missing",
            Self::Elsewhere => "elsewhere",
        }
    }
}

impl Report<'_> {
    pub fn show(&self, format: Format, terminal: &mut Terminal) {
        match format {
            Format::Json => terminal.out(&format!("{}\n", self.json())),
            Format::Table => self.print(terminal),
        }
    }

    /// A matrix for the cells of each table alone, and for those that some tables have in common.
    fn matrices(&self) -> Vec<Matrix<'_>> {
        let mut found: Vec<Matrix<'_>> = Vec::new();
        for (change, status) in self.suite.changes.iter().zip(self.found) {
            let Some(cell) = change.cell() else { continue };
            let tables: Vec<&Named> = cell.tables.iter().map(|place| &place.table).collect();
            let index = found.iter().position(|matrix| matrix.tables == tables);
            let index = index.unwrap_or_else(|| {
                found.push(Matrix { tables, ..Matrix::default() });
                found.len() - 1
            });
            let (row, column) = (cell.tables[0].row, cell.tables[0].column);
            let matrix = &mut found[index];
            matrix.rows.insert(row, &cell.row);
            matrix.columns.insert(column, &cell.column);
            matrix.cells.insert((row, column), status);
        }
        // What most tables say together comes first: it is the papers' one table.
        found.sort_by_key(|matrix| std::cmp::Reverse(matrix.tables.len()));
        found
    }

    fn print(&self, terminal: &mut Terminal) {
        let look = terminal.look;
        let model = &self.suite.model.name;
        let mut text = format!("{model}: {} about it\n", count(self.suite.size(), "test"));
        for matrix in self.matrices() {
            text += &matrix.text();
        }
        text += "\n  ■ tested   · implied by the rest   / no statement has it   - no program found   ? hole";
        let is_unknown = |status: &Status| matches!(status, Status::Unknown(_));
        text += if self.found.iter().any(is_unknown) { "   ! unknown\n\n" } else { "\n\n" };
        for (change, status) in self.suite.changes.iter().zip(self.found) {
            if matches!(status, Status::Elsewhere) {
                continue;
            }
            let is_open =
                !matches!(status, Status::Tested(_) | Status::Implied(_) | Status::Impossible);
            if change.cell().is_some() && !is_open && look.verbose == 0 {
                continue;
            }
            let words = match status {
                Status::Tested(test) => format!("tested by {test}"),
                Status::Implied(reason) => format!("implied: {reason}"),
                Status::Impossible => "no statement of the model has it".to_owned(),
                Status::Hole | Status::Elsewhere => "hole".to_owned(),
                Status::Missing(found) => {
                    let completion = Vocabulary::of(&[&self.suite.model]).completion;
                    format!("hole; {} would test it", name(&found.0.shape, completion))
                }
                Status::Searched(tried, None) => {
                    let Tried { programs, undecided } = tried;
                    let bounds = self.bounds;
                    let words =
                        format!("hole; none of {programs} programs of up to {bounds} tests it");
                    match undecided {
                        0 => words,
                        undecided => format!("{words}, {undecided} undecided"),
                    }
                }
                Status::Searched(_, Some(why)) => format!("hole; the search was given up: {why}"),
                Status::Unknown(why) => format!("unknown: {why}"),
            };
            let mark = if is_open {
                look.paint(Tint::Bad, status.mark())
            } else {
                status.mark().to_owned()
            };
            text += &format!("  {mark} {}  {words}\n", pad(&change.described(), 24));
        }
        let counts = self.counts();
        let of = |word: &str| counts.get(word).copied().unwrap_or(0);
        let holes = of("hole") + of("missing") + of("not found");
        text += &format!(
            "\n{}: {} tested, {} implied by the rest, {}{}\n",
            count(self.found.len(), "change"),
            of("tested"),
            of("implied"),
            if of("impossible") > 0 {
                format!("{} of statements that the model lacks, ", of("impossible"))
            } else {
                String::new()
            },
            count(holes, "hole")
        );
        if of("unknown") > 0 {
            text = format!("{}, {} unknown\n", text.trim_end(), of("unknown"));
        }
        if of("hole") > 0 {
            text += "  --missing looks for tests that fill them\n";
        }
        terminal.out(&text);
    }

    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        let own = self.found.iter().filter(|status| !matches!(status, Status::Elsewhere));
        own.for_each(|status| *counts.entry(status.word()).or_default() += 1);
        counts
    }

    fn json(&self) -> Json {
        let own = self.suite.changes.iter().zip(self.found);
        let own = own.filter(|(_, status)| !matches!(status, Status::Elsewhere));
        let counts = self.counts().into_iter().map(|(word, number)| (word.to_owned(), number));
        let printed = Printed {
            schema: "litmus-coverage/1".to_owned(),
            model: self.suite.model.name.clone(),
            tests: self.suite.size(),
            counts: counts.collect(),
            tables: self.matrices().iter().map(Matrix::table).collect(),
            changes: own.map(|(change, status)| Rule::new(change, status)).collect(),
            bounds: self.bounds.to_string(),
        };
        let Some((shard, exit)) = &self.shard else { return json!(printed) };
        let mut json = json!(Ended { printed, exit: exit.code() });
        json["shard"] = json!(shard);
        sealed::seal(&mut json);
        json
    }
}

/// A report, as JSON has it.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Printed {
    schema: String,
    model: String,
    tests: usize,
    pub counts: BTreeMap<String, usize>,
    tables: Vec<Table>,
    pub changes: Vec<Rule>,
    bounds: String,
}

/// A report of a part, and what it came to.
#[derive(PartialEq, Serialize, Deserialize)]
pub struct Ended {
    #[serde(flatten)]
    pub printed: Printed,
    pub exit: u8,
}

/// A matrix; a cell that is of another part is empty.
#[derive(PartialEq, Serialize, Deserialize)]
struct Table {
    tables: Vec<String>,
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Row {
    row: String,
    cells: Vec<Option<String>>,
}

/// What is known of a rule.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    change: String,
    allows_more: bool,
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tried: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undecided: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cell: Option<Cell>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Cell {
    tables: Vec<String>,
    row: String,
    column: String,
}

impl Printed {
    /// All cells of all tables.
    pub fn cells(&self) -> impl Iterator<Item = &Option<String>> {
        self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells)
    }

    /// The same, to be filled.
    pub fn cells_mut(&mut self) -> impl Iterator<Item = &mut Option<String>> {
        self.tables.iter_mut().flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells)
    }
}

impl Rule {
    fn new(change: &Change, status: &Status) -> Self {
        let (test, reason, tried) = match status {
            Status::Tested(test) => (Some(test.clone()), None, None),
            Status::Implied(why) | Status::Unknown(why) => (None, Some(why.clone()), None),
            Status::Searched(tried, why) => (None, why.clone(), Some(tried)),
            Status::Impossible | Status::Hole | Status::Missing(_) | Status::Elsewhere => {
                (None, None, None)
            }
        };
        let cell = change.cell().map(|cell| Cell {
            tables: cell.names().into_iter().map(str::to_owned).collect(),
            row: cell.row.clone(),
            column: cell.column.clone(),
        });
        Self {
            change: change.name.clone(),
            allows_more: change.allows_more,
            status: status.word().to_owned(),
            part: change.part(),
            test,
            tried: tried.map(|tried| tried.programs),
            undecided: tried.map(|tried| tried.undecided),
            reason,
            cell,
        }
    }
}

/// What is known of the cells that some tables have in common, or one has, by row and column of the first of
/// them.
#[derive(Default)]
struct Matrix<'a> {
    tables: Vec<&'a Named>,
    rows: BTreeMap<usize, &'a String>,
    columns: BTreeMap<usize, &'a String>,
    cells: BTreeMap<(usize, usize), &'a Status>,
}

impl Matrix<'_> {
    fn names(&self) -> Vec<&str> {
        self.tables.iter().map(|table| table.name.as_str()).collect()
    }

    fn text(&self) -> String {
        let width = self.rows.values().map(|name| name.chars().count()).max().unwrap_or(0);
        let mut text = format!("\n{}\n  {}", self.names().join(" and "), " ".repeat(width));
        self.columns.values().for_each(|head| text += &format!(" {head}"));
        text.push('\n');
        for (row, name) in &self.rows {
            text += &format!("  {}", pad(name, width));
            for (column, head) in &self.columns {
                let mark = self.cells.get(&(*row, *column)).map_or(" ", |status| status.mark());
                text += &format!(" {}", pad(mark, head.chars().count()));
            }
            text = format!("{}\n", text.trim_end());
        }
        text
    }

    fn table(&self) -> Table {
        let word = |place: (usize, usize)| {
            let status = self.cells.get(&place)?;
            (!matches!(status, Status::Elsewhere)).then(|| status.word().to_owned())
        };
        let row = |(row, name): (&usize, &&String)| Row {
            row: (*name).clone(),
            cells: self.columns.keys().map(|column| word((*row, *column))).collect(),
        };
        Table {
            tables: self.names().into_iter().map(str::to_owned).collect(),
            columns: self.columns.values().map(|name| (*name).clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
}
