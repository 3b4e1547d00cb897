//! What models allow and no device for verbs can show.
//!
//! The papers' models leave more open than the interface does: completions of a queue pair come in order, for
//! one. The NIC keeps [`DEVICE`] too, which says so.

use std::collections::{BTreeMap, BTreeSet};

use evidence::reports::data::{OutcomeKind, Report, ResultReport};

use super::found::OfPreset;

/// The model of all devices for verbs.
pub const DEVICE: &str = "verbs";

/// The weak outcomes of presets that [`DEVICE`] forbids, given what it says of the same tests. Of a test that
/// it does not judge, or not wholly, nothing is known.
pub fn impossible(presets: &[OfPreset], says: &Report) -> BTreeSet<String> {
    let mut allowed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for test in says.tests.iter().filter(|test| test.finished > 0) {
        if let [result] = &test.results[..]
            && result.reason.is_none()
        {
            allowed.insert(&test.name, allowed_by(result));
        }
    }
    let is_impossible = |name: &&String| {
        let Some((test, outcome)) = name.split_once(": ") else { return false };
        allowed.get(test).is_some_and(|outcomes| !outcomes.contains(outcome))
    };
    presets.iter().flat_map(|preset| preset.weak.keys()).filter(is_impossible).cloned().collect()
}

fn allowed_by(result: &ResultReport) -> BTreeSet<&str> {
    let is_allowed = |kind| !matches!(kind, OutcomeKind::Forbidden);
    let rows = result.rows.iter().filter(|row| is_allowed(row.kind));
    rows.map(|row| row.outcome.as_str()).collect()
}
