//! Comments of statements that change places.

use std::collections::BTreeMap;

use lang::litmus::ast::{Block, File};
use lang::litmus::item_lines;

use super::statements;

/// From which line to which a statement moves.
pub type Moves = Vec<(usize, usize)>;

/// Moves the comments beside and above statements with them. In a row of several statements, a comment is one
/// of the row and stays there.
pub fn follow(file: &mut File, before: &File, moves: &Moves) {
    let mut rows = BTreeMap::new();
    before.threads.iter().for_each(|thread| count(&thread.body, &mut rows));
    let to: BTreeMap<usize, usize> =
        moves.iter().copied().filter(|(from, _)| rows.get(from) == Some(&1)).collect();
    if to.is_empty() {
        return;
    }
    let items = item_lines(before);
    for comment in &mut file.comments {
        // What stands on a line of its own is about what comes next.
        let next = items.partition_point(|item| *item < comment.place.line);
        if let Some(line) = items.get(next).and_then(|item| to.get(item)) {
            comment.place.line = *line;
        }
    }
    file.comments.sort_by_key(|comment| (comment.place.line, !comment.own_line));
}

/// How many statements stand on each line.
fn count(block: &Block, rows: &mut BTreeMap<usize, usize>) {
    for one in statements(block) {
        *rows.entry(one.place.line).or_default() += 1;
    }
}
