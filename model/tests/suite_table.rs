//! The table of tests in `litmus-suite/README.md` is what the files say. `UPDATE_EXPECT=1` writes it.

use std::fmt::Write;
use std::path::Path;

use lang::Test;
use lang::source::Source;

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->";

#[test]
fn table_lists_the_suite() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let path = suite.join("README.md");
    let readme = std::fs::read_to_string(&path).expect("the suite has a README.md");
    let (before, rest) = readme.split_once(BEGIN).expect("README.md has `<!-- table -->`");
    let (_, after) = rest.split_once(END).expect("README.md has `<!-- end of table -->`");
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", table(&suite));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("README.md can be written");
    } else {
        let differs = readme.lines().zip(wanted.lines()).find(|(is, should)| is != should);
        assert!(
            readme == wanted,
            "litmus-suite/README.md: the table is stale; run `UPDATE_EXPECT=1 cargo test -p model suite_table`\n{differs:#?}"
        );
    }
}

/// One table, in the order of folders and names.
fn table(suite: &Path) -> String {
    let files = crate::files::below(suite);
    let mut table = "| test | shows | models | verdicts |\n|---|---|---|---|\n".to_owned();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the suite is readable");
        let link = file.strip_prefix(suite).expect("it is in the suite").display().to_string();
        let source = Source::new(link, text);
        let (test, diagnostics) =
            lang::litmus::load_with(&source, model::library::shipped().words());
        let test = test.unwrap_or_else(|| panic!("{}: {diagnostics:?}", source.name));
        let (name, link) = (cell(&test.name), source.name.replace('\\', "/"));
        let (title, models) =
            (cell(test.title.as_deref().unwrap_or_default()), test.models.join(", "));
        let verdicts = verdicts(&test, &source);
        writeln!(table, "| [{name}]({link}) | {title} | {models} | {verdicts} |")
            .expect("strings grow");
    }
    table
}

/// The verdicts as they stand in the file, those that hold for one model with its name.
fn verdicts(test: &Test, source: &Source) -> String {
    let written = test.expectations.iter().map(|expectation| {
        let text = source.text.get(expectation.span.range()).expect("a span is within its text");
        let text = cell(text);
        match &expectation.model {
            Some(model) => format!("{model}: {text}"),
            None => text,
        }
    });
    written.collect::<Vec<_>>().join("; ")
}

/// A text on one line, with what Markdown gives a meaning made plain.
fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace('|', "\\|").replace('*', "\\*").replace('_', "\\_").replace('<', "&lt;")
}
