//! The smallest programs on which two models differ.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lang::limits::{Limits, give_up};
use lang::outcome::Value;
use model::generate::differences::{Said, differences};
use model::generate::distinguish::{Undecided, differ};
use model::generate::drawn::drawn;
use model::generate::every::every;
use model::generate::naming::Naming;
use model::generate::program::{test, tree};
use model::generate::search::{Bounds, Candidates, Difference, Known, Vocabulary, check};
use model::generate::shape::{Completion, Shape};
use model::generate::text::{self, Words};
use serde_json::{Value as Json, json};

use super::{Arguments, BoundsOptions};
use crate::exit::Exit;
use crate::models::{LoadedModel, in_headers};
use crate::options::Format;
use crate::ordered::{Broken, map_in_order};
use crate::output::Failure;
use crate::table::count;
use crate::terminal::{Terminal, Tint};

/// How many locations programs may have that are tried without any aim.
const PLACES: usize = 3;
/// How many random programs are tried for each direction.
const DRAWN: u64 = 2_000;
/// Locations are few, so this many results of a tier are looked at together.
const AT_ONCE: usize = 4096;

/// The bounds that options set.
pub fn bounds_of(options: &BoundsOptions) -> Bounds {
    let default = Bounds::default();
    let or = |set: Option<u8>, default: usize| set.map_or(default, usize::from);
    Bounds {
        size: or(options.size, default.size),
        thread: or(options.thread_size, default.thread),
        threads: or(options.threads, default.threads),
        nodes: or(options.nodes, default.nodes),
    }
}

/// One of the two directions of a comparison.
struct Direction<'m> {
    forbids: &'m LoadedModel,
    allows: &'m LoadedModel,
    candidates: Candidates,
    found: Vec<Difference>,
}

/// What was tried.
#[derive(Default)]
struct Tried {
    programs: u64,
    undecided: u64,
    /// Why, for the first of these.
    reason: Option<String>,
    /// As bugs say.
    exit: Exit,
    /// The size up to which every program was tried.
    every: usize,
    /// The size of the largest program that was tried.
    largest: usize,
    /// How many random programs were tried beside, for the statements that no enumeration makes.
    drawn: u64,
}

impl Tried {
    /// One more that could not be decided.
    fn leave(&mut self, why: String) {
        self.undecided += 1;
        self.reason.get_or_insert(why);
    }
}

pub fn run(
    arguments: &Arguments,
    one: &LoadedModel,
    two: &LoadedModel,
    terminal: &mut Terminal,
) -> Exit {
    let searched = Limits::default().within(|| search(arguments, one, two, terminal));
    searched.unwrap_or_else(|reached| {
        let differences = differences(one.model(), two.model());
        let json = || {
            json!({
                "schema": "litmus-compare/1",
                "models": [one.name(), two.name()],
                "differences": differences.iter().map(|one| &one.text).collect::<Vec<_>>(),
                "programs": null,
                "reason": reached.to_string(),
            })
        };
        if arguments.format.format == Format::Json {
            terminal.out(&format!("{}\n", json()));
        }
        give_up(reached)
    })
}

