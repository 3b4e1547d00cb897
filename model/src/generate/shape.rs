//! Shapes are abstract programs: which statements there are, and which of them meet at a location. They
//! contain nothing else.
//!
//! Values, names and registers follow from the shape. The writes of a location write different values. Every
//! read has a register of its own. Every remote read has a target of its own unless a step says otherwise. So
//! programs that differ only in values, names and registers have one shape.

use std::collections::BTreeSet;

/// The number of a location in its shape, from 0.
pub type Location = u8;

/// How a program waits for remote operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// With `Poll(n)`, which answers for operations in order.
    Poll,
    /// With work ids and `Wait(d)`.
    Wait,
    /// Not at all.
    Never,
}

/// One statement. [`Step::Await`] can stand for several polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "the fields are places; what they are for is said with each statement"
)]
pub enum Step {
    /// `x := v`
    Write { at: Location },
    /// `a := x`
    Read { at: Location },
    /// `a := CAS(x, …)`. With `hits` it expects the initial value, else a value that never occurs.
    Cas { at: Location, hits: bool },
    /// `a := FAA(x, v)`
    Faa { at: Location },
    /// `Mfence`
    Fence,
    /// `x^n := v`
    PutValue { to: Location },
    /// `x^n := y`
    Put { to: Location, from: Location },
    /// `y := x^n`
    Get { from: Location, into: Location },
    /// `RCAS(y, x^n, …)`, with `hits` as in [`Step::Cas`].
    Rcas { at: Location, into: Location, hits: bool },
    /// `RFAA(y, x^n, v)`
    Rfaa { at: Location, into: Location },
    /// Waits for the operation of an earlier step of the same thread.
    Await { step: u8 },
    /// `Rfence(n)`
    RemoteFence { node: u8 },
    /// `Flush(n)`
    Flush { node: u8 },
    /// `AtomicWrite(x^n, v)`
    AtomicWrite { to: Location },
}

/// Which side of a statement an access is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// On the thread's own node, by the CPU or the NIC.
    Local,
    /// On the node that a remote operation targets.
    Remote,
}

/// An access to a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// The location.
    pub place: Location,
    /// The side of the statement that the access is on.
    pub side: Side,
    /// Whether the access reads.
    pub reads: bool,
    /// Whether the access writes.
    pub writes: bool,
}

impl Step {
    /// The accesses of the statement. The remote access comes first.
    pub fn accesses(self) -> impl Iterator<Item = Access> {
        let access = |place, side, reads, writes| Some(Access { place, side, reads, writes });
        let (local, remote) = (Side::Local, Side::Remote);
        let pair = match self {
            Self::Write { at } => [access(at, local, false, true), None],
            Self::Read { at } => [access(at, local, true, false), None],
            Self::Cas { at, hits } => [access(at, local, true, hits), None],
            Self::Faa { at } => [access(at, local, true, true), None],
            Self::PutValue { to } | Self::AtomicWrite { to } => {
                [access(to, remote, false, true), None]
            }
            Self::Put { to, from } => {
                [access(to, remote, false, true), access(from, local, true, false)]
            }
            Self::Get { from, into } => {
                [access(from, remote, true, false), access(into, local, false, true)]
            }
            Self::Rcas { at, into, hits } => {
                [access(at, remote, true, hits), access(into, local, false, true)]
            }
            Self::Rfaa { at, into } => {
                [access(at, remote, true, true), access(into, local, false, true)]
            }
            Self::Fence | Self::Await { .. } | Self::RemoteFence { .. } | Self::Flush { .. } => {
                [None, None]
            }
        };
        pair.into_iter().flatten()
    }

    /// Whether the statement is a remote operation, which completes.
    pub fn is_operation(self) -> bool {
        matches!(self, Self::Flush { .. }) || self.target().is_some()
    }

    /// The remote location, for remote operations. A flush has none.
    pub fn target(self) -> Option<Location> {
        self.accesses().find(|access| access.side == Side::Remote).map(|access| access.place)
    }

