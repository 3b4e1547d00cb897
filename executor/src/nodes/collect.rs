//! Merges the observations of all machines in a batch.

use compiler::plan::Plan;
use lang::outcome::{Outcome, Value};

use super::protocol::Seen;
use crate::rounds::{Ending, places};
use evidence::observation::{Observations, Occurrence};

/// The observations of the first `count` instances of a batch with rounds of these sizes.
///
/// # Errors
/// Fails if a machine's answer is incomplete.
pub(super) fn observations(
    plan: &Plan,
    parts: &[Seen],
    count: usize,
    rounds: &[u32],
    (batch, seed): (u64, u64),
) -> Result<Observations, String> {
    let mut columns: Vec<Option<&[u64]>> = vec![None; plan.observed.len()];
    let mut threads: Vec<&[u8]> = Vec::new();
    for part in parts {
        for (index, values) in &part.values {
            if let Some(column) = columns.get_mut(*index as usize) {
                *column = Some(values);
            }
        }
        threads.extend(part.ends.iter().map(|(_, ends)| ends.as_slice()));
    }
    let columns: Option<Vec<&[u64]>> = columns.into_iter().collect();
    let columns = columns.ok_or("an observable has no value")?;
    let short = columns.iter().any(|column| column.len() < count)
        || threads.iter().any(|ends| ends.len() < count);
    if short || threads.len() != plan.code.threads.len() {
        return Err("a machine's answer is too short".to_owned());
    }
    let mut seen = Observations::default();
    for (instance, (round, at)) in (0..count).zip(places(rounds)) {
        let ended = |ending| threads.iter().any(|e| Ending::from_number(e[instance]) == ending);
        // A failed `assume` makes other threads wait in vain, so it is the reason why there is no outcome.
        if ended(Ending::AssumeFailed) {
            seen.assume_failed += 1;
        } else if ended(Ending::Blocked) {
            seen.blocked += 1;
        } else if ended(Ending::GivenUp) {
            seen.unfinished += 1;
        } else {
            let values = columns.iter().map(|column| Value::of_word(column[instance])).collect();
            let place = Occurrence { batch, round, instance: at, seed };
            seen.add(Outcome(values), place);
        }
    }
    Ok(seen)
}
