//! A measurement as a page of Markdown.

use evidence::reports::{counted, percent, statistics};
use tabled::builder::Builder;
use tabled::settings::Style;

use super::device::DEVICE;
use super::found::{Found, OfFault};

/// The most outcomes or tests that are named.
const NAMED: usize = 40;

/// The page.
pub fn of(found: &Found, iterations: u64) -> String {
    let mut page = String::new();
    if !found.presets.is_empty() {
        page.push_str(&weak(found, iterations));
    }
    if !found.faults.is_empty() {
        page.push_str(&faults(&found.faults, iterations));
    }
    page
}

fn weak(found: &Found, iterations: u64) -> String {
    let head = [
        "preset or options",
        "seeds",
        "runs",
        "violations",
        "weak outcomes",
        "possible",
        "seen",
        "median rate",
        "lowest rate",
    ];
    let rows = found.presets.iter().map(|preset| {
        let possible = preset.weak.iter().filter(|(name, _)| !found.impossible.contains(*name));
        let rates: Vec<f64> = possible.map(|(_, rate)| *rate).collect();
        let seen: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0).collect();
        let lowest = seen.iter().copied().min_by(f64::total_cmp);
        let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), percent);
        vec![
            preset.preset.clone(),
            preset.seeds.to_string(),
            preset.runs.to_string(),
            preset.violations.len().to_string(),
            preset.weak.len().to_string(),
            rates.len().to_string(),
            part(seen.len(), rates.len()),
            rate(statistics::median(seen)),
            rate(lowest),
        ]
    });
    let mut page = format!("Weak outcomes, in {iterations} runs of each test with each seed:\n\n");
    page.push_str(&table(&head, rows));
    for preset in &found.presets {
        let title = format!("Forbidden, and seen with `{}`", preset.preset);
        page.push_str(&listed(&title, "outcome", preset.violations.iter()));
        let title = format!("Not decided with `{}`", preset.preset);
        page.push_str(&listed(&title, "test", preset.undecided.iter()));
    }
    page.push_str(&listed("Never seen with any of these", "outcome", found.never.iter()));
    let title = format!("Not possible, since `{DEVICE}` forbids it");
    page.push_str(&listed(&title, "outcome", found.impossible.iter()));
    page + "\n"
}

fn faults(faults: &[OfFault], iterations: u64) -> String {
    let head = ["fault", "found", "tests that show it", "runs of each test", "blamed", "right"];
    let rows = faults.iter().map(|fault| {
        let is_right = fault.is_right.map_or("-", |right| if right { "yes" } else { "no" });
        vec![
            fault.fault.to_owned(),
            format!("{} of {} seeds", fault.found, fault.seeds),
            fault.tests.len().to_string(),
            fault.runs().map_or("-".to_owned(), |runs| runs.to_string()),
            if fault.blamed.is_empty() { "-".to_owned() } else { fault.blamed.join(", ") },
            is_right.to_owned(),
        ]
    });
    let mut page = format!("Faults, in {iterations} runs of each test with each seed:\n\n");
    page.push_str(&table(&head, rows));
    page.push_str(
        "\n`runs of each test`: this many runs of every test find the fault with 95 % confidence, at the rates \
         seen here.\n`blamed`: what a report names first. `right`: a diagnosis names an order that the fault \
         breaks.\n",
    );
    page
}

/// `938 (97 %)`.
fn part(number: usize, of: usize) -> String {
    format!("{number} ({})", percent(number as f64 / of.max(1) as f64))
}

/// Outcomes or tests under a title; nothing if there are none.
fn listed<'a>(title: &str, what: &str, all: impl ExactSizeIterator<Item = &'a String>) -> String {
    let number = all.len();
    if number == 0 {
        return String::new();
    }
    let mut text = format!("\n{title}, {}:\n\n", counted(number, what));
    all.take(NAMED).for_each(|one| text.push_str(&format!("- `{one}`\n")));
    if number > NAMED {
        text.push_str(&format!("- and {} more, which power.json lists\n", number - NAMED));
    }
    text
}

fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut builder = Builder::default();
    builder.push_record(head.iter().copied());
    rows.for_each(|row| builder.push_record(row));
    let mut table = builder.build();
    table.with(Style::markdown());
    format!("{table}\n")
}
