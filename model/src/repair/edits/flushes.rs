//! Flushes: how many polls each has, and which changes leave a completion that a Poll may take.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Repair;
use super::{Edit, Site, Towards, What, requests, statements};

/// Changes as they are beside each other, in the order of the program: a flush polls what is on its way in
/// the program as it is, less what other changes have polled before it.
pub fn settled(edits: &[&Edit]) -> Vec<Edit> {
    let mut settled: Vec<Edit> = edits.iter().map(|edit| (*edit).clone()).collect();
    for (index, edit) in settled.iter_mut().enumerate() {
        let Site { thread, path, .. } = edit.site.clone();
        let What::Flush { on, id: None, polls, is_sized: false, .. } = &mut edit.what else {
            continue;
        };
        // Under a switch, it counts while it runs.
        if edit.switch.is_some() {
            continue;
        }
        let earlier = edits[..index]
            .iter()
            .filter(|other| other.site.thread == thread && other.site.path == path);
        let (mut before, mut polled) = (0, 0);
        for other in earlier {
            match &other.what {
                What::Poll(towards) if towards == on => polled += 1,
                // It has polled all that was on its way there.
                What::Flush { on: towards, polls, .. } if towards == on => {
                    (before, polled) = (polls - 1, 0);
                }
                _ => {}
            }
        }
        *polls -= (before + polled).min(*polls - 1);
    }
    settled
}

/// The changes with the number of polls of each flush, by the change's number.
pub type Sizes = BTreeMap<usize, usize>;

impl Edit {
    /// How many polls it has at most, if it is a flush that polls.
    pub fn polls(&self) -> Option<usize> {
        match self.what {
            What::Flush { id: None, polls, is_sized: false, .. } => Some(polls),
            _ => None,
        }
    }

    /// Whether it is one of the sizes of a flush that is listed in full before it.
    pub fn is_sized(&self) -> bool {
        matches!(self.what, What::Flush { is_sized: true, .. })
    }

    /// The thread and the queue pair on which it changes how many completions are left to poll.
    pub fn polls_on(&self) -> Option<(usize, Towards)> {
        match &self.what {
            What::Poll(on) | What::Flush { on, id: None, .. } => Some((self.site.thread, *on)),
            _ => None,
        }
    }

    /// The same, where it leaves a completion that a Poll may take: then it may add outcomes.
    fn leaves(&self) -> Option<(usize, Towards)> {
        match &self.what {
            What::Flush { on, id: Some(_), .. } => Some((self.site.thread, *on)),
            What::Wait { completes, .. } => completes.map(|on| (self.site.thread, on)),
            _ => None,
        }
    }
}

/// Adds each flush with each number of polls, up to its own.
pub fn with_sizes(mut edits: Vec<Edit>) -> Vec<Edit> {
    for index in 0..edits.len() {
        let most = edits[index].polls().unwrap_or_default();
        for number in 1..=most {
            let mut sized = edits[index].clone();
            if let What::Flush { polls, is_sized, .. } = &mut sized.what {
                (*polls, *is_sized) = (number, true);
            }
            edits.push(sized);
        }
    }
    edits
}

/// Changes with their flushes of some sizes in place of those in full.
pub fn sized(edits: &[Edit], set: &BTreeSet<usize>, sizes: &Sizes) -> BTreeSet<usize> {
    let of_size = |index: &usize| {
        let number = sizes.get(index)?;
        let is_it = |other: &Edit| {
            other.is_sized() && is_same_flush(other, &edits[*index]) && other.has_polls(*number)
        };
        edits.iter().position(is_it)
    };
    set.iter().map(|index| of_size(index).unwrap_or(*index)).collect()
}

impl Edit {
    fn has_polls(&self, number: usize) -> bool {
        matches!(self.what, What::Flush { polls, .. } if polls == number)
    }
}

/// Changes with one of their flushes replaced by polls alone, from as many as it has down to one.
pub fn polls_alone<'e>(
    edits: &'e [Edit],
    set: &BTreeSet<usize>,
) -> impl Iterator<Item = Vec<Edit>> + use<'e> {
    let chosen: Vec<Edit> = set.iter().map(|index| edits[*index].clone()).collect();
    let with_polls = move |at: usize| {
        let chosen = chosen.clone();
        let flush = match chosen[at].what {
            What::Flush { on, id: None, polls, .. } => Some((on, polls)),
            _ => None,
        };
        let sizes =
            flush.into_iter().flat_map(|(on, most)| (1..=most).rev().map(move |one| (on, one)));
        sizes.map(move |(on, number)| {
            let poll = Edit { what: What::Poll(on), ..chosen[at].clone() };
            let mut all = chosen.clone();
            all.splice(at..=at, std::iter::repeat_n(poll, number));
            all
        })
    };
    (0..set.len()).flat_map(with_polls)
}

/// Whether other changes are these without the get of a flush, so that only polls of it are left.
pub fn is_without_get(edits: &[Edit], other: &BTreeSet<usize>, set: &BTreeSet<usize>) -> bool {
    let more: Vec<usize> = other.difference(set).copied().collect();
    let mut gone = set.difference(other);
    let has_polls = |flush: &usize| {
        let flush = &edits[*flush];
        let is_here = |poll: &&usize| {
            let poll = &edits[**poll];
            matches!(poll.what, What::Poll(_))
                && (&poll.site, poll.polls_on()) == (&flush.site, flush.polls_on())
        };
        matches!(&flush.what, What::Flush { id: None, polls, .. }
            if (1..=*polls).contains(&more.iter().filter(is_here).count()))
    };
    let flushes = gone.clone().count();
    let is_poll_of_one = |poll: &usize| {
        set.difference(other).any(|flush| {
            let (poll, flush) = (&edits[*poll], &edits[*flush]);
            (&poll.site, poll.polls_on()) == (&flush.site, flush.polls_on())
        })
    };
    flushes > 0 && gone.all(has_polls) && more.iter().all(is_poll_of_one)
}

fn is_same_flush(one: &Edit, other: &Edit) -> bool {
    match (&one.what, &other.what) {
        (What::Flush { on, by, .. }, What::Flush { on: other_on, by: other_by, .. }) => {
            (on, by, one.only_with) == (other_on, other_by, other.only_with)
                && one.site == other.site
        }
        _ => false,
    }
}

/// The changes that leave a completion which a Poll may take, of the program or of another change. With them,
/// a program may do what it does not without.
pub fn completing(repair: &Repair<'_>, edits: &[Edit]) -> Vec<usize> {
    // Threads that share a queue pair poll it.
    let owner = |(thread, on): (usize, Towards)| (Some(thread).filter(|_| !on.is_shared()), on);
    let mut polled = BTreeSet::new();
    for (thread, of) in repair.file.threads.iter().enumerate() {
        let polls = statements(&of.body).into_iter().flat_map(requests::may_poll);
        polled.extend(polls.map(|on| owner((thread, on))));
    }
    let added = edits.iter().filter(|edit| matches!(edit.what, What::Poll(_)));
    polled.extend(added.filter_map(Edit::polls_on).map(owner));
    let takes = |edit: &Edit| edit.leaves().is_some_and(|place| polled.contains(&owner(place)));
    (0..edits.len()).filter(|index| takes(&edits[*index])).collect()
}
