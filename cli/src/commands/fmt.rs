//! `litmus fmt`.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use lang::litmus;

use crate::exit::Exit;
use crate::input::{self, Input};
use crate::options::show_problems;
use crate::problem::problems;
use crate::terminal::Terminal;

/// Print litmus files in their normal form
#[derive(Args)]
pub struct Arguments {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Print nothing but the names of files that are not in normal form, and exit with 1 if there are any
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Change the files
    #[arg(long, short)]
    write: bool,
}

/// Formats all files; wrong ones do not keep it from formatting the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let (inputs, problems) = input::collect(&arguments.paths, &["litmus"]);
    let mut exit = Exit::Fine;
    if show_problems(&problems, terminal) {
        exit.raise(Exit::BadInput);
    }
    for input in inputs {
        if terminal.is_closed() {
            break;
        }
        exit.raise(format_one(&input, arguments, terminal));
    }
    exit
}

fn format_one(input: &Input, arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let source = match input.read() {
        Ok(source) => source,
        Err(problem) => {
            show_problems(&[*problem], terminal);
            return Exit::BadInput;
        }
    };
    let (file, diagnostics) = litmus::parse(&source);
    let Some(file) = file else {
        show_problems(&problems(&source, diagnostics), terminal);
        return Exit::BadInput;
    };
    let text = litmus::print(&file);
    let is_normal = text == source.text;
    if arguments.check {
        if !is_normal {
            terminal.out(&format!("{}\n", input.name()));
            return Exit::Violation;
        }
    } else if !arguments.write || input.is_stdin() {
        terminal.out(&text);
    } else if !is_normal {
        if let Err(error) = fs::write(&input.path, text) {
            terminal.err(&format!("error: cannot write {}: {error}\n", input.name()));
            return Exit::BadInput;
        }
        terminal.note(&format!("formatted {}", input.name()));
    }
    Exit::Fine
}
