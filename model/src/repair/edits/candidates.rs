//! The changes that a program may need.

mod rewritings;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::litmus::ast::{Block, Place, Statement, StatementKind};
use lang::litmus::methods::Method;
use lang::program::{Location, array_of};
use lang::source::Span;

use super::super::{Kind, Repair};
use super::requests::{self, Sent};
use super::{Edit, FlushBy, Named, OnlyWith, Path, Site, Towards, What, apply, blocks, flushes};

/// What a thread's statements may leave out or repeat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    Straight,
    Branches,
    Loops,
}

pub fn flow(block: &Block) -> Flow {
    let of_one = |one: &Statement| match &one.kind {
        StatementKind::While(..) | StatementKind::Loop(_) => Flow::Loops,
        StatementKind::If { branches, otherwise } => {
            let inner = branches.iter().map(|(_, block)| block).chain(otherwise).map(flow).max();
            inner.map_or(Flow::Branches, |inner| inner.max(Flow::Branches))
        }
        _ => Flow::Straight,
    };
    block.statements.iter().map(of_one).max().unwrap_or(Flow::Straight)
}

/// What a thread has done before a place.
#[derive(Clone, Default)]
struct Done {
    sent: Vec<Sent>,
    polled: BTreeMap<Towards, usize>,
    /// By thread and queue pair of the sender, how many receives are posted and not polled.
    receives: BTreeMap<Towards, usize>,
    /// How many completions may be left to poll, at most: of branches, that with most of them counts.
    open: BTreeMap<Towards, usize>,
    /// The nodes that a call of a library may have reached.
    called: BTreeSet<u64>,
}

struct Lister<'r> {
    flow: Flow,
    repair: &'r Repair<'r>,
    test: &'r Test,
    names: BTreeSet<String>,
    edits: Vec<Edit>,
    done: Done,
    /// What the block is, in words.
    head: String,
    /// How many loops are around.
    loops: usize,
    /// What the rest of a loop sends, which its next round may wait for.
    next_round: Vec<Sent>,
    /// The queue pairs that the thread uses.
    queue_pairs: BTreeSet<Towards>,
    /// The queue pairs that the threads of the node share, each with the most polls that may be added.
    shared: BTreeMap<Towards, usize>,
    /// The rewriting that what is listed is made with.
    only_with: OnlyWith,
    /// The gap, or the statement, that is looked at.
    at: Span,
}

/// All changes that a repair may consist of.
pub fn candidates(repair: &Repair<'_>, test: &Test) -> Vec<Edit> {
    let program = &test.program;
    let names = program.locations.iter().map(|one| one.name.clone());
    let names = names.chain(program.registers.iter().filter_map(|one| one.name.clone()));
    let names = names.chain(program.work_ids.iter().cloned());
    let names = names.chain(program.objects.iter().map(|one| one.name.clone())).collect();
    let mut lister = Lister {
        flow: Flow::Straight,
        repair,
        test,
        names,
        edits: Vec::new(),
        done: Done::default(),
        head: String::new(),
        loops: 0,
        next_round: Vec::new(),
        queue_pairs: BTreeSet::new(),
        shared: BTreeMap::new(),
        only_with: OnlyWith::Any,
        at: Span::new(0, 0),
    };
    for (thread, of) in repair.file.threads.iter().enumerate() {
        lister.done = Done::default();
        lister.head = "the thread".to_owned();
        lister.flow = flow(&of.body);
        let sent = lister.sent_in(thread, &of.body, &Path::new());
        lister.queue_pairs = sent.iter().map(|sent| sent.on).collect();
        lister.shared = lister.shared_of(of.node);
        lister.block(thread, &of.body, &Path::new());
        lister.moves();
    }
    // What the language refuses is no repair, and says nothing of the changes beside it.
    let is_program =
        |edit: &Edit| apply(repair.file, &[edit]).is_some_and(|file| repair.test(&file).is_ok());
    lister.edits.retain(is_program);
    flushes::with_sizes(lister.edits)
}

