//! `litmus gen random`.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::Args;
use model::generate::draft::Draft;
use model::generate::random::{Weights, random};
use model::generate::search::Vocabulary;
use serde_json::json;

use super::pivot::{finish, make};
use super::suite::{Made, Suite, Unit};
use super::{Common, stop_on_signal};
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Random tests, the same for the same seed
///
/// A number without a program in which threads meet, or with more outcomes than a file lists, gives no test; tests that
/// are the same up to symmetry are written once.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    /// What all random choices derive from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many programs to draw
    #[arg(long, value_name = "N", default_value_t = 100)]
    count: u64,
    /// How often statements are taken, as in 'put=8,mfence=0'; what is not named keeps its weight of w=4, r=5, cas=1,
    /// faa=1, mfence=1, put=4, copy=2, get=4, rcas=2, rfaa=2, wait=4, rfence=1
    #[arg(long, value_name = "WEIGHTS", default_value = "")]
    weights: Weights,
}

/// How many programs a unit has.
const AT_ONCE: u64 = 64;

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let common = &arguments.common;
    let bounds = bounds_of(&common.bounds);
    let vocabulary = Vocabulary::of(&[model.model()]);
    let (seed, weights) = (arguments.seed, arguments.weights.to_string());
    let head = json!({
        "schema": "litmus-suite/1",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "gen random",
        "model": { "name": model.name(), "hash": model.identity.hash },
        "seed": seed,
        "count": arguments.count,
        "weights": weights,
        "bounds": format!("{bounds}"),
    });
    let source = format!(
        "litmus gen random --seed {seed}, {} {}; at most {bounds}",
        model.name(),
        model.identity.hash
    );
    let model_text = (model.model(), !model.is_own);
    let opened = Suite::open(&common.output, &head, model_text, vocabulary.completion, source);
    let mut suite = match opened {
        Ok(suite) => suite,
        Err(message) => return terminal.usage_error(&message),
    };
    let stop = stop_on_signal();
    let began = Instant::now();
    let units = arguments.count.div_ceil(AT_ONCE);
    terminal.begin_progress(units as usize);
    let mut exit = Exit::Fine;
    for index in suite.counts.units as u64..units {
        let numbers: Vec<u64> =
            (index * AT_ONCE..((index + 1) * AT_ONCE).min(arguments.count)).collect();
        let mut unit = Unit {
            name: format!("{}-{}", index * AT_ONCE, index * AT_ONCE + numbers.len() as u64 - 1),
            ..Unit::default()
        };
        let work = |number: &u64| {
            let shape = random(seed, *number, &arguments.weights, &vocabulary, &bounds)?;
            let draft = Draft { shape, claim: Vec::new() };
            Some(make(draft, vocabulary.completion, model.model(), false))
        };
        let each = |_: &u64, made: Result<Option<Result<Made, _>>, String>| {
            unit.tried += 1;
            match made {
                Ok(Some(Ok(made))) => unit.made.push(made),
                // No program comes of some numbers: it has more nodes or threads than the bounds allow.
                Ok(None) => {}
                Ok(Some(Err(_))) | Err(_) => unit.undecided += 1,
            }
            ControlFlow::Continue(())
        };
        map_in_order(&numbers, common.jobs.count(), &stop, work, each);
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
    finish(&suite, began, common.format.format, units as usize, terminal);
    exit
}
