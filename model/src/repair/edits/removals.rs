//! The statements that a program may do without.

use lang::Test;
use lang::litmus::ast::{Block, Statement, StatementKind, Target, Value};
use lang::litmus::methods::Method;

use super::super::{Kind, Repair};
use super::candidates::{Flow, flow};
use super::requests::{self, Sent};
use super::{Edit, Named, OnlyWith, Path, Site, What, blocks, statements};

/// All that may go: statements that only wait or keep an order, and gets of which nobody looks at the value,
/// each with the wait for it.
pub fn removals(repair: &Repair<'_>, test: &Test) -> Vec<Edit> {
    let mut found = Vec::new();
    for (thread, of) in repair.file.threads.iter().enumerate() {
        removals_in(&of.body, &Site { thread, path: Path::new(), index: 0 }, repair, &mut found);
        if repair.kinds.contains(&Kind::Flush) {
            flushes(&of.body, thread, repair, test, &mut found);
        }
    }
    found
}

/// How many statements that wait or fence are marked to be kept.
pub fn kept(repair: &Repair<'_>) -> usize {
    let all = repair.file.threads.iter().flat_map(|thread| statements(&thread.body));
    let is_meant = |one: &&Statement| {
        waits_or_fences(one).is_some_and(|kind| repair.kinds.contains(&kind)) && repair.is_kept(one)
    };
    all.filter(is_meant).count()
}

fn removals_in(block: &Block, at: &Site, repair: &Repair<'_>, found: &mut Vec<Edit>) {
    for (index, one) in block.statements.iter().enumerate() {
        let kind = waits_or_fences(one);
        let kind = kind.filter(|kind| repair.kinds.contains(kind) && !repair.is_kept(one));
        let kind = kind.filter(|_| !is_counted(one, repair, at.thread));
        if let Some(kind) = kind {
            let site = Site { index, ..at.clone() };
            let what = What::Remove { kind, with: None };
            let after = Some(Named::new(one, repair.source));
            let (head, at) = (String::new(), one.place.span);
            let only_with = OnlyWith::Any;
            found.push(Edit { site, what, after, head, at, only_with, switch: None });
        }
        for (number, inner) in blocks(one).into_iter().enumerate() {
            let mut path = at.path.clone();
            path.push((index, number));
            removals_in(inner, &Site { path, ..at.clone() }, repair, found);
        }
    }
}

/// Whether later polls of receives take immediates: without this one, they would take those of others.
fn is_counted(one: &Statement, repair: &Repair<'_>, thread: usize) -> bool {
    let body = &repair.file.threads[thread].body;
    requests::polled_receive(one).is_some_and(|(from, _)| {
        requests::immediates_taken(body, one.place.span.start).contains(&from)
    })
}

fn waits_or_fences(one: &Statement) -> Option<Kind> {
    let StatementKind::Call(call) = &one.kind else { return None };
    match call.method {
        Method::Poll => Some(Kind::Poll),
        Method::PollRecv => Some(Kind::PollReceive),
        Method::Wait => Some(Kind::Wait),
        Method::Rfence => Some(Kind::Rfence),
        Method::Gfence => Some(Kind::Gfence),
        Method::Mfence => Some(Kind::Mfence),
        _ => None,
    }
}

/// Gets of which nobody looks at the value, each with its wait: a Poll that nothing is left to answer blocks.
fn flushes(block: &Block, thread: usize, repair: &Repair<'_>, test: &Test, found: &mut Vec<Edit>) {
    if flow(block) != Flow::Straight {
        return;
    }
    let site = |index| Site { thread, path: Path::new(), index };
    let at = |index: usize| block.statements.get(index);
    let sent: Vec<Sent> = (0..block.statements.len())
        .filter_map(|index| requests::sent(repair, test, &site(index), at(index)?))
        .collect();
    for get in sent.iter().filter(|sent| !sent.is_kept) {
        let Some(one) = at(get.site.index).filter(|one| is_unused_get(one, repair)) else {
            continue;
        };
        let Some(wait) = wait_for(get, &sent, block) else { continue };
        let wait = wait.and_then(|index| Some((index, at(index)?)));
        if wait.is_some_and(|(_, one)| repair.is_kept(one)) {
            continue;
        }
        let with = wait.map(|(index, one)| (index, Named::new(one, repair.source)));
        found.push(Edit {
            site: get.site.clone(),
            what: What::Remove { kind: Kind::Flush, with },
            after: Some(get.named.clone()),
            head: String::new(),
            at: one.place.span,
            only_with: OnlyWith::Any,
            switch: None,
        });
    }
}

/// The wait that goes with a get, if it has one. `None` if to remove them could take outcomes away: a Poll
/// that stays may then answer for another operation. It cannot if the polls after the get follow each other
/// at once, whether or not completions come in order.
fn wait_for(get: &Sent, sent: &[Sent], block: &Block) -> Option<Option<usize>> {
    let of = |found: &dyn Fn(&Statement) -> bool| -> Vec<usize> {
        let all = block.statements.iter().enumerate();
        all.filter(|(_, one)| found(one)).map(|(index, _)| index).collect()
    };
    let polls = of(&|one| requests::may_poll(one).contains(&get.on));
    if polls
        .iter()
        .filter_map(|at| block.statements.get(*at))
        .any(|one| requests::polled(one).is_none())
    {
        return None;
    }
    let first = polls.partition_point(|poll| *poll < get.site.index);
    let (before, after) = polls.split_at(first);
    if let (Some(id), []) = (&get.id, after) {
        let has_it = |other: &&Sent| other.id.as_ref() == Some(id);
        let waits = of(&|one| requests::waited(one) == Some(id));
        // Other operations may be waited for by the same id.
        return Some(waits.first().copied().filter(|_| sent.iter().filter(has_it).count() == 1));
    }
    let (Some(first), Some(last)) = (after.first(), after.last()) else { return Some(None) };
    let completes = |other: &&Sent| other.on == get.on && !other.is_unsignaled;
    let earlier = sent.iter().filter(completes).filter(|other| other.site <= get.site).count();
    let is_polled = (before.len() + 1..=polls.len()).contains(&earlier);
    let is_run = last - first + 1 == after.len();
    (is_polled && is_run && !get.is_unsignaled && get.id.is_none()).then_some(Some(*last))
}

/// Whether a statement is a get into a location that nothing else names.
fn is_unused_get(one: &Statement, repair: &Repair<'_>) -> bool {
    let StatementKind::Assign { target: Target::Access(to), value: Value::Expr(_), .. } = &one.kind
    else {
        return false;
    };
    let name = &to.name.text;
    let declared = repair.file.declarations.iter().flat_map(|row| row.cells.all());
    let declared = declared.filter(|one| one.name.text == *name).count();
    let words = repair.named();
    to.home.is_own() && words.iter().filter(|word| *word == name).count() == 1 + declared
}
