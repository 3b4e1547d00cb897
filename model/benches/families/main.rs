//! How time grows with the program: families of programs by each engine, beside other tools' figures.
//!
//! `cargo bench -p model --bench families` prints tables in Markdown. Arguments restrict them to families, as
//! in `-- CO puts`; `--limit SECONDS` is how long one engine may take for one program.

#![allow(clippy::print_stdout, reason = "the tables are the result")]

#[path = "../shared/allocator.rs"]
mod allocator;
mod cell;
mod growth;
#[path = "../shared/markdown.rs"]
mod markdown;
mod programs;

use std::time::Duration;

use cell::{Cell, Engine};
use growth::Point;
use programs::{Family, Member, NODES, Program, SIZES, Size, THREADS, families, random_programs};

/// How long one engine may take for one program, if nothing else is said.
const LIMIT: Duration = Duration::from_secs(10);
/// How long executions may be counted.
const COUNTING: Duration = Duration::from_secs(3);
/// How often programs are measured, in turns. Within a process the median counts, which is what a user gets;
/// of processes the least, since other work slows a machine for seconds at a time.
const ROUNDS: usize = 5;
/// Random programs are measured in rounds if the first one takes longer than this.
const SLOW: Duration = Duration::from_millis(100);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    if let [word, engine, limit] = arguments.as_slice()
        && word == cell::WORD
    {
        return cell::answer(engine, limit);
    }
    let mut limit = LIMIT;
    let mut wanted = Vec::new();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        if argument == "--limit" {
            let seconds = rest.next().and_then(|seconds| seconds.parse().ok());
            limit = Duration::from_secs(seconds.expect("seconds after --limit"));
        } else {
            wanted.push(argument);
        }
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
    let families: Vec<Family> =
        families().into_iter().filter(|family| is_wanted(family.name)).collect();
    let mut most = Most::default();
    if !families.is_empty() {
        tables(&families, limit, &mut most);
    }
    for size in &SIZES {
        if is_wanted("random") || is_wanted(&format!("random{}", size.events)) {
            random(size, limit, &mut most);
        }
    }
    println!(
        "\nThe most memory that a process took: {} MiB ({}). The limit was {} s for a program by an engine.",
        most.peak.div_ceil(1024),
        most.program,
        limit.as_secs()
    );
}

/// The program that took the most memory.
#[derive(Default)]
struct Most {
    /// In KiB.
    peak: u64,
    program: String,
}

impl Most {
    fn take(&mut self, cell: &Cell, program: &str, engine: &str) {
        if cell.peak > self.peak {
            *self = Self { peak: cell.peak, program: format!("{program} by {engine}") };
        }
    }
}

fn tables(families: &[Family], limit: Duration, most: &mut Most) {
    let mut rows = Vec::new();
    let mut exponents = Vec::new();
    let mut measured = measure(families, limit, most).into_iter();
    for family in families {
        let mut points = Vec::new();
        for (member, measured) in family.members.iter().zip(measured.by_ref()) {
            rows.push(row(member, measured, limit, &mut points));
        }
        let mut cells = vec![format!("{} ({} programs)", family.name, points.len())];
        for engine in [|point: &Point| point.smt, |point: &Point| point.explore] {
            cells.push(growth::exponent(&points, engine, |point| point.outcomes));
            cells.push(growth::exponent(&points, engine, |point| point.shown()));
            cells.push(growth::exponent(&points, engine, |point| point.executions));
        }
        exponents.push(cells);
    }
    markdown::print(
        &[
            "program",
            "events",
            "outcomes",
            "executions",
            "smt, ms",
            "MiB",
            "explore, ms",
            "MiB",
            "herd7, ms",
            "herd7 -optace true, ms",
            "GenMC, ms",
        ],
        &rows,
    );
    println!(
        "\nHow time grows: the exponent b of time ~ size^b, by least squares over logarithms.\n"
    );
    markdown::print(
        &[
            "family",
            "smt: outcomes",
            "outcomes × events",
            "executions",
            "explore: outcomes",
            "outcomes × events",
            "executions",
        ],
        &exponents,
    );
}

/// A member of a family, measured.
struct Measured {
    name: String,
    smt: Cell,
    explore: Cell,
    /// How many executions are consistent.
    counted: Cell,
}

/// Measures all members, in rounds.
fn measure(families: &[Family], limit: Duration, most: &mut Most) -> Vec<Measured> {
    let members = families.iter().flat_map(|family| {
        family.members.iter().map(|one| (format!("{}{}", family.name, one.size), &one.text))
    });
    let first = members.map(|(name, text)| {
        let program = Program::Text(text.clone());
        let [smt, explore] =
            [Engine::Smt, Engine::Explore].map(|one| cell::ask(one, limit, &program));
        let counted = cell::ask(Engine::Count, COUNTING.min(limit), &program);
        (program, Measured { name, smt, explore, counted })
    });
    let mut all: Vec<(Program, Measured)> = first.collect();
    for _ in 1..ROUNDS {
        for (program, Measured { smt, explore, .. }) in &mut all {
            smt.again(Engine::Smt, limit, program);
            explore.again(Engine::Explore, limit, program);
        }
    }
    for (_, Measured { name, smt, explore, .. }) in &all {
        most.take(smt, name, Engine::Smt.name());
        most.take(explore, name, Engine::Explore.name());
    }
    all.into_iter().map(|(_, measured)| measured).collect()
}