impl Lister<'_> {
    fn block(&mut self, thread: usize, block: &Block, path: &Path) {
        let mut before: Option<&Statement> = None;
        for index in 0..=block.statements.len() {
            let site = Site { thread, path: path.clone(), index };
            let next = block.statements.get(index);
            let start = next.map_or(block.end, |one| one.place).span.start;
            let gap = before.map_or(start, |one| one.place.span.end);
            self.at = Span::new(gap, gap);
            // After the last statement, what is added comes before nothing but the end of the thread.
            if next.is_some() || !path.is_empty() {
                self.gap(&site, before);
                self.gap_of_exchange(&site, before, next);
            }
            let Some(one) = next else { break };
            before = Some(one);
            self.at = one.place.span;
            self.rewritings(&site, one, block.statements.get(index + 1));
            self.lifts(&site, block);
            self.note(&site, one);
            self.inner(&site, one);
        }
    }

    /// The blocks of a statement. After them, as much may be left to poll as the one that leaves most does.
    fn inner(&mut self, site: &Site, one: &Statement) {
        let is_loop = matches!(one.kind, StatementKind::While(..) | StatementKind::Loop(_));
        let is_whole = matches!(one.kind, StatementKind::If { otherwise: Some(_), .. });
        let (outer, head) = (self.next_round.clone(), self.head.clone());
        let before = self.done.open.clone();
        let mut after = if is_whole { BTreeMap::new() } else { before.clone() };
        self.loops += usize::from(is_loop);
        let blocks = blocks(one);
        for number in 0..blocks.len() {
            let mut path = site.path.clone();
            path.push((site.index, number));
            let earlier = number.checked_sub(1).map(|earlier| blocks[earlier].end);
            self.head = self.head_of(one, earlier);
            let block = blocks[number];
            if is_loop {
                let sent = self.sent_in(site.thread, block, &path);
                self.next_round.extend(sent);
            }
            self.done.open.clone_from(&before);
            self.block(site.thread, block, &path);
            for (on, left) in std::mem::take(&mut self.done.open) {
                let start = before.get(&on).copied().unwrap_or_default();
                // A later round leaves as much again.
                let more = if is_loop { left.saturating_sub(start) } else { 0 };
                let most = after.entry(on).or_default();
                *most = (*most).max(left + more);
            }
        }
        self.loops -= usize::from(is_loop);
        (self.next_round, self.head, self.done.open) = (outer, head, after);
    }

    /// A block in words: what stands before its brace, and its line.
    fn head_of(&self, one: &Statement, earlier: Option<Place>) -> String {
        let source = self.repair.source;
        let start = earlier.map_or(one.place.span.start, |end| end.span.start);
        let rest = source.text.get(start..).unwrap_or_default().trim_start_matches('}');
        let words = rest.split('{').next().unwrap_or_default().trim();
        format!("`{words}` (line {})", source.line_column(start).0)
    }

    /// What a block sends, with the blocks in it.
    fn sent_in(&mut self, thread: usize, block: &Block, path: &Path) -> Vec<Sent> {
        let before = self.done.clone();
        let mut sent = Vec::new();
        for (index, one) in block.statements.iter().enumerate() {
            self.done.sent.clear();
            self.note(&Site { thread, path: path.clone(), index }, one);
            sent.append(&mut self.done.sent);
            for (number, inner) in blocks(one).into_iter().enumerate() {
                let mut path = path.clone();
                path.push((index, number));
                sent.extend(self.sent_in(thread, inner, &path));
            }
        }
        self.done = before;
        sent
    }

    /// What may stand between two statements if they are exchanged: the second has been sent by then, and
    /// the first has not.
    fn gap_of_exchange(
        &mut self,
        site: &Site,
        before: Option<&Statement>,
        next: Option<&Statement>,
    ) {
        let (Some(before), Some(next)) = (before, next) else { return };
        let first = Site { index: site.index - 1, ..site.clone() };
        let is_exchange = |edit: &Edit| edit.site == first && matches!(edit.what, What::Exchange);
        if !self.edits.iter().any(is_exchange) {
            return;
        }
        let usual = self.edits.len();
        let kept = self.done.clone();
        self.note(site, next);
        self.only_with = OnlyWith::Exchange;
        self.gap(site, Some(before));
        self.only_with = OnlyWith::Any;
        self.done = kept;
        // What may stand there without the exchange is listed once.
        let more = self.edits.split_off(usual);
        let at_gap = |edit: &&Edit| edit.site == *site && edit.only_with != OnlyWith::Exchange;
        let listed: Vec<String> = self.edits.iter().filter(at_gap).map(Edit::words).collect();
        let mut left = listed;
        for edit in more {
            match left.iter().position(|words| *words == edit.words()) {
                Some(found) => drop(left.swap_remove(found)),
                None => self.edits.push(edit),
            }
        }
    }

    fn may(&self, kind: Kind, word: &str) -> bool {
        self.repair.kinds.contains(&kind) && self.defines(word)
    }

    /// Whether all models define a statement.
    fn defines(&self, word: &str) -> bool {
        self.repair.models.iter().all(|(model, _)| model.calls.contains(&word))
    }

    /// Whether there are global fences: of the models, or of a library where the thread has called one.
    fn has_gfence(&self) -> bool {
        let word = Method::Gfence.spelling();
        let is_library =
            || !self.done.called.is_empty() && self.repair.words().method(word).is_some();
        self.defines(word) || is_library()
    }

    fn push(&mut self, site: &Site, after: Option<&Statement>, what: What) {
        let after = after.map(|one| Named::new(one, self.repair.source));
        let (site, at, only_with) = (site.clone(), self.at, self.only_with);
        let head = self.head.clone();
        self.edits.push(Edit { site, what, after, head, at, only_with, switch: None });
    }

    fn gap(&mut self, site: &Site, after: Option<&Statement>) {
        if self.may(Kind::Mfence, "Mfence") && site.index > 0 {
            self.push(site, after, What::Mfence);
        }
        let queue_pairs: BTreeSet<Towards> = self.done.sent.iter().map(|sent| sent.on).collect();
        if self.may(Kind::Poll, "Poll") {
            for (on, most) in self.shared.clone() {
                (0..most).for_each(|_| self.push(site, after, What::Poll(on)));
            }
        }
        for on in queue_pairs {
            let is_polled = |sent: &&Sent| sent.on == on && !sent.is_unsignaled;
            let sent = self.done.sent.iter().filter(is_polled).count();
            let open = sent.saturating_sub(self.done.polled.get(&on).copied().unwrap_or(0));
            if self.may(Kind::Poll, "Poll") && !on.is_shared() {
                // A repair may give one more of them a completion.
                let may_signal = |sent: &Sent| sent.on == on && sent.is_unsignaled && !sent.is_kept;
                let signaled =
                    self.may(Kind::Signal, "Poll") && self.done.sent.iter().any(may_signal);
                // Polls of one branch are not done in another, and a loop sends more than once.
                let open = match self.flow {
                    Flow::Straight => open,
                    Flow::Branches => sent,
                    Flow::Loops => sent * self.repair.size,
                };
                for _ in 0..(open + usize::from(signaled)).min(self.repair.size) {
                    self.push(site, after, What::Poll(on));
                }
            }
            if self.may(Kind::Rfence, "Rfence") {
                self.push(site, after, What::Rfence(on));
            }
            if self.may(Kind::Flush, "Get") {
                self.flush(site, after, on);
            }
            self.persist(site, after, on);
        }
        if self.only_with == OnlyWith::Any {
            self.gap_of_moves(site, after);
        }
        if self.may(Kind::Rfence, "Rfence") {
            // For what the round before has sent.
            let sent: BTreeSet<Towards> = self.done.sent.iter().map(|sent| sent.on).collect();
            let next_round: BTreeSet<Towards> =
                self.next_round.iter().map(|sent| sent.on).collect();
            for on in next_round.difference(&sent) {
                self.push(site, after, What::Rfence(*on));
            }
        }
        if self.repair.kinds.contains(&Kind::Gfence) && self.has_gfence() {
            // It is about the queue pairs 0.
            let sent = self.done.sent.iter().filter(|sent| sent.on.queue_pair == 0);
            let nodes: BTreeSet<u64> = sent.map(|sent| sent.on.node).collect();
            for node in nodes.union(&self.done.called.clone()) {
                self.push(site, after, What::Gfence(*node));
            }
        }
        self.poll_receives(site, after);
        if self.may(Kind::Wait, "Wait") {
            let may_have_id = |sent: &&Sent| sent.id.is_some() || !sent.is_kept;
            let is_earlier =
                |later: &&Sent| self.done.sent.iter().all(|sent| sent.site != later.site);
            let next_round = self.next_round.iter().filter(is_earlier);
            let waited = self.done.sent.iter().chain(next_round).filter(may_have_id);
            let waited: Vec<Sent> = waited.cloned().collect();
            for sent in waited {
                let id = sent.id.clone().unwrap_or_else(|| self.fresh("d", &sent.site));
                let completes = (sent.is_unsignaled && sent.id.is_none()).then_some(sent.on);
                let operation = sent.site.clone();
                let what = What::Wait { operation, id, at: sent.named, completes };
                self.push(site, after, what);
            }
        }
    }

    /// What may wait for an operation that comes to another queue pair, beside what may without it.
    fn gap_of_moves(&mut self, site: &Site, after: Option<&Statement>) {
        let moved = self.done.sent.iter().flat_map(|sent| self.others(sent));
        let moved: BTreeSet<Towards> = moved.collect();
        for on in moved {
            self.only_with = OnlyWith::Move(on);
            if self.may(Kind::Poll, "Poll") {
                // A loop sends more than once.
                let polls = if self.flow == Flow::Loops { self.repair.size } else { 1 };
                (0..polls).for_each(|_| self.push(site, after, What::Poll(on)));
            }
            let is_new = self.done.sent.iter().all(|sent| sent.on != on);
            if is_new && self.may(Kind::Rfence, "Rfence") {
                self.push(site, after, What::Rfence(on));
            }
            // With a Wait, the flush is that of what was sent there.
            if is_new || !self.defines("Wait") {
                if self.may(Kind::Flush, "Get") {
                    self.flush(site, after, on);
                }
                self.persist(site, after, on);
            }
        }
        self.only_with = OnlyWith::Any;
    }

    /// Polls of receives, where no later poll would take the immediate of another one.
    fn poll_receives(&mut self, site: &Site, after: Option<&Statement>) {
        if !self.may(Kind::PollReceive, Method::PollRecv.spelling()) {
            return;
        }
        let body = &self.repair.file.threads[site.thread].body;
        let taken = requests::immediates_taken(body, self.at.start);
        let is_taken_before = |from: &Towards| {
            after.and_then(requests::polled_receive).is_some_and(|polled| polled == (*from, true))
        };
        for (from, left) in self.done.receives.clone() {
            let stays = is_taken_before(&from);
            if taken.contains(&from) || (stays && self.only_with == OnlyWith::Exchange) {
                continue;
            }
            for _ in 0..left.min(self.repair.size) {
                let what = What::PollReceive { from, stays };
                self.push(site, after, what);
            }
        }
    }

    /// A word of a node that a get can name.
    fn some_word(&self, node: u64) -> Option<String> {
        let declared = self.repair.file.declarations.iter().flat_map(|row| row.cells.all());
        let declared: BTreeSet<&str> = declared.map(|one| &one.name.text[..]).collect();
        let is_declared = |location: &&Location| {
            let name = &location.name[..];
            declared.contains(array_of(name).map_or(name, |(array, _)| array))
        };
        let of_node = self.test.program.locations.iter();
        let of_node = of_node.filter(|location| u64::from(location.node.0) == node);
        of_node.filter(is_declared).map(|location| location.name.clone()).next()
    }

    fn flush(&mut self, site: &Site, after: Option<&Statement>, on: Towards) {
        let last = self.done.sent.iter().rev().find(|sent| sent.on == on);
        let last = last.and_then(|sent| sent.location.clone());
        let accessed = || self.done.sent.iter().rev().filter(|sent| sent.on.node == on.node);
        let accessed = || accessed().find_map(|sent| sent.location.clone());
        let from = last.or_else(accessed).or_else(|| self.some_word(on.node));
        let Some(from) = from else { return };
        let to = self.fresh(&format!("f{}", of_queue_pair(on)), site);
        self.flush_by(site, after, (on, "g"), FlushBy::Get { from, to });
    }

    /// A flush to persistent memory, where a crash may lose what is not there.
    fn persist(&mut self, site: &Site, after: Option<&Statement>, on: Towards) {
        let may = self.may(Kind::Persist, Method::Persist.spelling());
        if may && self.test.program.crash.is_some() {
            self.flush_by(site, after, (on, "k"), FlushBy::Persist);
        }
    }

    /// A flush and the wait for it, under an id that begins with a letter, or as many polls as it takes.
    fn flush_by(
        &mut self,
        site: &Site,
        after: Option<&Statement>,
        (on, letter): (Towards, &str),
        by: FlushBy,
    ) {
        let (id, polls) = match (self.defines("Wait"), self.defines("Poll")) {
            (true, _) => (Some(self.fresh(&format!("{letter}{}", of_queue_pair(on)), site)), 0),
            (false, true) => {
                let is_of_round = |sent: &&Sent| sent.on == on && !sent.is_unsignaled;
                let of_round = self.next_round.iter().filter(is_of_round).count();
                let moved = usize::from(matches!(self.only_with, OnlyWith::Move(_)));
                let open = self.done.open.get(&on).copied().unwrap_or_default();
                (None, open + of_round + moved + 1)
            }
            (false, false) => return,
        };
        self.push(site, after, What::Flush { on, by, id, polls, is_sized: false });
    }

    /// A name that the program does not use, the same for the same site.
    fn fresh(&self, word: &str, site: &Site) -> String {
        let path: String = site.path.iter().map(|(one, block)| format!("{one}_{block}_")).collect();
        let mut name = format!("{word}{}_{path}{}", site.thread + 1, site.index + 1);
        while self.names.contains(&name) {
            name.push('_');
        }
        name
    }

    /// Remembers what a statement sends, polls or calls.
    fn note(&mut self, site: &Site, one: &Statement) {
        if requests::calls_library(one) {
            let program = &self.test.program;
            let own = program.threads.get(site.thread).map(|thread| u64::from(thread.node.0));
            let nodes = 1..=u64::from(program.nodes);
            self.done.called = nodes.filter(|node| Some(*node) != own).collect();
        } else if let Some(from) = requests::receives(one) {
            *self.done.receives.entry(from).or_default() += 1;
        } else if let Some((from, _)) = requests::polled_receive(one) {
            let left = self.done.receives.entry(from).or_default();
            *left = left.saturating_sub(1);
        } else if let Some(on) = requests::polled(one) {
            *self.done.polled.entry(on).or_insert(0) += 1;
            let open = self.done.open.entry(on).or_default();
            *open = open.saturating_sub(1);
        } else {
            let sent = requests::sent(self.repair, self.test, site, one);
            if let Some(sent) = sent.as_ref().filter(|sent| !sent.is_unsignaled) {
                *self.done.open.entry(sent.on).or_default() += 1;
            }
            self.done.sent.extend(sent);
        }
    }
}

/// The part of a name for a queue pair other than 0.
fn of_queue_pair(on: Towards) -> String {
    let number = Some(on.number()).filter(|number| !number.is_first());
    number.map(|number| format!("q{number}_")).unwrap_or_default()
}
