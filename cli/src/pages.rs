//! Reports as pages: HTML, Markdown and JUnit by templates, all from the report's data.
//!
//! Everything that comes from records is escaped by the environment: for HTML and XML as such, for Markdown by
//! backslashes. Only pictures and styles, which are made here, are not.

use executor::reports::data::{Report, groups};
use executor::reports::percent;
use minijinja::value::{Serde, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, context};
use serde::Serialize;

/// How many findings are shown in full, and how many at all.
const FINDINGS: (usize, usize) = (60, 1000);
/// How many outcomes of a test's histogram are shown, in reports with few tests and with many.
const ROWS: (usize, usize) = (256, 24);
/// From how many tests on there are many.
const MANY: usize = 1000;

const GLOSSARY: &str = include_str!("../../docs/glossary.md");

/// Pages from a report.
pub struct Pages {
    environment: Environment<'static>,
}

impl Pages {
    /// Prepares the templates.
    ///
    /// # Errors
    /// A template is wrong: a bug, which a test excludes.
    pub fn new() -> Result<Self, Error> {
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
        environment.add_filter("fence", |text: &str| Value::from_safe_string(fence(text)));
        environment.add_template("report.html", include_str!("../templates/report.html"))?;
        environment.add_template("report.md", include_str!("../templates/report.md"))?;
        environment.add_template("junit.xml", include_str!("../templates/junit.xml"))?;
        Ok(Self { environment })
    }

    /// One file of HTML that needs no other.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn html(&self, report: &Report) -> Result<String, Error> {
        self.page("report.html", report)
    }

    /// The same in less as Markdown.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn markdown(&self, report: &Report) -> Result<String, Error> {
        self.page("report.md", report)
    }

    /// Whatever else a template is for.
    ///
    /// # Errors
    /// As [`Pages::new`].
    pub fn other(&self, template: &str, context: impl Serialize) -> Result<String, Error> {
        self.environment.get_template(template)?.render(Value::from(Serde(context)))
    }

    fn page(&self, template: &str, report: &Report) -> Result<String, Error> {
        let rows = if report.tests.len() > MANY { ROWS.1 } else { ROWS.0 };
        self.environment.get_template(template)?.render(context! {
            report => Serde(report),
            groups => Serde(groups(report)),
            glossary => Serde(glossary(GLOSSARY)),
            style => include_str!("../templates/report.css"),
            picture_style => model::explain::STYLE,
            full_findings => FINDINGS.0,
            most_findings => FINDINGS.1,
            most_rows => rows,
        })
    }
}

/// Writes a value as the kind of page needs it.
fn write_escaped(out: &mut Output<'_>, state: &mut State, value: &Value) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Undefined => {
            let message = "a template speaks of something that there is not";
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

/// Text for XML and HTML. Characters that XML cannot have, not even escaped, are replaced.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Text for Markdown, in a table too.
fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_{}[]<>#|~".contains(character) {
            out.push('\\');
            out.push(character);
        } else if character.is_control() {
            out.push(' ');
        } else {
            out.push(character);
        }
    }
    out
}

/// The shortest row of backticks that a text does not have, from a length on.
fn ticks(text: &str, least: usize) -> String {
    let mut ticks = "`".repeat(least);
    while text.contains(&ticks) {
        ticks.push('`');
    }
    ticks
}

/// Code in a line of Markdown.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let ticks = ticks(&text, 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    // A bar would end a cell of a table, in code too.
    format!("{ticks}{pad}{}{pad}{ticks}", text.replace('|', "\\|"))
}

/// Lines of code in Markdown.
fn fence(text: &str) -> String {
    let ticks = ticks(text, 3);
    format!("{ticks}\n{}\n{ticks}", text.trim_end())
}

/// `1 234 567`, with narrow spaces.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
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
    fn escapes() {
        assert_eq!(xml("<script>&\"'\u{1}"), "&lt;script&gt;&amp;&quot;&#39;\u{fffd}");
        assert_eq!(markdown("a|b <i>\nc"), "a\\|b \\<i\\> c");
        assert_eq!(code("a`b|c"), "``a`b\\|c``");
        assert_eq!(fence("```\nx"), "````\n```\nx\n````");
        assert_eq!(thousands(1_234_567), "1\u{202f}234\u{202f}567");
    }

    #[test]
    fn the_glossary_is_read() {
        let parts = glossary(GLOSSARY);
        let has = |word: &str| parts.iter().flat_map(|part| &part.rows).any(|row| row[0] == word);
        assert!(has("rf") && has("violation") && has("queue pair"));
    }

    #[test]
    fn templates_are_well_formed() {
        Pages::new().unwrap();
    }
}