fn row(
    member: &Member,
    Measured { name, smt, explore, counted }: Measured,
    limit: Duration,
    points: &mut Vec<Point>,
) -> Vec<String> {
    if smt.complete && explore.complete {
        assert_eq!(smt.found, explore.found, "{name}: the engines agree");
    }
    let known = [&smt, &explore].into_iter().find(|cell| cell.complete).map(|cell| cell.found);
    let theirs = member.peers.and_then(|peers| peers.executions);
    let ours = counted.complete.then_some(counted.found);
    if let (Some(ours), Some(theirs)) = (ours, theirs) {
        assert_eq!(ours, theirs, "{name}: as many executions as GenMC finds");
    }
    points.push(Point {
        events: smt.events as u64,
        outcomes: known,
        executions: ours.or(theirs),
        smt: smt.complete.then_some(smt.time),
        explore: explore.complete.then_some(explore.time),
    });
    let number = |number: Option<u64>| number.map_or("-".to_owned(), markdown::count);
    let executions = match (ours, theirs) {
        (None, Some(theirs)) => format!("{} (GenMC)", markdown::count(theirs)),
        _ => number(ours),
    };
    let (herd, fast, genmc) = member.peers.map_or(("-", "-", "-"), |peers| peers.times);
    vec![
        name,
        smt.events.to_string(),
        number(known),
        executions,
        smt.shown(limit),
        smt.mebibytes(),
        explore.shown(limit),
        explore.mebibytes(),
        herd.to_owned(),
        fast.to_owned(),
        genmc.to_owned(),
    ]
}

/// Measures the slow ones of some programs in rounds.
fn repeat_slow(cells: &mut [(Cell, u64)], mut again: impl FnMut(&mut Cell, u64)) {
    let mut slow: Vec<&mut (Cell, u64)> =
        cells.iter_mut().filter(|(cell, _)| !cell.complete || cell.time > SLOW).collect();
    for _ in 1..ROUNDS {
        slow.iter_mut().for_each(|(cell, number)| again(cell, *number));
    }
}

/// Programs drawn at random, of one size: the median and the worst.
fn random(size: &'static Size, limit: Duration, most: &mut Most) {
    let programs = random_programs(size);
    let mut rows = Vec::new();
    let mut found: Vec<Option<u64>> = vec![None; programs.len()];
    for engine in [Engine::Smt, Engine::Explore, Engine::Auto, Engine::Verdicts] {
        let ask =
            |number: &u64| (cell::ask(engine, limit, &Program::Random(size, *number)), *number);
        let mut cells: Vec<(Cell, u64)> = programs.iter().map(ask).collect();
        repeat_slow(&mut cells, |cell, number| {
            cell.again(engine, limit, &Program::Random(size, number));
        });
        for ((cell, number), known) in cells.iter_mut().zip(&mut found) {
            most.take(cell, &format!("random {number}"), engine.name());
            if engine == Engine::Verdicts {
                cell.found = known.unwrap_or(0);
            } else if cell.complete {
                let before = *known.get_or_insert(cell.found);
                assert_eq!(cell.found, before, "random {number}: the engines agree");
            }
        }
        cells.sort_by_key(|(cell, _)| (!cell.complete, cell.time));
        let (median, _) = &cells[cells.len() / 2];
        let (worst, number) = &cells[cells.len() - 1];
        let late = cells.iter().filter(|(cell, _)| !cell.complete).count();
        let second = Duration::from_secs(1);
        let slow = cells.iter().filter(|(cell, _)| !cell.complete || cell.time > second).count();
        let peak = cells.iter().map(|(cell, _)| cell.peak).max().unwrap_or(0);
        rows.push(vec![
            engine.name().to_owned(),
            median.shown(limit),
            worst.shown(limit),
            format!("{number}, {} outcomes", markdown::count(worst.found)),
            slow.to_string(),
            late.to_string(),
            markdown::count(peak.div_ceil(1024)),
        ]);
    }
    let mut outcomes: Vec<u64> = found.into_iter().flatten().collect();
    outcomes.sort_unstable();
    let at = |index: usize| outcomes.get(index).map_or("-".to_owned(), |one| markdown::count(*one));
    println!(
        "\n{} random programs of {NODES} nodes, {THREADS} threads and {} events; the median one has {} outcomes, and none has more than {}.\n",
        programs.len(),
        size.events,
        at(outcomes.len() / 2),
        at(outcomes.len().saturating_sub(1))
    );
    markdown::print(
        &[
            "engine",
            "median, ms",
            "slowest, ms",
            "which",
            "over 1 s",
            "not answered",
            "MiB, at most",
        ],
        &rows,
    );
}
