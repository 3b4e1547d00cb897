//! `litmus compare`: where two models differ, by the smallest programs that show it or by given tests.

mod files;
mod search;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::exit::Exit;
use crate::libraries::LibraryOption;
use crate::models::LoadedModel;
use crate::options::{FormatOption, JobsOption, TimeoutOption, choose_models};
use crate::select::SelectOption;
use crate::sink::Sink;
use crate::terminal::Terminal;

pub(crate) use search::bounds_of;

/// Show where two models differ: the smallest programs on which they do, or the outcomes of given tests
///
/// Without files, programs are searched by size, in both directions: those on which the second model allows
/// an outcome that the first forbids, and the other way round. With files, the outcomes of each under both
/// models are compared: `litmus compare rdma-tso sc FILE` tells whether a program needs care. The exit code
/// is 0 if no difference was found and none can be, 1 if there is one, and 2 if the search ended at its
/// bounds.
#[derive(Args)]
pub struct Arguments {
    /// The first model
    #[arg(value_name = "MODEL|FILE.cat")]
    one: String,
    /// The second model
    #[arg(value_name = "MODEL|FILE.cat")]
    two: String,
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    bounds: BoundsOptions,
    /// How many programs to show in each direction
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Also try every program of up to N statements, whatever it looks like; 3 takes minutes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=8))]
    exhaustive: u8,
    /// Write the programs that are found into this folder, a file each
    #[arg(short, long, value_name = "DIR", conflicts_with = "paths")]
    output: Option<PathBuf>,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    timeout: TimeoutOption,
    #[command(flatten)]
    jobs: JobsOption,
}

/// How large generated programs may be.
#[derive(Args)]
pub struct BoundsOptions {
    /// The most statements in all; waiting for an operation counts as one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub size: Option<u8>,
    /// The most statements of a thread
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=6))]
    pub thread_size: Option<u8>,
    /// The most threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub threads: Option<u8>,
    /// The most nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub nodes: Option<u8>,
}

/// Compares.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let (paths, format) = (&arguments.paths, arguments.format.format);
        let asked = (&[][..], &arguments.libraries);
        return arguments.select.list(paths, &["litmus"], asked, format, terminal);
    }
    let one = match load(&arguments.one, terminal) {
        Ok(model) => model,
        Err(exit) => return exit,
    };
    let two = match load(&arguments.two, terminal) {
        Ok(model) => model,
        Err(exit) => return exit,
    };
    if arguments.paths.is_empty() {
        search::run(arguments, &one, &two, terminal)
    } else {
        files::run(arguments, &one, &two, terminal)
    }
}

/// A model that the command line names; if there is none, the reason has been printed.
pub fn load(argument: &str, terminal: &mut Terminal) -> Result<Arc<LoadedModel>, Exit> {
    let mut sink = Sink::plain(terminal);
    let models = choose_models(&[argument.to_owned()], &mut sink);
    models.and_then(|models| models.chosen.first().cloned()).ok_or(sink.exit)
}
