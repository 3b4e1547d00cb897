//! `litmus gen cycles`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use clap::Args;
use model::generate::cycles::draft;
use model::generate::draft::Draft;
use model::generate::relaxations::parse;
use model::generate::search::{Bounds, Known, Vocabulary};
use model::generate::segments::{Segment, two_steps};
use serde_json::json;

use super::Common;
use super::generation::{Generation, make};
use super::rma::speaks_of_rdma;
use super::suite::Unit;
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Tests from cycles of relaxations, as diy makes them
///
/// A cycle is a list of communications (rf, rb, mo) and of steps within a thread (po, po[R, W], or a cell of
/// an order table of the model), as in 'rb oppo[nrW, nrW] rfe po'. Where two do not fit, program order stands
/// between. Without a cycle, all those of at most --size statements are made [default: 4].
#[derive(Args)]
pub struct Arguments {
    /// Cycles, each in quotes
    #[arg(value_name = "CYCLE")]
    cycles: Vec<String>,
    #[command(flatten)]
    pub common: Common,
}

/// The default size of cycles that are enumerated: there are many.
const SIZE: u8 = 4;

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let common = &arguments.common;
    if let Err(message) = speaks_of_rdma("cycles", model) {
        return terminal.usage_error(&message);
    }
    let mut bounds = bounds_of(&common.bounds);
    if arguments.cycles.is_empty() {
        bounds.size = usize::from(common.bounds.size.unwrap_or(SIZE));
    }
    let vocabulary = Vocabulary::of(&[model.model()]);
    let mut cycles = Vec::new();
    for text in &arguments.cycles {
        let parsed = parse(text, model.model(), vocabulary.completion);
        let closed = |segments: &Vec<Segment>| {
            draft(&segments.iter().collect::<Vec<_>>(), bounds.nodes)
                .ok_or_else(|| "no program has this cycle within the bounds".to_owned())
        };
        match parsed.as_ref().map_err(Clone::clone).and_then(closed) {
            Ok(draft) => cycles.push((text.clone(), vec![draft])),
            Err(message) => return terminal.usage_error(&format!("`{text}`: {message}")),
        }
    }
    if cycles.is_empty() {
        let jobs = common.jobs.count();
        cycles = common.timeout.within(|| enumerated(model, &vocabulary, &bounds, jobs));
    }
    let choices = json!({ "cycles": arguments.cycles });
    let opened =
        Generation::open("cycles", &choices, common, (&bounds, cycles.len()), model, &vocabulary);
    let generation = match opened {
        Ok(generation) => generation,
        Err(failure) => return failure.tell(terminal),
    };
    generation.fill(cycles.len(), terminal, |generation, index, _| {
        let (name, drafts) = &cycles[index];
        let mut unit =
            Unit { name: name.clone(), title: format!("cycle: {name}"), ..Unit::default() };
        let work = |draft: &Draft| {
            let make = || make(draft.clone(), vocabulary.completion, model.model(), false);
            generation.timeout.within(make)
        };
        let each = |_: &Draft, tried| {
            unit.take(tried);
            ControlFlow::Continue(())
        };
        map_in_order(drafts, generation.jobs, &generation.stop, work, each);
        unit
    })
}

/// How many tests a unit has.
const AT_ONCE: usize = 256;

/// All cycles of two statements in program order, and of what the model orders, by size.
fn enumerated(
    model: &LoadedModel,
    vocabulary: &Vocabulary,
    bounds: &Bounds,
    jobs: usize,
) -> Vec<(String, Vec<Draft>)> {
    let known = Known::new(model.model(), vocabulary, bounds, jobs);
    let mut segments = two_steps(&vocabulary.calls, vocabulary.completion);
    segments.extend(known.simplest.iter().filter(|one| one.size() != 2).cloned());
    segments.sort_by_key(Segment::size);
    let mut units = Vec::new();
    let mut seen = BTreeSet::new();
    for size in 1..=bounds.size {
        let mut drafts = BTreeSet::new();
        for first in &segments {
            let Some(rest) = size.checked_sub(first.size()) else { continue };
            if rest == 0 {
                drafts.extend(draft(&[first], bounds.nodes));
            }
            let seconds = segments.iter().filter(|second| second.size() == rest);
            for second in seconds.filter(|_| bounds.threads > 1) {
                drafts.extend(draft(&[first, second], bounds.nodes));
            }
        }
        let new: Vec<Draft> =
            drafts.into_iter().filter(|draft| seen.insert(draft.clone())).collect();
        for (index, chunk) in new.chunks(AT_ONCE).enumerate() {
            units.push((format!("{size} statements, part {}", index + 1), chunk.to_vec()));
        }
    }
    units
}
