//! The changes that a repair may consist of, and how they are made in the syntax tree.

mod candidates;
mod comments;
mod flushes;
mod order;
mod removals;
mod requests;
mod rewrite;
mod switches;

use std::collections::BTreeSet;
use std::fmt;

use lang::Dialect;
use lang::litmus::ast::build::{access, assign, call, name, on_queue_pair, statement, towards};
use lang::litmus::ast::{
    Argument, Block, Call, Expr, File, PairNumber, Place, Statement, StatementKind, Value, Via,
};
use lang::litmus::methods::Method;
use lang::source::{Source, Span};

use super::kind::{Kind, REWRITES};
pub use candidates::candidates;
use comments::Moves;
pub use flushes::{Sizes, completing, is_without_get, polls_alone, settled, sized};
pub use removals::{kept, removals};
use rewrite::{
    give_id, id_of_call, names_queue_pair_first, on_other_queue_pair, rcas, with_inline_source,
};
use switches::Switch;
pub use switches::switched;

/// A block of a thread: the statements and the blocks in them that lead there.
type Path = Vec<(usize, usize)>;

/// A statement, or the gap before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    thread: usize,
    path: Path,
    index: usize,
}

/// One change.
#[derive(Clone, Debug)]
pub struct Edit {
    site: Site,
    what: What,
    /// The statement before the gap, or the statement that changes.
    after: Option<Named>,
    /// What the block is, if nothing stands before the gap.
    head: String,
    /// The gap, or the statement that changes.
    at: Span,
    /// The rewriting that it is made with.
    only_with: OnlyWith,
    /// It is made in those executions in which a switch is on.
    switch: Option<Switch>,
}

/// The rewriting that a change is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnlyWith {
    /// Any, or none.
    Any,
    /// The exchange of the statements beside the gap.
    Exchange,
    /// An operation of the thread comes to this queue pair.
    Move(Towards),
}

/// A statement in words: "`x := 1` (line 7)".
#[derive(Clone, Debug)]
struct Named(String);

impl Named {
    fn new(one: &Statement, source: &Source) -> Self {
        let line = source.line_column(one.place.span.start).0;
        let text = lang::litmus::in_one_line(one, Dialect::Rdma);
        Self(format!("`{text}` (line {line})"))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A node and a queue pair to it, or a thread and one of its queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Towards {
    node: u64,
    /// Its index, as the program knows it.
    queue_pair: u64,
}

impl Towards {
    /// Whether the threads of a node share it.
    fn is_shared(self) -> bool {
        self.number().is_shared
    }

    /// The number of the queue pair, as it is written.
    fn number(self) -> PairNumber {
        PairNumber::of_index(self.queue_pair, Place::default())
    }
}

impl fmt::Display for Towards {
    /// As in `Poll(2/1)` and `x^2/1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.queue_pair {
            0 => write!(f, "{}", self.node),
            _ => write!(f, "{}/{}", self.node, self.number()),
        }
    }
}

#[derive(Clone, Debug)]
enum What {
    Poll(Towards),
    /// For the oldest receive of messages from a thread, on one of its queue pairs.
    PollReceive {
        from: Towards,
        /// The statement before it takes an immediate there, and so may not come after it.
        stays: bool,
    },
    Wait {
        operation: Site,
        id: String,
        at: Named,
        /// Where the operation had no completion before.
        completes: Option<Towards>,
    },
    Rfence(Towards),
    Gfence(u64),
    Mfence,
    Flush {
        on: Towards,
        by: FlushBy,
        id: Option<String>,
        /// How many polls; if it is not sized, fewer where earlier changes have polled.
        polls: usize,
        is_sized: bool,
    },
    Rcas {
        before: u64,
    },
    /// To another queue pair of the same node.
    Move(Towards),
    /// No longer unsignaled.
    Signal,
    /// The source is copied into the request.
    Inline,
    Exchange,
    /// The wait comes earlier: before the statement with this index.
    Lift {
        to: usize,
        before: Named,
    },
    Remove {
        kind: Kind,
        /// The wait that goes with it, by its index in the block.
        with: Option<(usize, Named)>,
    },
}

