//! Whether parts are those of one whole.

use std::path::PathBuf;

use executor::record::ShardOf;
use serde_json::Value as Json;

use super::{Failure, Refused};
use crate::sealed;
use crate::table::count;
use crate::terminal::Terminal;

/// A part: where it is, which one, and what it holds.
pub struct Part<T> {
    pub path: PathBuf,
    pub shard: ShardOf,
    pub content: T,
}

impl Part<Json> {
    /// Of a JSON object with a field `shard`, which is taken out.
    ///
    /// # Errors
    /// It has none, or is not what was written.
    pub fn of_json(path: PathBuf, mut json: Json) -> Result<Self, Refused> {
        let is_sealed = sealed::unseal(&mut json)
            .map_err(|message| Refused::new(&path, "changed-part", message))?;
        let shard = json.as_object_mut().and_then(|fields| fields.shift_remove("shard"));
        match shard.map(serde_json::from_value) {
            Some(Ok(shard)) if is_sealed => Ok(Self { path, shard, content: json }),
            _ => Err(Refused::new(
                &path,
                "not-a-part",
                "expected an output of a command with --shard",
            )),
        }
    }
}

/// The parts in order, each once, if they are all those of one whole.
pub fn whole<T: PartialEq>(
    mut parts: Vec<Part<T>>,
    terminal: &mut Terminal,
) -> Result<Vec<Part<T>>, Failure> {
    let Some(first) = parts.first() else { return Ok(parts) };
    let (of, question) = (first.shard.of, first.shard.question.clone());
    let first_path = first.path.display().to_string();
    let mut refused = Vec::new();
    for part in &parts {
        if part.shard.of != of {
            let message = format!("is of {} parts, and {first_path} of {of}", part.shard.of);
            refused.push(Refused::new(&part.path, "other-whole", message));
        } else if part.shard.question != question {
            let message = format!(
                "was made by another command, version or model than {first_path}, or of other inputs"
            );
            refused.push(Refused::new(&part.path, "other-whole", message));
        }
    }
    if !refused.is_empty() {
        return Err(Failure::Refused(refused));
    }
    parts.sort_by_key(|part| part.shard.part);
    let mut kept: Vec<Part<T>> = Vec::new();
    for part in parts {
        match kept.last() {
            Some(last) if last.shard.part == part.shard.part => {
                let (number, last) = (part.shard.part, last.path.display().to_string());
                if kept.last().is_some_and(|last| last.content != part.content) {
                    let message = format!("part {number} differs from that in {last}");
                    refused.push(Refused::new(&part.path, "conflicting-parts", message));
                } else {
                    terminal.note(&format!(
                        "part {number} is there twice, and equal: {last}, {}",
                        part.path.display()
                    ));
                }
            }
            _ => kept.push(part),
        }
    }
    let is_there = |number: &usize| kept.iter().any(|part| part.shard.part == *number);
    let missing: Vec<String> = (1..=of)
        .filter(|number| !is_there(number))
        .map(|number| format!("{number}/{of}"))
        .collect();
    if !missing.is_empty() {
        let message = format!("{} missing: {}", count(missing.len(), "part"), missing.join(", "));
        let path = kept.first().map(|part| part.path.clone()).unwrap_or_default();
        refused.push(Refused { path, code: "missing-parts", message });
    }
    if refused.is_empty() { Ok(kept) } else { Err(Failure::Refused(refused)) }
}