fn search(
    arguments: &Arguments,
    one: &LoadedModel,
    two: &LoadedModel,
    terminal: &mut Terminal,
) -> Exit {
    let differences = differences(one.model(), two.model());
    let (bounds, jobs) = (bounds_of(&arguments.bounds), arguments.jobs.count());
    let vocabulary = Vocabulary::of(&[one.model(), two.model()]);
    let timeout = &arguments.timeout;
    let known = [one, two]
        .map(|model| timeout.within(|| Known::new(model.model(), &vocabulary, &bounds, jobs)));
    // Cells say what a thread's events are, and nothing of how threads meet.
    let may_meet = differences.iter().any(|difference| !difference.is_cell);
    let direction = |forbids: usize, allows: usize| {
        let models = [one, two];
        let simplest = &known[allows].simplest;
        let candidates = timeout.within(|| {
            Candidates::new(&known[forbids], models[allows].model(), simplest, may_meet, bounds)
        });
        let (forbids, allows) = (models[forbids], models[allows]);
        Direction { forbids, allows, candidates, found: Vec::new() }
    };
    let mut directions = [direction(0, 1), direction(1, 0)];
    let mut tried = Tried::default();
    // Models of one text differ nowhere.
    let sizes = if differences.is_empty() { 0 } else { bounds.size };
    for size in 1..=sizes {
        let all = usize::from(arguments.exhaustive) >= size;
        let rest = if all {
            timeout.within(|| everything(size, &vocabulary, &bounds))
        } else {
            Vec::new()
        };
        tried.every = if all { size } else { tried.every };
        for direction in &mut directions {
            let wanted = usize::from(arguments.count).saturating_sub(direction.found.len());
            if wanted == 0 {
                continue;
            }
            let aimed = timeout.within(|| direction.candidates.of_size(size));
            let known: BTreeSet<&Shape> = aimed.iter().collect();
            let others = rest.iter().filter(|shape| !known.contains(shape)).cloned();
            let shapes: Vec<Shape> = aimed.iter().cloned().chain(others).collect();
            if !shapes.is_empty() {
                tried.largest = size;
            }
            let models = (direction.forbids.model(), direction.allows.model());
            terminal.begin_progress(shapes.len());
            let try_one = |shape: &Shape| {
                let (forbids, allows) = models;
                timeout.within(|| check(shape, vocabulary.completion, forbids, allows))
            };
            let found = first(&shapes, wanted, try_one, jobs, &mut tried, terminal);
            direction.found.extend(found);
        }
    }
    if !differences.is_empty() && vocabulary.has_others() {
        for direction in &mut directions {
            draw(arguments, direction, &vocabulary, &mut tried, terminal);
        }
    }
    let is_complete = directions.iter().all(|direction| !direction.found.is_empty());
    let mut exit = match () {
        () if directions.iter().any(|direction| !direction.found.is_empty()) => Exit::Violation,
        () if differences.is_empty() => Exit::Fine,
        () => Exit::Unknown,
    };
    exit.raise(tried.exit);
    let folder = arguments.output.as_deref();
    let files = files(&directions, vocabulary.completion, folder.unwrap_or(Path::new("")));
    if let Some(folder) = folder
        && let Err(failure) = write(folder, &files)
    {
        return failure.tell(terminal);
    }
    let report = Report { differences, bounds, vocabulary, tried, directions: &directions, files };
    match arguments.format.format {
        Format::Json => report.json(is_complete, terminal),
        Format::Table => report.print(one, two, terminal),
    }
    if let Some(folder) = folder {
        let number = report.files.iter().flatten().count();
        terminal.note(&format!("{}: {}", folder.display(), count(number, "test")));
    }
    exit
}

/// Adds what random programs shrink to, if fewer are found than are asked for.
fn draw(
    arguments: &Arguments,
    direction: &mut Direction<'_>,
    vocabulary: &Vocabulary,
    tried: &mut Tried,
    terminal: &mut Terminal,
) {
    let wanted = usize::from(arguments.count).saturating_sub(direction.found.len());
    if wanted == 0 {
        return;
    }
    let (forbids, allows) = (direction.forbids.model(), direction.allows.model());
    let (bounds, completion) = (bounds_of(&arguments.bounds), vocabulary.completion);
    let differ = |shape: &Shape| differ(&test(shape, completion), forbids, allows);
    let look = |number: &u64| match drawn(*number, vocabulary, bounds, differ)? {
        Some(shape) => check(&shape, completion, forbids, allows),
        None => Ok(None),
    };
    let try_one = |number: &u64| arguments.timeout.within(|| look(number));
    let numbers: Vec<u64> = (0..DRAWN).collect();
    terminal.begin_progress(numbers.len());
    let others = std::mem::take(&mut tried.programs);
    let found = first(&numbers, wanted, try_one, arguments.jobs.count(), tried, terminal);
    tried.drawn += std::mem::replace(&mut tried.programs, others);
    direction.found.extend(found);
}

