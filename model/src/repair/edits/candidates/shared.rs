//! Polls of queue pairs that threads share.

use std::collections::BTreeMap;

use super::super::super::Kind;
use super::super::requests::Sent;
use super::super::{Path, Towards, requests, statements};
use super::{Flow, Lister, flow};

impl Lister<'_> {
    /// The queue pairs that the threads of a node share, each with the most polls that may be added. A poll
    /// of any thread may take what another one has sent, at any time.
    pub(super) fn shared_of(&mut self, node: u32) -> BTreeMap<Towards, usize> {
        let file = self.repair.file;
        let mut most: BTreeMap<Towards, usize> = BTreeMap::new();
        let threads = || file.threads.iter().enumerate().filter(|(_, of)| of.node == node);
        let flow = threads().map(|(_, of)| flow(&of.body)).max().unwrap_or(Flow::Straight);
        let may_signal = self.may(Kind::Signal, "Poll");
        for (thread, of) in threads() {
            let sent = self.sent_in(thread, &of.body, &Path::new());
            // A repair may give a request a completion.
            let has_one = |one: &&Sent| !one.is_unsignaled || (may_signal && !one.is_kept);
            for sent in sent.iter().filter(|one| one.on.is_shared()).filter(has_one) {
                *most.entry(sent.on).or_default() += 1;
            }
        }
        if flow == Flow::Straight {
            let polled = threads().flat_map(|(_, of)| statements(&of.body));
            for on in polled.filter_map(requests::polled) {
                most.entry(on).and_modify(|most| *most = most.saturating_sub(1));
            }
        }
        let size = self.repair.size;
        let rounds = if flow == Flow::Loops { size } else { 1 };
        most.values_mut().for_each(|most| *most = (*most * rounds).min(size));
        most
    }
}
