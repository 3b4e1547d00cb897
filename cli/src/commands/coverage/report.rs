//! What a suite tests, as matrices in the shape of the model's tables, and as lists.

use std::collections::BTreeMap;

use executor::record::ShardOf;
use lang::cat::model::{DefinitionKind, Table};
use model::changes::{CellOf, Change, Named};
use model::coverage::Suite;
use model::generate::search::{Bounds, Vocabulary};
use model::generate::text::name;
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
            Self::Searched(_) => "-",
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
            Self::Searched(_) => "not found",
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

    /// The tables of each matrix, each once, in the order of the changes.
    fn matrices(&self) -> Vec<&[Named]> {
        let mut found: Vec<&[Named]> = Vec::new();
        for cell in self.suite.changes.iter().filter_map(Change::cell) {
            if !found.contains(&cell.tables.as_slice()) {
                found.push(&cell.tables);
            }
        }
        // What all tables say together comes first: it is the papers' one table.
        found.sort_by_key(|tables| std::cmp::Reverse(tables.len()));
        found
    }

    fn table(&self, table: &Named) -> Option<&Table> {
        match &self.suite.model.definitions.get(table.index)?.kind {
            DefinitionKind::Table(table) => Some(table),
            _ => None,
        }
    }

    fn cell(&self, of: &[Named], row: usize, column: usize) -> Option<&Status> {
        let is_it = |cell: &CellOf| {
            cell.tables == of && cell.row.index == row && cell.column.index == column
        };
        let index = self.suite.changes.iter().position(|change| change.cell().is_some_and(is_it));
        self.found.get(index?)
    }

    fn print(&self, terminal: &mut Terminal) {
        let look = terminal.look;
        let model = &self.suite.model.name;
        let mut text = format!("{model}: {} speak of it\n", count(self.suite.size(), "test"));
        for tables in self.matrices() {
            text += &self.matrix(tables);
        }
        text += "\n  ■ tested   · implied by the rest   / no statement has it   - no program found   ? hole\n\n";
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
                Status::Searched(tried) => {
                    format!("hole; none of {tried} programs of up to {} tests it", self.bounds)
                }
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

    fn matrix(&self, tables: &[Named]) -> String {
        let Some(table) = tables.first().and_then(|table| self.table(table)) else {
            return String::new();
        };
        let width = table.rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0);
        let heads: Vec<&str> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        let names = names(tables).join(" and ");
        let mut text = format!("\n{names}\n  {}", " ".repeat(width));
        heads.iter().for_each(|head| text += &format!(" {head}"));
        text.push('\n');
        for (row, (name, ..)) in table.rows.iter().enumerate() {
            text += &format!("  {}", pad(name, width));
            for (column, head) in heads.iter().enumerate() {
                let mark = self.cell(tables, row, column).map_or(" ", Status::mark);
                text += &format!(" {}", pad(mark, head.chars().count()));
            }
            text = format!("{}\n", text.trim_end());
        }
        text
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
                Status::Searched(tried) => json["tried"] = json!(tried),
                Status::Impossible | Status::Hole | Status::Missing(_) | Status::Elsewhere => {}
            }
            if let Some(CellOf { tables, row, column }) = change.cell() {
                json["cell"] =
                    json!({ "tables": names(tables), "row": row.name, "column": column.name });
            }
            json
        };
        let tables: Vec<Json> = self
            .matrices()
            .into_iter()
            .filter_map(|tables| {
                let table = self.table(tables.first()?)?;
                let heads: Vec<&String> = table.columns.iter().map(|(name, _)| name).collect();
                let row = |row: usize| -> Vec<Option<&str>> {
                    let word = |column| {
                        let status = self.cell(tables, row, column)?;
                        (!matches!(status, Status::Elsewhere)).then(|| status.word())
                    };
                    (0..heads.len()).map(word).collect()
                };
                let rows: Vec<Json> = (table.rows.iter().enumerate())
                    .map(|(index, (name, ..))| json!({ "row": name, "cells": row(index) }))
                    .collect();
                Some(json!({ "tables": names(tables), "columns": heads, "rows": rows }))
            })
            .collect();
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
        }
        json
    }
}

fn names(tables: &[Named]) -> Vec<&str> {
    tables.iter().map(|table| table.name.as_str()).collect()
}
