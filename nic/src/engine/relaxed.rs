//! Relaxed ordering: what may pass what in `wbR` and `wbL`, where memory is registered with
//! `IBV_ACCESS_RELAXED_ORDERING`. The rules are those of the model `verbs-relaxed` [ibv_reg_mr(3)].

use crate::request::Sge;

use super::node::Node;
use super::pair::{LocalEntry, Pair, RemoteAction};

/// Pieces of memory in this process: the first address, and the first one behind.
type Places = Vec<(u64, u64)>;

/// How many entries are examined for one that may pass the others.
const WINDOW: usize = 16;

/// Where local pieces are. `None` if order counts for one of them.
fn of_pieces(domain: u32, node: &Node, pieces: &[Sge]) -> Option<Places> {
    let place = |sge: &Sge| {
        let host = node.keys.local(domain, sge, false)?;
        node.keys.is_relaxed(sge.key).then(|| (host, host + u64::from(sge.length)))
    };
    pieces.iter().filter(|sge| sge.length > 0).map(place).collect()
}

/// What an entry of `wbR` writes. `None` if it passes nothing, and nothing passes it: a completion comes
/// after all that was written before it.
fn of_remote(pair: &Pair, node: &Node, action: &RemoteAction) -> Option<Places> {
    match action {
        RemoteAction::Write { remote, bytes, .. } => {
            let host = node.keys.remote(pair.domain, *remote, bytes.len() as u64, 0)?;
            node.keys.is_relaxed(remote.key).then(|| vec![(host, host + bytes.len() as u64)])
        }
        RemoteAction::Scatter { sges, .. } => of_pieces(pair.domain, node, sges),
        RemoteAction::Received(_) => None,
    }
}

fn are_apart(one: &Places, other: &Places) -> bool {
    one.iter().all(|one| other.iter().all(|other| one.1 <= other.0 || other.1 <= one.0))
}

/// The indices of those that pass all before them.
fn that_pass(all: impl Iterator<Item = (usize, Option<Places>)>) -> Vec<usize> {
    let (mut before, mut found) = (Vec::new(), Vec::new());
    for (index, places) in all.take(WINDOW) {
        let Some(places) = places else { break };
        if !before.is_empty() && before.iter().all(|earlier| are_apart(earlier, &places)) {
            found.push(index);
        }
        before.push(places);
    }
    found
}

/// The entries of `wbR` that may become visible before those ahead of them.
pub fn visible(pair: &Pair, node: &Node) -> Vec<usize> {
    let entries = pair.responder.wb_remote.iter().enumerate();
    that_pass(entries.map(|(index, entry)| (index, of_remote(pair, node, &entry.action))))
}

/// The writes of `wbL` that may reach memory before those ahead of them.
pub fn landing(pair: &Pair, node: &Node) -> Vec<usize> {
    let entries = pair.requester.wb_local.iter().enumerate();
    that_pass(entries.filter_map(|(index, entry)| match entry {
        LocalEntry::Write { sges, .. } => Some((index, of_pieces(pair.domain, node, sges))),
        LocalEntry::Notice { .. } => None,
    }))
}

/// Whether a read of memory need not wait for what is in `wbR`: only for writes to what it reads.
pub fn may_read(pair: &Pair, node: &Node, key: u32, read: Option<(u64, u64)>) -> bool {
    let Some(read) = read.filter(|_| node.keys.is_relaxed(key)) else { return false };
    let read = vec![read];
    let mut writes = pair.responder.wb_remote.iter();
    writes.all(|entry| {
        of_remote(pair, node, &entry.action).is_some_and(|places| are_apart(&places, &read))
    })
}
