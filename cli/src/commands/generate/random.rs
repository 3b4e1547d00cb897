//! `litmus gen random`.

use std::ops::ControlFlow;

use clap::Args;
use model::generate::draft::Draft;
use model::generate::random::{Posting, Seed, Weights, random};
use model::generate::search::Vocabulary;
use serde_json::json;

use super::Common;
use super::generation::{Generation, make};
use super::rma::speaks_of_rdma;
use super::suite::{Tried, Unit};
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Random tests, the same for the same seed
///
/// A number without a program in which threads meet, or with more outcomes than a file lists, gives no test;
/// tests that are the same up to symmetry are written once.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    /// What all random choices derive from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many programs to draw
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    count: u64,
    /// How often statements are taken, as in 'put=8,mfence=0'; what is not named keeps its weight of w=4,
    /// r=5, cas=1, faa=1, mfence=1, put=4, copy=2, get=4, rcas=2, rfaa=2, wait=4, rfence=1,
    /// inline=0 (puts whose source is read at the post), flush=0, atomicwrite=0, persist=0 (if not 0, all
    /// nodes crash), send=0, sendimm=0, putimm=0 (receives are added for them), wput=0, wget=0 (of arrays),
    /// index=0 (reads and puts of the word of an array that a value chooses)
    #[arg(long, value_name = "WEIGHTS", default_value = "")]
    weights: Weights,
    /// The most queue pairs that a thread has to one node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=MOST_QUEUE_PAIRS))]
    queue_pairs: u8,
    /// Make one remote operation in N unsignaled: it has no completion of its own; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0)]
    unsignaled: u8,
    /// Put one remote operation in N on a queue pair that the threads of a node share; 0 for none
    #[arg(long, value_name = "N", default_value_t = 0)]
    shared: u8,
}

/// More make no other programs than these: threads are short.
const MOST_QUEUE_PAIRS: i64 = 4;

/// The most programs: their numbers are a list.
const MOST: u64 = 100_000_000;
/// How many programs a unit has.
const AT_ONCE: u64 = 64;

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let Arguments { common, seed, count, weights, queue_pairs, unsignaled, shared } = arguments;
    let posting = Posting { queue_pairs: *queue_pairs, unsignaled: *unsignaled, shared: *shared };
    if let Err(message) = speaks_of_rdma("random", model) {
        return terminal.usage_error(&message);
    }
    let mut choices = json!({ "count": count, "weights": weights.to_string() });
    if *queue_pairs > 1 {
        choices["queue_pairs"] = json!(queue_pairs);
    }
    if *unsignaled > 0 {
        choices["unsignaled"] = json!(unsignaled);
    }
    if *shared > 0 {
        choices["shared"] = json!(shared);
    }
    let way = format!("random --seed {seed}");
    let bounds = bounds_of(&common.bounds);
    let vocabulary = Vocabulary::of(&[model.model()]);
    if let Some(message) = weights.refused(&vocabulary) {
        return terminal.usage_error(&format!("--weights: {message} ({})", model.name()));
    }
    if *queue_pairs > 1 && !vocabulary.has_queue_pairs {
        let message = "expected `--queue-pairs 1`, as the model knows one for each thread and node";
        return terminal.usage_error(&format!("{message} ({})", model.name()));
    }
    for (option, given, call) in
        [("shared", *shared, "SharedPost"), ("unsignaled", *unsignaled, "Unsignaled")]
    {
        if given > 0 && !vocabulary.calls.contains(&call) {
            let message = format!("expected `--{option} 0`, as the model does not define `{call}`");
            return terminal.usage_error(&format!("{message} ({})", model.name()));
        }
    }
    let units = count.div_ceil(AT_ONCE) as usize;
    let opened = Generation::open(&way, &choices, common, (&bounds, units), model, &vocabulary);
    let generation = match opened {
        Ok(generation) => generation,
        Err(failure) => return failure.tell(terminal),
    };
    generation.fill(units, terminal, |generation, index, _| {
        let first = index as u64 * AT_ONCE;
        let numbers: Vec<u64> = (first..(first + AT_ONCE).min(*count)).collect();
        let name = format!("{first}-{}", first + numbers.len() as u64 - 1);
        let mut unit = Unit { name, ..Unit::default() };
        let drawn = |number: &u64| {
            let seed = Seed { seed: *seed, number: *number };
            let shape = random(seed, posting, weights, &vocabulary, &bounds);
            let Some(shape) = shape else {
                return Ok(Tried::Nothing);
            };
            let draft = Draft { shape, claim: Vec::new() };
            make(draft, vocabulary.completion, model.model(), false)
        };
        let work = |number: &u64| generation.timeout.within(|| drawn(number));
        let each = |_: &u64, tried| {
            unit.take(tried);
            ControlFlow::Continue(())
        };
        map_in_order(&numbers, generation.jobs, &generation.stop, work, each);
        unit
    })
}