/// The programs that were found for each direction, as files of a folder: each has a name of its own.
fn files(
    directions: &[Direction<'_>; 2],
    completion: Completion,
    folder: &Path,
) -> [Vec<(String, String)>; 2] {
    let mut used = BTreeSet::new();
    directions.each_ref().map(|direction| {
        let mut file = |difference: &Difference| {
            let base = text::name(&difference.shape, completion);
            let numbered = (2..).map(|number| format!("{base}-{number}"));
            let mut names = std::iter::once(base.clone()).chain(numbered);
            let name = names.find(|name| used.insert(name.clone())).unwrap_or(base);
            let text = file(direction, difference, completion, name.clone(), folder);
            (name, text)
        };
        direction.found.iter().map(&mut file).collect()
    })
}

/// Writes the programs into a folder.
fn write(folder: &Path, files: &[Vec<(String, String)>; 2]) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, error))?;
    for (name, text) in files.iter().flatten() {
        let path = folder.join(format!("{name}.litmus"));
        // As a command that was killed left it.
        if std::fs::read_to_string(&path).is_ok_and(|known| known == *text) {
            campaign::files::tidy(&path);
            continue;
        }
        campaign::files::create(&path, text.as_bytes())
            .map_err(|error| Failure::unwritable(&path, error))?;
    }
    Ok(())
}

/// A program that was found, as a file of a folder.
fn file(
    direction: &Direction<'_>,
    difference: &Difference,
    completion: Completion,
    name: String,
    folder: &Path,
) -> String {
    let names: Vec<&str> = difference
        .condition
        .iter()
        .map(|(index, _)| difference.test.observables[*index].name.as_str())
        .collect();
    let values: Vec<Value> = difference.condition.iter().map(|(_, value)| *value).collect();
    let condition = text::condition(&names, &values);
    let (forbids, allows) = (direction.forbids, direction.allows);
    let words = Words {
        name,
        models: [forbids, allows].map(|model| in_headers(&model.argument, folder)).to_vec(),
        ..Words::default()
    };
    let verdicts = [(forbids, false), (allows, true)].map(|(model, is_allowed)| {
        (Some(model.name().to_owned()), text::verdict(condition.clone(), is_allowed))
    });
    let (shape, naming) = (&difference.shape, Naming::new(&difference.shape));
    text::text(text::with_verdicts(tree(shape, &naming, completion), verdicts), &words)
}

fn everything(size: usize, vocabulary: &Vocabulary, bounds: &Bounds) -> Vec<Shape> {
    let mut shapes = Vec::new();
    every(size, PLACES, vocabulary, bounds, &mut |shape| {
        shapes.push(shape);
        true
    });
    shapes
}

/// The first candidates that show a difference.
fn first<T: Sync>(
    shapes: &[T],
    wanted: usize,
    try_one: impl Fn(&T) -> Result<Option<Difference>, Undecided> + Sync,
    jobs: usize,
    tried: &mut Tried,
    terminal: &mut Terminal,
) -> Vec<Difference> {
    let mut found = Vec::new();
    for chunk in shapes.chunks(AT_ONCE) {
        let each = |_: &T, result: Result<Result<Option<Difference>, Undecided>, Broken>| {
            terminal.progress().inc(1);
            tried.programs += 1;
            match result {
                Ok(Ok(difference)) => found.extend(difference),
                Ok(Err(Undecided(why))) => tried.leave(why),
                Err(broken) => {
                    let why = broken.why(&mut tried.exit);
                    tried.leave(why);
                }
            }
            if found.len() >= wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        map_in_order(chunk, jobs, &AtomicBool::new(false), &try_one, each);
        if found.len() >= wanted {
            break;
        }
    }
    found.truncate(wanted);
    found
}

struct Report<'a> {
    differences: Vec<Said>,
    bounds: Bounds,
    vocabulary: Vocabulary,
    tried: Tried,
    directions: &'a [Direction<'a>; 2],
    /// The programs of each direction: their names and texts.
    files: [Vec<(String, String)>; 2],
}