    /// The step with every location and node renamed.
    pub fn renamed(self, place: &impl Fn(Location) -> Location, node: &impl Fn(u8) -> u8) -> Self {
        match self {
            Self::Write { at } => Self::Write { at: place(at) },
            Self::Read { at } => Self::Read { at: place(at) },
            Self::Cas { at, hits } => Self::Cas { at: place(at), hits },
            Self::Faa { at } => Self::Faa { at: place(at) },
            Self::PutValue { to } => Self::PutValue { to: place(to) },
            Self::AtomicWrite { to } => Self::AtomicWrite { to: place(to) },
            Self::Put { to, from } => Self::Put { to: place(to), from: place(from) },
            Self::Get { from, into } => Self::Get { from: place(from), into: place(into) },
            Self::Rcas { at, into, hits } => Self::Rcas { at: place(at), into: place(into), hits },
            Self::Rfaa { at, into } => Self::Rfaa { at: place(at), into: place(into) },
            Self::RemoteFence { node: at } => Self::RemoteFence { node: node(at) },
            Self::Flush { node: at } => Self::Flush { node: node(at) },
            Self::Fence | Self::Await { .. } => self,
        }
    }

    /// The name of the statement in models; `None` for waits.
    pub fn call(self) -> Option<&'static str> {
        Some(match self {
            Self::Write { .. } => "Write",
            Self::Read { .. } => "Read",
            Self::Cas { .. } => "CAS",
            Self::Faa { .. } => "FAA",
            Self::Fence => "Mfence",
            Self::PutValue { .. } | Self::Put { .. } => "Put",
            Self::Get { .. } => "Get",
            Self::Rcas { .. } => "RCAS",
            Self::Rfaa { .. } => "RFAA",
            Self::RemoteFence { .. } => "Rfence",
            Self::Flush { .. } => "Flush",
            Self::AtomicWrite { .. } => "AtomicWrite",
            Self::Await { .. } => return None,
        })
    }
}

/// How a remote operation is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Post {
    /// The number of its queue pair among those of the thread to the same node. A remote fence has one too.
    pub queue_pair: u8,
    /// It has no completion, so nothing waits for it.
    pub unsignaled: bool,
    /// A [`Step::Put`] whose source the CPU reads when it posts it.
    pub inline: bool,
}

/// A thread: its node, from 0, and its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Thread {
    /// The node that the thread runs on, from 0.
    pub node: u8,
    /// The steps in program order.
    pub body: Vec<Step>,
    /// How each step is posted. Steps past the end are posted as usual, and the last is not, so that equal
    /// threads are equal.
    pub posts: Vec<Post>,
}

impl Thread {
    /// A thread without steps.
    pub fn new(node: u8) -> Self {
        Self { node, ..Self::default() }
    }

    /// How a step is posted.
    pub fn post(&self, step: usize) -> Post {
        self.posts.get(step).copied().unwrap_or_default()
    }

    /// Whether a step is a remote operation with a completion.
    pub fn completes(&self, step: usize) -> bool {
        self.body[step].is_operation() && !self.post(step).unsignaled
    }

    /// The same thread, whose steps are posted like this.
    #[must_use]
    pub fn posted(mut self, mut posts: Vec<Post>) -> Self {
        let last = posts.iter().rposition(|post| *post != Post::default());
        posts.truncate(last.map_or(0, |last| last + 1));
        self.posts = posts;
        self
    }
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// The threads.
    pub threads: Vec<Thread>,
    /// The node of each location.
    pub homes: Vec<u8>,
}

impl Shape {
    /// The number of steps. Waiting for an operation counts as one.
    pub fn size(&self) -> usize {
        self.threads.iter().map(|thread| thread.body.len()).sum()
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        let mut all: BTreeSet<u8> = self.homes.iter().copied().collect();
        for thread in &self.threads {
            all.insert(thread.node);
            all.extend(thread.body.iter().filter_map(|step| self.node_of(*step)));
        }
        all.len()
    }

    /// The target node of a step, if it is a remote operation or a remote fence.
    pub fn node_of(&self, step: Step) -> Option<u8> {
        match step {
            Step::RemoteFence { node } | Step::Flush { node } => Some(node),
            _ => step.target().map(|place| self.homes[usize::from(place)]),
        }
    }

    /// The node and number of the queue pair of a thread's step, if it is a remote operation or a remote
    /// fence.
    pub fn queue_pair_of(&self, thread: &Thread, step: usize) -> Option<(u8, u8)> {
        Some((self.node_of(thread.body[step])?, thread.post(step).queue_pair))
    }

    /// All accesses, with thread and step.
    pub fn accesses(&self) -> impl Iterator<Item = (usize, usize, Access)> {
        self.threads.iter().enumerate().flat_map(|(index, thread)| {
            let steps = thread.body.iter().enumerate();
            steps.flat_map(move |(at, step)| step.accesses().map(move |found| (index, at, found)))
        })
    }

