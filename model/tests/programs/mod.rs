//! Random programs as litmus text, and what tests do with them. Shared by the tests that need programs.

mod features;
mod generate;
mod loops;
mod shrink;
mod text;

pub use features::{
    crashes, flushes, generate, inline_puts, messages, queue_pairs, shared_polls, shared_posts,
    unsignaled, words,
};
pub use loops::looping;
pub use shrink::shrink;
pub use text::{Program, Statement};

use lang::Test;
use lang::cat::model::Model;
use lang::source::Source;

/// The number in an environment variable, or another one if it is not set.
pub fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => {
            text.parse().unwrap_or_else(|_| panic!("{variable}: expected a number, found {text}"))
        }
        Err(_) => otherwise,
    }
}

/// A text as the front end reads it; what it says if it refuses.
pub fn load(text: &str) -> Result<Test, String> {
    let source = Source::new("random.litmus", text);
    let (test, diagnostics) = lang::litmus::load_with(&source, model::library::shipped().words());
    test.ok_or_else(|| diagnostics.iter().map(|found| found.render(&source, false)).collect())
}

/// Models of networks have no machine, take most of the time, and differ in few definitions: a program is put
/// to one in this many of them.
const NETWORKS_ONE_IN: u64 = 5;

/// The models that a program is put to: those with a machine, and some of the others, in turn.
pub fn in_turn(models: &[Model], seed: u64) -> Vec<&Model> {
    let (with, without): (Vec<_>, Vec<_>) =
        models.iter().partition(|model| model.machine.is_some());
    let its_turn = |(at, _): &(u64, &Model)| (at + seed).is_multiple_of(NETWORKS_ONE_IN);
    let few = (without.len() as u64) < NETWORKS_ONE_IN;
    let without = (0..).zip(without).filter(|at| few || its_turn(at)).map(|(_, model)| model);
    with.into_iter().chain(without).collect()
}

/// What `verbs` says of waits, with the machine that polls for them.
const WAITS_BY_POLLS: &str = "include \"verbs\"
uncall Poll Send Recv PollRecv Immediate Flush AtomicWrite Persist Crash SharedPost
machine rdma-wait-polls
";

/// Every shipped model, and that of waits by polls.
pub fn models() -> Vec<Model> {
    let load = |name: &str| model::models::load_shipped(name).and_then(Result::ok);
    let names = model::models::SHIPPED.iter().map(|(name, _)| *name);
    names
        .map(|name| load(name).unwrap_or_else(|| panic!("the model {name} does not load")).model)
        .chain([model_of("waits-by-polls.cat", WAITS_BY_POLLS)])
        .collect()
}

/// The model of a text, which may include shipped ones.
pub fn model_of(name: &str, text: &str) -> Model {
    let loader = |name: &str, _: &str| model::models::shipped(name.trim_end_matches(".cat"));
    lang::cat::load(&Source::new(name, text), &loader).expect("it is right").model
}
