//! What models allow and no device for verbs can show.
//!
//! The papers' models leave more open than the interface does: completions of a queue pair come in order, for
//! one. The NIC keeps [`DEVICE`] too, which says so.

use std::collections::{BTreeMap, BTreeSet};

use evidence::reports::data::{OutcomeKind, Report, ResultReport};

/// The model of all devices for verbs.
pub const DEVICE: &str = "verbs";

/// The outcomes that [`DEVICE`] allows, by test. None if that is not known.
pub type Says = BTreeMap<String, Option<BTreeSet<String>>>;

/// What [`DEVICE`] says of the tests of a record that it judged. Of a test that it does not define, it says
/// nothing.
pub fn says(report: &Report) -> Says {
    let mut says = Says::new();
    for test in report.tests.iter().filter(|test| test.finished > 0) {
        let found = allowed_by(&test.results);
        let known = says.entry(test.name.clone());
        // Of two tests of one name, it is not known which one an outcome is of.
        known.and_modify(|known| *known = None).or_insert(found);
    }
    says
}

/// The outcomes that [`DEVICE`] allows, if all of them are named: ⊤ stands for every value.
fn allowed_by(results: &[ResultReport]) -> Option<BTreeSet<String>> {
    let [ResultReport { reason: None, rows, .. }] = results else { return None };
    let allowed = rows.iter().filter(|row| row.kind != OutcomeKind::Forbidden);
    let outcomes: BTreeSet<String> = allowed.map(|row| row.outcome.clone()).collect();
    outcomes.iter().all(|outcome| !outcome.contains('⊤')).then_some(outcomes)
}

/// Those outcomes, such as `MP: a=1, b=0`, that no record allows, where all that judge the test know it.
pub fn impossible<'a>(
    outcomes: impl Iterator<Item = &'a String>,
    records: &[Says],
) -> BTreeSet<String> {
    let is_impossible = |name: &&String| {
        let Some((test, outcome)) = name.split_once(": ") else { return false };
        let mut known = records.iter().filter_map(|says| says.get(test)).peekable();
        let is_forbidden = |allowed: &Option<BTreeSet<String>>| {
            allowed.as_ref().is_some_and(|allowed| !allowed.contains(outcome))
        };
        known.peek().is_some() && known.all(is_forbidden)
    };
    outcomes.filter(is_impossible).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_every_record_forbids_is_impossible() {
        let allowed = |all: &[&str]| Some(all.iter().map(|one| (*one).to_owned()).collect());
        let says = |all: &[(&str, Option<BTreeSet<String>>)]| -> Says {
            all.iter().map(|(name, allowed)| ((*name).to_owned(), allowed.clone())).collect()
        };
        let records = [
            says(&[("MP", allowed(&["a=0"])), ("SB", allowed(&[])), ("LB", None)]),
            says(&[("MP", allowed(&["a=1"])), ("LB", allowed(&[]))]),
        ];
        let names = ["MP: a=0", "MP: a=1", "MP: a=2", "SB: a=0", "LB: a=0", "R: a=0"];
        let names = names.map(str::to_owned);
        let found = impossible(names.iter(), &records);
        assert_eq!(found, BTreeSet::from(["MP: a=2".to_owned(), "SB: a=0".to_owned()]));
    }
}