impl Report<'_> {
    fn print(&self, one: &LoadedModel, two: &LoadedModel, terminal: &mut Terminal) {
        let look = terminal.look;
        let (one, two) = (one.name(), two.name());
        let mut text = match self.differences.len() {
            0 => format!("{one} and {two} say the same\n"),
            number => format!("{one} and {two}: {}\n", count(number, "difference")),
        };
        for difference in &self.differences {
            text += &format!("  {}\n", difference.text);
        }
        let directions = self.directions.iter().zip(&self.files);
        for (direction, files) in directions.filter(|_| !self.differences.is_empty()) {
            let (forbids, allows) = (direction.forbids.name(), direction.allows.name());
            let head = if direction.found.is_empty() {
                format!("no program found on which {allows} allows what {forbids} forbids")
            } else {
                format!("{allows} allows what {forbids} forbids")
            };
            text += &format!("\n{}\n", look.paint(Tint::Strong, &head));
            for (_, program) in files {
                text += &format!("\n{program}");
            }
        }
        terminal.out(&text);
        if !self.differences.is_empty() {
            terminal.out(&format!("\n{}\n", self.summary()));
        }
    }

    fn summary(&self) -> String {
        let Tried { programs, undecided, every, largest, .. } = self.tried;
        let Bounds { thread, threads, nodes, size } = self.bounds;
        let every = match every.min(size) {
            0 => String::new(),
            every => format!("; with up to {}, all there are", count(every, "statement")),
        };
        let mut text = format!(
            "{} tried, the largest of {}, with at most {thread} per thread, {threads} threads, {nodes} nodes{every}",
            count(programs as usize, "program"),
            count(largest, "statement"),
        );
        // Larger ones would have been tried, had there been some that the models' rules suggest.
        if self.directions.iter().any(|direction| direction.found.is_empty()) && largest < size {
            text += &format!("; of up to {size}, the models' rules suggest no others");
        }
        let drawn = self.tried.drawn;
        if drawn > 0 {
            text +=
                &format!("; with messages, flushes, arrays and crashes, {drawn} random programs");
        }
        if undecided > 0 {
            let reason = self.tried.reason.iter().map(|reason| format!(" ({reason})"));
            text += &format!("; {undecided} undecided{}", reason.collect::<String>());
        }
        text
    }

    fn json(&self, is_complete: bool, terminal: &mut Terminal) {
        let found: Vec<Json> = self
            .directions
            .iter()
            .zip(&self.files)
            .flat_map(|(direction, files)| {
                direction.found.iter().zip(files).map(move |(difference, (name, text))| {
                    json!({
                        "name": name,
                        "forbidden_by": direction.forbids.name(),
                        "allowed_by": direction.allows.name(),
                        "statements": difference.shape.size(),
                        "program": text,
                    })
                })
            })
            .collect();
        let waits = match self.vocabulary.completion {
            Completion::Poll => "poll",
            Completion::Wait => "wait",
            Completion::Never => "never",
        };
        let json = json!({
            "schema": "litmus-compare/1",
            "models": self.directions.iter().map(|direction| direction.forbids.name()).collect::<Vec<_>>(),
            "differences": self.differences.iter().map(|one| &one.text).collect::<Vec<_>>(),
            "programs": found,
            "both_directions": is_complete,
            "waits_by": waits,
            "tried": self.tried.programs,
            "undecided": self.tried.undecided,
            "reason": self.tried.reason,
            "every_program_of_size": self.tried.every,
            "largest_program": self.tried.largest,
            "random_programs": self.tried.drawn,
            "bounds": {
                "size": self.bounds.size,
                "thread": self.bounds.thread,
                "threads": self.bounds.threads,
                "nodes": self.bounds.nodes,
            },
        });
        terminal.out(&format!("{json}\n"));
    }
}
