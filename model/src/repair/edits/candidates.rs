//! The changes that a program may need.

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::litmus::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, Home, Name, Statement, StatementKind, Target,
    Value, Via,
};
use lang::litmus::methods::Method;
use lang::source::Span;

use super::super::{Kind, Repair};
use super::{Edit, Path, Site, Towards, What, blocks_mut, id_of_call};

/// An operation that a thread has sent.
#[derive(Clone)]
struct Sent {
    site: Site,
    on: Towards,
    /// What is accessed there.
    location: String,
    id: Option<String>,
    /// No Poll takes its completion.
    is_unsignaled: bool,
    /// It may not change, so it gets no id.
    is_kept: bool,
    span: Span,
}

/// What a thread's statements may leave out or repeat.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Straight,
    Branches,
    Loops,
}

fn flow(block: &Block) -> Flow {
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
    let mut lister =
        Lister { flow: Flow::Straight, repair, test, names, edits: Vec::new(), sent, polled, at };
    for (thread, of) in repair.file.threads.iter().enumerate() {
        lister.sent.clear();
        lister.polled.clear();
        lister.flow = flow(&of.body);
        lister.block(thread, &of.body, &Path::new());
        lister.moves();
    }
    lister.edits
}

impl Lister<'_> {
    fn block(&mut self, thread: usize, block: &Block, path: &Path) {
        let mut after = None;
        for index in 0..=block.statements.len() {
            let site = Site { thread, path: path.clone(), index };
            let next = block.statements.get(index).map_or(block.end, |one| one.place);
            let gap = after.map_or(next.span.start, |after: Span| after.end);
            self.at = Span::new(gap, gap);
            // After the last statement, what is added comes before nothing but the end of the thread.
            if index < block.statements.len() || !path.is_empty() {
                self.gap(&site, after);
            }
            let Some(one) = block.statements.get(index) else { break };
            after = Some(one.place.span);
            self.at = one.place.span;
            self.rewritings(&site, one, block.statements.get(index + 1));
            self.note(&site, one);
            let mut copy = one.clone();
            for (number, inner) in blocks_mut(&mut copy).into_iter().enumerate() {
                let mut path = path.clone();
                path.push((index, number));
                self.block(thread, inner, &path);
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

    fn push(&mut self, site: &Site, after: Option<Span>, what: What) {
        self.edits.push(Edit { site: site.clone(), what, after, at: self.at });
    }

    fn gap(&mut self, site: &Site, after: Option<Span>) {
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
            // It is about the queue pairs 0.
            if on.queue_pair == 0 && self.may(Kind::Gfence, "GFence") {
                self.push(site, after, What::Gfence(on.node));
            }
            if self.may(Kind::Flush, "Get") {
                self.flush(site, after, on, open);
            }
        }
        if self.may(Kind::Wait, "Wait") {
            let may_have_id = |sent: &&Sent| sent.id.is_some() || !sent.is_kept;
            let waited: Vec<Sent> = self.sent.iter().filter(may_have_id).cloned().collect();
            for sent in waited {
                let id = sent.id.clone().unwrap_or_else(|| self.fresh("d", &sent.site));
                let what = What::Wait { operation: sent.site.clone(), id, at: sent.span };
                self.push(site, after, what);
            }
        }
    }

    fn flush(&mut self, site: &Site, after: Option<Span>, on: Towards, open: usize) {
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
            self.at = sent.span;
            let others = queue_pairs.iter().filter(|on| on.node == sent.on.node && **on != sent.on);
            for on in others {
                self.push(&sent.site, Some(sent.span), What::Move(*on));
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
        let is_kept = |one: &Statement| self.repair.is_kept(one.place);
        if is_kept(one) {
            return;
        }
        let span = Some(one.place.span);
        if let StatementKind::Assign { target: Target::Access(target), via, value } = &one.kind
            && !matches!(via, Via::Library(_))
            && !target.home.is_own()
            && matches!(value, Value::Expr(Expr { kind: ExprKind::Number(_), .. }))
            && self.may(Kind::Rcas, "RCAS")
        {
            let locations = &self.test.program.locations;
            let at = locations.iter().find(|location| location.name == target.name.text);
            if let Some(location) = at {
                self.push(site, span, What::Rcas { before: location.initial });
            }
        }
        if one.unsignaled && self.may(Kind::Signal, "Poll") {
            self.push(site, span, What::Signal);
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
            self.push(site, span, What::Exchange);
        }
    }

    /// Remembers what a statement sends, or polls.
    fn note(&mut self, site: &Site, one: &Statement) {
        let (mut accesses, mut id): (Vec<&Access>, Option<&Name>) = (Vec::new(), None);
        match &one.kind {
            StatementKind::Assign { target, via, value } if !matches!(via, Via::Library(_)) => {
                if let Target::Access(access) = target {
                    accesses.push(access);
                }
                match value {
                    Value::Expr(Expr { kind: ExprKind::Access(access), .. }) => {
                        accesses.push(access);
                    }
                    Value::Call(call) => accesses.extend(of_arguments(call)),
                    Value::Expr(_) | Value::Inline(_) => {}
                }
                if let Via::Id(name) = via {
                    id = name.as_ref();
                }
            }
            StatementKind::Call(call) if matches!(call.method, Method::Rcas | Method::Rfaa) => {
                accesses.extend(of_arguments(call));
                id = id_of_call(call);
            }
            StatementKind::Call(call) if call.method == Method::Poll => {
                let on = match call.arguments.first() {
                    Some(Argument::Expr(Expr { kind: ExprKind::Number(node), .. })) => {
                        Towards { node: *node, queue_pair: 0 }
                    }
                    Some(Argument::Towards(node, queue_pair)) => {
                        Towards { node: node.value, queue_pair: queue_pair.value }
                    }
                    _ => return,
                };
                *self.polled.entry(on).or_insert(0) += 1;
            }
            _ => {}
        }
        let remote = accesses.iter().find_map(|access| Some((self.node_of(access)?, access)));
        if let Some((node, access)) = remote {
            let location = access.name.text.clone();
            let queue_pair = access.queue_pair.map_or(0, |number| number.value);
            let on = Towards { node, queue_pair };
            let (site, id) = (site.clone(), id.map(|id| id.text.clone()));
            let (is_kept, span) = (self.repair.is_kept(one.place), one.place.span);
            let is_unsignaled = one.unsignaled;
            self.sent.push(Sent { site, on, location, id, is_unsignaled, is_kept, span });
        }
    }

    fn node_of(&self, access: &Access) -> Option<u64> {
        match access.home {
            Home::Own => None,
            Home::Node(node) => Some(node.value),
            Home::Inferred => {
                let mut locations = self.test.program.locations.iter();
                let found = locations.find(|location| location.name == access.name.text);
                found.map(|location| u64::from(location.node.0))
            }
        }
    }
}

fn of_arguments(call: &Call) -> impl Iterator<Item = &Access> {
    call.arguments.iter().filter_map(|argument| match argument {
        Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(access),
        _ => None,
    })
}
