//! `litmus gen`: suites made by machine.
//!
//! Each way to make tests is a list of units ([`suite::Unit`]), done in order; a suite remembers which are
//! done, so that a run that was interrupted goes on where it was, to the same bytes.

mod cycles;
mod generation;
mod journal;
pub mod part;
mod pivot;
mod random;
mod rma;
pub mod suite;

pub use generation::make;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::compare::{BoundsOptions, load};
use crate::exit::Exit;
use crate::options::{FormatOption, JobsOption, TimeoutOption};
use crate::select::SelectOption;
use crate::shard::ShardOption;
use crate::terminal::Terminal;

/// Make tests by machine, with verdicts by the engine
///
/// Every file says where it comes from, and carries verdicts that the engine has checked. Tests that are the
/// same up to the names of threads, nodes, locations, values and registers are written once. Ctrl-C ends a
/// run; the same command goes on where it was, and the suite is the same as that of one run.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    way: Way,
}

#[derive(Subcommand)]
enum Way {
    Pivot(pivot::Arguments),
    Cycles(cycles::Arguments),
    Random(random::Arguments),
}

/// What all ways need.
#[derive(Args)]
pub struct Common {
    /// The model that the verdicts are of
    #[arg(long, value_name = "NAME|FILE.cat", default_value = "rdma-tso-rmw")]
    model: String,
    /// The folder that the tests go to; it must be new, empty, or a suite that the same command began
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    output: Option<PathBuf>,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    bounds: BoundsOptions,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    timeout: TimeoutOption,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    shard: ShardOption,
}

/// Makes tests.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let common = match &arguments.way {
        Way::Pivot(way) => &way.common,
        Way::Cycles(way) => &way.common,
        Way::Random(way) => &way.common,
    };
    let model = match load(&common.model, terminal) {
        Ok(model) => model,
        Err(exit) => return exit,
    };
    let has_rules = matches!(arguments.way, Way::Pivot(_));
    if !has_rules && (common.select.is_some() || common.select.list) {
        return terminal.usage_error("-k and --list are for rules, which only `gen pivot` has");
    }
    match &arguments.way {
        Way::Pivot(way) if rma::is_rma(&model) => rma::run(way, &model, terminal),
        Way::Pivot(way) => pivot::run(way, &model, terminal),
        Way::Cycles(way) => cycles::run(way, &model, terminal),
        Way::Random(way) => random::run(way, &model, terminal),
    }
}
