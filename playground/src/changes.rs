//! Programs made from a program: repairs of it, and its normal form.

use lang::library::Words;
use lang::litmus;
use lang::source::Source;
use model::allowed::Options;
use model::repair::{Costs, Kind, Repair, Repairs};
use serde_json::{Value as Json, json};
use similar::TextDiff;

use crate::ask::{in_file, told};
use crate::files::{self, Wrong};
use crate::question::Program;

/// The most changes of one repair.
const SIZE: usize = 2;

/// The least synchronization that makes the verdicts hold.
pub fn repaired(program: &Program) -> Json {
    told(program.read().and_then(|read| {
        let words = Words::of(&read.files.libraries.all);
        let (file, wrong) = litmus::parse(&read.source, words);
        let Some(file) = file else { return Err(in_file(&read.source, wrong)) };
        let model = read.model()?;
        let repair = Repair {
            file: &file,
            source: &read.source,
            libraries: &read.files.libraries,
            models: vec![(&model, read.files.is_own(&read.model))],
            forbid: None,
            kinds: Kind::ALL.iter().map(|(kind, _)| *kind).collect(),
            size: SIZE,
            options: Options::default(),
        };
        let found = repair.find().map_err(|wrong| in_file(&read.source, wrong))?;
        Ok(repairs(&found, &litmus::print(&file)))
    }))
}

fn repairs(found: &Repairs, normal: &str) -> Json {
    let costs = Costs::default();
    let mut repairs: Vec<_> =
        found.repairs.iter().map(|repair| (costs.of(&repair.kinds), repair)).collect();
    repairs.sort_by_key(|(cost, repair)| (*cost, repair.kinds.len()));
    let repairs = repairs.iter().map(|(cost, repair)| {
        let diff = TextDiff::from_lines(normal, &repair.text);
        json!({
            "cost": cost,
            "changes": repair.changes,
            "text": repair.text,
            "diff": diff.unified_diff().context_radius(1).to_string(),
            "why": repair.why,
        })
    });
    json!({
        "right": found.is_right,
        "hopeless": found.hopeless,
        "open": found.open,
        "size": SIZE,
        "repairs": repairs.collect::<Vec<_>>(),
    })
}

/// The program in its normal form. It may have errors that only checking finds.
pub fn formatted(program: &Program) -> Json {
    let print = || -> Result<Json, Wrong> {
        let files = files::Files::of(&program.own);
        let source = Source::new("program", program.text.as_str());
        let (file, wrong) = litmus::parse(&source, Words::of(&files.libraries.all));
        let Some(file) = file else { return Err(in_file(&source, wrong)) };
        Ok(json!({ "text": litmus::print(&file) }))
    };
    told(print())
}
