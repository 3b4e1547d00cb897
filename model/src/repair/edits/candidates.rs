//! The changes that a program may need.

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::litmus::ast::{Block, Expr, ExprKind, Statement, StatementKind, Target, Value, Via};
use lang::litmus::methods::Method;
use lang::source::Span;

use super::super::{Kind, Repair};
use super::requests::{self, Sent};
use super::{Edit, Named, Path, Site, Towards, What, blocks_mut};

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

struct Lister<'r> {
    flow: Flow,
    repair: &'r Repair<'r>,
    test: &'r Test,
    names: BTreeSet<String>,
    edits: Vec<Edit>,
    sent: Vec<Sent>,
    polled: BTreeMap<Towards, usize>,
    /// The nodes that a call of a library may have reached.
    called: BTreeSet<u64>,
    /// What the rest of a loop sends, which its next round may wait for.
    next_round: Vec<Sent>,
    /// Whether the statements beside the gap are taken as exchanged.
    with_exchange: bool,
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
    let (sent, polled) = (Vec::new(), BTreeMap::new());
    let at = Span::new(0, 0);
    let (called, next_round) = (BTreeSet::new(), Vec::new());
    let (edits, with_exchange) = (Vec::new(), false);
    let mut lister = Lister {
        flow: Flow::Straight,
        repair,
        test,
        names,
        edits,
        sent,
        polled,
        called,
        next_round,
        with_exchange,
        at,
    };
    for (thread, of) in repair.file.threads.iter().enumerate() {
        lister.sent.clear();
        lister.polled.clear();
        lister.called.clear();
        lister.flow = flow(&of.body);
        lister.block(thread, &of.body, &Path::new());
        lister.moves();
    }
    lister.edits
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
            self.note(&site, one);
            self.inner(&site, one);
        }
    }

    /// The blocks of a statement.
    fn inner(&mut self, site: &Site, one: &Statement) {
        let is_loop = matches!(one.kind, StatementKind::While(..) | StatementKind::Loop(_));
        let outer = self.next_round.clone();
        let mut copy = one.clone();
        for (number, block) in blocks_mut(&mut copy).into_iter().enumerate() {
            let mut path = site.path.clone();
            path.push((site.index, number));
            if is_loop {
                let sent = self.sent_in(site.thread, block, &path);
                self.next_round.extend(sent);
            }
            self.block(site.thread, block, &path);
        }
        self.next_round = outer;
    }

    /// What a block sends, with the blocks in it.
    fn sent_in(&mut self, thread: usize, block: &Block, path: &Path) -> Vec<Sent> {
        let before = (self.sent.clone(), self.polled.clone(), self.called.clone());
        let mut sent = Vec::new();
        for (index, one) in block.statements.iter().enumerate() {
            self.sent.clear();
            self.note(&Site { thread, path: path.clone(), index }, one);
            sent.append(&mut self.sent);
            let mut copy = one.clone();
            for (number, inner) in blocks_mut(&mut copy).into_iter().enumerate() {
                let mut path = path.clone();
                path.push((index, number));
                sent.extend(self.sent_in(thread, inner, &path));
            }
        }
        (self.sent, self.polled, self.called) = before;
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
        let kept = (self.sent.clone(), self.polled.clone(), self.called.clone());
        self.note(site, next);
        self.with_exchange = true;
        self.gap(site, Some(before));
        self.with_exchange = false;
        (self.sent, self.polled, self.called) = kept;
        // What may stand there without the exchange is listed once.
        let more = self.edits.split_off(usual);
        let at_gap = |edit: &&Edit| edit.site == *site && !edit.with_exchange;
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
        let is_library = || !self.called.is_empty() && self.repair.words().method(word).is_some();
        self.defines(word) || is_library()
    }

    fn push(&mut self, site: &Site, after: Option<&Statement>, what: What) {
        let after = after.map(|one| Named::new(one, self.repair.source));
        let (site, at, with_exchange) = (site.clone(), self.at, self.with_exchange);
        self.edits.push(Edit { site, what, after, at, with_exchange });
    }

    fn gap(&mut self, site: &Site, after: Option<&Statement>) {
        if self.may(Kind::Mfence, "Mfence") && site.index > 0 {
            self.push(site, after, What::Mfence);
        }
        let queue_pairs: BTreeSet<Towards> = self.sent.iter().map(|sent| sent.on).collect();
        for on in queue_pairs {
            let is_polled = |sent: &&Sent| sent.on == on && !sent.is_unsignaled;
            let sent = self.sent.iter().filter(is_polled).count();
            let open = sent.saturating_sub(self.polled.get(&on).copied().unwrap_or(0));
            if self.may(Kind::Poll, "Poll") {
                // A repair may give one more of them a completion.
                let may_signal = |sent: &Sent| sent.on == on && sent.is_unsignaled && !sent.is_kept;
                let signaled = self.may(Kind::Signal, "Poll") && self.sent.iter().any(may_signal);
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
                self.flush(site, after, on, open);
            }
        }
        if self.repair.kinds.contains(&Kind::Gfence) && self.has_gfence() {
            // It is about the queue pairs 0.
            let sent = self.sent.iter().filter(|sent| sent.on.queue_pair == 0);
            let nodes: BTreeSet<u64> = sent.map(|sent| sent.on.node).collect();
            for node in nodes.union(&self.called.clone()) {
                self.push(site, after, What::Gfence(*node));
            }
        }
        if self.may(Kind::Wait, "Wait") {
            let may_have_id = |sent: &&Sent| sent.id.is_some() || !sent.is_kept;
            let is_earlier = |later: &&Sent| self.sent.iter().all(|sent| sent.site != later.site);
            let next_round = self.next_round.iter().filter(is_earlier);
            let waited = self.sent.iter().chain(next_round).filter(may_have_id);
            let waited: Vec<Sent> = waited.cloned().collect();
            for sent in waited {
                let id = sent.id.clone().unwrap_or_else(|| self.fresh("d", &sent.site));
                let what = What::Wait { operation: sent.site.clone(), id, at: sent.named };
                self.push(site, after, what);
            }
        }
    }

    fn flush(&mut self, site: &Site, after: Option<&Statement>, on: Towards, open: usize) {
        let last = self.sent.iter().rev().find(|sent| sent.on == on);
        let Some(from) = last.map(|sent| sent.location.clone()) else { return };
        let number = Some(on.queue_pair).filter(|number| *number != 0);
        let of_queue_pair = number.map(|number| format!("q{number}_")).unwrap_or_default();
        let to = self.fresh(&format!("f{of_queue_pair}"), site);
        let (id, polls) = match (self.defines("Wait"), self.defines("Poll")) {
            (true, _) => (Some(self.fresh(&format!("g{of_queue_pair}"), site)), 0),
            (false, true) => (None, open + 1),
            (false, false) => return,
        };
        self.push(site, after, What::Flush { on, from, to, id, polls });
    }

    /// What a thread has sent on another queue pair that it uses to the same node.
    fn moves(&mut self) {
        if !self.repair.kinds.contains(&Kind::QueuePair) {
            return;
        }
        let queue_pairs: BTreeSet<Towards> = self.sent.iter().map(|sent| sent.on).collect();
        for sent in self.sent.clone().iter().filter(|sent| !sent.is_kept) {
            let others = queue_pairs.iter().filter(|on| on.node == sent.on.node && **on != sent.on);
            for on in others {
                let (site, what, named) = (sent.site.clone(), What::Move(*on), sent.named.clone());
                let at = sent.span;
                self.edits.push(Edit { site, what, after: Some(named), at, with_exchange: false });
            }
        }
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

    fn rewritings(&mut self, site: &Site, one: &Statement, next: Option<&Statement>) {
        let is_kept = |one: &Statement| self.repair.is_kept(one);
        if is_kept(one) {
            return;
        }
        if let StatementKind::Assign { target: Target::Access(target), via, value } = &one.kind
            && !matches!(via, Via::Library(_))
            && !target.home.is_own()
            && matches!(value, Value::Expr(Expr { kind: ExprKind::Number(_), .. }))
            && self.may(Kind::Rcas, "RCAS")
        {
            let locations = &self.test.program.locations;
            let at = locations.iter().find(|location| location.name == target.name.text);
            if let Some(location) = at {
                self.push(site, Some(one), What::Rcas { before: location.initial });
            }
        }
        if one.unsignaled && self.may(Kind::Signal, "Poll") {
            self.push(site, Some(one), What::Signal);
        }
        let text = |one: &Statement| self.repair.source.text.get(one.place.span.range());
        let is_plain = |one: &Statement| {
            matches!(one.kind, StatementKind::Assign { .. } | StatementKind::Call(_))
        };
        if let Some(next) = next
            && self.repair.kinds.contains(&Kind::Exchange)
            && is_plain(one)
            && is_plain(next)
            && !is_kept(next)
            && text(one) != text(next)
        {
            self.push(site, Some(one), What::Exchange);
        }
    }

    /// Remembers what a statement sends, polls or calls.
    fn note(&mut self, site: &Site, one: &Statement) {
        if requests::calls_library(one) {
            let program = &self.test.program;
            let own = program.threads.get(site.thread).map(|thread| u64::from(thread.node.0));
            let nodes = 1..=u64::from(program.nodes);
            self.called = nodes.filter(|node| Some(*node) != own).collect();
        } else if let Some(on) = requests::polled(one) {
            *self.polled.entry(on).or_insert(0) += 1;
        } else {
            self.sent.extend(requests::sent(self.repair, self.test, site, one));
        }
    }
}
