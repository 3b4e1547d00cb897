//! `litmus merge`: the outputs of all parts of a sharded command as the one that the whole command would have made.
//!
//! [`parts`] says whether the parts are those of one whole; each kind of output has a module that puts contents together.

mod coverage;
mod parts;
mod records;
mod refinements;
mod reports;
mod suites;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;

use super::refine::record::SCHEMA as REFINE;
use crate::exit::Exit;
use crate::input;
use crate::options::Format;
use crate::output;
use crate::problem::Problem;
use crate::terminal::Terminal;

/// Put the outputs of `--shard` together
///
/// JSON of `allowed`, `run` and `coverage`, records of `run` and `refine`, and folders of `gen`: what comes out is what the
/// command without --shard would have written. A part that is there twice must be equal to its copy; a part that is
/// missing, broken or of another command is named, and nothing is written.
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

/// What cannot be merged, and why.
#[derive(Debug)]
pub struct Refused {
    path: PathBuf,
    code: &'static str,
    message: String,
}

impl Refused {
    fn new(path: &Path, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), code, message: message.into() }
    }
}

/// Merges.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    match merge(arguments, terminal) {
        Ok(exit) => exit,
        Err(Failure::Other(failure)) => failure.tell(terminal),
        Err(Failure::Refused(refused)) => {
            for Refused { path, code, message } in refused {
                let problem = Problem::of_file(&path.to_string_lossy(), code, message);
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

impl From<output::Failure> for Failure {
    fn from(failure: output::Failure) -> Self {
        Self::Other(failure)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(vec![refused])
    }
}

/// What a part's file holds.
enum Content {
    /// One JSON object.
    Object(Json),
    /// A record of `run`.
    Record(Vec<u8>),
    /// A record of `refine`.
    Refinement(Vec<u8>),
    /// A folder of `gen`.
    Suite,
}

impl Content {
    fn read(path: &Path) -> Result<Self, Refused> {
        if path.is_dir() {
            return Ok(Self::Suite);
        }
        let bytes =
            input::bytes(path).map_err(|message| Refused::new(path, "unreadable-file", message))?;
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let head = serde_json::from_slice::<Json>(first).unwrap_or_default();
        match head["schema"].as_str() {
            Some(executor::record::SCHEMA) => return Ok(Self::Record(bytes)),
            Some(REFINE) => return Ok(Self::Refinement(bytes)),
            _ => {}
        }
        match serde_json::from_slice::<Json>(&bytes) {
            Ok(json @ Json::Object(_)) => Ok(Self::Object(json)),
            _ => Err(Refused::new(
                path,
                "not-a-part",
                "expected an output of a command with --shard, found none or one that was cut off; run this part again",
            )),
        }
    }
}

fn merge(arguments: &Arguments, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut refused = Vec::new();
    let mut contents = Vec::new();
    for path in &arguments.parts {
        match Content::read(path) {
            Ok(content) => contents.push((path.clone(), content)),
            Err(one) => refused.push(one),
        }
    }
    if !refused.is_empty() {
        return Err(Failure::Refused(refused));
    }
    let output = || {
        let message = "expected -o with the file or folder to be written";
        arguments.output.clone().ok_or_else(|| output::Failure::Usage(message.to_owned()))
    };
    let is_printed = matches!(contents.first(), Some((_, Content::Object(_))));
    if arguments.format.is_some() && !is_printed {
        let message = "--format is for reports; records and suites are files";
        return Err(output::Failure::Usage(message.to_owned()).into());
    }
    match contents.first() {
        Some((_, Content::Suite)) => suites::merge(&arguments.parts, &output()?, terminal),
        Some((_, Content::Record(_))) => records::merge(contents, &output()?, terminal),
        Some((_, Content::Refinement(_))) => {
            let read = |(path, content): (PathBuf, Content)| match content {
                Content::Refinement(bytes) => refinements::read(&path, &bytes),
                _ => Err(Refused::new(
                    &path,
                    "other-whole",
                    "expected a record of `refine`, as the first part is",
                )),
            };
            let parts = contents.into_iter().map(read).collect::<Result<_, _>>()?;
            refinements::merge(parts, &output()?, terminal)
        }
        Some((_, Content::Object(_))) if arguments.output.is_some() => {
            let message = "-o is for records and suites; reports go to standard output";
            Err(output::Failure::Usage(message.to_owned()).into())
        }
        Some((path, Content::Object(json))) => match json["schema"].as_str() {
            Some("litmus-allowed/1" | "litmus-run/1") => {
                reports::merge(objects(contents)?, arguments.format.unwrap_or_default(), terminal)
            }
            Some("litmus-coverage/1") if arguments.format == Some(Format::Table) => {
                let message =
                    "coverage is put together as JSON; --format table is for allowed and run";
                Err(output::Failure::Usage(message.to_owned()).into())
            }
            Some("litmus-coverage/1") => coverage::merge(objects(contents)?, terminal),
            _ => {
                let message =
                    "expected JSON of allowed, run or coverage, or a record, made with --shard";
                Err(Refused::new(path, "not-a-part", message).into())
            }
        },
        None => Ok(Exit::Fine),
    }
}

/// The parts that are JSON objects, all with the schema of the first.
fn objects(contents: Vec<(PathBuf, Content)>) -> Result<Vec<parts::Part<Json>>, Failure> {
    let mut found = Vec::new();
    let mut schema = None;
    for (path, content) in contents {
        let Content::Object(json) = content else {
            return Err(
                Refused::new(&path, "other-whole", "is no JSON, as the first part is").into()
            );
        };
        let own = json["schema"].clone();
        if *schema.get_or_insert(own.clone()) != own {
            return Err(Refused::new(
                &path,
                "other-whole",
                "has another schema than the first part",
            )
            .into());
        }
        found.push(parts::Part::of_json(path, json)?);
    }
    Ok(found)
}
