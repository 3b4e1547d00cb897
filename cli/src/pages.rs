//! Reports as pages: HTML, Markdown and JUnit by templates, all from the report's data.
//!
//! Everything that comes from records is escaped by the environment: for HTML and XML as such, for Markdown
//! by backslashes. Only pictures and styles, which are made here, are not. HTML is well-formed XML too.

mod cards;
mod text;

use evidence::reports::data::Report;
use evidence::reports::percent;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, context};
use serde::Serialize;

use text::{code, element, fence, markdown, numbered, thousands, words, xml};

/// How many cards of violating programs there are at most; the others are in the table of causes, and all in
/// the JSON.
const CARDS: usize = 200;
/// How many outcomes of a test's histogram are shown, in reports with few programs and with many.
const ROWS: (usize, usize) = (256, 24);
/// From how many programs on there are many.
const MANY: usize = 1000;

const GLOSSARY: &str = include_str!("../../docs/glossary.md");

/// Pages from a report.
pub struct Pages<'r> {
    environment: Environment<'static>,
    report: &'r Report,
    /// The report as templates see it.
    shown: Value,
}

impl<'r> Pages<'r> {
    /// Prepares the templates.
    ///
    /// # Errors
    /// A template is wrong: a bug, which a test excludes.
    pub fn new(report: &'r Report) -> Result<Self, Error> {
        Ok(Self { environment: environment()?, report, shown: Value::from(Serde(report)) })
    }

    /// One file of HTML that needs no other.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn html(&self) -> Result<String, Error> {
        self.page("report.html")
    }

    /// The same in less as Markdown.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn markdown(&self) -> Result<String, Error> {
        self.page("report.md")
    }

    /// Whatever else a template is for.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn other(&self, template: &str, context: impl Serialize) -> Result<String, Error> {
        self.environment.get_template(template)?.render(Value::from(Serde(context)))
    }

    fn page(&self, template: &str) -> Result<String, Error> {
        let report = self.report;
        let rows = if report.programs.len() > MANY { ROWS.1 } else { ROWS.0 };
        let subjects: Vec<usize> = report.subjects().map(|(index, _)| index).collect();
        self.environment.get_template(template)?.render(context! {
            report => self.shown.clone(),
            several => report.runs.len() > 1,
            subjects => subjects,
            columns => cards::columns(report),
            listing => Serde(cards::listing(report)),
            cards => Serde(cards::cards(report, CARDS)),
            listed => Serde(cards::programs(report)),
            groups => Serde(cards::groups(report)),
            undecided => Serde(cards::undecided(report)),
            is_long => report.programs.len() > MANY,
            skips => Serde(report.skips_by_reason()),
            glossary => Serde(glossary(GLOSSARY)),
            style => include_str!("../templates/report.css"),
            picture_style => model::explain::STYLE,
            most_rows => rows,
        })
    }
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_formatter(write_escaped);
    environment.set_auto_escape_callback(|name| match name.rsplit('.').next() {
        Some("html") => AutoEscape::Html,
        Some("md") => AutoEscape::Custom("markdown".into()),
        _ => AutoEscape::Custom("xml".into()),
    });
    environment.add_filter("percent", |rate: f64| percent(rate));
    environment.add_filter("thousands", thousands);
    environment.add_filter("code", |text: &str| Value::from_safe_string(code(text)));
    environment
        .add_filter("attribute", |text: &str| Value::from_safe_string(text::attribute(text)));
    environment.add_filter("fence", |text: &str| Value::from_safe_string(fence(text)));
    environment.add_filter("numbered", |text: &str| Value::from_safe_string(numbered(text)));
    environment.add_filter("words", |state: &State, text: &str| {
        let kind: text::Kind = match state.auto_escape() {
            AutoEscape::Custom(kind) if kind == "markdown" => (markdown, code),
            _ => (xml, element),
        };
        Value::from_safe_string(words(text, kind))
    });
    environment.add_filter("letter", letter);
    environment.add_filter("mark", mark);
    environment.add_filter("verdict", |word: &str| verdict(word).to_owned());
    environment.add_filter("judgement", |word: &str| judgement(word).to_owned());
    environment.add_filter("difference", |change: &str| difference(change).to_owned());
    for (name, text) in TEMPLATES {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// The templates, by the names that they call each other by.
const TEMPLATES: [(&str, &str); 12] = [
    ("report.html", include_str!("../templates/report.html")),
    ("macros.html", include_str!("../templates/macros.html")),
    ("comparison.html", include_str!("../templates/comparison.html")),
    ("violations.html", include_str!("../templates/violations.html")),
    ("differences.html", include_str!("../templates/differences.html")),
    ("tested.html", include_str!("../templates/tested.html")),
    ("orders.html", include_str!("../templates/orders.html")),
    ("tests.html", include_str!("../templates/tests.html")),
    ("details.html", include_str!("../templates/details.html")),
    ("report.md", include_str!("../templates/report.md")),
    ("violations.md", include_str!("../templates/violations.md")),
    ("junit.xml", include_str!("../templates/junit.xml")),
];

/// What stands beside the color of a bar, for those who do not see colors.
fn letter(kind: &str) -> &'static str {
    match kind {
        "sc" => "S",
        "weak" => "W",
        "allowed" => "A",
        "forbidden" => "F",
        _ => "?",
    }
}

