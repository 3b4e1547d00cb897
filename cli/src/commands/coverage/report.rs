//! What a suite tests, as matrices in the shape of the model's tables, and as lists.

use std::collections::BTreeMap;

use executor::record::ShardOf;
use model::changes::{Change, Named};
use model::coverage::Suite;
use model::generate::pivot::Tried;
use model::generate::search::{Bounds, Vocabulary};
use model::generate::text::name;
use serde_json::{Value as Json, json};

use super::Status;
use crate::exit::Exit;
use crate::options::Format;
use crate::sealed;
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
        let mut text = format!("{model}: {} speak of it\n", count(self.suite.size(), "test"));
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
        let change = |(change, status): (&Change, &Status)| {
            let mut json = json!({
                "change": change.name,
                "allows_more": change.allows_more,
                "status": status.word(),
            });
            if let Some(part) = change.part() {
                json["part"] = json!(part);
            }
            match status {
                Status::Tested(test) => json["test"] = json!(test),
                Status::Implied(reason) => json["reason"] = json!(reason),
                Status::Searched(tried, why) => {
                    json["tried"] = json!(tried.programs);
                    json["undecided"] = json!(tried.undecided);
                    if let Some(why) = why {
                        json["reason"] = json!(why);
                    }
                }
                Status::Unknown(why) => json["reason"] = json!(why),
                Status::Impossible | Status::Hole | Status::Missing(_) | Status::Elsewhere => {}
            }
            if let Some(cell) = change.cell() {
                let (row, column) = (&cell.row, &cell.column);
                json["cell"] = json!({ "tables": cell.names(), "row": row, "column": column });
            }
            json
        };
        let tables: Vec<Json> = self.matrices().iter().map(Matrix::json).collect();
        let own = self.suite.changes.iter().zip(self.found);
        let own = own.filter(|(_, status)| !matches!(status, Status::Elsewhere));
        let mut json = json!({
            "schema": "litmus-coverage/1",
            "model": self.suite.model.name,
            "tests": self.suite.size(),
            "counts": self.counts(),
            "tables": tables,
            "changes": own.map(change).collect::<Vec<_>>(),
            "bounds": format!("{}", self.bounds),
        });
        if let Some((shard, exit)) = &self.shard {
            json["exit"] = json!(exit.code());
            json["shard"] = json!(shard);
            sealed::seal(&mut json);
        }
        json
    }
}

/// What is known of the cells that some tables have in common, or one has, by row and column of the first of them.
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

    fn json(&self) -> Json {
        let word = |place: (usize, usize)| {
            let status = self.cells.get(&place)?;
            (!matches!(status, Status::Elsewhere)).then(|| status.word())
        };
        let row = |(row, name): (&usize, &&String)| {
            let cells = self.columns.keys().map(|column| word((*row, *column)));
            json!({ "row": name, "cells": cells.collect::<Vec<_>>() })
        };
        let columns: Vec<&&String> = self.columns.values().collect();
        let rows: Vec<Json> = self.rows.iter().map(row).collect();
        json!({ "tables": self.names(), "columns": columns, "rows": rows })
    }
}
