//! `litmus gen cycles`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::Args;
use model::generate::cycles::draft;
use model::generate::distinguish::Undecided;
use model::generate::draft::Draft;
use model::generate::relaxations::parse;
use model::generate::search::{Bounds, Known, Vocabulary};
use model::generate::segments::{Segment, two_steps};
use serde_json::json;

use super::pivot::{finish, make};
use super::suite::{Made, Suite, Unit};
use super::{Common, stop_on_signal};
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Tests from cycles of relaxations, as diy makes them
///
/// A cycle is a list of communications (rf, rb, mo) and of steps within a thread (po, po[R, W], or a cell of an order table
/// of the model), as in 'rb oppo[nrW, nrW] rfe po'. Where two do not fit, program order stands between. Without a cycle, all
/// those of at most --size statements are made [default: 4].
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
    let head = json!({
        "schema": "litmus-suite/1",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "gen cycles",
        "model": { "name": model.name(), "hash": model.identity.hash },
        "cycles": arguments.cycles,
        "bounds": format!("{bounds}"),
    });
    let source =
        format!("litmus gen cycles, {} {}; at most {bounds}", model.name(), model.identity.hash);
    let model_text = (model.model(), !model.is_own);
    let opened = Suite::open(&common.output, &head, model_text, vocabulary.completion, source);
    let mut suite = match opened {
        Ok(suite) => suite,
        Err(message) => return terminal.usage_error(&message),
    };
    let (stop, began, jobs) = (stop_on_signal(), Instant::now(), common.jobs.count());
    if cycles.is_empty() {
        cycles = enumerated(model, &vocabulary, &bounds, jobs);
    }
    terminal.begin_progress(cycles.len());
    let mut exit = Exit::Fine;
    for (name, drafts) in cycles.iter().skip(suite.counts.units) {
        let mut unit = Unit { name: name.clone(), title: title(name), ..Unit::default() };
        let work = |draft: &Draft| make(draft.clone(), vocabulary.completion, model.model(), false);
        let each = |_: &Draft, made: Result<Result<Made, Undecided>, String>| {
            unit.tried += 1;
            match made {
                Ok(Ok(made)) => unit.made.push(made),
                Ok(Err(_)) | Err(_) => unit.undecided += 1,
            }
            ControlFlow::Continue(())
        };
        map_in_order(drafts, jobs, &stop, work, each);
        if stop.load(Ordering::Relaxed) {
            terminal.note("stopped; the same command goes on from here");
            exit = Exit::Unknown;
            break;
        }
        if let Err(message) = suite.add(&unit) {
            terminal.err(&format!("error: {message}\n"));
            return Exit::Internal;
        }
        terminal.progress().inc(1);
    }
    if suite.counts.undecided > 0 {
        exit.raise(Exit::Unknown);
    }
    finish(&suite, began, common.format.format, cycles.len(), terminal);
    exit
}

fn title(name: &str) -> String {
    format!("cycle: {name}")
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
