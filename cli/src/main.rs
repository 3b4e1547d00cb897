//! The binary `litmus`: the only place that reads arguments, prints, and exits.
//!
//! Exit codes are documented in [`exit`]; to follow a command, begin with its file in `commands`, say
//! [`commands::allowed`].

mod allocator;
mod applies;
mod cache;
mod commands;
mod examples;
mod exit;
mod groups;
mod input;
mod inputs;
mod interrupt;
mod judging;
mod libraries;
mod machines;
mod memory;
mod models;
mod options;
mod ordered;
mod output;
mod pages;
mod problem;
mod select;
mod shard;
mod shell;
mod sink;
mod table;
mod terminal;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use exit::Exit;
use ordered::Broken;
use output::STDOUT;
use terminal::{ColorChoice, Terminal};

/// Litmus tests for RDMA: which outcomes a memory model allows, and which a machine shows.
#[derive(Parser)]
#[command(name = "litmus", version, after_help = exit::HELP, arg_required_else_help = true)]
struct Arguments {
    /// When to use color; NO_COLOR in the environment is honored
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, display_order = 100)]
    color: ColorChoice,
    /// Only say what is wrong
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 101)]
    quiet: bool,
    /// Say more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 102)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Allowed(commands::allowed::Arguments),
    Watch(Box<commands::watch::Arguments>),
    Explain(commands::explain::Arguments),
    ExplainCode(commands::explain_code::Arguments),
    Run(Box<commands::run::Arguments>),
    Report(commands::report::Arguments),
    Gen(commands::generate::Arguments),
    Coverage(commands::coverage::Arguments),
    Compare(commands::compare::Arguments),
    Refine(commands::refine::Arguments),
    Repair(commands::repair::Arguments),
    Merge(commands::merge::Arguments),
    Agent(commands::agent::Arguments),
    Compile(commands::compile::Arguments),
    Check(commands::check::Arguments),
    Fmt(commands::fmt::Arguments),
    Lsp(commands::lsp::Arguments),
    Models(commands::models::Arguments),
    Devices(commands::devices::Arguments),
    Nic(commands::nic::Arguments),
    Completions(commands::completions::Arguments),
    Man(commands::man::Arguments),
}

fn main() -> ExitCode {
    // Before there is another thread.
    executor::rdma::verbs::prepare_environment();
    interrupt::end_with_server();
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(refuse(&error).code()),
    };
    std::panic::set_hook(Box::new(|info| {
        let text = format!(
            "litmus: internal error: {info}\n\
             litmus: this is a bug; please report it with the command and its input\n"
        );
        // Nobody can be told that stderr does not work.
        drop(std::io::stderr().write_all(text.as_bytes()));
    }));
    let exit = ordered::guard(|| run(arguments)).unwrap_or_else(|broken| match broken {
        Broken::Panic(_) => Exit::Internal,
        Broken::Limit(reached) => {
            let text = format!("litmus: {reached}\n");
            drop(std::io::stderr().write_all(text.as_bytes()));
            Exit::Unknown
        }
    });
    ExitCode::from(exit.code())
}

/// The command line, in which every option means something.
fn parse() -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches()?;
    shard::take(&command(), &matches);
    if let Some(message) = applies::meaningless(&matches) {
        return Err(command().error(ErrorKind::ArgumentConflict, message));
    }
    memory::take(&matches);
    Arguments::from_arg_matches(&matches)
}

/// What can be said on the command line.
fn command() -> clap::Command {
    examples::with_examples(Arguments::command())
}

/// Prints what clap has to say. Help and version were asked for; all else is an error.
fn refuse(error: &clap::Error) -> Exit {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match (error.kind(), printed) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Ok(())) => Exit::Fine,
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Err(why)) => match why.kind() {
            // A reader that went away is no reason to fail.
            std::io::ErrorKind::BrokenPipe => Exit::Fine,
            _ => {
                let text = output::problem(Path::new(STDOUT), &why).render(false);
                drop(std::io::stderr().write_all(text.as_bytes()));
                Exit::Unwritable
            }
        },
        _ => Exit::Usage,
    }
}

fn run(arguments: Arguments) -> Exit {
    let mut terminal = Terminal::new(arguments.color, arguments.quiet, arguments.verbose);
    let mut exit = match arguments.command {
        Command::Allowed(arguments) => commands::allowed::run(&arguments, &mut terminal),
        Command::Watch(arguments) => commands::watch::run(&arguments, &mut terminal),
        Command::Explain(arguments) => commands::explain::run(&arguments, &mut terminal),
        Command::ExplainCode(arguments) => commands::explain_code::run(&arguments, &mut terminal),
        Command::Run(arguments) => commands::run::run(&arguments, &mut terminal),
        Command::Report(arguments) => commands::report::run(&arguments, &mut terminal),
        Command::Gen(arguments) => commands::generate::run(&arguments, &mut terminal),
        Command::Coverage(arguments) => commands::coverage::run(&arguments, &mut terminal),
        Command::Compare(arguments) => commands::compare::run(&arguments, &mut terminal),
        Command::Refine(arguments) => commands::refine::run(&arguments, &mut terminal),
        Command::Repair(arguments) => commands::repair::run(&arguments, &mut terminal),
        Command::Merge(arguments) => commands::merge::run(&arguments, &mut terminal),
        Command::Agent(arguments) => commands::agent::run(&arguments, &mut terminal),
        Command::Compile(arguments) => commands::compile::run(&arguments, &mut terminal),
        Command::Check(arguments) => commands::check::run(&arguments, &mut terminal),
        Command::Fmt(arguments) => commands::fmt::run(&arguments, &mut terminal),
        Command::Lsp(arguments) => commands::lsp::run(&arguments, &mut terminal),
        Command::Models(arguments) => commands::models::run(&arguments, &mut terminal),
        Command::Devices(arguments) => commands::devices::run(&arguments, &mut terminal),
        Command::Nic(arguments) => commands::nic::run(&arguments, &mut terminal),
        Command::Completions(arguments) => {
            commands::completions::run(&arguments, command(), &mut terminal)
        }
        Command::Man(arguments) => commands::man::run(&arguments, command(), &mut terminal),
    };
    terminal.tell_time();
    exit.raise(terminal.finish());
    exit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }

    #[test]
    fn exit_codes() {
        let mut codes = [Exit::Fine, Exit::Violation, Exit::Unknown, Exit::Usage, Exit::BadInput];
        assert_eq!(codes.map(Exit::code), [0, 1, 2, 64, 65]);
        codes.reverse();
        codes.sort();
        assert_eq!(codes.map(Exit::code), [0, 2, 1, 65, 64]);
        assert_eq!(Exit::Unwritable.code(), 74);
        assert!(Exit::Usage < Exit::Unwritable && Exit::Unwritable < Exit::Internal);
        let panicked: Result<Exit, Broken> = ordered::guard(|| panic!("for the test"));
        assert_eq!(panicked.unwrap_or(Exit::Internal).code(), 70);
    }
}
