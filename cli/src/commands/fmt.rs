//! `litmus fmt`.

use std::fs;
use std::path::{Path, PathBuf};

use campaign::files;
use clap::{Args, ValueEnum};
use compiler::library::Libraries;
use lang::diagnostic::Code;
use lang::{herd, litmus};

use crate::exit::Exit;
use crate::input::Input;
use crate::inputs::{self, Workers};
use crate::libraries::LibraryOption;
use crate::memory::MemoryOption;
use crate::options::TimeoutOption;
use crate::output;
use crate::problem::{Problem, problems};
use crate::sink::Sink;
use crate::terminal::Terminal;

/// Print litmus files in their normal form; convert herd's files for x86
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
    /// Convert files of herd's (X86, X86_64) into this language
    #[arg(long, value_name = "LANGUAGE", conflicts_with_all = ["check", "write"])]
    to: Option<Language>,
    /// With --to: write NAME.litmus for each into this folder, which is made if it is not there
    #[arg(short, long, value_name = "DIR", requires = "to")]
    output: Option<PathBuf>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    timeout: TimeoutOption,
    #[command(flatten)]
    memory: MemoryOption,
}

/// What files can be converted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    /// Ours.
    Litmus,
}

/// Formats all files; wrong ones do not keep it from formatting the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let mut sink = Sink::plain(terminal);
    let Some(libraries) = arguments.libraries.choose(&mut sink) else { return sink.exit };
    let inputs = inputs::find(&arguments.paths, &["litmus"], &mut sink);
    let work = |input: &Input| arguments.timeout.within(|| text_of(input, arguments, libraries));
    // Files are small, and one worker takes them in turn.
    let workers = Workers { jobs: 1, ..Workers::default() };
    workers.work(&inputs, &mut sink, work, |input, text, sink| match text {
        Ok(text) => sink.exit.raise(tell(input, &text, arguments, sink.terminal)),
        Err(problems) => sink.problems(problems),
    });
    sink.exit
}

/// A file in its normal form.
struct Formatted {
    name: String,
    text: String,
    is_normal: bool,
}

/// # Errors
/// All that is wrong with it.
fn text_of(
    input: &Input,
    arguments: &Arguments,
    libraries: &Libraries,
) -> Result<Formatted, Vec<Problem>> {
    let source = input.read().map_err(|problem| vec![*problem])?;
    let is_herd = herd::architecture(&source.text).is_some();
    if is_herd && arguments.to.is_none() {
        let problem = Problem::of_file(
            &input.name(),
            Code::HerdFile,
            "expected a litmus program of ours, found one of herd's",
        );
        return Err(vec![problem.help("`litmus fmt --to litmus FILE` converts it")]);
    }
    let (file, diagnostics) =
        if is_herd { herd::convert(&source) } else { litmus::parse(&source, libraries.words()) };
    let file = file.ok_or_else(|| problems(&source, diagnostics))?;
    let text = litmus::print(&file);
    Ok(Formatted { name: file.name.text, is_normal: text == source.text, text })
}

fn tell(
    input: &Input,
    formatted: &Formatted,
    arguments: &Arguments,
    terminal: &mut Terminal,
) -> Exit {
    let Formatted { name, text, is_normal } = formatted;
    if let Some(folder) = &arguments.output {
        return write_into(folder, name, text, terminal);
    }
    if arguments.check {
        if !is_normal {
            terminal.out(&format!("{}\n", input.name()));
            return Exit::Violation;
        }
    } else if !arguments.write || input.is_stdin() {
        terminal.out(text);
    } else if !is_normal {
        let written = output::write(&input.path, text, terminal);
        if written != Exit::Fine {
            return written;
        }
        terminal.note(&format!("formatted {}", input.name()));
    }
    Exit::Fine
}

/// Writes a file that is named after its test. One that is there already is left alone.
fn write_into(folder: &Path, name: &str, text: &str, terminal: &mut Terminal) -> Exit {
    let name = match files::file_name(&name.replace(['/', '\\'], "_"), "litmus") {
        Ok(name) => name,
        Err(message) => return output::refuse(folder, &message, terminal),
    };
    match fs::create_dir_all(folder) {
        Ok(()) => output::create(&folder.join(name), text, terminal),
        Err(error) => output::refuse(folder, &error, terminal),
    }
}