/// The request of a flush, for which polls or a wait follow.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FlushBy {
    /// A get of a word, into one that nobody reads.
    Get { from: String, to: String },
    /// `Persist(n)`.
    Persist,
}

impl Edit {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.what {
            What::Poll(_) => Kind::Poll,
            What::PollReceive { .. } => Kind::PollReceive,
            What::Wait { .. } => Kind::Wait,
            What::Rfence(_) => Kind::Rfence,
            What::Gfence(_) => Kind::Gfence,
            What::Mfence => Kind::Mfence,
            What::Flush { by: FlushBy::Get { .. }, .. } => Kind::Flush,
            What::Flush { by: FlushBy::Persist, .. } => Kind::Persist,
            What::Rcas { .. } => Kind::Rcas,
            What::Inline => Kind::Inline,
            What::Exchange | What::Lift { .. } => Kind::Exchange,
            What::Move(_) => Kind::QueuePair,
            What::Signal => Kind::Signal,
            What::Remove { kind, .. } => kind,
        }
    }

    /// The gap or the statement in the file that it changes.
    pub fn at(&self) -> Span {
        self.at
    }

    /// Whether it changes what is there.
    pub fn is_rewriting(&self) -> bool {
        REWRITES.contains(&self.kind())
    }

    /// Whether it may be made beside a rewriting, if any.
    pub fn goes_with(&self, rewriting: Option<&Self>) -> bool {
        let is_here = |other: &Self| {
            let Site { thread, path, index } = &other.site;
            matches!(other.what, What::Exchange)
                && (*thread, path, index + 1)
                    == (self.site.thread, &self.site.path, self.site.index)
        };
        let moves_to = |on: Towards| {
            rewriting.is_some_and(|other| {
                other.site.thread == self.site.thread
                    && matches!(other.what, What::Move(to) if to == on)
            })
        };
        match (self.only_with, &self.what) {
            (OnlyWith::Any, What::PollReceive { stays: true, .. }) => {
                !rewriting.is_some_and(is_here)
            }
            (OnlyWith::Any, _) => true,
            (OnlyWith::Exchange, _) => rewriting.is_some_and(is_here),
            (OnlyWith::Move(on), _) => moves_to(on),
        }
    }

    /// Whether another change does the same and is made with any rewriting. In place of a set with this one,
    /// that with the other is looked at.
    pub fn is_made_by(&self, other: &Self) -> bool {
        self.only_with != OnlyWith::Any
            && other.only_with == OnlyWith::Any
            && (&self.site, self.words()) == (&other.site, other.words())
    }

    /// The change in words.
    pub fn words(&self) -> String {
        let thread = self.site.thread + 1;
        let statement = self.after.as_ref().map(Named::to_string).unwrap_or_default();
        let gap = match &self.after {
            Some(before) => format!("after {before}"),
            None => format!("at the beginning of {}", self.head),
        };
        let added = match &self.what {
            What::Remove { with: Some((_, wait)), .. } => {
                return format!("thread {thread}: {statement} with {wait}");
            }
            What::Remove { .. } => return format!("thread {thread}: {statement}"),
            What::Exchange => {
                return format!("thread {thread}: exchange {statement} and the statement after it");
            }
            What::Lift { before, .. } => {
                return format!("thread {thread}: {statement} already before {before}");
            }
            What::Inline => {
                return format!("thread {thread}: {statement} with its source `inline`");
            }
            What::Rcas { .. } => {
                return format!("thread {thread}: an RCAS in place of {statement}");
            }
            What::Move(to) => {
                return format!("thread {thread}: {statement} on queue pair {}", to.number());
            }
            What::Signal => return format!("thread {thread}: {statement} without `unsignaled`"),
            What::Wait { id, at, .. } => {
                return format!("thread {thread}: {gap}, add Wait({id}), for {at}");
            }
            What::Poll(on) => format!("Poll({on})"),
            What::PollReceive { from, .. } => format!("PollRecv({from})"),
            What::Rfence(on) => format!("Rfence({on})"),
            What::Gfence(node) => format!("GFence({{{node}}})"),
            What::Mfence => "Mfence".to_owned(),
            What::Flush { on, by, id, polls, .. } => {
                let (request, wait) = match (by, id) {
                    (FlushBy::Get { from, to }, Some(id)) => {
                        (format!("{to} :=^{id} {from}^{on}"), format!("; Wait({id})"))
                    }
                    (FlushBy::Persist, Some(id)) => {
                        (format!("Persist({on}, {id})"), format!("; Wait({id})"))
                    }
                    (FlushBy::Get { from, to }, None) => {
                        (format!("{to} := {from}^{on}"), String::new())
                    }
                    (FlushBy::Persist, None) => (format!("Persist({on})"), String::new()),
                };
                let polls = if id.is_some() { 0 } else { *polls };
                format!("{request}{wait}{}", format!("; Poll({on})").repeat(polls))
            }
        };
        format!("thread {thread}: {gap}, add {added}")
    }

    /// The statements that stand in the gap.
    fn added(&self, place: Place) -> Vec<Statement> {
        let on_it =
            |method, on: &Towards| statement(towards(method, on.node, on.queue_pair, place));
        let wait = |id: &str| {
            let id = Expr::from(access(id, None, place));
            statement(call(Method::Wait, [id], place))
        };
        match &self.what {
            What::Poll(on) => vec![on_it(Method::Poll, on)],
            What::PollReceive { from, .. } => vec![on_it(Method::PollRecv, from)],
            What::Wait { id, .. } => vec![wait(id)],
            What::Rfence(on) => vec![on_it(Method::Rfence, on)],
            What::Gfence(node) => {
                let number = lang::litmus::ast::Number { value: *node, place };
                let arguments = vec![Argument::Nodes(vec![number], place)];
                let call = Call { method: Method::Gfence, word: None, arguments, place };
                vec![statement(call)]
            }
            What::Mfence => vec![statement(call(Method::Mfence, [], place))],
            What::Flush { on, by, id, polls, .. } => {
                let request = by.request(*on, id.as_deref(), place);
                let polls = (0..*polls).map(|_| on_it(Method::Poll, on));
                std::iter::once(request).chain(polls).chain(id.iter().map(|id| wait(id))).collect()
            }
            What::Rcas { .. }
            | What::Exchange
            | What::Move(_)
            | What::Signal
            | What::Inline
            | What::Lift { .. }
            | What::Remove { .. } => Vec::new(),
        }
    }
}

