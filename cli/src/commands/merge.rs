//! `litmus merge`: the outputs of all parts of a sharded command as the one that the whole command would have
//! made.
//!
//! [`campaign::merge`] says whether the parts are those of one whole, and puts their items in order; each
//! kind of output has a module that reads a part and writes the whole.

mod coverage;
mod records;
mod refinements;
mod reports;
mod suites;

use std::path::{Path, PathBuf};

use campaign::merge::{self, Flaw, Output, Refused, Whole};
use campaign::sealed;
use campaign::shard::ShardOf;
use clap::Args;
use evidence::record;
use lang::diagnostic::Code;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::generate::part::{PART, SCHEMA as SUITE};
use super::refine::record::SCHEMA as REFINE;
use crate::exit::Exit;
use crate::input;
use crate::options::Format;
use crate::output;
use crate::problem::Problem;
use crate::terminal::Terminal;

/// Put the outputs of `--shard` together
///
/// JSON of `allowed`, `run` and `coverage`, records of `run` and `refine`, and folders of `gen`: what comes
/// out is what the command without --shard would have written. A part that is there twice must be equal to
/// its copy; a part that is missing, broken or of another command is named, and nothing is written.
#[derive(Args)]
pub struct Arguments {
    /// The outputs of all parts, in any order
    #[arg(required = true, value_name = "FILE|DIR")]
    parts: Vec<PathBuf>,
    /// Where records and suites are written
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// How to print reports [default: table]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

/// The code of what is wrong with a part.
fn code(flaw: Flaw) -> Code {
    match flaw {
        Flaw::NotAPart => Code::NotAPart,
        Flaw::OtherWhole => Code::OtherWhole,
        Flaw::ConflictingParts => Code::ConflictingParts,
        Flaw::MissingParts => Code::MissingParts,
        Flaw::UnusablePart => Code::UnusablePart,
        Flaw::UnusableRecord => Code::UnusableRecord,
        Flaw::ChangedPart => Code::ChangedPart,
        Flaw::UnreadableFile => Code::UnreadableFile,
    }
}

/// Merges.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    match merge(arguments, terminal) {
        Ok(exit) => exit,
        Err(Failure::Other(failure)) => failure.tell(terminal),
        Err(Failure::Refused(refused)) => {
            for Refused { path, flaw, message } in refused {
                let problem = Problem::of_file(&path.to_string_lossy(), code(flaw), message);
                let text = problem.render(terminal.look.error_color);
                terminal.err(&text);
            }
            Exit::BadInput
        }
    }
}

/// Why nothing was merged.
enum Failure {
    Refused(Vec<Refused>),
    Other(output::Failure),
}

impl Failure {
    fn usage(message: &str) -> Self {
        Self::Other(output::Failure::Usage(message.to_owned()))
    }
}

impl From<output::Failure> for Failure {
    fn from(failure: output::Failure) -> Self {
        Self::Other(failure)
    }
}

/// Files and what is in them; of a folder, its journal.
type Files = Vec<(PathBuf, Vec<u8>)>;

fn merge(arguments: &Arguments, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let (files, schema) = read(&arguments.parts).map_err(Failure::Refused)?;
    let place = || {
        let message = "expected -o with the file or folder to be written";
        arguments.output.as_deref().ok_or_else(|| Failure::usage(message))
    };
    let is_printed = ![record::SCHEMA, REFINE, SUITE].contains(&schema.as_str());
    if !is_printed && arguments.format.is_some() {
        return Err(Failure::usage("--format is for reports; records and suites are files"));
    }
    if is_printed && arguments.output.is_some() {
        return Err(Failure::usage("-o is for records and suites; reports go to standard output"));
    }
    match (schema.as_str(), arguments.format) {
        (SUITE, _) => suites::write(together(files, terminal)?, place()?, terminal),
        (record::SCHEMA, _) => {
            let first = arguments.parts.first().map_or(Path::new(""), PathBuf::as_path);
            records::write(together(files, terminal)?, first, place()?, terminal)
        }
        (REFINE, _) => refinements::write(together(files, terminal)?, place()?, terminal),
        ("litmus-allowed/1" | "litmus-run/1", format) => {
            Ok(reports::print(together(files, terminal)?, format.unwrap_or_default(), terminal))
        }
        ("litmus-coverage/1", Some(Format::Table)) => Err(Failure::usage(
            "coverage is put together as JSON; --format table is for allowed and run",
        )),
        ("litmus-coverage/1", _) => Ok(coverage::print(together(files, terminal)?, terminal)),
        _ => {
            let message =
                "expected JSON of allowed, run or coverage, or a record, made with --shard";
            let refused = |path| Refused::new(path, Flaw::NotAPart, message);
            Err(Failure::Refused(
                arguments.parts.iter().take(1).map(|path| refused(path)).collect(),
            ))
        }
    }
}

/// Puts parts of one kind together, and says what was there twice.
fn together<T: Output>(files: Files, terminal: &mut Terminal) -> Result<Whole<T>, Failure> {
    let whole = merge::merge(files).map_err(Failure::Refused)?;
    whole.notes.iter().for_each(|note| terminal.note(note));
    Ok(whole)
}

/// What is in the files, and the format that all of them have.
fn read(paths: &[PathBuf]) -> Result<(Files, String), Vec<Refused>> {
    let (mut files, mut refused, mut schema) = (Files::new(), Vec::new(), None);
    for path in paths {
        match bytes(path).and_then(|bytes| Ok((schema_of(path, &bytes)?, bytes))) {
            Ok((own, bytes)) if *schema.get_or_insert(own.clone()) == own => {
                files.push((path.clone(), bytes));
            }
            Ok(_) => {
                let message = "has another format than the first part";
                refused.push(Refused::new(path, Flaw::OtherWhole, message));
            }
            Err(one) => refused.push(one),
        }
    }
    if refused.is_empty() { Ok((files, schema.unwrap_or_default())) } else { Err(refused) }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Refused> {
    if path.is_dir() {
        return input::bytes(&path.join(PART)).map_err(|error| {
            let message = format!("expected a folder of `gen --shard`, with {PART}, which {error}");
            Refused::new(path, Flaw::NotAPart, message)
        });
    }
    input::bytes(path).map_err(|message| Refused::new(path, Flaw::UnreadableFile, message))
}

/// The format, which all outputs say first.
fn schema_of(path: &Path, bytes: &[u8]) -> Result<String, Refused> {
    let begin = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(200);
    let begin: Vec<u8> = begin.collect();
    let schema = begin.strip_prefix(b"{\"schema\":\"").unwrap_or_default();
    match schema.iter().position(|byte| *byte == b'"') {
        Some(end) => Ok(String::from_utf8_lossy(&schema[..end]).into_owned()),
        None => Err(cut_off(path)),
    }
}

fn cut_off(path: &Path) -> Refused {
    Refused::new(
        path,
        Flaw::NotAPart,
        "expected an output of a command with --shard, found none or one that was cut off; run this part again",
    )
}

/// A JSON object that says which part it is of, and is what was written.
fn object<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<(ShardOf, T), Refused> {
    let mut json: Json = serde_json::from_slice(bytes).map_err(|_| cut_off(path))?;
    let is_sealed = sealed::unseal(&mut json)
        .map_err(|message| Refused::new(path, Flaw::ChangedPart, message))?;
    let shard = json.as_object_mut().and_then(|fields| fields.shift_remove("shard"));
    let shard = shard.filter(|_| is_sealed).and_then(|shard| serde_json::from_value(shard).ok());
    shard.zip(serde_json::from_value(json).ok()).ok_or_else(|| Refused::not_a_part(path))
}