/// The mark of a cell of an order table.
fn mark(evidence: &str) -> &'static str {
    match evidence {
        "broken" => "✗",
        "explains" => "≈",
        "kept" => "✓",
        "quiet" => "○",
        "untested" => "?",
        "not-known" => "!",
        _ => "·",
    }
}

/// The verdict on a record, in a table.
fn verdict(word: &str) -> &str {
    match word {
        "violation" => "VIOLATION",
        "known" => "known violations only",
        "nothing-tested" => "nothing tested",
        "nothing-forbidden" => "nothing forbidden was tested",
        "not-known" => "not known",
        other => other,
    }
}

/// A judgement as the heads of tables have it.
fn judgement(word: &str) -> &str {
    match word {
        "unseen" => "conforms, not all seen",
        other => other,
    }
}

/// How an outcome differs between records.
fn difference(change: &str) -> &str {
    match change {
        "new" => "allowed, not seen in the first",
        "gone" => "allowed, seen in the first only",
        other => other,
    }
}

/// Writes a value as the kind of page needs it.
fn write_escaped(out: &mut Output<'_>, state: &mut State, value: &Value) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Undefined => {
            let message = "a template names something that does not exist";
            return Err(Error::new(ErrorKind::UndefinedError, message));
        }
        ValueKind::None => return Ok(()),
        ValueKind::String if !value.is_safe() => {
            let text = value.as_str().unwrap_or_default();
            match state.auto_escape() {
                AutoEscape::Custom(kind) if kind == "markdown" => markdown(text),
                _ => xml(text),
            }
        }
        _ => value.to_string(),
    };
    out.write_str(&text).map_err(Error::from)
}

#[derive(Serialize)]
struct Part {
    title: String,
    rows: Vec<[String; 3]>,
}

/// The tables of the glossary, by the headings above them.
fn glossary(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            parts.push(Part { title: title.to_owned(), rows: Vec::new() });
            continue;
        }
        let (Some(part), Some(row)) = (parts.last_mut(), line.strip_prefix('|')) else { continue };
        let plain = |cell: &str| cell.trim().replace('`', "");
        let mut cells = row.trim_end().trim_end_matches('|').split('|').map(plain);
        let mut next = || cells.next().unwrap_or_default();
        let row = [next(), next(), next()];
        let heads = ["word", "stamp", "relation"];
        if !row[0].starts_with("---") && !heads.contains(&row[0].as_str()) {
            part.rows.push(row);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_is_read() {
        let parts = glossary(GLOSSARY);
        let has = |word: &str| parts.iter().flat_map(|part| &part.rows).any(|row| row[0] == word);
        assert!(has("rf") && has("violation") && has("queue pair"));
    }

    #[test]
    fn templates_are_well_formed() {
        environment().unwrap();
    }
}