impl FlushBy {
    fn request(&self, on: Towards, id: Option<&str>, place: Place) -> Statement {
        match self {
            Self::Get { from, to } => {
                let via = id.map_or(Via::Plain, |id| Via::Id(Some(name(id, place))));
                let from = on_queue_pair(access(from, Some(on.node), place), on.queue_pair);
                assign(access(to, None, place), via, Value::Expr(from.into()))
            }
            Self::Persist => {
                let mut call = towards(Method::Persist, on.node, on.queue_pair, place);
                let id = id.map(|id| Argument::Expr(Expr::from(access(id, None, place))));
                call.arguments.extend(id);
                statement(call)
            }
        }
    }
}

/// Changes without the removals that are a part of others.
pub fn told_once<'e>(edits: &[&'e Edit]) -> Vec<&'e Edit> {
    let is_whole = |one: &&&Edit| !edits.iter().any(|other| is_part_of(one, other));
    edits.iter().filter(is_whole).copied().collect()
}

/// The removal of only the wait that goes with another removal, by their numbers.
pub fn wait_of(edits: &[Edit], one: usize) -> Option<usize> {
    edits.iter().position(|other| is_part_of(other, &edits[one]))
}

fn is_part_of(one: &Edit, other: &Edit) -> bool {
    match &other.what {
        What::Remove { with: Some((wait, _)), .. } => {
            one.site == Site { index: *wait, ..other.site.clone() }
        }
        _ => false,
    }
}

/// Whether a set has a change in place of one that is made with any rewriting, and does the same.
pub fn has_double(edits: &[Edit], set: &BTreeSet<usize>) -> bool {
    let others = || edits.iter().enumerate().filter(|(index, _)| !set.contains(index));
    set.iter().any(|one| others().any(|(_, other)| edits[*one].is_made_by(other)))
}

