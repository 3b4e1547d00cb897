//! A report on the terminal: the verdict and how much it means, causes, the smallest
//! violation, the records side by side, and the limits of what it shows.

use std::path::Path;

use evidence::reports::compare::ComparedCell;
use evidence::reports::data::{Finding, Report, VerdictWord};
use evidence::reports::{counted, percent};

use crate::shell::quote;

use crate::table;
use crate::terminal::{Look, Tint};

/// How many new violations are named.
const NEW: usize = 8;
/// How many outcomes that differ between records are shown.
const DIFFERENT: usize = 12;

/// All of it.
pub fn text(made: &Report, look: Look) -> String {
    let tint = tint(made.verdict.word);
    let mut text = format!("{}\n", look.paint(tint, look.fit(&made.verdict.line).trim_end()));
    if made.comparison.is_none() {
        let confidence = &made.verdict.confidence;
        text.push_str(&look.fit(&format!("  confidence: {confidence}")));
    }
    text.push_str(&comparison(made, look));
    text.push_str(&violations(made, look));
    if look.quiet {
        return text;
    }
    for (_, run) in made.subjects().filter(|(_, run)| !run.cannot_tell.is_empty()) {
        let of =
            if made.subjects().count() > 1 { format!(" of {}", run.key) } else { String::new() };
        text.push_str(&format!("what this cannot tell{of}:\n"));
        for point in &run.cannot_tell {
            text.push_str(&look.fit(&format!("  - {point}")));
        }
    }
    text
}

/// The color of a verdict.
pub fn tint(word: VerdictWord) -> Tint {
    match word {
        VerdictWord::Violation => Tint::Bad,
        VerdictWord::Conforms => Tint::Good,
        _ => Tint::Open,
    }
}

/// What a report adds to what `litmus run` says.
pub fn brief(made: &Report, look: Look) -> String {
    let mut text = look.fit(&format!("  confidence: {}", made.verdict.confidence));
    for diagnosis in &made.diagnoses {
        text.push_str(&look.fit(&format!("  {}", diagnosis.line)));
    }
    text
}

/// The last line of a report that was written.
pub fn written(folder: &Path) -> String {
    format!("written: {}\n", quote(&folder.join("report.html").to_string_lossy()))
}

/// The records side by side.
fn comparison(made: &Report, look: Look) -> String {
    let Some(comparison) = &made.comparison else { return String::new() };
    let mut text = String::new();
    for run in &made.runs {
        let (key, record, subject, line) = (&run.key, &run.record, &run.subject, &run.verdict.line);
        text.push_str(&look.fit(&format!("  {key}: {record} ({subject}): {line}")));
    }
    let first = &comparison.keys[0];
    let new = counted(comparison.new_violations.len(), "new violation");
    text.push_str(&look.fit(&format!(
        "  against {first}: {new}, {} known, {} not seen again; {} compared, and {} not",
        comparison.known_violations.len(),
        comparison.gone_violations.len(),
        counted(comparison.common + comparison.partly, "test"),
        comparison.refused.len() - comparison.partly,
    )));
    for new in comparison.new_violations.iter().take(NEW) {
        text.push_str(&look.fit(&format!("    new: {new}")));
    }
    text.push_str(&look.fit(&format!(
        "  {} of {} outcomes of these tests differ between the records: violations, and rates beyond chance",
        comparison.rows.len(),
        comparison.compared,
    )));
    let rows = comparison.rows.iter().take(DIFFERENT).map(|row| {
        let mut cells = vec![row.name(), row.outcome.clone(), row.change.name().to_owned()];
        let rate = |cell: &Option<ComparedCell>| match cell {
            Some(cell) => percent(cell.rate.rate),
            None => "not run".to_owned(),
        };
        cells.extend(row.cells.iter().map(rate));
        cells
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        let mut head = vec!["test", "outcome", "what"];
        head.extend(comparison.keys.iter().map(String::as_str));
        text.push_str(&table::draw(look, &head, rows, true));
    }
    text
}

/// What would explain the violations, a row for each cause, and the smallest one with the way to its
/// contradiction.
fn violations(made: &Report, look: Look) -> String {
    if made.findings.is_empty() {
        return String::new();
    }
    let several = made.runs.len() > 1;
    let mut text = String::new();
    for diagnosis in &made.diagnoses {
        let key =
            if several { format!("{}: ", made.runs[diagnosis.run].key) } else { String::new() };
        text.push_str(&look.fit(&format!("  {key}{}", diagnosis.line)));
    }
    let rows = made.causes.iter().map(|cause| {
        let known =
            if cause.known > 0 { format!(", {} known", cause.known) } else { String::new() };
        let smallest = cause.programs.first().map_or("", |program| &made.programs[*program].name);
        let names = cause.names.join(", ");
        let words = if names.is_empty() { cause.words.clone() } else { names };
        let mut row = vec![
            words,
            cause.programs.len().to_string(),
            format!("{}{known}", cause.outcomes),
            percent(cause.highest),
            smallest.to_owned(),
        ];
        if several {
            row.insert(0, made.runs[cause.run].key.clone());
        }
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut head = vec!["not kept", "programs", "outcomes", "rate up to", "smallest program"];
    if several {
        head.insert(0, "");
    }
    text.push_str(&table::draw(look, &head, rows, true));
    let new = made.findings.iter().find(|finding| !finding.is_known);
    if let Some(finding) = new.or(made.findings.first()) {
        text.push_str(&smallest(finding, look));
    }
    text
}

fn smallest(finding: &Finding, look: Look) -> String {
    let Finding { test, outcome, count, finished, models, .. } = finding;
    let on = evidence::reports::rejudge::name_on(test, &finding.machine);
    let models = models.join(", ");
    let mut text = look.fit(&format!(
        "smallest: {on}: {outcome}, {count} of {finished} runs, forbidden by {models}"
    ));
    text.push_str(&look.fit(&format!("  {}", finding.why)));
    if let Some(says) = &finding.says {
        text.push_str(&look.fit(&format!("  \"{says}\"")));
    }
    for step in &finding.steps {
        text.push_str(
            &look.fit(&format!("    {}  {} ({})", step.event, step.action, step.statement)),
        );
        text.push_str(&look.fit(&format!("      → {}: {}", step.relation, step.because)));
    }
    if let Some(end) = &finding.end {
        text.push_str(
            &look.fit(&format!(
                "    {}  {} ({}), {}",
                end.event, end.action, end.statement, end.words
            )),
        );
    }
    text.push_str(&look.fit_command(&format!("  again: {}", finding.reproduce)));
    text.push_str(&look.fit_command(&format!("  why: {}", finding.explain)));
    text
}
