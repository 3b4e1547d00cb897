//! The requests of the memory placement extensions [InfiniBand Architecture Specification, annex A19], at the
//! memory of this process.

use crate::request::{Remote, Status, access};

use super::node::Node;
use super::pair::{Pair, RemoteAction};
use super::responder::{Outcome, push, resolve};

/// An atomic write, like rule 3. Its bytes are never apart, as they are one word.
pub fn write_word(
    pair: &mut Pair,
    node: &mut Node,
    number: u64,
    remote: Remote,
    value: u64,
) -> Outcome {
    if !remote.address.is_multiple_of(8) {
        return Outcome::Failed(Status::RemoteInvalidRequest);
    }
    if resolve(pair, node, remote, 8, access::REMOTE_WRITE).is_none() {
        return Outcome::Failed(Status::RemoteAccess);
    }
    let bytes = value.to_le_bytes().to_vec();
    push(pair, node, number, RemoteAction::Write { remote, bytes, atomic: false });
    Outcome::Done(Vec::new())
}

/// A flush, like rule 6: the earlier writes of the queue pair are visible by now. Memory is as persistent as
/// the program's mapping of it makes it.
pub fn flush(pair: &Pair, node: &Node, remote: Remote, length: Option<u64>, needs: u32) -> Outcome {
    let may = pair.path.access & needs == needs;
    let region = node.keys.get(remote.key);
    let is_there = match length {
        Some(length) => node.keys.remote(pair.domain, remote, length, needs).is_some(),
        None => region
            .is_some_and(|region| region.domain == pair.domain && region.access & needs == needs),
    };
    match may && is_there {
        true => Outcome::Done(Vec::new()),
        false => Outcome::Failed(Status::RemoteAccess),
    }
}