/// The file with changes made. `None` if they do not go together.
pub fn apply(file: &File, edits: &[&Edit]) -> Option<File> {
    let mut changed_file = file.clone();
    let edits = settled(edits);
    let mut moves = Moves::new();
    for (thread, of) in changed_file.threads.iter_mut().enumerate() {
        let edits: Vec<&Edit> = edits.iter().filter(|edit| edit.site.thread == thread).collect();
        if !edits.is_empty() {
            of.body = changed(&of.body, &mut Path::new(), &edits, &mut moves)?;
        }
    }
    comments::follow(&mut changed_file, file, &moves);
    Some(changed_file)
}

fn changed(block: &Block, path: &mut Path, edits: &[&Edit], moves: &mut Moves) -> Option<Block> {
    let at = |index: usize, path: &Path| {
        let path = path.clone();
        edits.iter().filter(move |edit| edit.site.path == path && edit.site.index == index)
    };
    let order = order::order(block.statements.len(), &|index| at(index, path).copied().collect())?;
    let mut statements = Vec::new();
    // The lines stay in order.
    let mut lines = block.statements.iter().map(|one| one.place.line);
    for (gaps, from) in &order {
        let index = gaps.clone().last().unwrap_or_default();
        let near = block.statements.get(index.saturating_sub(1)).map_or(block.end, |one| one.place);
        // An empty place tells what is added from what was there.
        let span = Span::new(near.span.end, near.span.end);
        let place = Place { span, ..near };
        for edit in gaps.clone().flat_map(|index| at(index, path)) {
            statements.extend(match &edit.switch {
                Some(switch) => switch.under(edit, place),
                None => edit.added(place),
            });
        }
        let Some(from) = from else { continue };
        let line = lines.next();
        let is_removed = |edit: &&Edit| match &edit.what {
            What::Remove { with, .. } => {
                edit.site.index == *from || with.as_ref().is_some_and(|(wait, _)| wait == from)
            }
            _ => false,
        };
        if edits.iter().filter(|edit| edit.site.path == *path).any(is_removed) {
            continue;
        }
        let mut one = block.statements.get(*from)?.clone();
        if let Some(line) = line.filter(|line| *line != one.place.line) {
            moves.push((one.place.line, line));
            one.place.line = line;
        }
        for edit in edits {
            match &edit.what {
                What::Rcas { before } if edit.site.path == *path && edit.site.index == *from => {
                    one = rcas(&one, *before)?;
                }
                What::Move(to) if edit.site.path == *path && edit.site.index == *from => {
                    on_other_queue_pair(&mut one, *to);
                }
                What::Inline if edit.site.path == *path && edit.site.index == *from => {
                    with_inline_source(&mut one);
                }
                What::Signal if edit.site.path == *path && edit.site.index == *from => {
                    one.unsignaled = false;
                }
                What::Wait { operation, id, .. }
                    if operation.path == *path && operation.index == *from =>
                {
                    give_id(&mut one, id);
                }
                _ => {}
            }
        }
        for (number, inner) in blocks_mut(&mut one).into_iter().enumerate() {
            path.push((*from, number));
            let new = changed(inner, path, edits, moves);
            path.pop();
            *inner = new?;
        }
        statements.push(one);
    }
    Some(Block { statements, end: block.end })
}

/// The blocks directly in a statement.
fn blocks(statement: &Statement) -> Vec<&Block> {
    match &statement.kind {
        StatementKind::If { branches, otherwise } => {
            branches.iter().map(|(_, block)| block).chain(otherwise).collect()
        }
        StatementKind::While(_, block) | StatementKind::Loop(block) => vec![block],
        _ => Vec::new(),
    }
}

/// All statements of a block, with those in its blocks, in the order of the text.
fn statements(block: &Block) -> Vec<&Statement> {
    let with_inner = |one| std::iter::once(one).chain(blocks(one).into_iter().flat_map(statements));
    block.statements.iter().flat_map(with_inner).collect()
}

fn blocks_mut(statement: &mut Statement) -> Vec<&mut Block> {
    match &mut statement.kind {
        StatementKind::If { branches, otherwise } => {
            branches.iter_mut().map(|(_, block)| block).chain(otherwise.as_mut()).collect()
        }
        StatementKind::While(_, block) | StatementKind::Loop(block) => vec![block],
        _ => Vec::new(),
    }
}
