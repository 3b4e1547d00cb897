//! Writes a shape as a litmus file, in the one form that `litmus fmt` writes, and names it by the rules of
//! diy.

use std::collections::BTreeSet;

use lang::litmus;
use lang::litmus::models::model_as_written;
use lang::outcome::{Outcome, Value};
use lang::source::Source;

use super::program::Naming;
use super::shape::{Access, Completion, Shape, Side, Step};

/// The texts of a file beside its program.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The name of the test and of the file.
    pub name: String,
    /// The title: what the test is about.
    pub title: String,
    /// The origin of the test.
    pub source: String,
    /// The models to which the verdicts apply.
    pub models: Vec<String>,
    /// Comment lines above the program.
    pub comments: Vec<String>,
    /// Verdict lines.
    pub verdicts: Vec<String>,
    /// The name of a similar test whose outcome is allowed.
    pub twin: Option<String>,
}

/// The program's part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// A key that is equal for programs that are equal up to names and have the same outcome in question.
    pub key: String,
    /// The name. A number is added if the name is taken.
    pub name: String,
    /// The dialect, if it is not the default.
    pub dialect: Option<String>,
    /// Declarations, the separator line and the statements.
    pub body: String,
}

/// The file of a shape. See [`Content::file`].
pub fn file(shape: &Shape, completion: Completion, words: &Words) -> String {
    let body = body(shape, completion);
    let content = Content { key: String::new(), name: String::new(), dialect: None, body };
    content.file(words)
}

impl Content {
    /// The text of the file, printed as `litmus fmt` does. A text that the parser rejects is returned
    /// unformatted.
    pub fn file(&self, words: &Words) -> String {
        let text = self.text(words);
        let source = Source::new(format!("{}.litmus", words.name), text.as_str());
        let (file, _) = litmus::parse(&source, crate::library::shipped().words());
        file.map_or(text, |file| litmus::print(&file))
    }

    fn text(&self, words: &Words) -> String {
        let mut text = format!("litmus {}\n", words.name);
        if !words.title.is_empty() {
            text += &format!("\"{}\"\n", words.title);
        }
        if !words.source.is_empty() {
            text += &format!("source \"{}\"\n", words.source);
        }
        if let Some(dialect) = &self.dialect {
            text += &format!("dialect {dialect}\n");
        }
        if !words.models.is_empty() {
            let models: Vec<String> =
                words.models.iter().map(|name| model_as_written(name)).collect();
            text += &format!("model {}\n", models.join(" "));
        }
        for comment in &words.comments {
            text += &format!("// {comment}\n");
        }
        text += "\n";
        text += &self.body;
        text += "\n";
        for verdict in &words.verdicts {
            text += &format!("  {verdict}\n");
        }
        if let Some(twin) = &words.twin {
            text += &format!("\n// twin: {twin}\n");
        }
        text
    }
}

/// Declarations, the separator line and the statements.
pub(super) fn body(shape: &Shape, completion: Completion) -> String {
    let naming = Naming::new(shape);
    // One column for each thread, in the order of nodes. A node without threads is an empty column.
    let mut columns: Vec<(u8, Vec<String>)> = Vec::new();
    for node in 0..shape.nodes() as u8 {
        let threads = (0..shape.threads.len()).filter(|index| shape.threads[*index].node == node);
        let before = columns.len();
        columns.extend(threads.map(|index| (node, statements(shape, &naming, completion, index))));
        if columns.len() == before {
            columns.push((node, Vec::new()));
        }
    }
    let bar = |index: usize| match columns.get(index + 1) {
        Some((next, _)) if *next == columns[index].0 => " | ",
        Some(_) => " || ",
        None => "\n",
    };
    let row = |cell: &dyn Fn(usize) -> String| -> String {
        (0..columns.len()).map(|index| format!("  {}{}", cell(index), bar(index))).collect()
    };
    let declared = |index: usize| {
        let node = columns[index].0;
        if index > 0 && columns[index - 1].0 == node {
            return String::new();
        }
        let places = (0..shape.homes.len())
            .filter(|at| shape.homes[*at] == node && !naming.fresh[*at])
            .map(|at| format!("{} = 0", naming.places[at]));
        places.collect::<Vec<_>>().join(", ")
    };
    let mut text = row(&declared) + "  ---\n";
    let height = columns.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
    for line in 0..height {
        text += &row(&|index| columns[index].1.get(line).cloned().unwrap_or_default());
    }
    text
}

