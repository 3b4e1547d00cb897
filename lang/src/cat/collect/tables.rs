//! Tables: their shape, and changes of their cells.

use std::collections::HashMap;

use super::super::MOST_PARTS;
use super::super::syntax::{Cell, CellKind, Name, Row, SetCell, Table};
use super::{Body, Collector, with_nearest};
use crate::diagnostic::{Code, Diagnostic, nearest};
use crate::source::Span;

impl Collector<'_> {
    pub(super) fn table(&mut self, table: Table) {
        let is_broken = !self.table_is_sound(&table);
        self.define(Body::Table(table));
        if let Some(entry) = self.parts.entries.last_mut() {
            entry.is_broken |= is_broken;
        }
    }

    fn table_is_sound(&mut self, table: &Table) -> bool {
        let letters = letters_of(table);
        let columns: Vec<&Name> = table.columns.iter().collect();
        let rows: Vec<&Name> = table.rows.iter().map(|row| &row.head).collect();
        if letters.len().max(columns.len()).max(rows.len()) > MOST_PARTS {
            let message = format!("a table has at most {MOST_PARTS} rows, columns and letters");
            self.error(Diagnostic::error(Code::TooLarge, table.name.span, message));
            return false;
        }
        let letter_names: Vec<&Name> = table.letters.iter().map(|letter| &letter.name).collect();
        let mut sound = self.are_different(Code::DuplicateLetter, "letter", &letter_names);
        sound &= self.are_different(Code::DuplicateHead, "column", &columns);
        sound &= self.are_different(Code::DuplicateHead, "row", &rows);
        if rows.is_empty() {
            let message = format!("expected a row in the table `{}`, found none", table.name.text);
            self.error(Diagnostic::error(Code::TableShape, table.name.span, message));
            sound = false;
        }
        for row in &table.rows {
            sound &= self.row_is_whole(row, &columns);
            for cell in &row.cells {
                sound &= self.letter_is_known(cell, &table.name, &letters);
            }
        }
        sound
    }

    fn row_is_whole(&mut self, row: &Row, columns: &[&Name]) -> bool {
        let (expected, found) = (columns.len(), row.cells.len());
        if expected == found {
            return true;
        }
        let message =
            format!("expected {expected} cells in row `{}`, found {found}", row.head.text);
        let error = match (row.cells.get(expected), columns.get(found)) {
            (Some(extra), _) => Diagnostic::error(Code::TableShape, extra.span, message)
                .label("the first cell too many"),
            (_, Some(column)) => Diagnostic::error(Code::TableShape, row.span, message)
                .label(format!("no cell in column `{}`", column.text)),
            _ => Diagnostic::error(Code::TableShape, row.span, message),
        };
        self.error(error);
        false
    }

    fn are_different(&mut self, code: Code, what: &str, names: &[&Name]) -> bool {
        let mut first: HashMap<&str, Span> = HashMap::new();
        let mut different = true;
        for name in names {
            if let Some(before) = first.get(name.text.as_str()) {
                let message = format!("`{}` is a {what} twice", name.text);
                self.repeated(code, name, &message, (self.file, *before), "");
                different = false;
            } else {
                first.insert(&name.text, name.span);
            }
        }
        different
    }

    fn letter_is_known(&mut self, cell: &Cell, table: &Name, letters: &[String]) -> bool {
        let CellKind::Letter(letter) = &cell.kind else { return true };
        if letters.contains(letter) {
            return true;
        }
        if self.sink.is_deaf() {
            return false;
        }
        let message = format!("`{letter}` is not a letter of the table `{}`", table.text);
        let error = Diagnostic::error(Code::UnknownLetter, cell.span, message);
        let near = nearest(letter, letters.iter().map(String::as_str));
        self.error(match (letter.as_str(), near) {
            ("x" | "X", _) => {
                error.help("a cell that orders is written `✓` or `+`, one that does not `·` or `-`")
            }
            (_, Some(known)) => error.did_you_mean(known),
            _ => error.help(format!("bind it at the table's head: `where {letter} = …`")),
        });
        false
    }

    pub(super) fn set(&mut self, set: SetCell) {
        let Some(&(index, _)) = self.parts.names.get(&set.table.text) else {
            self.unknown_table(&set.table);
            return;
        };
        let entry = &self.parts.entries[index];
        let Body::Table(table) = &entry.body else {
            self.unknown_table(&set.table);
            return;
        };
        if entry.is_broken {
            return;
        }
        let rows: Vec<String> = table.rows.iter().map(|row| row.head.text.clone()).collect();
        let columns: Vec<String> = table.columns.iter().map(|head| head.text.clone()).collect();
        let row = self.head(&set.table, "row", &set.row, &rows);
        let column = self.head(&set.table, "column", &set.column, &columns);
        let (Some(row), Some(column)) = (row, column) else { return };
        let Body::Table(table) = &mut self.parts.entries[index].body else { return };
        let letters = letters_of(table);
        let old = table.rows[row].cells[column].clone();
        table.rows[row].cells[column] = set.cell.clone();
        if self.letter_is_known(&set.cell, &set.table, &letters) && old == set.cell {
            let cell = format!("{}[{}, {}]", set.table.text, set.row.text, set.column.text);
            let message = format!("`{cell}` says this already");
            self.error(Diagnostic::warning(Code::SetWithoutEffect, set.cell.span, message));
        }
    }

    /// The index of a row or column.
    fn head(&mut self, table: &Name, what: &str, name: &Name, heads: &[String]) -> Option<usize> {
        let index = heads.iter().position(|head| *head == name.text);
        if index.is_none() {
            let message = format!("the table `{}` has no {what} `{}`", table.text, name.text);
            let error = Diagnostic::error(Code::UnknownCell, name.span, message);
            self.error(with_nearest(error, &name.text, heads.iter().map(String::as_str)));
        }
        index
    }

    fn unknown_table(&mut self, name: &Name) {
        let message = format!("no table before this line is called `{}`", name.text);
        let error = Diagnostic::error(Code::UnknownTable, name.span, message);
        let known = self.parts.entries.iter().filter_map(|entry| match &entry.body {
            Body::Table(table) if entry.replaced_by.is_none() => Some(table.name.text.as_str()),
            _ => None,
        });
        let error = with_nearest(error, &name.text, known);
        self.error(error);
    }
}

fn letters_of(table: &Table) -> Vec<String> {
    table.letters.iter().map(|letter| letter.name.text.clone()).collect()
}
