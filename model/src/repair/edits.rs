//! The changes that a repair may consist of, and how they are made in the syntax tree.

mod removals;

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::litmus::ast::build::{access, assign, call, name, number, statement};
use lang::litmus::ast::{
    Access, Argument, Block, Call, Expr, ExprKind, File, Home, Name, Place, Statement,
    StatementKind, Target, Value, Via,
};
use lang::litmus::methods::Method;
use lang::source::{Source, Span};

use super::Repair;
use super::kind::{Kind, REWRITES};
pub use removals::removals;

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
    after: Option<Span>,
    /// The gap, or the statement that changes.
    at: Span,
}

#[derive(Clone, Debug)]
enum What {
    Poll(u64),
    Wait { operation: Site, id: String, at: Span },
    Rfence(u64),
    Gfence(u64),
    Mfence,
    Flush { node: u64, from: String, to: String, id: Option<String>, polls: usize },
    Rcas { before: u64 },
    Exchange,
    Remove(Kind),
}

impl Edit {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.what {
            What::Poll(_) => Kind::Poll,
            What::Wait { .. } => Kind::Wait,
            What::Rfence(_) => Kind::Rfence,
            What::Gfence(_) => Kind::Gfence,
            What::Mfence => Kind::Mfence,
            What::Flush { .. } => Kind::Flush,
            What::Rcas { .. } => Kind::Rcas,
            What::Exchange => Kind::Exchange,
            What::Remove(kind) => kind,
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

    /// The change in words.
    pub fn words(&self, source: &Source) -> String {
        let place = |span: Span| {
            let text = source.text.get(span.range()).unwrap_or_default();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("`{text}` (line {})", source.line_column(span.start).0)
        };
        let thread = self.site.thread + 1;
        let gap = match self.after {
            Some(span) => format!("after {}", place(span)),
            None => "at the beginning of its block".to_owned(),
        };
        let added = match &self.what {
            What::Remove(_) => {
                let what = self.after.map(place).unwrap_or_default();
                return format!("thread {thread}: {what}");
            }
            What::Exchange => {
                let first = self.after.map(place).unwrap_or_default();
                return format!("thread {thread}: exchange {first} and the statement after it");
            }
            What::Rcas { .. } => {
                let put = self.after.map(place).unwrap_or_default();
                return format!("thread {thread}: an RCAS in place of {put}");
            }
            What::Wait { id, at, .. } => {
                return format!("thread {thread}: {gap}, add Wait({id}), for {}", place(*at));
            }
            What::Poll(node) => format!("Poll({node})"),
            What::Rfence(node) => format!("Rfence({node})"),
            What::Gfence(node) => format!("GFence({{{node}}})"),
            What::Mfence => "Mfence".to_owned(),
            What::Flush { node, from, to, id: Some(id), .. } => {
                format!("{to} :=^{id} {from}^{node}; Wait({id})")
            }
            What::Flush { node, from, to, polls, .. } => {
                format!("{to} := {from}^{node}{}", format!("; Poll({node})").repeat(*polls))
            }
        };
        format!("thread {thread}: {gap}, add {added}")
    }

