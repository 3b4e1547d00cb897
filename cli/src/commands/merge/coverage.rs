//! JSON of `coverage`: each rule is of one part.

use std::path::Path;

use campaign::merge::{Output, Refused, Whole};
use campaign::shard::ShardOf;
use serde_json::json;

use crate::commands::coverage::report::{Ended, Rule};
use crate::exit::Exit;
use crate::terminal::Terminal;

impl Output for Ended {
    type Item = Rule;

    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused> {
        super::object(path, bytes)
    }

    fn take(&mut self, shard: &ShardOf) -> Vec<(usize, Rule)> {
        shard.numbers().zip(self.printed.changes.drain(..)).collect()
    }
}

pub fn print(whole: Whole<Ended>, terminal: &mut Terminal) -> Exit {
    let mut exit = Exit::Fine;
    let parts = whole.parts.into_iter().map(|part| part.content);
    let merged = parts.inspect(|part| exit.raise(Exit::of_code(part.exit.into())));
    let Some(Ended { mut printed, .. }) = merged.reduce(|mut whole, part| {
        for (word, number) in &part.printed.counts {
            *whole.printed.counts.entry(word.clone()).or_default() += number;
        }
        let cells = whole.printed.cells_mut();
        // A cell is empty in all parts but the one whose it is.
        cells.zip(part.printed.cells()).for_each(|(cell, other)| {
            if cell.is_none() {
                cell.clone_from(other);
            }
        });
        whole
    }) else {
        return exit;
    };
    printed.changes = whole.items.into_iter().map(|(_, rule)| rule).collect();
    terminal.out(&format!("{}\n", json!(printed)));
    exit
}
