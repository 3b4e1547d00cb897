//! `litmus explain-code`: what the codes of diagnostics mean, each with an example.

pub mod page;

use clap::Args;
use lang::diagnostic::nearest;

use crate::exit::Exit;
use crate::terminal::Terminal;
use page::Entry;

/// Say what the code of a diagnostic means, such as `syntax` in `[syntax] Error: …`, with an example
#[derive(Args)]
pub struct Arguments {
    /// The code; without it, all codes in a line each
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// docs/diagnostics.md
const PAGE: &str = include_str!("../../../docs/diagnostics.md");

/// Prints what a code means; of one that is of several things, all of them.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let entries = page::entries(PAGE);
    let Some(wanted) = &arguments.code else {
        for entry in &entries {
            terminal.show(&terminal.look.fit(&summary(entry)));
        }
        return Exit::Fine;
    };
    let wanted = wanted.trim_matches(['[', ']']);
    let found: Vec<_> = entries.iter().filter(|entry| entry.code == wanted).collect();
    if found.is_empty() {
        let hint = match nearest(wanted, entries.iter().map(|entry| entry.code)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`litmus explain-code` lists all".to_owned(),
        };
        return terminal.usage_error(&format!("there is no code `{wanted}`; {hint}"));
    }
    for (index, entry) in found.into_iter().enumerate() {
        let space = if index > 0 { "\n" } else { "" };
        let summary = terminal.look.fit(&summary(entry));
        terminal.show(&format!("{space}{summary}{}", example(entry)));
    }
    Exit::Fine
}

/// A code with what it means, in a line.
fn summary(entry: &Entry<'_>) -> String {
    format!("{} ({}): {}", entry.code, entry.of.to_lowercase(), entry.meaning)
}

/// The files of the example, and the commands with what they print.
fn example(entry: &Entry<'_>) -> String {
    let mut text = String::new();
    for (name, content) in &entry.files {
        text.push_str(&format!("\n{name}:\n"));
        for line in content.lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    if let Some(session) = &entry.session {
        text.push_str(&format!("\n{}", &PAGE[session.clone()]));
    }
    text
}
