//! JSON of `coverage`: each rule is of one part.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::Failure;
use super::parts::{self, Part};
use crate::exit::Exit;
use crate::terminal::Terminal;

pub fn merge(found: Vec<Part<Json>>, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let parts = parts::whole(found, terminal)?;
    let Some(mut merged) = parts.first().map(|part| part.content.clone()) else {
        return Ok(Exit::Fine);
    };
    let mut exit = Exit::Fine;
    let mut changes: BTreeMap<usize, Json> = BTreeMap::new();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for part in &parts {
        let own = part.content["changes"].as_array().into_iter().flatten();
        let numbers = part.shard.items.iter().map(|(number, _)| *number);
        changes.extend(numbers.zip(own.cloned()));
        for (word, number) in part.content["counts"].as_object().into_iter().flatten() {
            *counts.entry(word.clone()).or_default() += number.as_u64().unwrap_or(0);
        }
        exit.raise(Exit::of_code(part.content["exit"].as_u64().unwrap_or(0)));
        overlay(&mut merged["tables"], &part.content["tables"]);
    }
    merged["counts"] = json!(counts);
    merged["changes"] = changes.into_values().collect();
    if let Some(fields) = merged.as_object_mut() {
        fields.shift_remove("exit");
    }
    terminal.out(&format!("{merged}\n"));
    Ok(exit)
}

/// Fills what is null in one with what another part has there.
fn overlay(into: &mut Json, from: &Json) {
    match (into, from) {
        (Json::Array(into), Json::Array(from)) => {
            into.iter_mut().zip(from).for_each(|(into, from)| overlay(into, from));
        }
        (Json::Object(into), Json::Object(from)) => {
            into.values_mut().zip(from.values()).for_each(|(into, from)| overlay(into, from));
        }
        (into, from) if into.is_null() => *into = from.clone(),
        _ => {}
    }
}
