//! The files of generated programs: what stands above and below a program, and names by the rules of diy.

use std::collections::BTreeSet;

use lang::litmus::ast::build::{self, ABOVE, BELOW};
use lang::litmus::ast::{
    Atom, Claim, Comment, Constant, File, HeaderKind, HeaderLine, Observed, Place, ResultKind,
    ResultLine, Verdict, VerdictKind, without_places,
};
use lang::outcome::{Outcome, Value};
use lang::program::BinaryOp;

use super::shape::{Completion, Shape};
use super::step::{Access, Side, Step};

/// The texts of a file beside its program and verdicts.
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
    /// A comment line above the program.
    pub comment: Option<String>,
    /// The name of a similar test whose outcome is allowed.
    pub twin: Option<String>,
}

/// A test before it has a name.
#[derive(Clone, Debug)]
pub struct Content {
    /// A key that is equal for programs that are equal up to names and have the same outcome in question.
    pub key: String,
    /// The name. A number is added if the name is taken.
    pub name: String,
    /// The program and its verdicts.
    pub file: File,
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.key.clone(), one.name.clone(), without_places(&one.file));
        of(self) == of(other)
    }
}

/// A program with these lines below it. A line may name the model that it is about.
pub fn with_verdicts(
    mut program: File,
    verdicts: impl IntoIterator<Item = (Option<String>, VerdictKind)>,
) -> File {
    let place = Place { line: BELOW - 1, ..Place::default() };
    let lines = verdicts.into_iter().map(|(model, kind)| {
        let model = model.map(|model| build::name(&model, place));
        let kind = ResultKind::Verdicts(model, vec![Verdict { kind, is_question: false, place }]);
        ResultLine { kind, place, end: place }
    });
    program.results = lines.collect();
    program
}

/// The text of a file, as `litmus fmt` writes it.
pub fn text(mut file: File, words: &Words) -> String {
    let place = Place::default();
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let models = words.models.iter().map(|model| build::name(model, place)).collect();
    let kinds = some(&words.title).map(HeaderKind::Title).into_iter();
    let kinds = kinds.chain(some(&words.source).map(HeaderKind::Source));
    let kinds = kinds.chain((!words.models.is_empty()).then_some(HeaderKind::Models(models)));
    let kinds = kinds.chain(file.header.into_iter().map(|line| line.kind));
    file.header = kinds.map(|kind| HeaderLine { kind, place }).collect();
    file.name = build::name(&words.name, place);
    let comment = |text: String, line| Comment {
        text: format!("// {text}"),
        own_line: true,
        place: Place { line, ..place },
    };
    let above = words.comment.iter().map(|text| comment(text.clone(), ABOVE));
    let below = words.twin.iter().map(|twin| comment(format!("twin: {twin}"), BELOW));
    file.comments = above.chain(below).collect();
    lang::litmus::print(&file)
}

fn observed(name: &str) -> Observed {
    Observed { name: build::name(name, Place::default()), copy: None }
}

fn constant(value: Value) -> Constant {
    match value {
        Value::Int(value) => Constant::Number(value),
        Value::Bottom => Constant::Bottom,
        Value::Undefined => Constant::Undefined,
    }
}

/// A condition: `(a, b) = (0, 1)`.
pub fn condition(names: &[&str], values: &[Value]) -> Claim {
    if names.is_empty() || values.is_empty() {
        return Claim::Truth(true);
    }
    Claim::Compare {
        op: BinaryOp::Equal,
        left: names.iter().map(|name| Atom::Observed(observed(name))).collect(),
        right: values.iter().map(|value| Atom::Constant(constant(*value))).collect(),
        place: Place::default(),
    }
}

/// The verdict of a condition.
pub fn verdict(claim: Claim, is_allowed: bool) -> VerdictKind {
    if is_allowed { VerdictKind::Allowed(claim) } else { VerdictKind::Forbidden(claim) }
}

/// The line `exactly {(0, 1), (1, 1)} for (a, b)`.
pub fn exactly(names: &[&str], found: &BTreeSet<Outcome>) -> VerdictKind {
    let values = |outcome: &Outcome| outcome.0.iter().map(|value| constant(*value)).collect();
    VerdictKind::Exactly {
        outcomes: found.iter().map(|outcome| (values(outcome), Place::default())).collect(),
        observed: names.iter().map(|name| observed(name)).collect(),
    }
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
    let post = |at: usize| shape.threads[thread].post(at);
    let word = |at: usize, step: &Step| match step {
        Step::Write { .. } => "w",
        Step::Read { .. } => "r",
        Step::Cas { hits: true, .. } => "cas",
        Step::Cas { hits: false, .. } => "casmiss",
        Step::Faa { .. } => "faa",
        Step::Fence => "mfence",
        Step::PutValue { .. } if post(at).immediate => "putimm",
        Step::Put { .. } if post(at).immediate => "copyimm",
        Step::Send { .. } if post(at).immediate => "sendimm",
        Step::PutValue { .. } => "put",
        Step::Put { .. } if post(at).inline => "inline",
        Step::Put { .. } => "copy",
        Step::Get { .. } => "get",
        Step::Rcas { hits: true, .. } => "rcas",
        Step::Rcas { hits: false, .. } => "rcasmiss",
        Step::Rfaa { .. } => "rfaa",
        Step::Await { .. } if completion == Completion::Wait => "wait",
        Step::Await { .. } if polls[at] > 1 => "polls",
        Step::Await { .. } => "poll",
        Step::RemoteFence { .. } => "rfence",
        Step::Flush { is_persistent: true, .. } => "persist",
        Step::Flush { .. } => "flush",
        Step::AtomicWrite { .. } => "atomicwrite",
        Step::Send { .. } => "send",
        Step::Receive { .. } => "recv",
        Step::PollReceive { .. } => "pollrecv",
        Step::PutWords { .. } => "wput",
        Step::GetWords { .. } => "wget",
        Step::PutAt { .. } => "iput",
        Step::ReadAt { .. } => "ir",
    };
    let words = body.iter().enumerate().map(|(at, step)| match post(at).unsignaled {
        true => format!("unsignaled-{}", word(at, step)),
        false => word(at, step).to_owned(),
    });
    words.collect::<Vec<_>>().join("-")
}

/// The family: the first and the last access of each thread to shared locations decide it.
fn family(shape: &Shape) -> &'static str {
    if shape.crash {
        return "Crash";
    }
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