fn statements(
    shape: &Shape,
    naming: &Naming,
    completion: Completion,
    thread: usize,
) -> Vec<String> {
    let body = &shape.threads[thread].body;
    let polls = shape.polls(&shape.threads[thread]);
    let place = |place: u8| naming.places[usize::from(place)].as_str();
    let remote =
        |at: u8| format!("{}^{}", place(at), usize::from(shape.homes[usize::from(at)]) + 1);
    let mut lines = Vec::new();
    for (at, step) in body.iter().enumerate() {
        let id = match completion {
            Completion::Wait => naming.ids[thread][at].as_ref(),
            _ => None,
        };
        let assign = id.map_or(":=".to_owned(), |id| format!(":=^{id}"));
        let last = id.map_or(String::new(), |id| format!(", {id}"));
        let value = naming.values[thread][at];
        let register = naming.registers[thread][at].clone().unwrap_or_default();
        let compared = |hits: bool| match hits {
            true => format!("0, {value}"),
            false => format!("{}, {}", naming.never, naming.never + 1),
        };
        lines.push(match *step {
            Step::Write { at } => format!("{} := {value}", place(at)),
            Step::Read { at } => format!("{register} := {}", place(at)),
            Step::Cas { at, hits } => {
                format!("{register} := CAS({}, {})", place(at), compared(hits))
            }
            Step::Faa { at } => format!("{register} := FAA({}, {value})", place(at)),
            Step::Fence => "Mfence".to_owned(),
            Step::PutValue { to } => format!("{} {assign} {value}", remote(to)),
            Step::Put { to, from } => format!("{} {assign} {}", remote(to), place(from)),
            Step::Get { from, into } => format!("{} {assign} {}", place(into), remote(from)),
            Step::Rcas { at, into, hits } => {
                format!("RCAS({}, {}, {}{last})", place(into), remote(at), compared(hits))
            }
            Step::Rfaa { at, into } => {
                format!("RFAA({}, {}, {value}{last})", place(into), remote(at))
            }
            Step::RemoteFence { node } => format!("Rfence({})", node + 1),
            Step::Await { step } => {
                let step = usize::from(step);
                match (completion, &naming.ids[thread][step], shape.node_of(body[step])) {
                    (Completion::Wait, Some(id), _) => format!("Wait({id})"),
                    (_, _, Some(node)) => {
                        lines.extend((0..polls[at]).map(|_| format!("Poll({})", node + 1)));
                        continue;
                    }
                    _ => continue,
                }
            }
        });
    }
    lines
}

/// A condition in the notation of verdict lines: `(a, b) = (0, 1)`.
pub fn condition(names: &[&str], values: &[Value]) -> String {
    match (names, values) {
        ([], _) | (_, []) => "true".to_owned(),
        ([name], [value]) => format!("{name} = {value}"),
        _ => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            format!("({}) = ({})", names.join(", "), values.join(", "))
        }
    }
}

/// The line `exactly {(0, 1), (1, 1)} for (a, b)`.
pub fn exactly(names: &[&str], found: &BTreeSet<Outcome>) -> String {
    let tuple = |values: &[String]| match values {
        [one] => one.clone(),
        _ => format!("({})", values.join(", ")),
    };
    let outcome =
        |outcome: &Outcome| tuple(&outcome.0.iter().map(ToString::to_string).collect::<Vec<_>>());
    let outcomes: Vec<String> = found.iter().map(outcome).collect();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    format!("exactly {{{}}} for {}", outcomes.join(", "), tuple(&names))
}

/// The name of a shape: a family, and the statements of each thread: `MP+put-put+r-r`.
pub fn name(shape: &Shape, completion: Completion) -> String {
    let threads: Vec<String> = (0..shape.threads.len())
        .filter(|index| !shape.threads[*index].body.is_empty())
        .map(|index| words(shape, completion, index))
        .collect();
    let same = threads.windows(2).all(|pair| pair[0] == pair[1]);
    match threads.as_slice() {
        [first, _, ..] if same && !first.ends_with('s') => format!("{}+{first}s", family(shape)),
        _ => format!("{}+{}", family(shape), threads.join("+")),
    }
}

fn words(shape: &Shape, completion: Completion, thread: usize) -> String {
    let body = &shape.threads[thread].body;
    let polls = shape.polls(&shape.threads[thread]);
    let words = body.iter().enumerate().map(|(at, step)| match step {
        Step::Write { .. } => "w",
        Step::Read { .. } => "r",
        Step::Cas { hits: true, .. } => "cas",
        Step::Cas { hits: false, .. } => "casmiss",
        Step::Faa { .. } => "faa",
        Step::Fence => "mfence",
        Step::PutValue { .. } => "put",
        Step::Put { .. } => "copy",
        Step::Get { .. } => "get",
        Step::Rcas { hits: true, .. } => "rcas",
        Step::Rcas { hits: false, .. } => "rcasmiss",
        Step::Rfaa { .. } => "rfaa",
        Step::Await { .. } if completion == Completion::Wait => "wait",
        Step::Await { .. } if polls[at] > 1 => "polls",
        Step::Await { .. } => "poll",
        Step::RemoteFence { .. } => "rfence",
    });
    words.collect::<Vec<_>>().join("-")
}

/// The family: the first and the last access of each thread to shared locations decide it.
fn family(shape: &Shape) -> &'static str {
    let shared = |access: &Access| {
        let same = |(.., other): &(usize, usize, Access)| other.place == access.place;
        shape.accesses().filter(same).count() > 1
    };
    let mut ends = Vec::new();
    let mut places = Vec::new();
    for thread in 0..shape.threads.len() {
        let mut found: Vec<Access> = Vec::new();
        for step in &shape.threads[thread].body {
            // A remote operation reads before it writes.
            let mut accesses: Vec<Access> = step.accesses().filter(shared).collect();
            accesses.sort_by_key(|access| (access.writes, access.side == Side::Local));
            found.extend(accesses);
        }
        places.extend(found.iter().map(|access| access.place));
        let [first, .., last] = found[..] else { continue };
        let word = |access: Access| if access.writes { 'W' } else { 'R' };
        ends.push((word(first), word(last)));
    }
    places.sort_unstable();
    places.dedup();
    ends.sort_unstable();
    if places.len() == 1 {
        return "Co";
    }
    match ends[..] {
        _ if shape.threads.len() > 3 => "C4",
        _ if shape.threads.len() > 2 => "C3",
        [('R', 'R'), ('W', 'W')] => "MP",
        [('W', 'R'), ('W', 'R')] => "SB",
        [('R', 'W'), ('R', 'W')] => "LB",
        [('R', 'W'), ('W', 'W')] => "S",
        [('W', 'R'), ('W', 'W')] => "R",
        [('W', 'W'), ('W', 'W')] => "2+2W",
        _ if shape.threads.len() == 2 => "C2",
        _ => "C1",
    }
}
