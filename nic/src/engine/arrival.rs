//! What is decided about a peer's request when it arrives.

use crate::request::{Status, access};
use crate::trace::Step as Traced;
use crate::wire::Request;

use super::node::{Delay, Node};
use super::pair::{Arrived, Pair};
use super::responder::resolve;

/// Adds a request that has arrived.
pub fn arrive(pair: &mut Pair, node: &mut Node, number: u64, request: Request) {
    let due = node.due(pair.number, Delay::Remote);
    let arrived = Arrived {
        number,
        refused: refusal(pair, node, &request),
        request,
        rmw_write: None,
        partial: None,
        due,
        waiting_since: None,
    };
    pair.responder.arrived.push_back(arrived);
    node.note(pair.peers(number), || Traced::Arrived);
}

/// How a request fails for what is known now. Others may overtake a read, but none one that fails.
fn refusal(pair: &Pair, node: &Node, request: &Request) -> Option<Status> {
    let fetches = || pair.responder.arrived.iter().filter(|arrived| arrived.request.fetches());
    if request.fetches() && fetches().count() >= usize::from(pair.path.most_served) {
        return Some(Status::RemoteInvalidRequest);
    }
    match *request {
        Request::Read { remote, length: length @ 1.. } => {
            let place = resolve(pair, node, remote, length as usize, access::REMOTE_READ);
            place.is_none().then_some(Status::RemoteAccess)
        }
        _ => None,
    }
}
