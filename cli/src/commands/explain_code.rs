//! `litmus explain-code`: what the codes of diagnostics mean, by the tables of the documents.

use clap::Args;
use lang::diagnostic::nearest;

use crate::exit::Exit;
use crate::terminal::Terminal;

/// Say what the code of a diagnostic means, such as `syntax` in `[syntax] Error: …`
#[derive(Args)]
pub struct Arguments {
    /// The code; without it, all codes of tests and models
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// The documents with the tables, and what their codes are of.
const DOCUMENTS: [(&str, &str); 2] = [
    ("tests", include_str!("../../../docs/language.md")),
    ("models", include_str!("../../../docs/model-language.md")),
];

/// Every code, what it is of, and its meaning.
fn codes() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    DOCUMENTS.iter().flat_map(|(of, text)| {
        let table = text.split_once("\n## Diagnostics\n").map_or("", |(_, table)| table);
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        rows.map(move |(code, meaning)| (code, *of, meaning.trim_end_matches(" |")))
    })
}

/// Prints what a code means; of one that tests and models have, both.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let wanted = arguments.code.as_deref().map(|code| code.trim_matches(['[', ']']));
    let found = codes().filter(|(code, ..)| wanted.is_none_or(|wanted| wanted == *code));
    let lines: Vec<String> = found
        .map(|(code, of, meaning)| terminal.look.fit(&format!("{code} ({of}): {meaning}")))
        .collect();
    match wanted.filter(|_| lines.is_empty()) {
        None => {
            terminal.show(&lines.concat());
            Exit::Fine
        }
        Some(wanted) => {
            let hint = match nearest(wanted, codes().map(|(code, ..)| code)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "`litmus explain-code` lists those of tests and models".to_owned(),
            };
            terminal.usage_error(&format!("no code `{wanted}` is explained; {hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::codes;

    #[test]
    fn the_documents_are_read() {
        let all: Vec<_> = codes().collect();
        for code in lang::cat::CODES {
            assert!(all.iter().any(|(known, of, _)| known == code && *of == "models"), "{code}");
        }
        assert!(all.iter().any(|(code, of, _)| *code == "wrong-home-node" && *of == "tests"));
        assert!(all.iter().all(|(.., meaning)| !meaning.is_empty() && !meaning.contains('|')));
    }
}