    /// For each step, how many polls it stands for if the program waits by polls: 0 except for
    /// [`Step::Await`].
    pub fn polls(&self, thread: &Thread) -> Vec<usize> {
        let mut polled: Vec<((u8, u8), usize)> = Vec::new();
        let mut counts = vec![0; thread.body.len()];
        for (index, step) in thread.body.iter().enumerate() {
            let Step::Await { step } = step else { continue };
            let step = usize::from(*step);
            let Some(pair) = self.queue_pair_of(thread, step) else { continue };
            let earlier = (0..=step).filter(|other| thread.completes(*other));
            let needed =
                earlier.filter(|other| self.queue_pair_of(thread, *other) == Some(pair)).count();
            let known = polled.iter().position(|(other, _)| *other == pair);
            let slot = known.unwrap_or_else(|| {
                polled.push((pair, 0));
                polled.len() - 1
            });
            counts[index] = needed.saturating_sub(polled[slot].1);
            polled[slot].1 += counts[index];
        }
        counts
    }

    /// Whether each wait waits for something that has a completion and that no earlier wait waited for.
    pub fn waits_for_something(&self, completion: Completion) -> bool {
        self.threads.iter().all(|thread| {
            let polls = self.polls(thread);
            let body = &thread.body;
            (0..body.len()).filter(|at| matches!(body[*at], Step::Await { .. })).all(|at| {
                let completes =
                    matches!(body[at], Step::Await { step } if thread.completes(step.into()));
                match completion {
                    Completion::Poll => completes && polls[at] > 0,
                    Completion::Wait => completes && !body[..at].contains(&body[at]),
                    Completion::Never => false,
                }
            })
        })
    }

    /// Removes a step, and the waits that lose their meaning without it. Also returns the new positions of
    /// the thread's other steps.
    pub fn without(
        &self,
        thread: usize,
        step: usize,
        completion: Completion,
    ) -> (Self, Vec<Option<usize>>) {
        let mut smaller = self.clone();
        let old = &self.threads[thread].body;
        let mut posts = Vec::with_capacity(old.len());
        let mut places: Vec<Option<usize>> = Vec::with_capacity(old.len());
        let mut body: Vec<Step> = Vec::with_capacity(old.len());
        for (at, kept) in old.iter().enumerate() {
            let renumbered = match kept {
                _ if at == step => None,
                Step::Await { step: awaited } => {
                    places[usize::from(*awaited)].map(|awaited| Step::Await { step: awaited as u8 })
                }
                other => Some(*other),
            };
            places.push(renumbered.map(|_| body.len()));
            posts.extend(renumbered.map(|_| self.threads[thread].post(at)));
            body.extend(renumbered);
        }
        smaller.threads[thread] =
            Thread { body, ..Thread::new(self.threads[thread].node) }.posted(posts);
        // A poll that a later wait would do anyway is not lost. A wait that stands for no polls is lost.
        let polls = smaller.polls(&smaller.threads[thread]);
        let body = &smaller.threads[thread].body;
        let empty = (0..body.len()).find(|at| {
            matches!(body[*at], Step::Await { .. })
                && match completion {
                    Completion::Poll => polls[*at] == 0,
                    _ => body[..*at].contains(&body[*at]),
                }
        });
        let Some(empty) = empty else { return (smaller, places) };
        let (smaller, again) = smaller.without(thread, empty, completion);
        (smaller, places.into_iter().map(|place| place.and_then(|place| again[place])).collect())
    }

    /// All shapes with one step less, or in which a wait is for an earlier operation.
    pub fn smaller(&self, completion: Completion) -> Vec<Self> {
        let mut found = BTreeSet::new();
        for (index, thread) in self.threads.iter().enumerate() {
            for (at, step) in thread.body.iter().enumerate() {
                found.insert(self.without(index, at, completion).0.canonical());
                let Step::Await { step: awaited } = step else { continue };
                for earlier in 0..*awaited {
                    if !thread.completes(earlier.into()) {
                        continue;
                    }
                    let mut weaker = self.clone();
                    weaker.threads[index].body[at] = Step::Await { step: earlier };
                    if weaker.waits_for_something(completion) {
                        found.insert(weaker.canonical());
                    }
                }
            }
        }
        found.into_iter().collect()
    }
}