    /// The statements that stand in the gap.
    fn added(&self, place: Place) -> Vec<Statement> {
        let of_node = |method, node| statement(call(method, [number(node, place)], place));
        let wait = |id: &str| {
            let id = Expr::from(access(id, None, place));
            statement(call(Method::Wait, [id], place))
        };
        match &self.what {
            What::Poll(node) => vec![of_node(Method::Poll, *node)],
            What::Wait { id, .. } => vec![wait(id)],
            What::Rfence(node) => vec![of_node(Method::Rfence, *node)],
            What::Gfence(node) => {
                let number = lang::litmus::ast::Number { value: *node, place };
                let arguments = vec![Argument::Nodes(vec![number], place)];
                let call = Call { method: Method::Gfence, word: None, arguments, place };
                vec![statement(call)]
            }
            What::Mfence => vec![statement(call(Method::Mfence, [], place))],
            What::Flush { node, from, to, id, polls } => {
                let via = id.as_ref().map_or(Via::Plain, |id| Via::Id(Some(name(id, place))));
                let value = Value::Expr(access(from, Some(*node), place).into());
                let get = assign(access(to, None, place), via, value);
                let polls = (0..*polls).map(|_| of_node(Method::Poll, *node));
                std::iter::once(get).chain(polls).chain(id.iter().map(|id| wait(id))).collect()
            }
            What::Rcas { .. } | What::Exchange | What::Remove(_) => Vec::new(),
        }
    }
}

/// The file with changes made. `None` if they do not go together.
pub fn apply(file: &File, edits: &[&Edit]) -> Option<File> {
    let mut file = file.clone();
    for (thread, of) in file.threads.iter_mut().enumerate() {
        let edits: Vec<&Edit> =
            edits.iter().copied().filter(|edit| edit.site.thread == thread).collect();
        if !edits.is_empty() {
            of.body = changed(&of.body, &mut Path::new(), &edits)?;
        }
    }
    Some(file)
}

fn changed(block: &Block, path: &mut Path, edits: &[&Edit]) -> Option<Block> {
    let at = |index: usize, path: &Path| {
        let path = path.clone();
        edits.iter().filter(move |edit| edit.site.path == path && edit.site.index == index)
    };
    let mut order: Vec<usize> = (0..block.statements.len()).collect();
    for index in 0..block.statements.len() {
        if at(index, path).any(|edit| matches!(edit.what, What::Exchange)) {
            if index + 1 >= order.len() || order[index] != index {
                return None;
            }
            order.swap(index, index + 1);
        }
    }
    let mut statements = Vec::new();
    for index in 0..=block.statements.len() {
        let near = block.statements.get(index.saturating_sub(1)).map_or(block.end, |one| one.place);
        // An empty place tells what is added from what was there.
        let span = Span::new(near.span.end, near.span.end);
        let place = Place { span, ..near };
        at(index, path).for_each(|edit| statements.extend(edit.added(place)));
        let Some(from) = order.get(index) else { continue };
        if at(*from, path).any(|edit| matches!(edit.what, What::Remove(_))) {
            continue;
        }
        let mut one = block.statements.get(*from)?.clone();
        for edit in edits {
            match &edit.what {
                What::Rcas { before } if edit.site.path == *path && edit.site.index == *from => {
                    one = rcas(&one, *before)?;
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
            let new = changed(inner, path, edits);
            path.pop();
            *inner = new?;
        }
        statements.push(one);
    }
    Some(Block { statements, end: block.end })
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

/// The put of a constant as an RCAS.
fn rcas(put: &Statement, before: u64) -> Option<Statement> {
    let StatementKind::Assign { target: Target::Access(target), via, value: Value::Expr(value) } =
        &put.kind
    else {
        return None;
    };
    let place = put.place;
    let mut made =
        call(Method::Rcas, [target.clone().into(), number(before, place), value.clone()], place);
    made.arguments.insert(0, Argument::Nobody(place));
    if let Via::Id(Some(id)) = via {
        made.arguments.push(Argument::Expr(access(&id.text, None, place).into()));
    }
    Some(Statement { kind: StatementKind::Call(made), place })
}

fn give_id(operation: &mut Statement, id: &str) {
    let place = operation.place;
    match &mut operation.kind {
        StatementKind::Assign { via: via @ (Via::Plain | Via::Id(None)), .. } => {
            *via = Via::Id(Some(name(id, place)));
        }
        StatementKind::Call(call) if id_of_call(call).is_none() => {
            call.arguments.push(Argument::Expr(access(id, None, place).into()));
        }
        _ => {}
    }
}

/// How many arguments an RMW has without a work id.
fn plain_arity(call: &Call) -> usize {
    if call.method == Method::Rcas { 4 } else { 3 }
}

fn id_of_call(call: &Call) -> Option<&Name> {
    match &call.arguments.get(plain_arity(call))? {
        Argument::Expr(Expr { kind: ExprKind::Access(access), .. }) => Some(&access.name),
        _ => None,
    }
}

/// An operation that a thread has sent.
#[derive(Clone)]
struct Sent {
    site: Site,
    node: u64,
    /// What is accessed there.
    location: String,
    id: Option<String>,
    /// It may not change, so it gets no id.
    is_kept: bool,
    span: Span,
}

struct Lister<'r> {
    repair: &'r Repair<'r>,
    test: &'r Test,
    names: BTreeSet<String>,
    edits: Vec<Edit>,
    sent: Vec<Sent>,
    polled: BTreeMap<u64, usize>,
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
    let mut lister = Lister { repair, test, names, edits: Vec::new(), sent, polled, at };
    for (thread, of) in repair.file.threads.iter().enumerate() {
        lister.sent.clear();
        lister.polled.clear();
        lister.block(thread, &of.body, &Path::new());
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
        let nodes: BTreeSet<u64> = self.sent.iter().map(|sent| sent.node).collect();
        for node in nodes {
            let to_node = self.sent.iter().filter(|sent| sent.node == node).count();
            let open = to_node.saturating_sub(self.polled.get(&node).copied().unwrap_or(0));
            if self.may(Kind::Poll, "Poll") {
                for _ in 0..open.min(self.repair.size) {
                    self.push(site, after, What::Poll(node));
                }
            }
            if self.may(Kind::Rfence, "Rfence") {
                self.push(site, after, What::Rfence(node));
            }
            if self.may(Kind::Gfence, "GFence") {
                self.push(site, after, What::Gfence(node));
            }
            if self.may(Kind::Flush, "Get") {
                self.flush(site, after, node, open);
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

    fn flush(&mut self, site: &Site, after: Option<Span>, node: u64, open: usize) {
        let last = self.sent.iter().rev().find(|sent| sent.node == node);
        let Some(from) = last.map(|sent| sent.location.clone()) else { return };
        let to = self.fresh("f", site);
        let (id, polls) = match (self.defines("Wait"), self.defines("Poll")) {
            (true, _) => (Some(self.fresh("g", site)), 0),
            (false, true) => (None, open + 1),
            (false, false) => return,
        };
        self.push(site, after, What::Flush { node, from, to, id, polls });
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
            && matches!(target.home, Home::Node(_))
            && matches!(value, Value::Expr(Expr { kind: ExprKind::Number(_), .. }))
            && self.may(Kind::Rcas, "RCAS")
        {
            let locations = &self.test.program.locations;
            let at = locations.iter().find(|location| location.name == target.name.text);
            if let Some(location) = at {
                self.push(site, span, What::Rcas { before: location.initial });
            }
        }
        let is_plain = |one: &Statement| {
            matches!(one.kind, StatementKind::Assign { .. } | StatementKind::Call(_))
        };
        if let Some(next) = next
            && self.repair.kinds.contains(&Kind::Exchange)
            && is_plain(one)
            && is_plain(next)
            && !is_kept(next)
            && one != next
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
                if let Some(Argument::Expr(Expr { kind: ExprKind::Number(node), .. })) =
                    call.arguments.first()
                {
                    *self.polled.entry(*node).or_insert(0) += 1;
                }
            }
            _ => {}
        }
        let remote = accesses.iter().find_map(|access| Some((self.node_of(access)?, access)));
        if let Some((node, access)) = remote {
            let location = access.name.text.clone();
            let (site, id) = (site.clone(), id.map(|id| id.text.clone()));
            let (is_kept, span) = (self.repair.is_kept(one.place), one.place.span);
            self.sent.push(Sent { site, node, location, id, is_kept, span });
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
