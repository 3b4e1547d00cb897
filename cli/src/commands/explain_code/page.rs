//! docs/diagnostics.md: every code, what it means, and an example. A test makes the examples, and reads the
//! page as `litmus explain-code` does.

use std::ops::Range;

/// What the page says of a code.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    /// What the code is of: the heading above it.
    pub of: &'a str,
    /// The code.
    pub code: &'a str,
    /// What it means: the paragraph below the heading, in one line.
    pub meaning: String,
    /// The files of the example, each with its name.
    pub files: Vec<(&'a str, &'a str)>,
    /// Where the commands of the example are, and what they print.
    pub session: Option<Range<usize>>,
}

/// The entries of the page, in order.
pub fn entries(page: &str) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut of = "";
    // The words after the backticks that opened a block, and where its first line begins.
    let mut block: Option<(&str, usize)> = None;
    let mut at = 0;
    let mut is_meaning = false;
    for line in page.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        match (block, line.strip_prefix("```")) {
            (None, Some(words)) => block = Some((words, at)),
            (Some((words, from)), Some(_)) => {
                block = None;
                if let Some(entry) = entries.last_mut() {
                    add_block(entry, words, page, from..start);
                }
            }
            (Some(_), None) => {}
            (None, None) => {
                if let Some(part) = line.strip_prefix("## ") {
                    of = part;
                } else if let Some(code) = line.strip_prefix("### `") {
                    let code = code.trim_end_matches('`');
                    entries.push(Entry { of, code, ..Entry::default() });
                    is_meaning = true;
                } else if let Some(entry) = entries.last_mut().filter(|_| is_meaning) {
                    match (line.is_empty(), entry.meaning.is_empty()) {
                        (true, begins) => is_meaning = begins,
                        (false, true) => line.clone_into(&mut entry.meaning),
                        (false, false) => entry.meaning = format!("{} {line}", entry.meaning),
                    }
                }
            }
        }
    }
    entries
}

fn add_block<'a>(entry: &mut Entry<'a>, words: &'a str, page: &'a str, range: Range<usize>) {
    match words.split_once(' ') {
        Some((_, name)) => entry.files.push((name, &page[range])),
        None => entry.session = Some(range),
    }
}
